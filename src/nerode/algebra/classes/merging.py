"""How many letters it takes until two states have become one, whatever the letters are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.subject import Subject, remembered
from nerode.algebra.paths import loop_word, tuple_path
from nerode.core.errors import BudgetExceeded
from nerode.languages.alphabet import Word

MOST_PAIR_EDGES = 12_000_000
"""Edges (pairs × letters) above which the graph of pairs is not built."""

Pairs = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """Whether all words of some length merge every pair.

    Attributes:
        length: the least such length, None if there is none.
        stuck: a pair that some word fixes point by point; None if there is none.
        loop: such a word, empty if there is none.
    """

    length: int | None
    stuck: tuple[int, int] | None = None
    loop: Word = ()


def merging(subject: Subject, pairs: Pairs) -> Merging:
    """Returns how long the given pairs of states stay apart.

    Args:
        subject: the automaton.
        pairs: a symmetric matrix that says which pairs count; a pair outside it counts as merged.

    Raises:
        BudgetExceeded: if there are too many pairs and letters.
    """
    pairs = np.triu(pairs, k=1)
    for letter, column in zip(subject.letters, subject.columns, strict=True):
        fixed = np.flatnonzero(column == np.arange(len(column)))
        apart = np.argwhere(pairs[np.ix_(fixed, fixed)])
        if len(apart):
            p, q = fixed[apart[0]].tolist()
            return Merging(length=None, stuck=(p, q), loop=(letter,))
    length, left = _peel(subject, pairs)
    if not left.any():
        return Merging(length=length)
    stuck = _on_cycle(subject, left)
    # The pair may come back as (q, p); the second round then brings each state home.
    loop = loop_word(subject.rows, stuck)
    if loop is None:
        raise AssertionError(f"no word fixes the states {stuck} of {subject.dfa!r}")
    return Merging(length=None, stuck=stuck, loop=loop)


def _peel(subject: Subject, pairs: Pairs) -> tuple[int, Pairs]:
    """Removes pairs that every letter merges or takes to removed ones, round by round."""
    n = len(pairs)
    if int(pairs.sum()) * len(subject.letters) > MOST_PAIR_EDGES:
        raise BudgetExceeded(
            "pairs of states",
            MOST_PAIR_EDGES // max(1, len(subject.letters)),
            remedy="use a smaller automaton",
        )
    low, high = np.nonzero(pairs)
    left, right = subject.columns[:, low], subject.columns[:, high]
    target = np.minimum(left, right) * n + np.maximum(left, right)
    stays = pairs.ravel()[target]
    source = np.broadcast_to(low * n + high, target.shape)[stays]
    target = target[stays]
    out = np.bincount(source, minlength=n * n)
    by_target = np.argsort(target, kind="stable")
    source, first = source[by_target], np.searchsorted(target[by_target], np.arange(n * n + 1))
    apart = pairs.ravel().copy()
    frontier = np.flatnonzero(apart & (out == 0))
    rounds = 0
    while len(frontier):
        rounds += 1
        apart[frontier] = False
        sizes = first[frontier + 1] - first[frontier]
        starts = np.repeat(first[frontier] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        before = source[starts + np.arange(len(starts))]
        np.subtract.at(out, before, 1)
        touched = np.unique(before)
        frontier = touched[out[touched] == 0]
    return rounds, apart.reshape(n, n)


def _on_cycle(subject: Subject, left: Pairs) -> tuple[int, int]:
    """Walks along pairs that stay apart until one comes a second time."""
    pair = tuple(np.argwhere(left)[0].tolist())
    seen = set()
    while pair not in seen:
        seen.add(pair)
        for column in subject.columns:
            p, q = sorted((int(column[pair[0]]), int(column[pair[1]])))
            if left[p, q]:
                pair = (p, q)
                break
    return pair


def joining_word(subject: Subject, p: int, q: int) -> Word:
    """Returns a shortest word from a state to one that it reaches."""
    word = tuple_path(subject.rows, (p,), lambda node: node == (q,))
    if word is None:
        raise AssertionError(f"state {q} is not reachable from state {p} in {subject.dfa!r}")
    return word


@remembered
def joined_fixed_states(subject: Subject) -> tuple[Word, Word, Word] | None:
    """Returns a word that fixes two states of one component, and words from one to the other and back.

    None if there are no such states: then long words merge the states of each component.
    """
    component = np.array(subject.component)
    inside = merging(subject, component[:, None] == component[None, :])
    if inside.stuck is None:
        return None
    p, q = inside.stuck
    return inside.loop, joining_word(subject, p, q), joining_word(subject, q, p)
