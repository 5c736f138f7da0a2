"""Flip-flop language modelling: a bit is written, others are ignored, and it has to be read again.

After training, long streams try to make the model forget one bit: it is written once, and then only bits to
ignore follow. A model that reads it correctly after each of 100,000 ignored bits may be a latch; one that
is wrong after a hundred has forgotten, whatever its accuracy on random sequences. The streams are read in
parts, and each question is put to a copy of the state, so that it does not disturb the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nerode.core import InputError, Reference
from nerode.languages import OUTSIDE, UNASKED, Alphabet, Moore, MooreQuestion
from nerode.tasks.task import Answer, Axis, Batch, Integers, Memory, Task, TaskKind, require_range

STREAMS = ("opposite", "same", "random")
"""Ignored bits: all opposite to the written one, all equal to it, or fair."""

_PART = 1000
"""Ignored bits that are read at once."""

WRITE, READ, IGNORE, ZERO = range(4)
"""Letters of the task; the letter of a bit is the bit more than ZERO."""


def checkpoints(longest: int) -> tuple[int, ...]:
    """Returns numbers of ignored bits after which the bit is read: 10, 20, 50, 100 … and the last."""
    found = [m * 10**e for e in range(1, 12) for m in (1, 2, 5) if m * 10**e < longest]
    return (*found, longest)


@torch.no_grad()
def survey(answer: Answer, rng: np.random.Generator, *, longest: int) -> list[dict[str, Any]]:
    """Returns, for each kind of stream and each bit, what was read after how many ignored bits.

    Each row has the stream, the written bit, `survived` (the last checkpoint up to which every read was
    correct, 0 if none was), and `reads`: the number of ignored bits, whether the read was correct, and the
    margin of the correct answer.

    Args:
        answer: the model.
        rng: gives the random streams.
        longest: number of ignored bits at the end.
    """
    written = np.array([0, 1] * len(STREAMS))
    opposite = 1 - written
    kinds = np.repeat(np.arange(len(STREAMS)), 2)
    rows: list[dict[str, Any]] = [
        {"stream": STREAMS[kind], "bit": int(bit), "survived": 0, "reads": []}
        for kind, bit in zip(kinds, written, strict=True)
    ]
    state = answer(torch.from_numpy(np.stack([np.full(6, WRITE), written + ZERO], axis=1)), None)[1]
    done = 0
    for stop in checkpoints(longest):
        while done < stop:
            size = min(_PART, stop - done)
            bits = np.where((kinds == 0)[:, None], opposite[:, None], written[:, None]).repeat(size, axis=1)
            bits[kinds == 2] = rng.integers(0, 2, (2, size))
            state = answer(torch.from_numpy(_ignored(bits)), state)[1]
            done += size
        question = torch.full((len(rows), 1), READ)
        scores = answer(question, state)[0][:, -1].double().numpy()
        for row, (zero, one) in zip(rows, scores, strict=True):
            margin = float(one - zero if row["bit"] else zero - one)
            # A score that is no number is no answer.
            right = bool(margin > 0)
            if right and row["survived"] == (row["reads"][-1]["ignored"] if row["reads"] else 0):
                row["survived"] = stop
            row["reads"].append(
                {"ignored": stop, "right": right, "margin": margin if np.isfinite(margin) else None}
            )
    return rows


def _ignored(bits: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    letters = np.empty((*bits.shape, 2), dtype=np.int64)
    letters[..., 0], letters[..., 1] = IGNORE, bits + ZERO
    return letters.reshape(len(bits), -1)


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
    length_parity = 0
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

    def question(self) -> MooreQuestion:
        """Returns the question for the bit of the last write, at each r; a wrong bit after r is not read."""
        bits = {ZERO: 0, ZERO + 1: 1}

        def advance(state: tuple[int | None, int | None] | None, letter: int) -> Any:
            if state is None:
                return None
            written, instruction = state
            if instruction is None:
                return None if letter in bits or (written is None and letter != WRITE) else (written, letter)
            if letter not in bits or (instruction == READ and bits[letter] != written):
                return None
            return (bits[letter] if instruction == WRITE else written, None)

        def answer(state: tuple[int | None, int | None] | None) -> str:
            if state is None:
                return OUTSIDE
            return str(state[0]) if state[1] == READ else UNASKED

        machine = Moore.explore(Alphabet(ALPHABET), (None, None), advance, answer)
        return MooreQuestion(self.name, machine)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns random sequences."""
        return self.compose(length, count, self.settings.ignored, rng)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns sequences with another share of ignored instructions, longer than any of training."""
        if axis != _AXIS:
            raise self.unknown_axis(axis)
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
    shape = (count, 2 * pairs)
    return Batch.of(inputs.reshape(shape), targets.reshape(shape), mask.reshape(shape))


KIND = TaskKind(
    name="flip-flop",
    title="the last bit that was written, through bits to ignore; streams of up to 100,000 afterwards",
    settings=FlipFlopSettings,
    build=FlipFlop,
    reference=Reference("Liu2023FlipFlop"),
    presets={"flip-flop-sparse": {"ignored": 0.98}, "flip-flop-512": {"shortest": 512, "longest": 512}},
)
