"""Counting: a signal that stays on for a fixed time; when will it go off?

The signal is off for a random time (the intertrial interval, ITI) and then on for a fixed time (the
interstimulus interval, ISI), again and again. At each step the next one is to be predicted.

Two tests show whether a trained model begins to count anew when it should. The answer at a step is whether
the model predicts the next step on. A signal that is on for the time of training is answered correctly by
ISI-1 ones and a zero.

Two ISI: on, off for longer than ever in training, on. Passed if both times on are answered correctly; the
answers in between do not count, because nothing says when the signal goes on.

Double ISI: on for twice the time. Passed if the first half is answered correctly, and then, after at most
ISI/2 zeros (with the one that ends the first half), there are ones again until a zero ends the second half.
The paper says less ("deactivate briefly, then reactivate and continue counting"), so there are three grades:
1 if the first half is answered correctly, 2 if a one follows while the signal is on, 3 if it is passed.

Offsets are scored alone: of all determined steps of a long signal they are less than a hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nerode.core import InputError, Reference, to_mapping
from nerode.languages import OUTSIDE, UNASKED, Alphabet, Moore, MooreQuestion
from nerode.records import Reading
from nerode.tasks.task import Answer, Axis, Batch, Memory, Task, TaskKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTest:
    """One test and its outcome.

    Attributes:
        name: "two-isi" or "double-isi".
        gap: steps between the two times on; 0 for "double-isi".
        signal: what the model read, one bit per step.
        answers: what it predicted after each step.
        passed: whether the answers are correct in the sense of this file.
        grade: of "double-isi", from 0 to 3 in the sense of this file.
    """

    name: str
    gap: int
    signal: str
    answers: str
    passed: bool
    grade: int = 0


def phase_alignment(answer: Answer, *, on: int, off: tuple[int, int]) -> tuple[PhaseTest, ...]:
    """Returns the outcomes of Two ISI and of Double ISI.

    The gap of Two ISI is twice the longest time off, and then 7.5 times.

    Implements: [MemoryGeneralization]

    Args:
        answer: the model.
        on: the time on of training.
        off: the shortest and the longest time off of training.
    """
    before, after, stay = "0" * (sum(off) // 2), "0" * off[0], "1" * on
    tests = []
    for gap in (2 * off[1], 15 * off[1] // 2):
        signal = before + stay + "0" * gap + stay + after
        answers = answered(answer, signal)
        second = len(before) + on + gap
        passed = all(answers[first : first + on] == right_answers(on) for first in (len(before), second))
        tests.append(PhaseTest(name="two-isi", gap=gap, signal=signal, answers=answers, passed=passed))
    signal = before + stay + stay + after
    answers = answered(answer, signal)
    grade = grade_double(answers[len(before) : len(before) + 2 * on], on)
    tests.append(
        PhaseTest(
            name="double-isi",
            gap=0,
            signal=signal,
            answers=answers,
            passed=grade == _COUNTS_TWICE,
            grade=grade,
        )
    )
    return tuple(tests)


def right_answers(on: int) -> str:
    """Returns the answers while a signal is on: it stays on, until its last step."""
    return "1" * (on - 1) + "0"


_COUNTS_TWICE = 3


def grade_double(answers: str, on: int) -> int:
    """Returns the grade of the answers to a signal that is on for twice its time."""
    first, rest = answers[:on], answers[on:]
    if first != right_answers(on):
        return 0
    zeros = 1 + len(rest) - len(rest.lstrip("0"))
    if zeros <= on // 2 and rest == "0" * (zeros - 1) + "1" * (on - zeros) + "0":
        return _COUNTS_TWICE
    return 2 if "1" in rest else 1


@torch.no_grad()
def count_offsets(answer: Answer, batch: Batch, on: int) -> dict[str, int]:
    """Returns how many times on are shown to their end, and after how many of them the end is predicted.

    It is predicted if the answers are ones until the last step of the time on, and a zero there.
    """
    scores, _ = answer(batch.inputs, None)
    answered = scores[..., 0] > 0
    ends = batch.inputs[..., 0].bool() & ~batch.targets[..., 0].bool()
    right = ends & ~answered
    for back in range(1, on):
        right[:, back:] &= answered[:, :-back]
    return {"shown": int(ends.sum()), "predicted": int(right.sum())}


@torch.no_grad()
def answered(answer: Answer, signal: str) -> str:
    """Returns the predictions of a model after each step of a signal, as bits."""
    inputs = torch.tensor([[[float(bit)] for bit in signal]])
    scores, _ = answer(inputs, None)
    return "".join("1" if score > 0 else "0" for score in scores[0, :, 0].tolist())


_SIGNALS = 64
"""Test signals whose offsets are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingSettings:
    """Settings of counting.

    Attributes:
        on: steps for which the signal is on (ISI).
        off: the fewest and the most steps for which it is off (ITI).
        length: steps of a sequence of training.
        learn: the steps in the loss: "all" steps, as published, or those that are "determined".
    """

    on: int = 10
    off: tuple[int, int] = (20, 40)
    length: int = 200
    learn: Literal["all", "determined"] = "all"

    def __post_init__(self) -> None:
        if self.on < 2:
            raise InputError(f"on is {self.on}; there is something to count from 2 steps on")
        if not 1 <= self.off[0] <= self.off[1]:
            raise InputError(f"off is {list(self.off)}; it has to be a range from 1 on")
        if self.length < self.off[1] + self.on:
            raise InputError(
                f"length is {self.length}; a sequence needs the longest time off and the time on, "
                f"{self.off[1] + self.on} steps"
            )


