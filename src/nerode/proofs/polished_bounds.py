"""Bounds for the checker of polished networks: whole numbers over a power of two, every rounding counted.

A complex n × n matrix is kept as the real 2n × 2n matrix [[Re, -Im], [Im, Re]], whose products, inverses and
spectral norms are those of the complex one. Arrays hold Python integers; a value is its entry over SCALE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Cyclotomic, Exact, cosine_bounds

Numbers = npt.NDArray[Any]
"""Python integers in a numpy array of objects."""

BITS = 160
SCALE = 1 << BITS

_DIGITS = 50

UNITS = {
    "float32": (Fraction(1, 2**24), Fraction(1, 2**126)),
    "float64": (Fraction(1, 2**53), Fraction(1, 2**1022)),
}
"""Of each format: the relative error of an operation, and the least number that is never flushed to zero."""

LARGEST = {"float32": 2**127, "float64": 2**1023}
"""Of each format a number that it holds, as it does all smaller ones up to rounding."""

ROOM = Fraction(1)
"""The drift of a state beyond which the bounds say nothing more."""


def enclose(value: Exact) -> tuple[Fraction, Fraction, Fraction]:
    """Returns the real and the imaginary part of a number, and a bound of the error of both."""
    if not isinstance(value, Cyclotomic):
        return Fraction(value), Fraction(0), Fraction(0)
    real = imaginary = error = Fraction(0)
    for k, coefficient in enumerate(value.coefficients):
        if coefficient:
            turns = Fraction(2 * k, value.order)
            cosine, slack = cosine_bounds(turns, _DIGITS)
            sine, more = cosine_bounds((turns - Fraction(1, 2)) % 2, _DIGITS)
            real += coefficient * cosine
            imaginary += coefficient * sine
            error += abs(coefficient) * max(slack, more)
    return real, imaginary, error


def embed(rows: list[list[tuple[Fraction, Fraction]]]) -> list[list[Fraction]]:
    """Returns the real matrix that stands for a complex one."""
    top = [[z[0] for z in row] + [-z[1] for z in row] for row in rows]
    bottom = [[z[1] for z in row] + [z[0] for z in row] for row in rows]
    return top + bottom


def invert(rows: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """Returns the inverse of a matrix of fractions, None if it has none."""
    n = len(rows)
    work = [list(row) + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(rows)]
    for column in range(n):
        pivot = max(range(column, n), key=lambda i: abs(work[i][column]))
        if work[pivot][column] == 0:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        head = work[column][column]
        work[column] = [entry / head for entry in work[column]]
        for i in range(n):
            if i != column and (factor := work[i][column]):
                work[i] = [a - factor * b for a, b in zip(work[i], work[column], strict=True)]
    return [row[n:] for row in work]


def to_scale(values: Any) -> Numbers:
    """Returns numbers over SCALE, each rounded down; floats and fractions are taken for what they are."""
    flat = np.asarray(values, dtype=object)
    scaled = np.empty(flat.shape, dtype=object)
    for place, value in np.ndenumerate(flat):
        scaled[place] = math.floor(Fraction(value) * SCALE)
    return scaled


def norm_above(entries: Numbers) -> int:
    """Returns an upper bound of the Euclidean norm of numbers over SCALE, over SCALE."""
    return math.isqrt(int((entries * entries).sum())) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Conjugated:
    """The matrices B E(g) B⁻¹ of one block.

    Attributes:
        matrices: over SCALE, one for each element (2n × 2n).
        error: of each entry, over SCALE.
    """

    matrices: tuple[Numbers, ...]
    error: int


def conjugate(
    basis: list[list[Fraction]], exact: list[list[list[Fraction]]], error: Fraction
) -> Conjugated | None:
    """Returns B E(g) B⁻¹ for each g, None if B has no inverse.

    Args:
        basis: B.
        exact: E of each element, with entries up to `error`.
        error: bound of the error of the entries of E.
    """
    back = invert(basis)
    if back is None:
        return None
    left, right = to_scale(basis), to_scale(back)
    row_sum = int(np.abs(left).sum(axis=1).max()) + len(basis)
    column_sum = int(np.abs(right).sum(axis=0).max()) + len(basis)
    inner = math.ceil(error * SCALE) + 1
    matrices, largest = [], 0
    for rows in exact:
        middle = to_scale(rows)
        largest = max(largest, int(np.abs(middle).max()))
        matrices.append((left @ middle @ right) >> (2 * BITS))
    n = len(basis)
    # An entry of B or B⁻¹ is off by less than 1, one of E by `inner`; the shifts round down.
    slack = inner * row_sum * column_sum + n * (largest + inner) * (row_sum + column_sum)
    return Conjugated(matrices=tuple(matrices), error=(slack >> (2 * BITS)) + 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The drift of a block of a module away from the exact points.

    Attributes:
        step: bound of what one step adds to ‖H̃ - H‖.
        size: bound of ‖H̃‖ while the drift is within ROOM.
    """

    step: Fraction
    size: Fraction


def drift_of(given: list[Numbers], letters: list[int], exact: Conjugated, *, dtype: str) -> Drift:
    """Returns how fast a block may drift.

    With H̃ = M̃ H̃' + F in floats and H = M H' exactly, the difference D obeys D = M D' + (M̃ - M) H̃' + F.
    Products of the M are again some M(g), so what a step adds is never stretched by more than the largest
    ‖M(g)‖, and the drift grows linearly.

    Args:
        given: M̃ of each letter (n × n), over SCALE.
        letters: the element of each letter.
        exact: M of each element.
        dtype: the format of the floats.
    """
    unit, tiny = UNITS[dtype]
    n = len(given[0])
    spill = Fraction(exact.error + 1, SCALE)
    stretch = max(_stretch(matrix, spill) for matrix in exact.matrices)
    distance = weight = Fraction(0)
    for number, element in enumerate(letters):
        padded = np.concatenate([given[number], np.zeros((n, n), dtype=object)], axis=1)
        off = Fraction(norm_above(padded - exact.matrices[element][:n]), SCALE) + 2 * n * spill
        distance = max(distance, off)
        weight = max(weight, Fraction(norm_above(given[number]), SCALE) + n * Fraction(1, SCALE))
    terms = (n + 1) * unit
    gamma = terms / (1 - terms)
    size = stretch * _root_above(n) + ROOM
    step = stretch * ((distance + gamma * weight) * size + n * n * tiny)
    return Drift(step=step, size=size)


def _stretch(matrix: Numbers, spill: Fraction) -> Fraction:
    """A bound of the spectral norm: its square is at most 1 + ‖MᵀM - I‖, and √(1 + x) ≤ 1 + x/2."""
    n = len(matrix)
    square = (matrix.T @ matrix) >> BITS
    rest = square - np.diag([SCALE] * n).astype(object)
    excess = Fraction(norm_above(rest), SCALE) + Fraction(n, SCALE)
    largest = Fraction(int(np.abs(matrix).max()), SCALE) + spill
    return 1 + (excess + 2 * n * n * largest * spill) / 2


def _root_above(n: int) -> Fraction:
    return Fraction(math.isqrt(n * SCALE * SCALE) + 1, SCALE)
