"""One step of each kind of recurrence, with the numbers of a layer converted once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from nerode.core import Exact, inverse, simplify
from nerode.network.affine import Affine
from nerode.network.recurrences import (
    CELL_STATES,
    Factor,
    Fixed,
    Gated,
    GatedCell,
    Householder,
    LetterMatrices,
    PermutationDiagonal,
    Recurrence,
    Squashed,
)

Number = Any
"""Exact in exact mode, Decimal in decimal mode; one network uses one of the two throughout."""

Vector = tuple[Number, ...]
Step = Callable[[list[Number], Vector, int], Vector]
"""From what the layer reads (with its units), its state and the letter to its next state."""


class ExactMap:
    """An affine map with its numbers converted once, by columns: only inputs that are not zero cost time."""

    def __init__(self, affine: Affine, number: Callable[[Exact], Number]) -> None:
        self.bias = [number(b) for b in affine.bias]
        self.columns: dict[int, list[tuple[int, Number]]] = {}
        for i, row in enumerate(affine.rows):
            for j, c in row:
                self.columns.setdefault(j, []).append((i, number(c)))

    def __call__(self, x: Sequence[Number]) -> list[Number]:
        """Returns the image of a vector."""
        values = self.bias.copy()
        for j, column in self.columns.items():
            v = x[j]
            if v:
                for i, c in column:
                    values[i] = values[i] + c * v
        return values


def step_function(recurrence: Recurrence, number: Callable[[Exact], Number]) -> Step:
    """Returns the step of a recurrence in the arithmetic of `number`."""
    match recurrence:
        case Gated():
            gate, write = ExactMap(recurrence.gate, number), ExactMap(recurrence.write, number)
            return lambda seen, h, letter: tuple(
                g * v + w if v else w for g, v, w in zip(gate(seen), h, write(seen), strict=True)
            )
        case Fixed():
            matrix = [[(j, number(c)) for j, c in row] for row in recurrence.matrix]
            write = ExactMap(recurrence.write, number)
            return lambda seen, h, letter: _plus(_times(matrix, h), write(seen))
        case LetterMatrices():
            matrices = [[[(j, number(c)) for j, c in row] for row in m] for m in recurrence.matrices]
            writes = [[number(e) for e in w] for w in recurrence.writes]
            return lambda seen, h, letter: _plus(_times(matrices[letter], h), writes[letter])
        case Householder():
            return _reflections(recurrence)
        case PermutationDiagonal():
            return lambda seen, h, letter: _permute(recurrence, h, letter)
        case Squashed():
            update = ExactMap(recurrence.update, number)
            squashes: dict[str, Callable[[Number], Number]] = {"tanh": _tanh, "relu": relu, "clip": _clip}
            squash = squashes[recurrence.activation]
            return lambda seen, h, letter: tuple(squash(v) for v in update([*seen, *h]))
        case GatedCell():
            gates = [ExactMap(g, number) for g in recurrence.gates]
            cap = number(recurrence.cap)
            return lambda seen, h, letter: _gated(recurrence.cell, gates, cap, seen, h)
        case _:
            raise NotImplementedError(recurrence.kind)


def _times(matrix: list[list[tuple[int, Number]]], h: Vector) -> list[Number]:
    values = []
    for row in matrix:
        total: Number = 0
        for j, c in row:
            if h[j]:
                total = total + c * h[j]
        values.append(total)
    return values


def _plus(left: Sequence[Number], right: Sequence[Number]) -> Vector:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _reflections(recurrence: Householder) -> Step:
    factors = [[_scaled(factor) for factor in choice] for choice in recurrence.factors]
    selector = None if recurrence.selector is None else ExactMap(recurrence.selector, lambda v: v)

    def advance(seen: list[Number], h: Vector, letter: int) -> Vector:
        choice = letter if selector is None else _chosen(selector(seen))
        values = list(h)
        for scale, vector in factors[choice]:
            product: Number = 0
            for i, e in vector:
                product = product + e * values[i]
            if product != 0:
                amount = scale * product
                for i, e in vector:
                    values[i] = values[i] - amount * e
        return _plus(values, recurrence.writes[choice])

    return advance


def _scaled(factor: Factor) -> tuple[Exact, list[tuple[int, Exact]]]:
    """Returns beta divided by the squared norm, and the vector's entries that are not zero."""
    norm: Exact = 0
    for e in factor.vector:
        norm = norm + e * e
    return simplify(factor.beta * inverse(norm)), [(i, e) for i, e in enumerate(factor.vector) if e != 0]


def _chosen(rows: list[Number]) -> int:
    chosen = [i for i, v in enumerate(rows) if v != 0]
    if len(chosen) != 1 or rows[chosen[0]] != 1:
        raise ArithmeticError(f"a selector is not one-hot: {rows}")
    return chosen[0]


def _permute(recurrence: PermutationDiagonal, h: Vector, letter: int) -> Vector:
    values: list[Number] = [0] * len(h)
    for j, i in enumerate(recurrence.images[letter]):
        if h[j]:
            values[i] = values[i] + recurrence.diagonals[letter][j] * h[j]
    return _plus(values, recurrence.writes[letter])


def _gated(cell: str, gates: list[ExactMap], cap: Number, seen: list[Number], state: Vector) -> Vector:
    width = len(state) // len(CELL_STATES[cell])
    h = list(state[:width])
    if cell == "gru":
        reset = [_sigmoid(v) for v in gates[0](seen + h)]
        update = [_sigmoid(v) for v in gates[1](seen + h)]
        if cap != 1:
            update = [1 - cap * (1 - z) for z in update]
        candidate = gates[2](seen + [r * v for r, v in zip(reset, h, strict=True)])
        return tuple((1 - z) * v + z * _tanh(n) for z, v, n in zip(update, h, candidate, strict=True))
    write, forget, out, inner = (gate(seen + h) for gate in gates)
    c = state[width : 2 * width]
    if cell == "lstm":
        new = [
            _sigmoid(f) * v + _sigmoid(i) * _tanh(z)
            for f, v, i, z in zip(forget, c, write, inner, strict=True)
        ]
        return (*(_sigmoid(o) * _tanh(v) for o, v in zip(out, new, strict=True)), *new)
    n = state[2 * width :]
    new = [_sigmoid(f) * v + i.exp() * _tanh(z) for f, v, i, z in zip(forget, c, write, inner, strict=True)]
    normaliser = [_sigmoid(f) * v + i.exp() for f, v, i in zip(forget, n, write, strict=True)]
    shown = [_sigmoid(o) * v / m for o, v, m in zip(out, new, normaliser, strict=True)]
    return (*shown, *new, *normaliser)


def relu(value: Number) -> Number:
    """Returns the value, or 0 if it is negative."""
    return value if value > 0 else 0


def _clip(value: Number) -> Number:
    return 0 if value < 0 else 1 if value > 1 else value


@functools.lru_cache(maxsize=1 << 16)
def _tanh(value: Decimal) -> Decimal:
    if abs(value) > 60:
        return Decimal(1).copy_sign(value)
    grown = (2 * value).exp()
    return (grown - 1) / (grown + 1)


@functools.lru_cache(maxsize=1 << 16)
def _sigmoid(value: Decimal) -> Decimal:
    return 1 / (1 + (-value).exp())
