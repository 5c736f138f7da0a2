"""Integer points of one norm: enough of them for a vocabulary, on the smallest sphere that has them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

Point = tuple[int, ...]

_RADII = (16, 300)
"""Spheres in three dimensions or more are searched up to these radii, the second only if the first fails."""

_LARGEST_CIRCLE = 1 << 31
"""Circles stay below this radius, so that products of points fit into 64 bits."""

_PRIMES = {5: (2, 1), 13: (3, 2), 17: (4, 1), 29: (5, 2), 37: (6, 1), 41: (5, 4), 53: (7, 2)}
"""The first primes that are sums of two squares, with the numbers that are squared."""


def sphere_points(num_points: int, width: int, most: int) -> tuple[int, list[Point]] | None:
    """Returns a radius whose sphere has at least this many integer points, and the points.

    Args:
        num_points: how many are needed.
        width: number of coordinates, at least 2.
        most: no more points than this are listed (but always `num_points`).

    Returns:
        None if no sphere was found that is small enough to compute with.
    """
    limit = max(num_points, most)
    if width > 2:
        radius = _smallest_radius(num_points, width)
        if radius is not None:
            return radius, list(itertools.islice(_points(radius**2, width), limit))
    radius = _smallest_circle(num_points)
    if radius is None:
        return None
    flat = (0,) * (width - 2)
    return radius, [(*point, *flat) for point in itertools.islice(_circle(radius), limit)]


def _smallest_radius(num_points: int, width: int) -> int | None:
    for largest in _RADII:
        counts = _norm_counts(largest**2, width)
        for radius in range(1, largest + 1):
            if counts[radius**2] >= num_points:
                return radius
    return None


def _norm_counts(largest: int, width: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How many integer points have each norm up to `largest`; floats, because only the size matters."""
    counts = np.zeros(largest + 1)
    counts[0] = 1
    for _ in range(width):
        wider = counts.copy()
        for root in range(1, math.isqrt(largest) + 1):
            wider[root**2 :] += 2 * counts[: largest + 1 - root**2]
        counts = wider
    return counts


def _points(norm: int, width: int) -> Iterator[Point]:
    """Yields the integer points of this norm, small first coordinates first."""
    bound = math.isqrt(norm)
    if width == 1:
        if bound * bound == norm:
            yield from ((bound,), (-bound,)) if bound else ((0,),)
        return
    for size in range(bound + 1):
        for first in (size, -size) if size else (0,):
            for rest in _points(norm - first * first, width - 1):
                yield (first, *rest)


def _smallest_circle(num_points: int) -> int | None:
    """The smallest radius whose circle has enough points: 4·∏(2e+1) over its primes p = 1 mod 4.

    Other prime factors add no points, so radii without them are enough.
    """
    found = {1: 4}
    for prime in _PRIMES:
        for radius, count in list(found.items()):
            exponent = 1
            while radius * prime**exponent < _LARGEST_CIRCLE:
                found[radius * prime**exponent] = count * (2 * exponent + 1)
                exponent += 1
    return min((radius for radius, count in found.items() if count >= num_points), default=None)


def _circle(radius: int) -> Iterator[Point]:
    """Yields the integer points of a circle as products of Gaussian integers."""
    points = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    for prime, (a, b) in _PRIMES.items():
        exponent = 0
        while radius % prime == 0:
            radius //= prime
            exponent += 1
        factors = [
            _times(_power((a, b), k), _power((a, -b), 2 * exponent - k)) for k in range(2 * exponent + 1)
        ]
        points = [_times(point, factor) for point in points for factor in factors]
    yield from points


def _times(z: tuple[int, int], w: tuple[int, int]) -> tuple[int, int]:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _power(z: tuple[int, int], exponent: int) -> tuple[int, int]:
    result = (1, 0)
    for _ in range(exponent):
        result = _times(result, z)
    return result
