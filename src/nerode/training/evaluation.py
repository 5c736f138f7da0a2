"""The evaluation of a model at any list of lengths.

Long sequences are read in parts, with the state carried from part to part. The test sequences depend on the
task and the length alone, so that all models and all seeds are asked the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import InputError, stream
from nerode.records import AxisScore, LengthScore
from nerode.tasks import Batch, Task
from nerode.training.batch_parts import read_parts, run

PART = 2048
"""Positions of a sequence that are read at once."""

_POSITIONS = 1 << 15
"""Positions of all sequences together that are read at once."""

_DRAWN = 1 << 20
"""Positions of all sequences together that are drawn at once."""


def evaluate(
    model: nn.Module, task: Task, lengths: Sequence[int], *, sequences: int, part: int = PART
) -> tuple[LengthScore, ...]:
    """Returns the scores at each length, in the order of the lengths.

    Args:
        model: `forward(x, state) -> (scores, state)`.
        task: what it is asked; lengths of training are tested with sequences that training never has.
        lengths: the lengths.
        sequences: how many of each length.
        part: positions of a sequence that are read at once.
    """
    return tuple(
        score(model, task, draw_tests(task, length, sequences), part=part) for length in sorted(set(lengths))
    )


def evaluate_axes(model: nn.Module, task: Task, *, sequences: int) -> tuple[AxisScore, ...]:
    """Returns the scores at each value of each axis of the task, other than the length."""
    return tuple(
        AxisScore(
            axis=axis.name,
            value=value,
            trained=value in axis.trained,
            score=score(model, task, [_draw_axis(task, axis.name, value, sequences)], part=PART),
        )
        for axis in task.axes
        for value in axis.values
    )


def _draw_axis(task: Task, axis: str, value: int, sequences: int) -> Batch:
    return task.draw_at(axis, value, sequences, stream(0, "test", task.name, axis, value))


def require_tests(task: Task, lengths: Sequence[int], *, all_of_them: bool = True) -> tuple[int, ...]:
    """Returns the lengths at which there are test sequences.

    Args:
        task: what draws them.
        lengths: the lengths to check.
        all_of_them: whether it is an error if a length has none; one is needed in any case.

    Raises:
        InputError: if there is no test sequence at a length or at a value of an axis.
    """
    found, problems = [], []
    for length in lengths:
        try:
            task.draw("test", length, 1, stream(0, "test", task.name, length, 0))
            found.append(length)
        except InputError as problem:
            problems.append(problem)
    if problems and (all_of_them or not found):
        raise problems[0]
    for axis in task.axes:
        for value in axis.values:
            _draw_axis(task, axis.name, value, 1)
    return tuple(found)


@torch.no_grad()
def examine(model: nn.Module, task: Task) -> dict[str, Any]:
    """Returns what the model does in the tests of the task that are no accuracies."""
    was_training = model.training
    model.eval()
    try:
        return task.examine(partial(run, model), stream(0, "examine", task.name))
    finally:
        model.train(was_training)


def draw_tests(task: Task, length: int, sequences: int) -> Iterator[Batch]:
    """Gives the test sequences of a length, a few at a time."""
    most = max(1, _DRAWN // length)
    for number, first in enumerate(range(0, sequences, most)):
        rng = stream(0, "test", task.name, length, number)
        yield task.draw("test", length, min(most, sequences - first), rng)


@torch.no_grad()
def score(model: nn.Module, task: Task, batches: Iterable[Batch], *, part: int = PART) -> LengthScore:
    """Returns the score of one model on sequences that all have the same length."""
    was_training = model.training
    model.eval()
    tally: Tally | None = None
    try:
        for batch in batches:
            length = batch.inputs.shape[1]
            tally = Tally(task, length) if tally is None else tally
            rows = max(1, _POSITIONS // min(length, part))
            for first in range(0, len(batch), rows):
                _read(model, tally, batch.cut(slice(first, first + rows), slice(None)), part)
    finally:
        model.train(was_training)
    if tally is None:
        raise ValueError("there are no sequences to score")
    return tally.score()


def _read(model: nn.Module, tally: Tally, batch: Batch, part: int) -> None:
    tally.begin(len(batch))
    firsts = range(0, batch.inputs.shape[1], part)
    pieces = [batch.cut(slice(None), slice(first, first + part)) for first in firsts]
    for piece, scores in zip(pieces, read_parts(model, (p.inputs for p in pieces)), strict=True):
        tally.add(scores, piece)
    tally.end()


class Tally:
    """Counts of correct answers over parts of sequences, which are not kept.

    Args:
        task: decides which answers are correct.
        length: of the sequences.
    """

    def __init__(self, task: Task, length: int) -> None:
        self.task = task
        self.length = length
        self.positions = self.right_positions = 0
        self.sequences = self.right_sequences = 0
        self.ended = self.right_ends = 0
        self.loss = 0.0

    def begin(self, count: int) -> None:
        """Begins new sequences."""
        self._throughout = torch.ones(count, dtype=torch.bool)
        self._last = torch.ones(count, dtype=torch.bool)
        self._any = torch.zeros(count, dtype=torch.bool)

    def add(self, scores: Tensor, part: Batch) -> None:
        """Counts the next positions of the sequences that were begun."""
        counted = part.mask.sum().item()
        if not counted:
            return
        # A score that is no number answers nothing, though it may compare like an answer.
        answered = torch.isfinite(scores).all(-1)
        right = self.task.correct(scores, part) & (answered | ~part.mask)
        self.positions += int(counted)
        self.right_positions += int((right & part.mask).sum())
        self.loss += self.task.loss(scores, part).item() * counted
        self._throughout &= right.all(1)
        here = part.mask.any(1)
        places = torch.arange(part.mask.shape[1]).where(part.mask, -1).max(1).values.clamp(min=0)
        at_last = right.gather(1, places[:, None])[:, 0]
        self._last = at_last.where(here, self._last)
        self._any |= here

    def end(self) -> None:
        """Ends the sequences that were begun."""
        self.sequences += len(self._throughout)
        self.right_sequences += int(self._throughout.sum())
        self.ended += int(self._any.sum())
        self.right_ends += int((self._last & self._any).sum())

    def score(self) -> LengthScore:
        """Returns the shares.

        Raises:
            InputError: if no position counted.
        """
        if not self.positions:
            raise InputError(f"{self.task.name} has no position that counts at length {self.length}")
        token = self.right_positions / self.positions
        loss = self.loss / self.positions
        chance = self.task.chance
        return LengthScore(
            length=self.length,
            sequences=self.sequences,
            positions=self.positions,
            token=token,
            sequence=self.right_sequences / self.sequences,
            final=self.right_ends / self.ended,
            scaled=(token - chance) / (1 - chance),
            loss=loss if math.isfinite(loss) else None,
        )
