"""Piecewise-affine functions of one counter, on all integers of a range at once.

A profile knows finitely many integers between which every function it has met is affine; beyond the last
ones each goes on as a straight line. So bounds over infinitely many integers come from finitely many values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

Rational = int | Fraction
Function = Callable[[int], Rational]

MAX_VALUES = 4_096
"""Integers that are looked at one by one to list all values of a function."""


class Profile:
    """The integers of a range (None for no bound) and the points where functions on it may bend."""

    def __init__(self, low: int | None, high: int | None) -> None:
        self.low = low
        self.high = high
        middle = low if low is not None else high if high is not None else 0
        self.points = sorted({middle, *(p for p in (low, high) if p is not None)})

    def bend(self, function: Function) -> None:
        """Adds the points where the ReLU of a function bends: the integers around its zeros."""
        found = set(self.points)
        for left, right in zip(self.points, self.points[1:], strict=False):
            found |= _zero_between(function, left, right)
        if self.low is None:
            found |= _zero_on_ray(function, self.points[0], -1)
        if self.high is None:
            found |= _zero_on_ray(function, self.points[-1], 1)
        self.points = sorted(found)

    def bounds(self, function: Function) -> tuple[Rational | None, Rational | None]:
        """Returns the least and the greatest value of a function, None for none."""
        values = [function(p) for p in self.points]
        low: Rational | None = min(values)
        high: Rational | None = max(values)
        ends = [(self.points[0], -1)] if self.low is None else []
        ends += [(self.points[-1], 1)] if self.high is None else []
        for end, step in ends:
            slope = function(end + step) - function(end)
            low = None if slope < 0 else low
            high = None if slope > 0 else high
        return low, high

    def values(self, function: Function) -> frozenset[Rational] | None:
        """Returns all values of a function if they are few, None otherwise."""
        first, last = self.points[0], self.points[-1]
        if None in self.bounds(function) or last - first > MAX_VALUES:
            return None
        return frozenset(function(c) for c in range(first, last + 1))


def _zero_between(function: Function, left: int, right: int) -> set[int]:
    one, other = function(left), function(right)
    if one * other >= 0:
        return set()
    zero = left + Fraction(one) * (right - left) / (Fraction(one) - Fraction(other))
    return {math.floor(zero), math.ceil(zero)}


def _zero_on_ray(function: Function, end: int, step: int) -> set[int]:
    value = function(end)
    slope = function(end + step) - value
    if value == 0 or slope == 0 or (value > 0) == (slope > 0):
        return set()
    distance = -Fraction(value) / Fraction(slope)
    return {end + step * math.floor(distance), end + step * math.ceil(distance)}
