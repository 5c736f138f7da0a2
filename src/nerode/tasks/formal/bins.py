"""Length bins, as papers on formal languages report them: accuracy over all lengths of a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nerode.core import InputError
from nerode.tasks.task import Batch, Split, Task

_TRIES = 50
"""Lengths of a bin that are tried before it counts as empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthBin:
    """The lengths from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise InputError(f"lengths from {self.low} to {self.high} are not a range from 1 on")

    @property
    def name(self) -> str:
        """The bin as papers write it, like "51-100"."""
        return f"{self.low}-{self.high}"


def length_bins(shortest: int, longest: int, *, longer: tuple[int, ...] = (1, 2, 9)) -> tuple[LengthBin, ...]:
    """Returns the bin of training and longer ones of `longest` lengths each.

    Args:
        shortest: shortest length of training.
        longest: longest length of training.
        longer: which of the longer bins, the first being 1: with 50, 1 is 51-100 and 9 is 451-500.
    """
    after = [LengthBin(low=k * longest + 1, high=(k + 1) * longest) for k in longer]
    return (LengthBin(low=shortest, high=longest), *after)


def draw_bin(
    task: Task, split: Split, lengths: LengthBin, count: int, rng: np.random.Generator
) -> list[Batch]:
    """Returns `count` sequences with lengths drawn uniformly from those of a bin that have any.

    Each batch has one length.

    Raises:
        InputError: if the split has no sequence in this bin.
    """
    wanted: dict[int, int] = {}
    empty: set[int] = set()
    while sum(wanted.values()) < count:
        length = int(rng.integers(lengths.low, lengths.high + 1))
        if length in empty:
            if not wanted and len(empty) >= min(_TRIES, lengths.high - lengths.low + 1):
                raise InputError(f"{task.name} has no sequence of length {lengths.name} in the {split} split")
            continue
        if length not in wanted:
            try:
                task.draw(split, length, 1, rng)
            except InputError:
                empty.add(length)
                continue
        wanted[length] = wanted.get(length, 0) + 1
    return [task.draw(split, length, number, rng) for length, number in sorted(wanted.items())]
