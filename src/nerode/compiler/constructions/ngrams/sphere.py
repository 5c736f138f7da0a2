"""Words on a sphere: a detector is the product with the words of its context.

With points of one norm the product of a word with another is largest for the word itself, so the sum of the
products with the words of a context reaches its largest value on that context alone; a threshold one gap
below it makes the neuron 1 there and 0 on every other window.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.compiler.constructions.ngrams.embedding import WordPoints, place_words
from nerode.compiler.constructions.ngrams.layout import Detector, Layout
from nerode.compiler.constructions.ngrams.sharing import Feature, independent_detectors
from nerode.compiler.constructions.ngrams.targets import Context


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
