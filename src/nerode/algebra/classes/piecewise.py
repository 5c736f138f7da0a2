"""R-trivial, L-trivial and piecewise testable languages."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.merging import check_pairs, joining_word
from nerode.algebra.classes.subject import (
    Evidence,
    ExaminedLanguage,
    member,
    non_member,
    remembered,
    violates,
    violation,
)
from nerode.algebra.components import component_labels, tuple_path
from nerode.core import BudgetExceeded
from nerode.languages import Word

R_TRIVIAL = "(xy)^ω x = (xy)^ω"
L_TRIVIAL = "y (xy)^ω = (xy)^ω"

_MOST_DETOURS = 60
"""Pairs of letters that are tried first."""

_BITS_AT_ONCE = 4_000_000

_MOST_REVERSED_STATES = 20_000


def r_trivial(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the syntactic monoid is R-trivial: the minimal automaton has no cycles but loops.

    Implements: [BrzozowskiFich1980]
    """
    if (words := joined_states(subject)) is not None:
        return violation(subject, R_TRIVIAL, words)
    return member()


def joined_states(subject: ExaminedLanguage) -> dict[str, Word] | None:
    """Returns words x and y that lead from some state to another one and back; None if there are none."""
    for q in subject.access.order:
        for letter, target in enumerate(subject.rows[q]):
            if target != q and subject.component[target] == subject.component[q]:
                return {"x": (letter,), "y": joining_word(subject, target, q)}
    return None


def l_trivial(subject: ExaminedLanguage) -> Evidence:
    """Decides whether the syntactic monoid is L-trivial: the reversed language is R-trivial.

    The states of the automaton of the reversed language are the sets of states from which one word is
    accepted. They are as many as that automaton has states.

    Implements: [Pin1986]
    """
    if (counter := subject.known_counter) is not None:
        return violation(subject, L_TRIVIAL, {"x": counter.loop, "y": counter.loop})
    if (words := _quick_detour(subject)) is not None:
        return violation(subject, L_TRIVIAL, words)
    num_sets, edges = _accepted_from(subject)
    labels = component_labels(edges)
    if len(set(labels)) == num_sets:
        return member()
    for source, targets in enumerate(edges):
        for j, target in enumerate(targets):
            if target != source and labels[target] == labels[source]:
                # Reading backwards: the letter y is put in front, then x leads back to the same set.
                back = _path(edges, target, source)
                x = tuple(subject.letters[i] for i in reversed(back))
                return violation(subject, L_TRIVIAL, {"x": x, "y": (subject.letters[j],)})
    raise AssertionError("a component of two sets has no edge inside")


def _quick_detour(subject: ExaminedLanguage) -> dict[str, Word] | None:
    """Returns two letters that violate the identity, among the first few; None if none do.

    This spares automata whose reversed ones are large.
    """
    pairs = itertools.islice(itertools.permutations(range(len(subject.letters)), 2), _MOST_DETOURS)
    for i, j in pairs:
        y = subject.columns[j]
        loop = y[subject.columns[i]]
        # A power of two that is at least the number of states is past all that is not repeated.
        for _ in range(len(y).bit_length()):
            loop = loop[loop]
        if not np.array_equal(loop[y], loop):
            words: dict[str, Word] = {"x": (subject.letters[i],), "y": (subject.letters[j],)}
            return words if violates(subject, L_TRIVIAL, words) else None
    return None


def _accepted_from(subject: ExaminedLanguage) -> tuple[int, list[list[int]]]:
    """Returns how many sets {q : qw accepts} there are, and where putting a letter in front of w leads.

    Many sets are looked at together, those found first before the others.
    """
    limit = min(_MOST_REVERSED_STATES, subject.budget.states)
    many = max(1, _BITS_AT_ONCE // max(1, subject.columns.size))
    pending = deque([np.array([subject.accepting])])
    number = {np.packbits(pending[0], axis=1).tobytes(): 0}
    edges: list[list[int]] = []
    while pending:
        subject.budget.check_time()
        if len(number) > limit:
            raise BudgetExceeded(
                "states", limit, known_so_far={"states of the reversed automaton": len(number)}
            )
        level = pending.popleft()
        if len(level) > many:
            pending.appendleft(level[many:])
            level = level[:many]
        known = len(number)
        # One row per set and letter: the states that the letter takes into the set.
        images = level[:, subject.columns].reshape(-1, level.shape[1])
        packed = np.packbits(images, axis=1)
        keys = packed.view(f"V{packed.shape[1]}").ravel().tolist()
        found = [number[key] if key in number else number.setdefault(key, len(number)) for key in keys]
        edges += np.array(found, dtype=np.int64).reshape(len(level), -1).tolist()
        numbers, first = np.unique(found, return_index=True)
        if len(number) > known:
            pending.append(images[first[numbers >= known]])
    return len(number), edges


def _path(edges: list[list[int]], source: int, target: int) -> list[int]:
    predecessor = {source: (source, -1)}
    for node in (order := [source]):
        for j, following in enumerate(edges[node]):
            if following not in predecessor:
                predecessor[following] = (node, j)
                order.append(following)
    way = []
    while target != source:
        target, j = predecessor[target]
        way.append(j)
    return way[::-1]


PIECEWISE_TESTABLE = "(xy)^ω x = (xy)^ω = y (xy)^ω, x (xy)^ω = (xy)^ω"
STRICTLY_PIECEWISE = "if u y v is in L, so is u v"

_MOST_FORBIDDEN_NODES = 20_000


@remembered
def piecewise_testable(subject: ExaminedLanguage) -> Evidence:
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


def strictly_piecewise(subject: ExaminedLanguage) -> Evidence:
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
    return non_member(subject, witness, "u y v is in L, u v is not")


def _failing_deletion(subject: ExaminedLanguage) -> tuple[int, int] | None:
    """Returns a state q and a letter a such that L(qa) is not inside L(q), or None."""
    n = subject.dfa.num_states
    columns = subject.columns
    check_pairs(len(subject.letters), n * n)
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


def _longest_forbidden(subject: ExaminedLanguage) -> int | None:
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
