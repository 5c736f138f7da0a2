"""Words as integer points of one sphere, so that each word is nearest to itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nerode.core.errors import InputError

_MOST_CANDIDATES = 20_000
_LARGEST_RADIUS = 40_000

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPoints:
    """One integer point for each word, all of norm radius².

    The first `width` entries of `axes` are the words that sit on the axes: the product of word axes[c]
    with any input is radius times coordinate c of the input.

    Attributes:
        points: `points[w]` is the point of word w.
        radius: their distance from the origin.
        gap: radius² minus the largest product of two different words; at least 1.
        axes: the word on each positive axis.
    """

    points: tuple[Point, ...]
    radius: int
    gap: int
    axes: tuple[int, ...]

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return len(self.axes)

    @property
    def norm(self) -> int:
        """The product of a word with itself."""
        return self.radius**2


def place_words(num_words: int, width: int, axes: tuple[int, ...]) -> WordPoints:
    """Returns points for words, far apart from each other, the words `axes` on the axes.

    Args:
        num_words: how many words.
        width: dimension, at least 2.
        axes: the word for each axis; all different.
    """
    if width < 2 or len(axes) != width or len(set(axes)) != width:
        raise InputError(f"an embedding of width {width} needs {width} different words on its axes")
    radius, candidates = _sphere(num_words, width)
    chosen = _far_apart(np.array(candidates, dtype=np.int64), num_words, radius)
    others = iter([p for p in chosen if p not in {_axis(c, radius, width) for c in range(width)}])
    place = {word: _axis(c, radius, width) for c, word in enumerate(axes)}
    points = tuple(place[w] if w in place else next(others) for w in range(num_words))
    table = np.array(points, dtype=np.int64)
    products = table @ table.T
    np.fill_diagonal(products, -(radius**2))
    return WordPoints(points=points, radius=radius, gap=int(radius**2 - products.max()), axes=axes)


def _axis(c: int, radius: int, width: int) -> Point:
    return tuple(radius if i == c else 0 for i in range(width))


def _sphere(num_words: int, width: int) -> tuple[int, list[Point]]:
    """Returns the smallest radius whose sphere has enough integer points, and (some of) them."""
    for radius in range(1, _LARGEST_RADIUS):
        if width == 2 and not _has_many_points(radius, num_words):
            continue
        points = list(itertools.islice(_lattice_points(radius**2, width), _MOST_CANDIDATES))
        if len(points) >= num_words + width:
            return radius, points
    raise InputError(f"no embedding of width {width} for {num_words} words was found; give a larger width")


def _has_many_points(radius: int, num_words: int) -> bool:
    """Whether the circle of this radius has enough integer points: 4·∏(2e+1) over primes p = 1 mod 4."""
    count, rest = 4, radius
    for p in range(2, math.isqrt(radius) + 1):
        exponent = 0
        while rest % p == 0:
            rest //= p
            exponent += 1
        if exponent and p % 4 == 1:
            count *= 2 * exponent + 1
    if rest > 1 and rest % 4 == 1:
        count *= 3
    return count >= num_words + 2


def _lattice_points(norm: int, width: int) -> Iterator[Point]:
    """Yields the integer points of this norm; small coordinates first, so that cut lists are varied."""
    if width == 1:
        root = math.isqrt(norm)
        if root * root == norm:
            yield from ((0,),) if root == 0 else ((root,), (-root,))
        return
    bound = math.isqrt(norm)
    for size in range(bound + 1):
        for first in (size, -size) if size else (0,):
            for rest in _lattice_points(norm - first * first, width - 1):
                yield (first, *rest)


def _far_apart(
    candidates: np.ndarray[tuple[int, int], np.dtype[np.int64]], num_words: int, radius: int
) -> list[Point]:
    """Chooses points greedily, each one farthest from those chosen before; the positive axes come first."""
    width = candidates.shape[1]
    chosen = [_axis(c, radius, width) for c in range(width)]
    nearest = (candidates @ np.array(chosen, dtype=np.int64).T).max(axis=1)
    while len(chosen) < num_words + width:
        best = int(nearest.argmin())
        point = candidates[best]
        chosen.append(tuple(int(v) for v in point))
        nearest = np.maximum(nearest, candidates @ point)
        nearest[best] = radius**2 + 1
    return chosen
