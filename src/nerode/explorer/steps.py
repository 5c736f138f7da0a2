"""Steps of a network through a word, in numbers for JSON; here in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nerode.languages import Legal, Word
from nerode.network import Interpreter, Network

Number = float | str | list[float]
"""A real number, one of "∞", "-∞" and "nan", or the two parts of a complex number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """State and answer of a network after a prefix.

    Attributes:
        legal: what it says may follow.
        states: the state of each layer.
        drives: for each layer by name what moved its state there: gates, writes, sums; none at the start.
        scores: of the letters and the end.
    """

    legal: Legal
    states: tuple[list[Number], ...]
    drives: tuple[dict[str, list[Number]], ...] = ()
    scores: tuple[Number, ...] = ()


def plain_number(value: Any) -> Number:
    """Returns a number of any arithmetic with six digits, as JSON can hold it."""
    if isinstance(value, complex):
        return _rounded(value.real) if value.imag == 0 else [_finite(value.real), _finite(value.imag)]
    try:
        return _rounded(float(value))
    except OverflowError:
        return "∞" if value > 0 else "-∞"
    except TypeError:
        return plain_number(complex(value))


def plain_numbers(values: Iterable[Any]) -> list[Number]:
    """Returns numbers with six digits."""
    return [plain_number(value) for value in values]


def _rounded(value: float) -> float | str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return float(f"{value:.6g}")


def _finite(value: float) -> float:
    """A part of a complex number; one that is not finite is drawn at the edge."""
    return float(f"{value:.6g}") if math.isfinite(value) else math.copysign(1e30, value)


def exact_steps(network: Network, word: Word) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first, and what moved them."""
    interpreter = Interpreter(network)
    states, answer = interpreter.start(), interpreter.empty_answer()
    steps = [Step(legal=answer.legal, states=tuple(map(plain_numbers, states)))]
    for letter in word:
        drives = tuple(
            {name: plain_numbers(values) for name, values in drive.items()}
            for drive in interpreter.drives(states, letter)
        )
        states, answer = interpreter.step(states, letter)
        steps.append(
            Step(
                legal=answer.legal,
                states=tuple(map(plain_numbers, states)),
                drives=drives,
                scores=tuple(plain_numbers(answer.scores)),
            )
        )
    return steps
