"""The number of letters after which two states have become one, whatever the letters are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.subject import Subject, remembered
from nerode.algebra.components import loop_word, tuple_path
from nerode.core import BudgetExceeded, charge
from nerode.languages import Word

MOST_PAIR_EDGES = 8_000_000
"""Edges (pairs × letters) above which the graph of pairs is not built."""

IGNORED = -1
"""The label of states whose pairs do not count."""

Numbers = npt.NDArray[np.int64]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """Whether all words of some length merge every pair.

    Attributes:
        length: the least such length, None if there is none.
        stuck: a pair that some word fixes point by point; None if there is none.
        loop: such a word, empty if there is none.
    """

    length: int | None
    stuck: Pair | None = None
    loop: Word = ()


def merging(subject: Subject, labels: Numbers) -> Merging:
    """Returns how long pairs of states with equal labels stay apart.

    Args:
        subject: the automaton.
        labels: one number for each state. Two states count as merged once they are one or their labels
            differ or are IGNORED.

    Raises:
        BudgetExceeded: if there are too many pairs and letters.
    """
    for letter, column in zip(subject.letters, subject.columns, strict=True):
        fixed = np.flatnonzero((column == np.arange(len(column))) & (labels != IGNORED))
        by_label = fixed[np.argsort(labels[fixed], kind="stable")]
        twins = np.flatnonzero(labels[by_label[1:]] == labels[by_label[:-1]])
        if len(twins):
            p, q = by_label[twins[0] : twins[0] + 2].tolist()
            return Merging(length=None, stuck=(p, q), loop=(letter,))
    length, left = _peel(subject, labels)
    if not left:
        return Merging(length=length)
    stuck = _on_cycle(subject, left)
    # Going round once may swap the two; the word is one that brings each of them home.
    loop = loop_word(subject.rows, stuck)
    if loop is None:
        raise AssertionError(f"no word fixes the states {stuck} of {subject.dfa!r}")
    return Merging(length=None, stuck=stuck, loop=loop)


def check_pairs(subject: Subject, pairs: int) -> None:
    """Raises BudgetExceeded if so many pairs of states are too many for this alphabet."""
    most = MOST_PAIR_EDGES // max(1, len(subject.letters))
    if pairs > most:
        raise BudgetExceeded(
            "pairs of states",
            most,
            remedy="this test needs a smaller automaton",
            known_so_far={"pairs": pairs},
        )


def _peel(subject: Subject, labels: Numbers) -> tuple[int, set[Pair]]:
    """Removes pairs that every letter merges or takes to removed ones, round by round.

    Returns the number of rounds and the pairs that are left.
    """
    n = len(labels)
    sizes = np.unique(labels[labels != IGNORED], return_counts=True)[1].astype(np.int64)
    check_pairs(subject, int((sizes * (sizes - 1) // 2).sum()))
    low, high = _pairs(labels)
    nodes = low * n + high
    left, right = subject.columns[:, low], subject.columns[:, high]
    apart = (left != right) & (labels[left] == labels[right]) & (labels[left] != IGNORED)
    target = np.searchsorted(nodes, (np.minimum(left, right) * n + np.maximum(left, right))[apart])
    source = np.broadcast_to(np.arange(len(nodes)), apart.shape)[apart]
    out = np.bincount(source, minlength=len(nodes))
    by_target = np.argsort(target, kind="stable")
    source, first = source[by_target], np.searchsorted(target[by_target], np.arange(len(nodes) + 1))
    present = np.ones(len(nodes), dtype=np.bool_)
    frontier = np.flatnonzero(out == 0)
    rounds = 0
    while len(frontier):
        charge()
        rounds += 1
        present[frontier] = False
        counts = first[frontier + 1] - first[frontier]
        starts = np.repeat(first[frontier] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        before = source[starts + np.arange(len(starts))]
        np.subtract.at(out, before, 1)
        touched = np.unique(before)
        frontier = touched[out[touched] == 0]
    return rounds, set(zip(low[present].tolist(), high[present].tolist(), strict=True))


def _pairs(labels: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the pairs p < q of states with equal labels that count, sorted, as two columns."""
    low, high = [], []
    for label in np.unique(labels[labels != IGNORED]):
        charge()
        members = np.flatnonzero(labels == label)
        i, j = np.triu_indices(len(members), k=1)
        low.append(members[i])
        high.append(members[j])
    if not low:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    first, second = np.concatenate(low), np.concatenate(high)
    order = np.lexsort((second, first))
    return first[order], second[order]


def _on_cycle(subject: Subject, left: set[Pair]) -> Pair:
    """Walks along pairs that stay apart until one comes a second time."""
    pair = min(left)
    seen: set[Pair] = set()
    while pair not in seen:
        charge()
        seen.add(pair)
        rows = (subject.rows[pair[0]], subject.rows[pair[1]])
        pair = next(target for p, q in zip(*rows, strict=True) if (target := (min(p, q), max(p, q))) in left)
    return pair


def row_classes(rows: Numbers) -> Numbers:
    """Returns a number for each column of a matrix; equal columns have equal numbers, counted from 0."""
    numbers = np.zeros(rows.shape[1], dtype=np.int64)
    for row in rows:
        charge()
        pairs = numbers * (int(row.max()) + 1) + row
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


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
    inside = merging(subject, np.array(subject.component))
    if inside.stuck is None:
        return None
    p, q = inside.stuck
    return inside.loop, joining_word(subject, p, q), joining_word(subject, q, p)
