"""Words as integer points of one sphere, so that each word is nearest to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.compiler.constructions.ngrams.lattice import Point, sphere_points
from nerode.core import InputError

_MOST_CANDIDATES = 20_000
_MOST_WORK = 6 * 10**8
"""Products that choosing points far apart may take; larger vocabularies take points as they come."""

_EXACT_FLOATS = 1 << 53
_ROWS_AT_ONCE = 1024

Table = np.ndarray[tuple[int, int], np.dtype[Any]]


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
