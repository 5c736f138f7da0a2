"""Training and validation data. Every batch is a function of the spec and the number of its step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nerode.core import InputError, stream
from nerode.records import RunSpec
from nerode.tasks import Batch, Split, Task

_VALIDATION_LENGTHS = 8
"""Most lengths that validation sequences have."""


def lengths_of(task: Task, split: Split) -> tuple[int, ...]:
    """Returns the lengths of training at which a split has sequences.

    Raises:
        InputError: if there is none.
    """
    low, high = task.training_lengths
    found = tuple(n for n in range(low, high + 1) if _has(task, split, n))
    if not found:
        raise InputError(f"{task.name} has no sequence in the {split} split from length {low} to {high}")
    return found


def _has(task: Task, split: Split, length: int) -> bool:
    try:
        task.draw(split, length, 1, stream(0, "lengths", split, length))
    except InputError:
        return False
    return True


class FreshData:
    """New sequences at each step, of a random length that is long enough to exist.

    Args:
        task: what draws them.
        run: how many, and by which seed.
    """

    def __init__(self, task: Task, run: RunSpec) -> None:
        self.task = task
        self.run = run
        self.lengths = lengths_of(task, "train")
        self.steps = run.steps

    def batch(self, step: int, longest: int) -> Batch:
        """Returns the sequences of a step; none is longer than `longest`, if there are shorter ones."""
        allowed = sum(1 for length in self.lengths if length <= longest) or 1
        # The same for all seeds, so that their batches can be stacked.
        length = self.task.choose_length(self.lengths[:allowed], stream(0, "length", step))
        return self.task.draw("train", length, self.run.batch, stream(self.run.seed, "data", step))


class FixedData:
    """The same sequences in each epoch, in another order: those of a batch have one length.

    Args:
        task: what draws them.
        run: how many, and by which seed.
    """

    def __init__(self, task: Task, run: RunSpec) -> None:
        self.run = run
        self.lengths = lengths_of(task, "train")
        rng = stream(run.seed, "sample")
        chosen = task.choose_lengths(self.lengths, run.sample, rng)
        lengths, counts = np.unique(chosen, return_counts=True)
        self.groups = [
            task.draw("train", int(length), int(count), rng)
            for length, count in zip(lengths, counts, strict=True)
        ]
        self.batches = sum(-(-len(group) // run.batch) for group in self.groups)
        self.steps = run.epochs * self.batches
        self._order: tuple[int, list[tuple[int, npt.NDArray[np.int64]]]] = (-1, [])

    def batch(self, step: int, longest: int) -> Batch:
        """Returns the sequences of a step."""
        epoch, number = divmod(step, self.batches)
        if self._order[0] != epoch:
            self._order = (epoch, self._shuffled(epoch))
        group, rows = self._order[1][number]
        return self.groups[group].rows(rows)

    def _shuffled(self, epoch: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
        rng = stream(self.run.seed, "order", epoch)
        size = self.run.batch
        parts = []
        for number, group in enumerate(self.groups):
            rows = rng.permutation(len(group))
            parts += [(number, rows[first : first + size]) for first in range(0, len(rows), size)]
        return [parts[i] for i in rng.permutation(len(parts))]


def training_data(task: Task, run: RunSpec) -> FreshData | FixedData:
    """Returns the training data of a run."""
    return FixedData(task, run) if run.epochs else FreshData(task, run)


def validation_batches(task: Task, lengths: Sequence[int], count: int) -> list[Batch]:
    """Returns about `count` validation sequences, at lengths evenly spread over those given.

    They depend on the task and the lengths alone. A length that has no validation sequence is left out. With
    one sequence a length, the lengths that are trained on have none at all; then others take their place.

    Raises:
        InputError: if no length has one.
    """
    batches = _spread(task, "validation", lengths, count)
    if not batches:
        others = [n for n in range(lengths[0], lengths[-1] + 1) if _has(task, "validation", n)]
        batches = _spread(task, "validation", others, count) if others else []
    if not batches:
        raise InputError(
            f"{task.name} has no validation sequence from length {lengths[0]} to {lengths[-1]}; "
            "train on longer sequences"
        )
    return batches


def curriculum_batches(task: Task, lengths: Sequence[int], count: int) -> list[Batch]:
    """Returns sequences that tell whether the lengths so far are learnt.

    They are validation sequences, unless the lengths are so short that there are none: then all sequences
    there are belong to training, and to know these is to know the length.
    """
    return _spread(task, "validation", lengths, count) or _spread(task, "train", lengths, count)


def _spread(task: Task, split: Split, lengths: Sequence[int], count: int) -> list[Batch]:
    places = np.linspace(0, len(lengths) - 1, min(_VALIDATION_LENGTHS, len(lengths))).round().astype(int)
    chosen = [lengths[i] for i in sorted(set(places.tolist()))]
    each = -(-count // len(chosen))
    batches = []
    for length in chosen:
        try:
            batches.append(task.draw(split, length, each, stream(0, "validation", task.name, length)))
        except InputError:
            continue
    return batches
