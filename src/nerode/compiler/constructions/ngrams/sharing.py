"""Delay neurons that stand for contexts: whose detectors they replace, and the weights that follow.

The first (n-2)·e neurons keep the last words. To get along with one neuron for each context they must also
serve as features: as many detectors are left out as there are delay neurons, and the weights are solved for
so that the sum is still right on every context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.constructions.ngrams.targets import Combination
from nerode.compiler.linear_algebra import independent_rows, invert

Feature = Mapping[int, Fraction]
"""The delay neurons that are not 0 on a context, with their values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Who stands for what.

    Attributes:
        kept: the detectors that remain, in order.
        delays: the weight of each delay neuron, as a combination of the scores of contexts.
        own: the weight of each detector that remains.
    """

    kept: tuple[int, ...]
    delays: tuple[Combination, ...]
    own: tuple[Combination, ...]


def share(weights: Sequence[Combination], features: Sequence[Feature], num_delays: int) -> Sharing | None:
    """Returns weights with which the delay neurons and all but as many detectors do what all detectors do.

    Args:
        weights: the weight that each detector has when there are only detectors. As a function of what is
            wanted on the contexts this is also how any function on the contexts is written in detectors.
        features: for each context, the values of the delay neurons.
        num_delays: how many delay neurons there are.

    Returns:
        None if the delay neurons are linearly dependent on the contexts.
    """
    inner = [_inner(weight, features) for weight in weights]
    dropped = independent_detectors(inner, num_delays)
    if len(dropped) < num_delays:
        return None
    inverse = invert([[inner[j].get(d, Fraction(0)) for d in range(num_delays)] for j in dropped]) or []
    delays = tuple(combine((row[k], weights[j]) for k, j in enumerate(dropped)) for row in inverse)
    kept = tuple(sorted(set(range(len(weights))) - set(dropped)))
    own = tuple(
        combine([(Fraction(1), weights[j]), *((-v, delays[d]) for d, v in inner[j].items())]) for j in kept
    )
    return Sharing(kept=kept, delays=delays, own=own)


def no_sharing(weights: Sequence[Combination], num_delays: int) -> Sharing:
    """Returns the weights when delay neurons only remember and every context has its detector."""
    return Sharing(kept=tuple(range(len(weights))), delays=({},) * num_delays, own=tuple(weights))


def independent_detectors(inner: Sequence[Feature], num_delays: int) -> list[int]:
    """Returns detectors on which the delay neurons are independent; those with few of them first.

    A context on which one delay neuron fires alone makes the weights short.
    """
    first: dict[tuple[tuple[int, Fraction], ...], int] = {}
    for j, feature in enumerate(inner):
        if feature:
            first.setdefault(tuple(sorted(feature.items())), j)
    patterns = sorted(first, key=lambda pattern: (len(pattern), first[pattern]))
    rows = [[dict(pattern).get(d, Fraction(0)) for d in range(num_delays)] for pattern in patterns]
    return [first[patterns[p]] for p in independent_rows(rows, num_delays)]


def combine(parts: Iterable[tuple[Fraction, Combination]]) -> Combination:
    """Returns a linear combination of combinations, without zeros."""
    total: dict[int, Fraction] = {}
    for factor, part in parts:
        if factor:
            for key, value in part.items():
                total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}


def _inner(weight: Combination, features: Sequence[Feature]) -> Feature:
    return combine((coefficient, features[context]) for context, coefficient in weight.items())
