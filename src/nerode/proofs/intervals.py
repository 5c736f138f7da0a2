"""Interval arithmetic on float64 arrays, rounded outward.

Only the operations that IEEE 754 rounds correctly (+, -, ·, /) are trusted; after each of them the ends move
to the next float outside. Sums of products are bounded a priori instead, whatever the order in which they
are added. exp, tanh and the logistic function are computed from these, with proven remainders; no function
of the mathematical library is called.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Cyclotomic, Exact, InputError
from nerode.network import Affine

Floats = npt.NDArray[np.float64]

_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 in two parts; products of the first one with integers below 2**20 are exact."""

_COEFFICIENTS = tuple(1.0 / math.factorial(n) for n in range(18))
_EXP_ERROR = 2e-14
"""A bound on the relative error of the computed exp.

The reduced argument, at most 0.36 in absolute value, is off by less than 1e-15: one rounding of a number of
at most 1, one of k times the low part, and the error of the two parts of ln 2. What the series leaves out is
below 2·0.36^18/18! < 1e-23. Horner's scheme with 17 steps and rounded coefficients is off by less than 40
units of roundoff times exp(0.36), hence 7e-15.
"""

_FLAT = 20.0
"""From here on tanh is between 1 - 2**-53 and 1."""

_SHORT_ROW = 8
"""Rows with no more entries are summed entry by entry."""

_UNIT_ROUNDOFF = 2.0**-53
_TINY = 2.0**-1000