class Counting(Task):
    """Signals, each step labelled with the next one.

    Answers count where the next step is determined by what was read: while the signal is on, and while it
    has been off for less than the shortest time. When it goes on is not determined.

    References: [MemoryGeneralization]
    """

    name = "counting"
    memory = Memory.COUNTING
    features = 1
    outputs = 1
    targets_are_bits = True

    def __init__(self, settings: CountingSettings) -> None:
        self.settings = settings
        self.training_lengths = (settings.length, settings.length)
        self.test_lengths = tuple(settings.length * k for k in (1, 2, 5))
        shortest = settings.off[0]
        self.axes = (
            Axis(name="time-off", trained=(shortest,), values=(shortest, 3 * shortest, 5 * shortest)),
        )

    def question(self) -> MooreQuestion:
        """Returns the question for the next step, where what was read determines it; letters are 0 and 1.

        A signal is on for the time of training, and off for the shortest time of training or longer.
        """
        on, shortest = self.settings.on, self.settings.off[0]

        def advance(state: tuple[int, int] | None, letter: int) -> tuple[int, int] | None:
            if state is None:
                return None
            bit, count = state
            if letter == bit:
                longer = count + 1
                return (0, min(longer, shortest)) if bit == 0 else (1, longer) if longer <= on else None
            ends = count == (on if bit else shortest)
            return (letter, 1) if ends else None

        def answer(state: tuple[int, int] | None) -> str:
            if state is None:
                return OUTSIDE
            bit, count = state
            if bit:
                return str(int(count < on))
            return "0" if 0 < count < shortest else UNASKED

        return MooreQuestion(self.name, Moore.explore(Alphabet(("0", "1")), (0, 0), advance, answer))

    def reading(self) -> Reading:
        """Returns the reading by the sign of the score."""
        return Reading(kind="above", columns=(0,), table=((True, False), (False, True)))

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns signals with uniform times off; they begin off."""
        if length < 1:
            raise InputError(f"{self.name} has no sequence of length {length}; give 1 or more")
        return self._signals(length, count, self.settings.off, rng)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns test sequences that are off for longer, and longer by as much.

        The value is the shortest time off; the longest one and the length are larger by the same factor.
        """
        if axis != "time-off":
            raise self.unknown_axis(axis)
        settings = self.settings
        shortest, longest = settings.off
        if value == shortest:
            return self.draw("test", settings.length, count, rng)
        if value <= longest:
            raise InputError(
                f"a shortest time off of {value} gives sequences that training may have; "
                f"give {shortest}, or more than {longest}"
            )
        off = (value, -(-value * longest // shortest))
        return self._signals(-(-value * settings.length // shortest), count, off, rng)

    def loss(self, scores: Float[Tensor, "batch time outputs"], batch: Batch) -> Tensor:
        """Returns the mean loss over all steps, or over those that count."""
        if self.settings.learn == "determined":
            return super().loss(scores, batch)
        return functional.binary_cross_entropy_with_logits(scores, batch.targets.to(scores.dtype))

    def examine(self, answer: Answer, rng: np.random.Generator) -> dict[str, Any]:
        """Returns the offsets that are predicted, and the tests of phase alignment with all answered bits."""
        settings = self.settings
        tests = phase_alignment(answer, on=settings.on, off=settings.off)
        offsets = count_offsets(answer, self.draw("test", settings.length, _SIGNALS, rng), settings.on)
        return {"phase_alignment": [to_mapping(test) for test in tests], "offsets": offsets}

    def _signals(self, length: int, count: int, off: tuple[int, int], rng: np.random.Generator) -> Batch:
        signal = self._draw_signal(length + 1, count, off, rng)
        now, after = signal[:, :-1], signal[:, 1:]
        inputs = now[..., None].astype(np.float32)
        return Batch.of(inputs, after[..., None].copy(), _determined(now, off[0]))

    def _draw_signal(
        self, length: int, count: int, off: tuple[int, int], rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        rounds = -(-length // (off[0] + self.settings.on))
        waits = rng.integers(off[0], off[1] + 1, (count, rounds))
        ends = (waits + self.settings.on).cumsum(axis=1)
        changes = np.zeros((count, length + 1), dtype=np.int8)
        rows = np.arange(count)[:, None]
        # What is past the end is written into one more column, which is then left out.
        changes[rows, np.minimum(ends - self.settings.on, length)] = 1
        changes[rows, np.minimum(ends, length)] = -1
        signal: npt.NDArray[np.bool_] = changes[:, :-1].cumsum(axis=1, dtype=np.int8) == 1
        return signal


def _determined(signal: npt.NDArray[np.bool_], shortest: int) -> npt.NDArray[np.bool_]:
    """The mask of positions where the signal is on, or has been off for less than the shortest time."""
    places = np.arange(signal.shape[1])
    last_on = np.maximum.accumulate(np.where(signal, places, -1), axis=1)
    determined: npt.NDArray[np.bool_] = places - last_on < shortest
    return determined


KIND = TaskKind(
    name="counting",
    title="a signal that stays on for a fixed time: the next step",
    settings=CountingSettings,
    build=Counting,
    reference=Reference("MemoryGeneralization"),
    presets={
        "counting-medium": {"on": 30, "off": (60, 120), "length": 600},
        "counting-long": {"on": 50, "off": (100, 200), "length": 1000},
    },
)
