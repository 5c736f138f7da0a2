"""Layouts: words as integer points of a sphere, where they lie and what the detectors look for.

On a sphere a detector is the product with the words of its context. With points of one norm the product of a
word with another is largest for the word itself, so the sum of the products with the words of a context
reaches its largest value on that context alone; a threshold one gap below it makes the neuron 1 there and 0
on every other window.

On a line, for an embedding of width one, a detector is a ramp. Words are whole numbers; the last n-1 of them
make one code, different for every context. A detector is a ramp over the code that leaves 0 at the context
before its own and is 1 on its own, so that a sum of detectors is a piecewise-linear function of the code
through any prescribed points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from nerode.compiler.constructions.ngrams.targets import (
    Combination,
    Context,
    Feature,
    combine,
    independent_detectors,
)
from nerode.compiler.rotations import independent_rows
from nerode.core import InputError

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


Point = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """A neuron relu(sum over ages of weights[age] · word read `age` words ago + threshold).

    It is 1 on its own context.
    """

    weights: tuple[tuple[Fraction, ...], ...]
    threshold: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Words as integer points, and one detector for each context.

    Attributes:
        points: the point of each word.
        contexts: the contexts.
        detectors: one for each context, in order.
        weights: the weight that each detector has when there are only detectors, as a combination of the
            scores of the contexts.
        scale: a delay neuron of an SSM keeps this multiple of a coordinate.
        thresholds: what it adds before its ReLU, by age and coordinate; the newest word first.
        alone: whether each detector is 0 on every window but its own context.
        shape: where the words lie, in a few words.
    """

    points: tuple[Point, ...]
    contexts: tuple[Context, ...]
    detectors: tuple[Detector, ...]
    weights: tuple[Combination, ...]
    scale: Fraction
    thresholds: tuple[tuple[Fraction, ...], ...]
    alone: bool
    shape: str

    @property
    def width(self) -> int:
        """Number of coordinates of a word."""
        return len(self.points[0])

    @property
    def ages(self) -> int:
        """Number of words that the delay line keeps: all but the oldest word of a context."""
        return len(self.contexts[0]) - 1

    @property
    def num_delays(self) -> int:
        """Number of neurons of the delay line."""
        return self.ages * self.width

    def thresholded_features(self) -> list[Feature]:
        """Returns for each context the values of the delay neurons of an SSM."""
        return [
            _sparse(
                max(self.scale * v + threshold, Fraction(0))
                for thresholds, point in zip(self.thresholds, self._kept(context), strict=True)
                for threshold, v in zip(thresholds, point, strict=True)
            )
            for context in self.contexts
        ]

    def linear_features(self) -> list[Feature]:
        """Returns for each context the coordinates of its words, but for the oldest."""
        return [_sparse(Fraction(v) for p in self._kept(c) for v in p) for c in self.contexts]

    def _kept(self, context: Context) -> list[Point]:
        """The points of the words of a context but for the oldest, newest first."""
        return [self.points[word] for word in reversed(context[1:])]


def _sparse(values: Iterable[Fraction]) -> Feature:
    return {d: v for d, v in enumerate(values) if v}


def line_layout(contexts: tuple[Context, ...], num_words: int) -> Layout:
    """Returns words on a line and a ramp for each context; the contexts must increase."""
    # The oldest word counts most, so that codes increase with the contexts.
    codes = [sum(w * num_words**age for age, w in enumerate(reversed(c))) for c in contexts]
    return Layout(
        points=tuple((number,) for number in range(num_words)),
        contexts=contexts,
        detectors=tuple(
            _ramp(before, own, num_words, len(contexts[0]))
            for before, own in zip(_starts(codes), codes, strict=True)
        ),
        weights=tuple(ramp_weights(codes)),
        scale=Fraction(1),
        thresholds=tuple((threshold,) for threshold in _thresholds(contexts)),
        alone=False,
        shape="words on a line",
    )


def _starts(codes: Sequence[int]) -> list[int]:
    """The code where each ramp leaves zero: the one before its own."""
    return [codes[0] - 1, *codes[:-1]]


def _ramp(before: int, own: int, num_words: int, length: int) -> Detector:
    rise = own - before
    return Detector(
        weights=tuple((Fraction(num_words**age, rise),) for age in range(length)),
        threshold=Fraction(-before, rise),
    )


