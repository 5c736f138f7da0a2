"""The number of letters after which two states have become one, whatever the letters are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra.classes.subject import ExaminedLanguage, remembered
from nerode.algebra.components import OUTSIDE, Numbers, Rows, loop_word, tuple_path
from nerode.core import BudgetExceeded, charge
from nerode.languages import Word

MOST_PAIR_EDGES = 16_000_000
"""Edges (pairs × letters) above which the graph of pairs is not built."""

IGNORED = -1
"""The label of states whose pairs do not count."""

_ROUNDS_UNSORTED = 16

Flags = npt.NDArray[np.bool_]
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


def merging(subject: ExaminedLanguage, labels: Numbers) -> Merging:
    """Returns how long pairs of states with equal labels stay apart.

    Args:
        subject: the automaton.
        labels: one number for each state. Two states count as merged once they are one or their labels
            differ or are IGNORED.

    Raises:
        BudgetExceeded: if there are too many pairs and letters.
    """
    return merge_pairs(subject.columns, labels, subject.letters)


def merge_pairs(columns: Numbers, labels: Numbers, letters: Sequence[int]) -> Merging:
    """Returns how long pairs of states with equal labels stay apart, see `merging`.

    Args:
        columns: `columns[j, q]` is where the j-th letter takes state q, or OUTSIDE: there pairs are merged.
        labels: one number for each state, or IGNORED.
        letters: the names of the letters in words.

    Raises:
        BudgetExceeded: if there are too many pairs and letters.
    """
    for letter, column in zip(letters, columns, strict=True):
        fixed = np.flatnonzero((column == np.arange(len(column))) & (labels != IGNORED))
        by_label = fixed[np.argsort(labels[fixed], kind="stable")]
        twins = np.flatnonzero(labels[by_label[1:]] == labels[by_label[:-1]])
        if len(twins):
            p, q = by_label[twins[0] : twins[0] + 2].tolist()
            return Merging(length=None, stuck=(p, q), loop=(letter,))
    length, left = _peel(columns, labels)
    if not left:
        return Merging(length=length)
    # OUTSIDE, as an index, is the last row.
    rows: Rows = [*columns.T.tolist(), [OUTSIDE] * len(columns)]
    stuck = _on_cycle(rows, left)
    # Going round once may swap the two; the word is one that brings each of them home.
    loop = loop_word(rows, stuck)
    if loop is None:
        raise AssertionError(f"no word fixes the states {stuck}")
    return Merging(length=None, stuck=stuck, loop=tuple(letters[j] for j in loop))


def check_pairs(letters: int, pairs: int) -> None:
    """Raises BudgetExceeded if so many pairs of states are too many for so many letters."""
    most = MOST_PAIR_EDGES // max(1, letters)
    if pairs > most:
        raise BudgetExceeded(
            "pairs of states",
            most,
            remedy="this test needs a smaller automaton",
            known_so_far={"pairs": pairs},
        )


def _peel(columns: Numbers, labels: Numbers) -> tuple[int, set[Pair]]:
    """Removes pairs that every letter merges or takes to removed ones, round by round.

    Returns the number of rounds and the pairs that are left.
    """
    pairs = _Pairs(labels, len(columns))
    source, target = pairs.edges(columns)
    present = np.ones(len(pairs.low), dtype=np.bool_)
    rounds = 0
    # Most graphs need few rounds, in which all edges are looked at again; then they are sorted.
    for _ in range(_ROUNDS_UNSORTED):
        charge()
        going_on = np.zeros_like(present)
        going_on[source] = True
        if going_on.sum() == present.sum():
            return rounds, pairs.where(present)
        rounds, present = rounds + 1, going_on
        kept = present[target]
        source, target = source[kept], target[kept]
    return _peel_sorted(pairs, present, source, target, rounds)


def _peel_sorted(
    pairs: _Pairs, present: Flags, source: Numbers, target: Numbers, rounds: int
) -> tuple[int, set[Pair]]:
    """Goes on by edges that are sorted by their targets, so that each is looked at once."""
    out = np.bincount(source, minlength=len(present))
    by_target = np.argsort(target, kind="stable")
    source, first = source[by_target], np.searchsorted(target[by_target], np.arange(len(present) + 1))
    frontier = np.flatnonzero(present & (out == 0))
    while len(frontier):
        charge()
        rounds += 1
        present[frontier] = False
        counts = first[frontier + 1] - first[frontier]
        starts = np.repeat(first[frontier] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        before, fewer = np.unique(source[starts + np.arange(len(starts))], return_counts=True)
        out[before] -= fewer
        frontier = before[out[before] == 0]
    return rounds, pairs.where(present)


class _Pairs:
    """The pairs p < q of states with equal labels that count, numbered label by label.

    Args:
        labels: of the states.
        letters: how many there are, which limits how many pairs there may be.

    Raises:
        BudgetExceeded: if there are too many pairs.
    """

    def __init__(self, labels: Numbers, letters: int) -> None:
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] != IGNORED]
        _, begins, sizes = np.unique(labels[order], return_index=True, return_counts=True)
        sizes = sizes.astype(np.int64)
        counts = sizes * (sizes - 1) // 2
        check_pairs(letters, int(counts.sum()))
        low, high = [], []
        # The place of a state among those with its label; the number of the pair (p, q) less the place of q.
        self._place = np.zeros(len(labels), dtype=np.int64)
        self._row = np.zeros(len(labels), dtype=np.int64)
        self._labels = np.where(labels == IGNORED, -1 - np.arange(len(labels)), labels)
        for begin, size, base in zip(
            begins.tolist(), sizes.tolist(), (np.cumsum(counts) - counts).tolist(), strict=True
        ):
            members, i = order[begin : begin + size], np.arange(size)
            self._place[members] = i
            self._row[members] = base + i * (2 * size - i - 1) // 2 - i - 1
            if size > 1:
                charge()
                one, other = np.triu_indices(size, k=1)
                low.append(members[one])
                high.append(members[other])
        self.low, self.high = (np.concatenate([np.empty(0, dtype=np.int64), *part]) for part in (low, high))

    def edges(self, columns: Numbers) -> tuple[Numbers, Numbers]:
        """Returns where letters take pairs that they do not merge: numbers before and after."""
        sources, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for column in columns:
            charge()
            one, other = column[self.low], column[self.high]
            kept = np.flatnonzero(
                (one != other)
                & (one != OUTSIDE)
                & (other != OUTSIDE)
                & (self._labels[one] == self._labels[other])
            )
            one, other = one[kept], other[kept]
            sources.append(kept)
            targets.append(self._row[np.minimum(one, other)] + self._place[np.maximum(one, other)])
        return np.concatenate(sources), np.concatenate(targets)

    def where(self, present: Flags) -> set[Pair]:
        """Returns the pairs at which an array is true."""
        return set(zip(self.low[present].tolist(), self.high[present].tolist(), strict=True))


def _on_cycle(rows: Rows, left: set[Pair]) -> Pair:
    """Walks along pairs that stay apart until one comes a second time."""
    pair = min(left)
    seen: set[Pair] = set()
    while pair not in seen:
        charge()
        seen.add(pair)
        targets = zip(rows[pair[0]], rows[pair[1]], strict=True)
        pair = next(target for p, q in targets if (target := (min(p, q), max(p, q))) in left)
    return pair


def row_classes(rows: Numbers) -> Numbers:
    """Returns a number for each column of a matrix; equal columns have equal numbers, counted from 0."""
    numbers = np.zeros(rows.shape[1], dtype=np.int64)
    for row in rows:
        charge()
        pairs = numbers * (int(row.max()) + 1) + row
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def joining_word(subject: ExaminedLanguage, p: int, q: int) -> Word:
    """Returns a shortest word from a state to one that it reaches."""
    word = tuple_path(subject.rows, (p,), lambda node: node == (q,))
    if word is None:
        raise AssertionError(f"state {q} is not reachable from state {p} in {subject.dfa!r}")
    return word


@remembered
def merging_inside(subject: ExaminedLanguage) -> Merging:
    """Returns how long pairs of states of one component stay apart in it."""
    return merging(subject, np.array(subject.component))


@remembered
def joined_fixed_states(subject: ExaminedLanguage) -> tuple[Word, Word, Word] | None:
    """Returns a word that fixes two states of one component, and words from one to the other and back.

    None if there are no such states: then long words merge the states of each component.
    """
    inside = merging_inside(subject)
    if inside.stuck is None:
        return None
    p, q = inside.stuck
    return inside.loop, joining_word(subject, p, q), joining_word(subject, q, p)
