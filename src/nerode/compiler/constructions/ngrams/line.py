"""Words on a line, for an embedding of width one: a detector is a ramp.

Words are whole numbers; the last n-1 of them make one code, different for every context. A detector is a
ramp over the code that leaves 0 at the context before its own and is 1 on its own, so that a sum of
detectors is a piecewise-linear function of the code through any prescribed points.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.compiler.constructions.ngrams.layout import Detector, Layout
from nerode.compiler.constructions.ngrams.sharing import combine
from nerode.compiler.constructions.ngrams.targets import Combination, Context
from nerode.compiler.linear_algebra import independent_rows


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
    """Where each ramp leaves zero: at the code before its own."""
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
