"""Flip-flop language modelling: a bit is written, others are ignored, and it has to be read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nerode.core import InputError, Reference, UnknownName
from nerode.tasks.flip_flop_streams import IGNORE, READ, WRITE, ZERO, survey
from nerode.tasks.lengths import require_range
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Answer, Axis, Batch, Memory, Task
from nerode.tasks.walk import Integers

ALPHABET = ("w", "r", "i", "0", "1")

_AXIS = "ignored-percent"
_PERCENT = (10, 80, 98)
"""Shares of instructions to ignore: those of the training and the test sets of the paper."""

_TESTED = 512
"""Length of the sequences of the axis, as in the paper, unless training has as long ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipFlopSettings:
    """Settings of flip-flop language modelling.

    Attributes:
        ignored: share of the instructions between the first and the last that are to be ignored; the others
            write or read, as often.
        shortest: shortest length of training, in letters; the odd ones are left out.
        longest: longest length of training, in letters.
        streams: longest stream of ignored bits in the tests after training, in instructions.
    """

    ignored: float = 0.8
    shortest: int = 4
    longest: int = 64
    streams: int = 100_000

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest, least=4)
        if not 0 <= self.ignored <= 1:
            raise InputError(f"ignored is {self.ignored}; it is a share, from 0 to 1")
        if self.streams < 1:
            raise InputError(f"streams is {self.streams}; give 1 instruction or more")


class FlipFlop(Task):
    """Pairs of an instruction and a bit; at each read the bit of the last write is due.

    The first instruction writes and the last one reads. Bits that are written or ignored are fair.
    Positions count where the letter r has just been read; the bit that follows it is the answer.

    References: [Liu2023FlipFlop]
    """

    name = "flip-flop"
    memory = Memory.STABLE
    letters = 5
    outputs = 2
    alphabet = ALPHABET

    def __init__(self, settings: FlipFlopSettings) -> None:
        self.settings = settings
        self.training_lengths = (settings.shortest, settings.longest)
        trained = round(100 * settings.ignored)
        self.axes = (Axis(name=_AXIS, trained=(trained,), values=_PERCENT),)
        even = settings.longest - settings.longest % 2
        self.test_lengths = (even, *(n for n in (128, 256, 512) if n > even))

    def trains_on(self, length: int) -> bool:
        """Returns whether a length is trained on: the even ones are."""
        return length % 2 == 0 and super().trains_on(length)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns random sequences."""
        return self.compose(length, count, self.settings.ignored, rng)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns sequences with another share of ignored instructions, longer than any of training."""
        if axis != _AXIS:
            raise UnknownName(f"axis of {self.name}", axis, [a.name for a in self.axes])
        if not 0 <= value <= 100:
            raise InputError(f"{value} percent cannot be ignored; give 0 to 100")
        longest = self.settings.longest
        length = _TESTED if longest < _TESTED else 2 * longest
        return self.compose(length, count, value / 100, rng)

    def compose(self, length: int, count: int, ignored: float, rng: np.random.Generator) -> Batch:
        """Returns sequences with a share of ignored instructions, whatever their split."""
        if length < 4 or length % 2:
            raise InputError(f"{self.name} has no sequence of length {length}; lengths are even, from 4 on")
        pairs = length // 2
        draws = rng.random((count, pairs))
        # Reads take the lower half of what is not ignored, writes the upper half.
        instructions = np.where(draws < ignored, IGNORE, np.where(draws < (1 + ignored) / 2, READ, WRITE))
        instructions[:, 0], instructions[:, -1] = WRITE, READ
        bits = rng.integers(0, 2, (count, pairs))
        reads = instructions == READ
        bits[reads] = last_written(instructions, bits)[reads]
        return _batch(instructions, bits)

    def examine(self, answer: Answer, rng: np.random.Generator) -> dict[str, Any]:
        """Returns how many ignored bits a written bit survives, by kind of stream and bit."""
        return {"streams": survey(answer, rng, longest=self.settings.streams)}


def last_written(instructions: Integers, bits: Integers) -> Integers:
    """Returns the bit of the last write up to each instruction (batch, pairs)."""
    places = np.where(instructions == WRITE, np.arange(instructions.shape[1]), 0)
    return np.take_along_axis(bits, np.maximum.accumulate(places, axis=1), axis=1)


def _batch(instructions: Integers, bits: Integers) -> Batch:
    count, pairs = instructions.shape
    inputs = np.empty((count, pairs, 2), dtype=np.int64)
    inputs[..., 0], inputs[..., 1] = instructions, bits + ZERO
    targets = np.zeros((count, pairs, 2), dtype=np.int64)
    targets[..., 0] = bits
    mask = np.zeros((count, pairs, 2), dtype=np.bool_)
    mask[..., 0] = instructions == READ
    targets[~mask] = 0
    return Batch(
        inputs=torch.from_numpy(inputs).flatten(1),
        targets=torch.from_numpy(targets).flatten(1),
        mask=torch.from_numpy(mask).flatten(1),
    )


register_task(
    TaskKind(
        name="flip-flop",
        title="the last bit that was written, through bits to ignore; streams of up to 100,000 afterwards",
        settings=FlipFlopSettings,
        build=FlipFlop,
        reference=Reference("Liu2023FlipFlop"),
    ),
    flip_flop_sparse={"ignored": 0.98},
    flip_flop_512={"shortest": 512, "longest": 512},
)