def ramp_weights(codes: Sequence[int]) -> list[Combination]:
    """Returns the weight of each ramp so that their sum takes given values at the codes.

    It is the change of slope there times the rise of the ramp, a combination of three values at most;
    key k stands for the value at the k-th code.
    """
    weights: list[Combination] = []
    value: Combination = {}
    slope: Combination = {}
    for k, (start, code) in enumerate(zip(_starts(codes), codes, strict=True)):
        rise = Fraction(code - start)
        wanted = {k: Fraction(1)}
        new_slope = combine([(1 / rise, wanted), (-1 / rise, value)])
        weights.append(combine([(rise, new_slope), (-rise, slope)]))
        value, slope = wanted, new_slope
    return weights


def _thresholds(contexts: Sequence[Context]) -> list[Fraction]:
    """For each age where the ramp over the word of that age begins, so that the ramps are independent.

    The ramp that only the largest word climbs comes first; where it depends on those of the ages before,
    longer ones are tried, and the longest is taken if they all do.
    """
    chosen: list[Fraction] = []
    ramps: list[list[Fraction]] = []
    for age in range(len(contexts[0]) - 1):
        words = [context[-1 - age] for context in contexts]
        threshold = Fraction(0)
        ramp: list[Fraction] = []
        for largest in sorted(set(words), reverse=True):
            threshold = Fraction(1 - largest)
            ramp = [max(word + threshold, Fraction(0)) for word in words]
            if len(independent_rows([*ramps, ramp], len(ramps) + 1)) == len(ramps) + 1:
                break
        chosen.append(threshold)
        ramps.append(ramp)
    return chosen


def sphere_layout(
    contexts: tuple[Context, ...], num_words: int, width: int, axes: tuple[int, ...] = ()
) -> Layout | None:
    """Returns words on a sphere and a detector for each context.

    Args:
        contexts: windows of n-1 words.
        num_words: size of the vocabulary.
        width: dimension, at least 2.
        axes: the words on the axes. The delay neuron of axis c is 1 exactly where word axes[c] stands.

    Returns:
        None if there is no sphere of this dimension for so many words.
    """
    points = place_words(num_words, width, axes)
    if points is None:
        return None
    return Layout(
        points=points.points,
        contexts=contexts,
        detectors=tuple(_detector(context, points) for context in contexts),
        weights=tuple({i: Fraction(1)} for i in range(len(contexts))),
        scale=_ratio(points.radius, points),
        thresholds=((1 - _ratio(points.norm, points),) * width,) * (len(contexts[0]) - 1),
        alone=True,
        shape=f"words on a sphere in {width} dimensions" if width > 2 else "words on a circle",
    )


def _detector(context: Context, points: WordPoints) -> Detector:
    return Detector(
        weights=tuple(tuple(_ratio(v, points) for v in points.points[word]) for word in reversed(context)),
        threshold=1 - _ratio(len(context) * points.norm, points),
    )


def _ratio(value: int, points: WordPoints) -> Fraction:
    return Fraction(value, points.gap)


def choose_axes(contexts: Sequence[Context], width: int) -> tuple[int, ...]:
    """Returns up to `width` words for the axes whose delay neurons are linearly independent on the contexts.

    A delay neuron is 1 where its word stands at its age and 0 elsewhere. Words are added greedily: first as
    long as each delay neuron fires alone on some context, which makes the weights short, then as long as
    they are independent.
    """
    ages = len(contexts[0]) - 1
    by_age = [{context[-1 - age] for context in contexts} for age in range(ages)]
    everywhere = set.intersection(*by_age) if ages else {word for context in contexts for word in context}
    chosen: tuple[int, ...] = ()
    for suits in (_fire_alone, _independent):
        for word in sorted(everywhere.difference(chosen)):
            trial = (*chosen, word)
            if len(trial) <= width and suits([_fired(c, trial, ages) for c in contexts], ages * len(trial)):
                chosen = trial
    return chosen


def _fire_alone(fired: Sequence[Feature], num_delays: int) -> bool:
    return len({d for feature in fired for d in feature if len(feature) == 1}) == num_delays


def _independent(fired: Sequence[Feature], num_delays: int) -> bool:
    return len(independent_detectors(fired, num_delays)) == num_delays


def _fired(context: Context, axes: tuple[int, ...], ages: int) -> Feature:
    return {
        age * len(axes) + axes.index(word): Fraction(1)
        for age, word in zip(range(ages), reversed(context), strict=False)
        if word in axes
    }
