"""A compiled network step by step without rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nerode.core import to_complex
from nerode.explorer.steps import Number, Step, plain_number, plain_numbers
from nerode.languages import Word
from nerode.network import (
    CELL_GATES,
    CELL_STATES,
    Affine,
    Gated,
    GatedCell,
    Interpreter,
    Layer,
    Network,
    Squashed,
)


def exact_steps(network: Network, word: Word) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first.

    States and answers are exact; gates and sums, which are for the eye only, are computed in double
    precision from the exact stream.
    """
    interpreter = Interpreter(network)
    configuration, answer = interpreter.start(), interpreter.empty_answer()
    steps = [Step(legal=answer.legal, states=tuple(plain_numbers(state) for state in configuration))]
    for letter in word:
        stream = interpreter.stream(configuration, letter)
        drives = tuple(
            _drive(layer, stream, state) for layer, state in zip(network.layers, configuration, strict=True)
        )
        configuration, answer = interpreter.step(configuration, letter)
        steps.append(
            Step(
                legal=answer.legal,
                states=tuple(plain_numbers(state) for state in configuration),
                drives=drives,
                scores=tuple(plain_numbers(answer.scores)),
            )
        )
    return steps


def _drive(layer: Layer, stream: Mapping[str, Any], state: Sequence[Any]) -> dict[str, list[Number]]:
    """What moves the state of a layer at one letter."""
    reads = [_complex(stream[name]) for name in layer.reads]
    seen = reads + [complex(max(v.real, 0.0)) for v in _apply(layer.units, reads)]
    before = [_complex(v) for v in state]
    recurrence = layer.recurrence
    match recurrence:
        case Gated():
            return {
                "gate": plain_numbers(_apply(recurrence.gate, seen)),
                "write": plain_numbers(_apply(recurrence.write, seen)),
            }
        case Squashed():
            return {"sum": plain_numbers(_apply(recurrence.update, seen + before))}
        case GatedCell():
            return _gates(recurrence, seen, before)
    return {}


def _gates(recurrence: GatedCell, seen: list[complex], before: list[complex]) -> dict[str, list[Number]]:
    """The gates of a cell after their nonlinearity; the candidate of a GRU needs its reset gate."""
    h = before[: len(before) // len(CELL_STATES[recurrence.cell])]
    found: dict[str, list[Number]] = {}
    for name, gate in zip(CELL_GATES[recurrence.cell], recurrence.gates, strict=True):
        inner = h
        if name == "candidate":
            reset = [float(v) for v in found["reset"] if not isinstance(v, list)]
            inner = [r * v for r, v in zip(reset, h, strict=True)]
        values = [v.real for v in _apply(gate, seen + inner)]
        found[name] = [plain_number(_squash(recurrence.cell, name, v)) for v in values]
    return found


def _squash(cell: str, gate: str, value: float) -> float:
    if gate in ("cell", "candidate"):
        return math.tanh(value)
    if cell == "slstm" and gate == "input":
        return math.exp(min(value, 700.0))
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


def _apply(affine: Affine, x: Sequence[complex]) -> list[complex]:
    return [
        to_complex(bias) + sum(to_complex(c) * x[j] for j, c in row)
        for bias, row in zip(affine.bias, affine.rows, strict=True)
    ]


def _complex(value: Any) -> complex:
    """A number of the interpreter: whole, a fraction, a decimal, or a sum of roots of unity."""
    try:
        return complex(float(value))
    except TypeError:
        return complex(value)
    except OverflowError:
        return complex(math.inf if value > 0 else -math.inf)
