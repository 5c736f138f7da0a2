"""Piecewise testable and strictly piecewise languages."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.evidence import AUTOMATON, Evidence, describe_words, member, violation
from nerode.algebra.classes.merging import check_pairs
from nerode.algebra.classes.ordered import joined_states
from nerode.algebra.classes.subject import Subject, remembered
from nerode.algebra.paths import tuple_path
from nerode.languages import Word

PIECEWISE_TESTABLE = "(xy)^ω x = (xy)^ω = y (xy)^ω, x (xy)^ω = (xy)^ω"
STRICTLY_PIECEWISE = "if u y v is in L, so is u v"

_MOST_FORBIDDEN_NODES = 20_000


@remembered
def piecewise_testable(subject: Subject) -> Evidence:
    """Decides whether the set of subsequences up to some length decides about every word.

    That is so exactly when the minimal automaton has no cycles but loops, and for any two letters a and b
    and any state q the words over {a, b} bring qa and qb together again.

    Implements: [Simon1975], in the form of [KlimaPolak2013]
    """
    if (words := joined_states(subject)) is not None:
        return violation(subject, PIECEWISE_TESTABLE, words)
    n = subject.dfa.num_states
    for (i, first), (j, second) in itertools.combinations(enumerate(subject.columns), 2):
        settled = second[first]
        steps = 1
        while steps < n:
            settled = settled[settled]
            steps *= 2
        if not np.array_equal(settled[first], settled[second]):
            return violation(
                subject, PIECEWISE_TESTABLE, {"x": (subject.letters[i],), "y": (subject.letters[j],)}
            )
    return member()


def strictly_piecewise(subject: Subject) -> Evidence:
    """Decides whether the language is closed under leaving out letters: forbidden subsequences define it.

    That is so exactly when L(qa) ⊆ L(q) for every state q and letter a. The parameter is the length of
    the longest forbidden subsequence that is needed, where it is cheap to find.

    Implements: [Rogers2010]
    """
    failing = _failing_deletion(subject)
    if failing is None:
        return member(parameter=_longest_forbidden(subject))
    state, letter = failing
    after = tuple_path(
        subject.rows,
        (subject.rows[state][letter], state),
        lambda pair: subject.accepting[pair[0]] and not subject.accepting[pair[1]],
    )
    if after is None:
        raise AssertionError(f"leaving out a letter at state {state} of {subject.dfa!r} does no harm")
    witness: dict[str, Word] = {"y": (letter,), "u": subject.access.word(state), "v": after}
    if not subject.dfa.accepts(witness["u"] + witness["y"] + after) or subject.dfa.accepts(
        witness["u"] + after
    ):
        raise AssertionError(
            f"the words {witness} do not show that {subject.dfa!r} is not strictly piecewise"
        )
    return Evidence(
        holds=False,
        method=AUTOMATON,
        witness=witness,
        explanation=f"{describe_words(subject, witness)}: u y v is in L, u v is not",
    )


def _failing_deletion(subject: Subject) -> tuple[int, int] | None:
    """Returns a state q and a letter a such that L(qa) is not inside L(q), or None."""
    n = subject.dfa.num_states
    columns = subject.columns
    check_pairs(subject, n * n)
    accepting, live = np.asarray(subject.dfa.accepting), np.asarray(subject.dfa.live)
    origin: npt.NDArray[np.int64] = np.full(n * n, -1, dtype=np.int64)
    for j, column in enumerate(columns):
        pairs = column * n + np.arange(n)
        origin[pairs] = np.arange(n) * len(columns) + j
    origin[np.arange(n) * (n + 1)] = -1
    frontier = np.flatnonzero(origin >= 0)
    while len(frontier):
        larger, smaller = frontier // n, frontier % n
        failing = accepting[larger] & ~accepting[smaller]
        if failing.any():
            state, j = divmod(int(origin[frontier[np.argmax(failing)]]), len(columns))
            return state, subject.letters[j]
        found = []
        for column in columns:
            x, y = column[larger], column[smaller]
            going_on = np.flatnonzero((x != y) & live[x])
            target = (x * n + y)[going_on]
            new = origin[target] < 0
            origin[target[new]] = origin[frontier[going_on[new]]]
            found.append(target[new])
        frontier = np.unique(np.concatenate(found))
    return None


def _longest_forbidden(subject: Subject) -> int | None:
    """Returns the length of the longest word outside L all of whose proper subsequences are in L.

    None if there are too many words on the way. Such a word never stays in a state, for the letter that
    stays could be left out; so it follows a path of the partially ordered automaton. Along with the state
    go the states that are reached when one of the letters is left out.
    """
    if not subject.accepting[subject.dfa.start]:
        return 0
    level = {(subject.dfa.start, frozenset[int]())}
    longest = visited = 0
    for length in itertools.count(1):
        following = set()
        for state, others in level:
            for letter in subject.letters:
                target = subject.rows[state][letter]
                if target == state:
                    continue
                reached = frozenset(subject.rows[q][letter] for q in others) | {state}
                if not all(map(subject.accepting.__getitem__, reached)):
                    continue
                if subject.accepting[target]:
                    following.add((target, reached))
                else:
                    longest = length
        visited += len(following)
        if not following or visited > _MOST_FORBIDDEN_NODES:
            return None if following else longest
        level = following
    raise AssertionError("paths of a partially ordered automaton end")
