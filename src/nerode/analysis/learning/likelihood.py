"""An automaton by likelihood: for wrong labels and for raw words, where "agrees with all" has no meaning.

The words become a tree of prefixes; a node counts what was seen there. An automaton pools the counts of the
nodes that it sends to one state. Its score is the log-likelihood of the pooled counts less a price for its
description. One move is changed at a time while that helps, from several random tables; the number of states
grows until the score has fallen twice.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import stream
from nerode.languages import Word

Numbers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]

_STARTS = 12
"""Random tables per number of states."""

_SHORTEST, _OTHERS = 350, 350
"""Words of the search: the shortest ones, and some of the others; the last climb has all of them. Shortest
words alone mislead: all of a kind may have one label."""


class PrefixTree:
    """Prefixes of words, level by level, with counts of what was seen after each.

    Args:
        words: the words.
        seen: for each word, lengths of prefixes and what was seen there, as numbers.
        outputs: how many things can be seen.
    """

    def __init__(
        self, words: Sequence[Word], seen: Sequence[Iterable[tuple[int, int]]], outputs: int
    ) -> None:
        number: dict[Word, int] = {(): 0}
        parents, letters, depths = [0], [0], [0]
        counts = [np.zeros(outputs)]
        for word, outcomes in zip(words, seen, strict=True):
            for length in range(1, len(word) + 1):
                prefix = word[:length]
                if prefix not in number:
                    number[prefix] = len(parents)
                    parents.append(number[word[: length - 1]])
                    letters.append(word[length - 1])
                    depths.append(length)
                    counts.append(np.zeros(outputs))
            for length, output in outcomes:
                counts[number[word[:length]]][output] += 1
        order = np.argsort(depths, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        self._parents, self._letters = rank[np.array(parents)[order]], np.array(letters)[order]
        self._counts: Counts = np.array(counts)[order]
        levels = np.array(depths)[order]
        bounds = np.searchsorted(levels, np.arange(1, int(levels.max()) + 2))
        self._levels = [slice(*pair) for pair in itertools.pairwise(bounds.tolist())]
        self._used = np.flatnonzero(self._counts.sum(1))
        self.total = float(self._counts.sum())

    @property
    def outputs(self) -> int:
        """Number of things that can be seen."""
        return int(self._counts.shape[1])

    def states(self, table: Numbers) -> Numbers:
        """Returns the state of every prefix."""
        state = np.zeros(len(self._parents), np.int64)
        for level in self._levels:
            state[level] = table[state[self._parents[level]], self._letters[level]]
        return state

    def pooled(self, table: Numbers) -> Counts:
        """Returns the counts of each state."""
        state = self.states(table)[self._used]
        columns = [
            np.bincount(state, weights=self._counts[self._used, output], minlength=len(table))
            for output in range(self.outputs)
        ]
        return np.stack(columns, axis=1)

    def made(self, table: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which moves of a table some word makes."""
        found = np.zeros(table.shape, dtype=bool)
        found[self.states(table)[self._parents[1:]], self._letters[1:]] = True
        return found

    def likelihood(self, table: Numbers) -> float:
        """Returns the logarithm of the likelihood of what was seen, by the shares of each state."""
        counts = self.pooled(table)
        totals = np.maximum(counts.sum(1, keepdims=True), 1e-300)
        return float((counts * np.log(np.maximum(counts, 1e-300) / totals)).sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """The best machine of a search by likelihood.

    Attributes:
        moves: the state after each state and letter.
        counts: what was seen in each state.
        made: which moves some word makes.
    """

    moves: Numbers
    counts: Counts
    made: npt.NDArray[np.bool_]


def fit_machine(
    words: Sequence[Word],
    seen: Sequence[Sequence[tuple[int, int]]],
    *,
    letters: int,
    outputs: int,
    most: int = 12,
    seed: int = 0,
    seconds: float = 30.0,
) -> Fit:
    """Returns the best machine that was found; not a proof that none is better.

    Args:
        words: the words.
        seen: for each word, lengths of prefixes and what was seen there.
        letters: number of letters.
        outputs: how many things can be seen.
        most: most states.
        seed: of the random tables.
        seconds: of CPU.
    """
    rng = stream(seed, "likelihood")
    limit = time.process_time() + seconds
    full = PrefixTree(words, seen, outputs)
    chosen = _some(words, rng)
    small = (
        full
        if len(chosen) == len(words)
        else PrefixTree([words[row] for row in chosen], [seen[row] for row in chosen], outputs)
    )
    best: tuple[float, Numbers] | None = None
    worse = 0
    for states in range(1, most + 1):
        table = _best_of_starts(small, states, letters, None if best is None else best[1], rng, limit)
        score = full.likelihood(table) - _price(states, letters, outputs, full.total)
        if best is None or score > best[0]:
            best, worse = (score, table), 0
        else:
            worse += 1
        if worse == 2 or time.process_time() > limit:
            break
    assert best is not None
    table = _climb(full, best[1].copy(), rng, limit + seconds / 6)[1]
    return Fit(moves=table, counts=full.pooled(table), made=full.made(table))


def _some(words: Sequence[Word], rng: np.random.Generator) -> list[int]:
    """The words of the search: the shortest, and some of the others."""
    order = sorted(range(len(words)), key=lambda row: len(words[row]))
    others: list[int] = rng.permutation(order[_SHORTEST:])[:_OTHERS].tolist()
    return order[:_SHORTEST] + others


def _best_of_starts(
    tree: PrefixTree,
    states: int,
    letters: int,
    before: Numbers | None,
    rng: np.random.Generator,
    limit: float,
) -> Numbers:
    """The best table of one size: from random ones, half of them with one state more than the best before."""
    found: tuple[float, Numbers] | None = None
    for _ in range(_STARTS if states > 1 else 1):
        table = rng.integers(0, states, (states, letters))
        if before is not None and len(before) < states and rng.random() < 0.5:
            table[: len(before)] = before
            table[int(rng.integers(len(before))), int(rng.integers(letters))] = states - 1
        score, table = _climb(tree, table, rng, limit)
        if found is None or score > found[0] + 1e-9:
            found = (score, table.copy())
    assert found is not None
    return found[1]


def _climb(tree: PrefixTree, table: Numbers, rng: np.random.Generator, limit: float) -> tuple[float, Numbers]:
    """Changes one move at a time while the likelihood grows."""
    states, letters = table.shape
    best, improved = tree.likelihood(table), True
    while improved and time.process_time() < limit:
        improved = False
        for code in rng.permutation(states * letters).tolist():
            state, letter = divmod(code, letters)
            for target in range(states):
                before = int(table[state, letter])
                if target == before:
                    continue
                table[state, letter] = target
                score = tree.likelihood(table)
                if score > best + 1e-9:
                    best, improved = score, True
                else:
                    table[state, letter] = before
    return best, table


def _price(states: int, letters: int, outputs: int, total: float) -> float:
    """The length of a description: shares of each state, and the targets of its moves."""
    shares = states * (outputs - 1) / 2 * np.log(max(total, 2.0))
    return float(shares + states * letters * np.log(max(states, 1)))