@dataclass(frozen=True, slots=True)
class Intervals:
    """An array of closed intervals: all reals from `low` to `high`, element by element."""

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        if not bool((self.low <= self.high).all()):
            raise InputError("an interval has its ends in the wrong order, or one of them is not a number")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.low.shape

    def __getitem__(self, index: Any) -> Intervals:
        return Intervals(self.low[index], self.high[index])

    def __neg__(self) -> Intervals:
        return Intervals(-self.high, -self.low)

    def __add__(self, other: Intervals) -> Intervals:
        return Intervals(_down(self.low + other.low), _up(self.high + other.high))

    def __sub__(self, other: Intervals) -> Intervals:
        return self + (-other)

    def __mul__(self, other: Intervals) -> Intervals:
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Intervals(_down(np.minimum.reduce(products)), _up(np.maximum.reduce(products)))

    def __truediv__(self, other: Intervals) -> Intervals:
        if bool(((other.low <= 0) & (other.high >= 0)).any()):
            raise InputError("an interval that contains 0 cannot divide")
        return self * Intervals(_down(1.0 / other.high), _up(1.0 / other.low))

    def widen(self, amount: float) -> Intervals:
        """Returns the intervals with both ends moved out by an amount."""
        return Intervals(_down(self.low - amount), _up(self.high + amount))

    def relu(self) -> Intervals:
        """Returns the images under max(·, 0)."""
        return Intervals(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    def clip(self) -> Intervals:
        """Returns the images under min(max(·, 0), 1)."""
        return Intervals(np.clip(self.low, 0.0, 1.0), np.clip(self.high, 0.0, 1.0))

    def exp(self) -> Intervals:
        """Returns enclosures of the exponentials."""
        return Intervals(_exp_ends(self.low)[0], _exp_ends(self.high)[1])

    def tanh(self) -> Intervals:
        """Returns enclosures of the hyperbolic tangents."""
        return Intervals(_tanh_ends(self.low)[0], _tanh_ends(self.high)[1])

    def sigmoid(self) -> Intervals:
        """Returns enclosures of the logistic function 1/(1 + e^-x)."""
        return Intervals(_sigmoid_ends(self.low)[0], _sigmoid_ends(self.high)[1])


def enclose(values: Sequence[Exact] | Sequence[Sequence[Exact]]) -> Intervals:
    """Returns the smallest intervals of floats around exact numbers.

    Raises:
        InputError: if a number is irrational.
    """
    array = np.array(values, dtype=object)
    ends = [_float_ends(v) for v in array.ravel()]
    low = np.array([e[0] for e in ends], dtype=np.float64).reshape(array.shape)
    high = np.array([e[1] for e in ends], dtype=np.float64).reshape(array.shape)
    return Intervals(low, high)


def fill(values: Intervals, count: int) -> Intervals:
    """Returns as many rows as asked for; a single row stands for all."""
    shape = (count, values.shape[1])
    return Intervals(np.broadcast_to(values.low, shape), np.broadcast_to(values.high, shape))


def stack(parts: Sequence[Intervals]) -> Intervals:
    """Returns rows of intervals side by side; a single row stands for all."""
    count = max(p.shape[0] for p in parts)
    filled = [p if p.shape[0] == count else fill(p, count) for p in parts if p.shape[1] or p is parts[0]]
    return Intervals(
        np.concatenate([p.low for p in filled], axis=1), np.concatenate([p.high for p in filled], axis=1)
    )


class IntervalMap:
    """An exact affine map applied to rows of intervals.

    A float sum of n products, in any order and with or without fused operations, differs from the true one
    by at most n·u/(1 - n·u) times the sum of absolute values, u = 2**-53; twice that also pays for the
    rounding of that sum itself. A map that reads nothing returns one row, which stands for all.
    """

    def __init__(self, affine: Affine) -> None:
        self._bias = enclose([affine.bias])
        self._copies = _copied_columns(affine)
        longest = max(map(len, affine.rows), default=0)
        self._sums: _DenseSums | _SparseSums | None = None
        if longest and self._copies is None:
            sparse = longest <= _SHORT_ROW and affine.num_outputs > _SHORT_ROW
            self._sums = _SparseSums(affine, longest) if sparse else _DenseSums(affine)

    def __call__(self, x: Intervals) -> Intervals:
        """Returns the images of rows of intervals."""
        if self._copies is not None:
            return x[:, self._copies]
        return self._bias if self._sums is None else self._sums(x) + self._bias


class _DenseSums:
    """Sums of products by matrix products."""

    def __init__(self, affine: Affine) -> None:
        self._columns = sorted({j for row in affine.rows for j, _ in row})
        place = {j: i for i, j in enumerate(self._columns)}
        low, high = np.zeros((2, len(self._columns), affine.num_outputs))
        for i, row in enumerate(affine.rows):
            for j, coefficient in row:
                low[place[j], i], high[place[j], i] = _float_ends(coefficient)
        self._exact = bool((low == high).all())
        self._positive = np.maximum(low, 0.0), np.maximum(high, 0.0)
        self._negative = np.minimum(low, 0.0), np.minimum(high, 0.0)
        self._size = np.maximum(np.abs(low), np.abs(high))
        self._slack = (4 * len(self._columns) + 16) * _UNIT_ROUNDOFF

    def __call__(self, x: Intervals) -> Intervals:
        x = x[:, self._columns]
        if self._exact:
            (plus, _), (minus, _) = self._positive, self._negative
            low = x.low @ plus + x.high @ minus
            high = x.high @ plus + x.low @ minus
        else:
            low, high = self._inexact(x)
        error = self._slack * (np.maximum(np.abs(x.low), np.abs(x.high)) @ self._size) + _TINY
        return Intervals(_down(low - error), _up(high + error))

    def _inexact(self, x: Intervals) -> tuple[Floats, Floats]:
        """The ends for coefficients that are intervals themselves, from the signs of both factors."""
        (p_low, p_high), (n_low, n_high) = self._positive, self._negative
        below, above = np.minimum(x.low, 0.0), np.maximum(x.low, 0.0)
        under, over = np.minimum(x.high, 0.0), np.maximum(x.high, 0.0)
        low = below @ p_high + above @ p_low + over @ n_low + under @ n_high
        high = over @ p_high + under @ p_low + below @ n_low + above @ n_high
        return low, high


class _SparseSums:
    """Sums of products for rows with few entries, entry by entry for all rows at once."""

    def __init__(self, affine: Affine, longest: int) -> None:
        columns = np.zeros((longest, affine.num_outputs), dtype=np.int64)
        low, high = np.zeros((2, longest, affine.num_outputs))
        for i, row in enumerate(affine.rows):
            for k, (j, coefficient) in enumerate(row):
                columns[k, i] = j
                low[k, i], high[k, i] = _float_ends(coefficient)
        self._terms = list(zip(columns, low, high, strict=True))

    def __call__(self, x: Intervals) -> Intervals:
        products = (x[:, columns] * Intervals(low, high) for columns, low, high in self._terms)
        return functools.reduce(Intervals.__add__, products)


def _copied_columns(affine: Affine) -> list[int] | None:
    """The input that each output copies; None if the map does more than that."""
    copies = all(len(row) == 1 and row[0][1] == 1 for row in affine.rows)
    if not affine.rows or not copies or any(bias != 0 for bias in affine.bias):
        return None
    return [row[0][0] for row in affine.rows]


def _down(values: Floats) -> Floats:
    return np.nextafter(values, -np.inf)


def _up(values: Floats) -> Floats:
    return np.nextafter(values, np.inf)


def _float_ends(value: Exact) -> tuple[float, float]:
    if isinstance(value, Cyclotomic):
        raise InputError(f"the irrational number {value} has no place in interval arithmetic of reals")
    near = float(value)
    exact = Fraction(near)
    if exact == value:
        return near, near
    return (
        (near, math.nextafter(near, math.inf)) if exact < value else (math.nextafter(near, -math.inf), near)
    )


def _exp_ends(x: Floats) -> tuple[Floats, Floats]:
    """Enclosures of exp at points: x = k·ln 2 + r, the series at r, times 2**k."""
    inside = np.clip(x, -1000.0, 700.0)
    k = np.rint(inside * (1.0 / (_LN2_HIGH + _LN2_LOW)))
    r = (inside - k * _LN2_HIGH) - k * _LN2_LOW
    if bool((np.abs(r) > 0.355).any()):
        raise ArithmeticError("the argument of exp was not reduced")
    value = np.full_like(x, _COEFFICIENTS[-1])
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        value = value * r + coefficient
    power = k.astype(np.int64)
    low = np.maximum(_down(np.ldexp(_down(value * (1.0 - _EXP_ERROR)), power)), 0.0)
    high = _up(np.ldexp(_up(value * (1.0 + _EXP_ERROR)), power))
    return np.where(x < -1000.0, 0.0, low), np.where(x > 700.0, np.inf, high)


def _tanh_ends(x: Floats) -> tuple[Floats, Floats]:
    """Enclosures of tanh at points: 1 - 2e/(1 + e) with e = exp(-2|x|), which falls as e grows; odd in x."""
    low, high = np.full(x.shape, 1.0 - _UNIT_ROUNDOFF), np.ones(x.shape)
    steep = np.abs(x) < _FLAT
    e_low, e_high = _exp_ends(-2.0 * np.abs(x[steep]))
    low[steep] = np.maximum(_down(1.0 - _up(2.0 * e_high / _down(1.0 + e_high))), 0.0)
    high[steep] = np.minimum(_up(1.0 - _down(2.0 * e_low / _up(1.0 + e_low))), 1.0)
    return np.where(x < 0, -high, low), np.where(x < 0, -low, high)


def _sigmoid_ends(x: Floats) -> tuple[Floats, Floats]:
    """Enclosures of the logistic function at points, from e = exp(-|x|)."""
    e_low, e_high = _exp_ends(-np.abs(x))
    low = np.where(x < 0, _down(e_low / _up(1.0 + e_low)), _down(1.0 / _up(1.0 + e_high)))
    high = np.where(x < 0, _up(e_high / _down(1.0 + e_high)), _up(1.0 / _down(1.0 + e_low)))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
