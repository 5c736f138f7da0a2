"""Two tests of a model that has learned to count: does it begin to count anew when it should?

The answer at a step is whether the model predicts the next step on. Let ISI be the time on. A signal that is
on for the time of training is answered right by ISI-1 ones and a zero.

Two ISI: on, off for longer than ever in training, on. Passed if both times on are answered right; what is
answered in between does not count, because nothing says when the signal goes on.

Double ISI: on for twice the time. Passed if the first half is answered right, and then, after at most
ISI/2 zeros (with the one that ends the first half), there are ones again until a zero ends the second half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from nerode.tasks.task import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTest:
    """One test and its outcome.

    Attributes:
        name: "two-isi" or "double-isi".
        gap: steps between the two times on; 0 for "double-isi".
        signal: what the model read, one bit a step.
        answers: what it predicted after each step.
        passed: whether the answers are right in the sense of this file.
    """

    name: str
    gap: int
    signal: str
    answers: str
    passed: bool

    def to_mapping(self) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return {name: getattr(self, name) for name in ("name", "gap", "signal", "answers", "passed")}


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
    passed = counts_twice(answers[len(before) : len(before) + 2 * on], on)
    tests.append(PhaseTest(name="double-isi", gap=0, signal=signal, answers=answers, passed=passed))
    return tuple(tests)


def right_answers(on: int) -> str:
    """Returns the answers while a signal is on: it stays on, until its last step."""
    return "1" * (on - 1) + "0"


def counts_twice(answers: str, on: int) -> bool:
    """Returns whether the answers to a signal that is on for twice its time pass Double ISI."""
    first, rest = answers[:on], answers[on:]
    if first != right_answers(on):
        return False
    zeros = 1 + len(rest) - len(rest.lstrip("0"))
    return zeros <= on // 2 and rest == "0" * (zeros - 1) + "1" * (on - zeros) + "0"


@torch.no_grad()
def answered(answer: Answer, signal: str) -> str:
    """Returns the predictions of a model after each step of a signal, as bits."""
    inputs = torch.tensor([[[float(bit)] for bit in signal]])
    scores, _ = answer(inputs, None)
    return "".join("1" if score > 0 else "0" for score in scores[0, :, 0].tolist())
