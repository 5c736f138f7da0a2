"""Operations on regular languages; each returns the canonical minimal automaton of the result.

Operands over different alphabets are first read over one alphabet (`shared_alphabet`): a word that has a
letter unknown to an operand is not in that operand's language. The complement is taken over the
automaton's own alphabet; extend it first (`with_alphabet`) to complement over a larger one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError
from nerode.languages.alphabet import Alphabet, WordLike
from nerode.languages.determinise import Edge, Nfa, determinise, explore
from nerode.languages.dfa import BoolArray, Dfa, IntArray
from nerode.languages.minimisation import minimise

_BATCH = 4096
"""Pairs of states whose successors are looked up at a time."""


def shared_alphabet(left: Dfa, right: Dfa) -> Alphabet:
    """Returns the alphabet of both if it is the same, otherwise the sorted union."""
    if left.alphabet == right.alphabet:
        return left.alphabet
    return Alphabet.of([*left.alphabet, *right.alphabet])


def over_one_alphabet(left: Dfa, right: Dfa) -> tuple[Dfa, Dfa]:
    """Returns both automata over the shared alphabet; they are not minimised."""
    alphabet = shared_alphabet(left, right)
    return _over(left, alphabet), _over(right, alphabet)


def with_alphabet(dfa: Dfa, alphabet: Alphabet) -> Dfa:
    """Returns the same set of words over an alphabet that has more letters or another order.

    Letters that the automaton did not have lead to a dead state.

    Raises:
        InputError: if a letter of the automaton is missing from the alphabet.
    """
    return minimise(_over(dfa, alphabet))


def complement(dfa: Dfa) -> Dfa:
    """Returns the automaton of the words over its alphabet that are not in the language."""
    return minimise(_replace(dfa, accepting=~dfa.accepting))


def intersection(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in both languages."""
    return _boolean(left, right, np.logical_and, budget)


