"""The closure of a softmax decoder: all joint states of what its heads can have seen and the language.

Heads are known by their weights (`weights.py`), each with a lemma about what softmax returns (`heads.py`). So
a decoder is a finite automaton over the summaries of its heads, visited here in nominal values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.core import Budget
from nerode.proofs.replay.attention.heads import HeadLemmas, Values
from nerode.proofs.replay.attention.records import NotProved
from nerode.proofs.replay.attention.sides import UNKNOWN, LanguageSide
from nerode.proofs.replay.attention.weights import DecoderBlock, DecoderHead, DecoderWeights

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REACHED = 2.0
"""What stands for the value of a comparison that is reached: it is 1 or more."""

_AT_ONCE = 1 << 13
"""Joint states that are advanced together."""


@dataclass(slots=True)
class Cases:
    """Steps of a decoder: a joint state, a letter, and the joint state after it, a row each.

    Attributes:
        before: joint states; the last two columns are the state of the stream and that of the language.
        letters: the number of letters stands for the mark.
        after: joint states after the letters.
    """

    before: Array
    letters: Ints
    after: Array

    def pick(self, rows: Ints) -> Cases:
        """Returns some of the rows, each as often as it is named."""
        return Cases(self.before[rows], self.letters[rows], self.after[rows])


class Closure:
    """The search for all joint states.

    Args:
        weights: the decoder.
        lemmas: what its heads return.
        side: the language.
        budget: limits the joint states (`elements`) and the time.
    """

    def __init__(
        self, weights: DecoderWeights, lemmas: HeadLemmas, side: LanguageSide, budget: Budget
    ) -> None:
        self.weights, self.lemmas, self.side, self.budget = weights, lemmas, side, budget
        self.mark = weights.streams.letters
        self.sums = [c for head in weights.heads() if head.kind == "mean" for c in head.numbers]
        self.ranges: dict[int, tuple[int, int]] = {}
        for column in self.sums:
            levels = [*weights.levels.get(column, ()), *side.levels]
            self.ranges[column] = (min(levels) - 1, max(levels)) if levels else (0, 0)
        self.joint_states = 0
        latest = [c for head in weights.heads() if head.kind == "last" for c in head.numbers]
        self.forgotten = latest if side.num_levels is not None else []
        """The columns that may be unknown."""
        side.prepare(self.sums, self.forgotten)

    def unknown(self, states: Array) -> Array:
        """Returns how far what is unknown in joint states may be from what stands for it."""
        found = np.zeros_like(states)
        found[:, self.forgotten] = np.where(states[:, self.forgotten] == UNKNOWN, 0.5, 0.0)
        return found

    def explore(self) -> Cases:
        """Returns all steps that can be taken, that of the mark first.

        Raises:
            NotProved: if a score is on the wrong side in nominal values.
            BudgetExceeded: if the joint states are too many.
        """
        blank = np.zeros((1, self.weights.summary + 2))
        begun, stream, moves = self._step(blank, np.array([self.mark]))
        self.side.begin(moves[0])
        begun.after[:, -1] = self.side.start
        self._compare(begun, stream)
        frontier = self.side.fold(begun.after)
        seen, steps = {frontier[0].tobytes()}, [begun]
        while len(frontier):
            fresh: list[Array] = []
            for first in range(0, len(frontier), _AT_ONCE):
                self.budget.check("elements", len(seen), joint_states=len(seen))
                self.budget.check_time(joint_states=len(seen))
                steps.append(self._advance(frontier[first : first + _AT_ONCE]))
                for row in self.side.fold(steps[-1].after):
                    if (key := row.tobytes()) not in seen:
                        seen.add(key)
                        fresh.append(row)
            frontier = np.array(fresh)
        self.joint_states = len(seen)
        return Cases(
            np.vstack([s.before for s in steps]),
            np.concatenate([s.letters for s in steps]),
            np.vstack([s.after for s in steps]),
        )

    def _advance(self, states: Array) -> Cases:
        """The steps from joint states at all letters, compared with the language."""
        letters = np.tile(np.arange(self.mark), len(states))
        unfolded = self.side.unfold(np.repeat(states, self.mark, axis=0), letters)
        cases, stream, moves = self._step(*unfolded)
        before = cases.before[:, self.sums].astype(np.int64)
        language = cases.before[:, -1].astype(np.int64)
        cases.after[:, -1] = self.side.advance(language, cases.letters, before, moves)
        self._compare(cases, stream)
        return cases

    def _compare(self, cases: Cases, stream: Array) -> None:
        """Raises NotProved if a score is on the wrong side."""
        sums = cases.after[:, self.sums].astype(np.int64)
        expected = self.side.expected(cases.after[:, -1].astype(np.int64), sums)
        wrong = np.flatnonzero(((stream @ self.weights.head.T > 0.5) != expected).any(axis=1))
        if len(wrong):
            raise NotProved(f"the decoder is wrong in state {int(cases.after[wrong[0], -1])} of the language")

    def embed(self, cases: Cases) -> Array:
        """Returns the stream before the first attention block, with a column of ones."""
        found = self.weights.streams.values[cases.before[:, -2].astype(np.int64), cases.letters]
        return np.hstack([found, np.ones((len(found), 1))])

    def _step(self, states: Array, letters: Ints) -> tuple[Cases, Array, Ints]:
        """The steps from joint states, the streams after all blocks, and what is added to the sums."""
        cases = Cases(states, letters, np.zeros_like(states))
        cases.after[:, -2] = self.weights.streams.after[states[:, -2].astype(np.int64), letters]
        moves = np.zeros_like(states, dtype=np.int64)
        stream = self.embed(cases)
        for block in self.weights.blocks:
            added = np.zeros((len(stream), self.weights.width))
            for head in sorted(block.heads, key=lambda h: h.kind == "mean"):
                if head.kind == "mean":
                    rows, chosen, move = self._branch(head, stream, cases)
                    stream, added, moves, cases = stream[rows], added[rows], moves[rows], cases.pick(rows)
                    cases.after[:, head.columns], moves[:, head.columns] = chosen, move
                    continue
                values, old = (Values(x, np.zeros_like(x)) for x in (stream, cases.before))
                y, new, keys = self.lemmas.attend(head, values, old, cases.letters == self.mark)
                cases.after[:, head.columns] = new
                if head.first in self.forgotten and not np.isin(new[keys.matches], (0.0, 1.0)).all():
                    raise NotProved(f"{head.where} holds other numbers than 0 and 1")
                added += y.nominal @ head.out.T
            stream[:, :-1] += added
            if len(block.up):
                stream[:, :-1] += self.settled(block, stream @ block.up.T, cases) @ block.down.T
        cases.after += 0.0
        if not np.isfinite(stream).all():
            raise NotProved("a number of the stream is too large")
        return cases, stream, moves[:, self.sums]

    def _branch(self, head: DecoderHead, stream: Array, cases: Cases) -> tuple[Ints, Ints, Ints]:
        """The rows that follow, the sums of a head chosen in each, and what was added to them."""
        moves = stream @ head.value.T
        if (moves != np.rint(moves)).any():
            raise NotProved(f"{head.where} averages numbers that are not whole")
        move = moves.astype(np.int64)
        rows, chosen = np.arange(len(move)), np.zeros_like(move)
        for i, column in enumerate(head.numbers):
            low, high = self.ranges[column]
            old = cases.before[rows, column].astype(np.int64)
            new = np.clip(np.where(cases.letters[rows] == self.mark, 0, old) + move[rows, i], low, high)
            first, last = new.copy(), new.copy()
            # An end of the range stands for everything beyond.
            inside = cases.letters[rows] != self.mark
            last[inside & (old == high)] = high
            first[inside & (old == low)] = low
            count = last - first + 1
            self.budget.check("elements", float(count.sum()), joint_states=self.joint_states)
            again = np.repeat(np.arange(len(rows)), count)
            offset = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
            chosen = chosen[again]
            chosen[:, i] = first[again] + offset
            rows = rows[again]
        return rows, chosen, move[rows]

    def hidden(self, block: DecoderBlock, argument: Array, cases: Cases) -> Array:
        """Returns the units of a block; comparisons are decided by the sums."""
        found = np.maximum(argument, 0)
        for comparison in block.comparisons:
            reached = (cases.after[:, comparison.column] >= comparison.level) & (cases.letters != self.mark)
            found[:, comparison.unit] = REACHED * reached
        return found

    def settled(self, block: DecoderBlock, argument: Array, cases: Cases) -> Array:
        """Returns the same with each ramp as one unit, without the roundings of the difference."""
        found = self.hidden(block, argument, cases)
        ramps = 2 * np.flatnonzero(block.pairs)
        found[:, ramps] = np.clip(argument[:, ramps], 0, 1)
        found[:, ramps + 1] = 0
        return found
