"""Words as integer points of one sphere, the smallest that has enough of them, far apart from each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.core import InputError

Point = tuple[int, ...]

_RADII = (16, 300)
"""Spheres in three dimensions or more are searched up to these radii, the second only if the first fails."""

_LARGEST_CIRCLE = 1 << 31
"""Circles stay below this radius, so that products of points fit into 64 bits."""

_PRIMES = {5: (2, 1), 13: (3, 2), 17: (4, 1), 29: (5, 2), 37: (6, 1), 41: (5, 4), 53: (7, 2)}
"""The first primes that are sums of two squares, with the numbers that are squared."""

_MOST_CANDIDATES = 20_000

_MOST_WORK = 6 * 10**8
"""Products that choosing points far apart may take; larger vocabularies take points as they come."""

_EXACT_FLOATS = 1 << 53

_ROWS_AT_ONCE = 1024

Table = np.ndarray[tuple[int, int], np.dtype[Any]]


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
    """Number of integer points of each norm up to `largest`; floats, because only the size matters."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPoints:
    """One integer point for each word, all of norm radius².

    Attributes:
        points: `points[w]` is the point of word w; all different.
        radius: their distance from the origin.
        gap: radius² minus the largest product of two different words, at least 1; radius² for one word.
    """

    points: tuple[Point, ...]
    radius: int
    gap: int

    def __post_init__(self) -> None:
        if any(sum(v * v for v in point) != self.radius**2 for point in self.points):
            raise InputError(f"a word does not lie on the sphere of radius {self.radius}")
        if len(set(self.points)) != len(self.points):
            raise InputError("two words have the same point")

    @property
    def norm(self) -> int:
        """The product of a word with itself."""
        return self.radius**2


def place_words(num_words: int, width: int, axes: tuple[int, ...] = ()) -> WordPoints | None:
    """Returns points for words, far apart from each other.

    Args:
        num_words: how many words.
        width: dimension, at least 2.
        axes: words that must sit on the first positive axes, one for each; all different.

    Returns:
        None if no sphere of this dimension was found that is small enough to compute with.
    """
    if width < 2:
        raise InputError(f"a sphere needs two dimensions or more, not {width}; words on a line have ramps")
    if len(axes) > width or len(set(axes)) != len(axes) or not all(0 <= w < num_words for w in axes):
        raise InputError(f"the words {axes} of {num_words} do not fit {width} axes; give different words")
    # Every sphere has its axis points, so `num_words` points would do; twice as many leave a choice.
    found = sphere_points(2 * num_words, width, _MOST_CANDIDATES)
    if found is None:
        return None
    radius, candidates = found
    place = {word: tuple(radius * (i == c) for i in range(width)) for c, word in enumerate(axes)}
    taken = set(place.values())
    free = iter(_far_apart([p for p in candidates if p not in taken], list(taken), num_words - len(axes)))
    points = tuple(place[w] if w in place else next(free) for w in range(num_words))
    return WordPoints(points=points, radius=radius, gap=_gap(points, radius))


def _far_apart(candidates: Sequence[Point], taken: Sequence[Point], count: int) -> Sequence[Point]:
    """Chooses points greedily, each one farthest from those that are taken."""
    if not count:
        return []
    width = len(candidates[0])
    affordable = _MOST_WORK // (count * width)
    if affordable < count:
        return candidates[:count]
    table = _table(candidates[:affordable])
    # No two points have this product, so that it marks what has been chosen.
    used = table[0] @ table[0] + 1
    nearest = (table @ _table(taken).T).max(axis=1) if taken else np.full(len(table), -used, table.dtype)
    chosen: list[Point] = []
    for _ in range(count):
        best = int(nearest.argmin())
        chosen.append(candidates[best])
        nearest = np.maximum(nearest, table @ table[best])
        nearest[best] = used
    return chosen


def _gap(points: Sequence[Point], radius: int) -> int:
    """The norm less the largest product of two different points, a few rows at a time."""
    table = _table(points)
    largest = -(radius**2) if len(points) > 1 else 0
    for first in range(0, len(points), _ROWS_AT_ONCE):
        products = table[first : first + _ROWS_AT_ONCE] @ table.T
        own = np.arange(len(products))
        products[own, first + own] = largest
        largest = max(largest, int(products.max()))
    return radius**2 - largest


def _table(points: Sequence[Point]) -> Table:
    """The points as floats, which multiply fast, where products are exact; otherwise as integers."""
    norm = sum(v * v for v in points[0])
    return np.array(points, dtype=np.float64 if norm < _EXACT_FLOATS else np.int64)