def union(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in at least one of the languages."""
    return _boolean(left, right, np.logical_or, budget)


def difference(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in the left language and not in the right one."""
    return _boolean(left, right, np.greater, budget)


def symmetric_difference(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in exactly one of the languages."""
    return _boolean(left, right, np.not_equal, budget)


def concatenate(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words u v with u in the left and v in the right language."""
    left, right = over_one_alphabet(left, right)
    shift = left.num_states
    # Whoever enters an accepting state of the left automaton may also start the right one.
    begin = shift + right.start
    edges = _edges(left)
    edges += [(p, a, begin) for p, a, q in edges if left.accepting[q]]
    edges += [(p + shift, a, q + shift) for p, a, q in _edges(right)]
    starts = {left.start, begin} if left.accepting[left.start] else {left.start}
    return _determinised(left.alphabet, edges, starts, np.flatnonzero(right.accepting) + shift, budget)


def star(dfa: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the concatenations of any number of words of the language."""
    edges = _edges(dfa)
    edges += [(p, a, dfa.start) for p, a, q in edges if dfa.accepting[q]]
    # A new start that accepts the empty word: the old one may be entered again in the middle of a word.
    start = dfa.num_states
    edges += [(start, a, q) for p, a, q in edges if p == dfa.start]
    accepting = np.append(np.flatnonzero(dfa.accepting), start)
    return _determinised(dfa.alphabet, edges, {start}, accepting, budget)


def reverse(dfa: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words of the language read from right to left."""
    edges = [(q, a, p) for p, a, q in _edges(dfa)]
    starts = set(np.flatnonzero(dfa.accepting).tolist())
    return _determinised(dfa.alphabet, edges, starts, np.array([dfa.start]), budget)


def prefix_closure(dfa: Dfa) -> Dfa:
    """Returns the automaton of the prefixes of words of the language."""
    return minimise(_replace(dfa, accepting=dfa.live))


def left_quotient(dfa: Dfa, by: Dfa | WordLike, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words v such that u v is in the language.

    Args:
        dfa: the language that is divided.
        by: the word u, or the language from which some u is taken.
        budget: limits the pairs of states and the subsets.
    """
    if not isinstance(by, Dfa):
        return minimise(_replace(dfa, start=dfa.run(by)))
    dfa, by = over_one_alphabet(dfa, by)
    pairs, _ = _reachable_pairs(dfa, by, np.array([dfa.start]), budget)
    starts = set(np.unique(pairs[0][by.accepting[pairs[1]]]).tolist())
    return _determinised(dfa.alphabet, _edges(dfa), starts, np.flatnonzero(dfa.accepting), budget)


def right_quotient(dfa: Dfa, by: Dfa | WordLike, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words u such that u v is in the language.

    Args:
        dfa: the language that is divided.
        by: the word v, or the language from which some v is taken.
        budget: limits the pairs of states.
    """
    if not isinstance(by, Dfa):
        return minimise(_replace(dfa, accepting=dfa.accepting[dfa.action(by)]))
    dfa, by = over_one_alphabet(dfa, by)
    pairs, table = _reachable_pairs(dfa, by, np.arange(dfa.num_states), budget)
    both = dfa.accepting[pairs[0]] & by.accepting[pairs[1]]
    # Pair q is (q, start of `by`): it is live when some word of `by` leads q to acceptance.
    live = Dfa(alphabet=dfa.alphabet, transitions=table, start=0, accepting=both).live
    return minimise(_replace(dfa, accepting=live[: dfa.num_states]))


def _boolean(
    left: Dfa,
    right: Dfa,
    combine: Callable[[BoolArray, BoolArray], BoolArray],
    budget: Budget | None,
) -> Dfa:
    left, right = over_one_alphabet(left, right)
    pairs, table = _reachable_pairs(left, right, np.array([left.start]), budget)
    accepting = combine(left.accepting[pairs[0]], right.accepting[pairs[1]])
    return minimise(Dfa(alphabet=left.alphabet, transitions=table, start=0, accepting=accepting))


def _reachable_pairs(
    left: Dfa, right: Dfa, starts: npt.NDArray[np.integer], budget: Budget | None
) -> tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], IntArray]:
    """Returns the pairs reached from (q, right start), q in `starts`, and their transition table."""
    size = right.num_states

    def successors(codes: list[int]) -> list[int]:
        p, q = np.divmod(np.array(codes, dtype=np.int64), size)
        after = left.transitions[p].astype(np.int64) * size + right.transitions[q]
        flat: list[int] = after.ravel().tolist()
        return flat

    codes, table = explore(
        (starts * size + right.start).tolist(),
        successors,
        num_letters=left.num_letters,
        batch=_BATCH,
        budget=budget or Budget(),
    )
    p, q = np.divmod(np.array(codes, dtype=np.int64), size)
    return (p, q), table


def _over(dfa: Dfa, alphabet: Alphabet) -> Dfa:
    """Returns an automaton, not minimised, for the same words over a larger alphabet."""
    if dfa.alphabet == alphabet:
        return dfa
    missing = [symbol for symbol in dfa.alphabet if symbol not in alphabet]
    if missing:
        raise InputError(
            f"the new alphabet {{{alphabet.describe()}}} has no {', '.join(missing[:5])}, "
            "which the automaton reads; give an alphabet that contains all of its symbols"
        )
    dead = dfa.num_states
    table = np.full((dead + 1, len(alphabet)), dead, dtype=np.int32)
    table[:dead, [alphabet.index(symbol) for symbol in dfa.alphabet]] = dfa.transitions
    return Dfa(
        alphabet=alphabet, transitions=table, start=dfa.start, accepting=np.append(dfa.accepting, False)
    )


def _replace(dfa: Dfa, *, start: int | None = None, accepting: BoolArray | None = None) -> Dfa:
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=dfa.transitions,
        start=dfa.start if start is None else start,
        accepting=dfa.accepting if accepting is None else accepting,
    )


def _edges(dfa: Dfa) -> list[Edge]:
    """Returns the edges between live states."""
    live = dfa.live.tolist()
    rows = dfa.transitions.tolist()
    return [(p, a, q) for p, row in enumerate(rows) if live[p] for a, q in enumerate(row) if live[q]]


def _determinised(
    alphabet: Alphabet,
    edges: list[Edge],
    starts: set[int],
    accepting: npt.NDArray[np.integer],
    budget: Budget | None,
) -> Dfa:
    nfa = Nfa(
        alphabet=alphabet,
        transitions=tuple(edges),
        starts=frozenset(starts),
        accepting=frozenset(accepting.tolist()),
    )
    return minimise(determinise(nfa, budget))
