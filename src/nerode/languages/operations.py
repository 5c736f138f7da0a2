"""Operations on regular languages, and comparing two of them.

Each operation returns the canonical minimal automaton of the result; `distinguishing_word` is a shortest one.
Operands over different alphabets are first read over one alphabet (`shared_alphabet`): a word that has a
letter unknown to an operand is not in that operand's language. The complement is taken over the
automaton's own alphabet; extend it first (`with_alphabet`) to complement over a larger one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError, started
from nerode.languages.alphabet import Alphabet, Word
from nerode.languages.determinise import (
    Edge,
    Labels,
    Nfa,
    determinise,
    equivalence_classes,
    explore,
    minimise,
)
from nerode.languages.dfa import BoolArray, Dfa, IntArray

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
    return minimise(_accepting(dfa, ~dfa.accepting))


def intersection(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in both languages."""
    return _boolean(left, right, np.logical_and, budget)


def union(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in at least one of the languages."""
    return _boolean(left, right, np.logical_or, budget)


def difference(left: Dfa, right: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words in the left language and not in the right one."""
    return _boolean(left, right, np.greater, budget)


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


def left_quotient(dfa: Dfa, prefixes: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words v such that u v is in the language for some u of another one."""
    dfa, prefixes = over_one_alphabet(dfa, prefixes)
    pairs, _ = _reachable_pairs(dfa, prefixes, budget)
    starts = set(pairs[0][prefixes.accepting[pairs[1]]].tolist())
    return _determinised(dfa.alphabet, _edges(dfa), starts, np.flatnonzero(dfa.accepting), budget)


def right_quotient(dfa: Dfa, suffixes: Dfa, budget: Budget | None = None) -> Dfa:
    """Returns the automaton of the words u such that u v is in the language for some v of another one."""
    dfa, suffixes = over_one_alphabet(dfa, suffixes)
    ends = reverse(left_quotient(reverse(dfa, budget), reverse(suffixes, budget), budget), budget)
    return minimise(ends)


def prefix_closure(dfa: Dfa) -> Dfa:
    """Returns the automaton of the prefixes of words of the language."""
    return minimise(_accepting(dfa, dfa.live))


def _boolean(
    left: Dfa,
    right: Dfa,
    combine: Callable[[BoolArray, BoolArray], BoolArray],
    budget: Budget | None,
) -> Dfa:
    left, right = over_one_alphabet(left, right)
    pairs, table = _reachable_pairs(left, right, budget)
    accepting = combine(left.accepting[pairs[0]], right.accepting[pairs[1]])
    return minimise(Dfa(alphabet=left.alphabet, transitions=table, start=0, accepting=accepting))


def _reachable_pairs(
    left: Dfa, right: Dfa, budget: Budget | None
) -> tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], IntArray]:
    """Returns the pairs of states that one word reaches in both, and their transition table."""
    size = right.num_states

    def successors(codes: list[int]) -> list[int]:
        p, q = np.divmod(np.array(codes, dtype=np.int64), size)
        after = left.transitions[p].astype(np.int64) * size + right.transitions[q]
        flat: list[int] = after.ravel().tolist()
        return flat

    codes, table = explore(
        [left.start * size + right.start],
        successors,
        num_letters=left.num_letters,
        batch=_BATCH,
        budget=started(budget),
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


def _accepting(dfa: Dfa, accepting: BoolArray) -> Dfa:
    return Dfa(alphabet=dfa.alphabet, transitions=dfa.transitions, start=dfa.start, accepting=accepting)


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


def is_empty(dfa: Dfa) -> bool:
    """Whether no word is accepted."""
    return not dfa.live[dfa.start]


def is_equivalent(left: Dfa, right: Dfa) -> bool:
    """Whether both automata accept the same words."""
    left, right = over_one_alphabet(left, right)
    classes, shift = _classes(left, right), left.num_states
    return bool(classes[left.start] == classes[shift + right.start])


def distinguishing_word(left: Dfa, right: Dfa, budget: Budget | None = None) -> Word | None:
    """Returns the shortest word in exactly one of the languages, or None if they are equal.

    Among the shortest ones it is the first in alphabet order.

    Raises:
        BudgetExceeded: if more pairs of states than `budget.images` had to be visited.
    """
    budget = started(budget)
    left, right = over_one_alphabet(left, right)
    size = right.num_states
    classes = _classes(left, right).tolist()
    left_classes, right_classes = classes[: left.num_states], classes[left.num_states :]
    left_rows, right_rows = left.transitions.tolist(), right.transitions.tolist()
    start = left.start * size + right.start
    found_from: dict[int, tuple[int, int]] = {start: (-1, -1)}
    order = [start]
    for code in order:
        p, q = divmod(code, size)
        if left.accepting[p] != right.accepting[q]:
            return _word_to(code, found_from)
        if left_classes[p] == right_classes[q]:
            # Both states accept the same words: nothing beyond this pair tells the languages apart.
            continue
        for letter, (p_after, q_after) in enumerate(zip(left_rows[p], right_rows[q], strict=True)):
            after = p_after * size + q_after
            if after not in found_from:
                found_from[after] = (code, letter)
                order.append(after)
        budget.check("images", len(order), pairs_of_states_visited=len(order))
    return None


def _word_to(code: int, found_from: dict[int, tuple[int, int]]) -> Word:
    letters: list[int] = []
    while True:
        code, letter = found_from[code]
        if letter < 0:
            return tuple(reversed(letters))
        letters.append(letter)


def _classes(left: Dfa, right: Dfa) -> Labels:
    """Returns the Nerode classes of the states of both automata, the left ones first."""
    side_by_side = Dfa(
        alphabet=left.alphabet,
        transitions=np.vstack([left.transitions, right.transitions + left.num_states]),
        start=left.start,
        accepting=np.append(left.accepting, right.accepting),
    )
    return equivalence_classes(side_by_side)
