"""Layouts: where the words lie and what the detectors look for, whatever recurrence carries them.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.constructions.ngrams.targets import (
    Combination,
    Context,
    Feature,
    combine,
    independent_detectors,
)
from nerode.compiler.constructions.ngrams.word_points import WordPoints, place_words
from nerode.compiler.matrices import independent_rows

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
