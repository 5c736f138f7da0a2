"""Where the words lie and what the neurons look for, whatever recurrence carries them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.constructions.ngrams.sharing import Feature
from nerode.compiler.constructions.ngrams.targets import Combination, Context

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
        """How many words the delay line keeps: all but the oldest word of a context."""
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
