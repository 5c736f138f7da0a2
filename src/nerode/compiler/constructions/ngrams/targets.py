"""Targets: the scores of each context, and the neurons that carry them.

Delay neurons share the work of detectors. The first (n-2)·e neurons keep the last words. To get along with
one neuron for each context they must also serve as features: as many detectors are left out as there are
delay neurons, and the weights are solved for so that the sum is still correct on every context.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.construction import NgramOptions
from nerode.compiler.rotations import independent_rows, invert
from nerode.core import InputError, NotCompilable
from nerode.languages.ngrams import NgramLanguage, NgramModel
from nerode.network import LogSum

Context = tuple[int, ...]
Scores = Mapping[int, Fraction]
"""Output -> exp of its score (softmax) or its score (sparsemax, hardmax); other outputs have score 0."""

Combination = Mapping[int, Fraction]
"""A linear combination of the scores of contexts: number of the context -> coefficient."""

UNKNOWN = -1
"""In a combination, stands for the scores after a context that the model does not have."""

_LARGEST_POWER = 64

Feature = Mapping[int, Fraction]
"""The delay neurons that are not 0 on a context, with their values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The scores that the network has to give after each context.

    Attributes:
        contexts: the windows of n-1 words, the set P of the definition, in increasing order.
        scores: the scores of each context.
        unknown: the scores after windows outside P, None if they are not treated.
        normaliser: how scores become probabilities.
        num_outputs: words and the end.
    """

    contexts: tuple[Context, ...]
    scores: tuple[Scores, ...]
    unknown: Scores | None
    normaliser: str
    num_outputs: int

    def __post_init__(self) -> None:
        if not self.contexts or not self.contexts[0] or len(self.contexts) != len(self.scores):
            raise InputError("targets need contexts of one word or more, and scores for each of them")
        if any(not a < b or len(a) != len(b) for a, b in itertools.pairwise(self.contexts)):
            raise InputError("the contexts are not of one length and in increasing order; sort them")

    @property
    def length(self) -> int:
        """n-1, the number of words of a context."""
        return len(self.contexts[0])

    def beyond_unknown(self, combination: Combination) -> Combination:
        """Returns what a detector adds to the scores of unknown contexts, which are always there."""
        if self.unknown is None:
            return combination
        return {**combination, UNKNOWN: -sum(combination.values(), Fraction(0))}

    def column(self, combination: Combination, *, merged: bool = False) -> dict[int, LogSum]:
        """Returns the output weights that stand for a linear combination of scores.

        Args:
            combination: contexts (or UNKNOWN) with coefficients.
            merged: whether whole multiples become one logarithm. Only for neurons that are 0 or 1: a
                fraction of a sum of logarithms cannot be told from a sum of fractions of them later.
        """
        terms: dict[int, list[tuple[Fraction, Fraction]]] = {}
        for context, coefficient in sorted(combination.items()):
            scores = self.unknown if context == UNKNOWN else self.scores[context]
            for output, score in (scores or {}).items():
                terms.setdefault(output, []).append((coefficient, score))
        weights = {}
        for output, pairs in sorted(terms.items()):
            weight = self._weight(pairs, merged)
            if weight:
                weights[output] = weight
        return weights

    def _weight(self, pairs: list[tuple[Fraction, Fraction]], merged: bool) -> LogSum:
        if self.normaliser != "softmax":
            total = sum((coefficient * score for coefficient, score in pairs), Fraction(0))
            return ((total, Fraction(1)),) if total else ()
        ratio = Fraction(1)
        rest = []
        for coefficient, score in pairs:
            if merged and coefficient.denominator == 1 and abs(coefficient) <= _LARGEST_POWER:
                ratio *= score**coefficient.numerator
            else:
                rest.append((coefficient, score))
        return (*(((Fraction(1), ratio),) if ratio != 1 else ()), *rest)


def make_targets(
    language: NgramLanguage, model: NgramModel, options: NgramOptions, *, target: str
) -> Targets:
    """Returns the scores for every context.

    Raises:
        NotCompilable: if there is no context, or for a hardmax and a distribution that is not uniform.
    """
    contexts = language.windows
    if model.order < 2:
        raise NotCompilable(target, ["a model of order 1 has no context to match; use order 2 or more"])
    if not contexts:
        raise NotCompilable(target, [f"no sentence has the {model.order - 1} words of a context"])
    scores = []
    for context in contexts:
        distribution = model.distribution(context)
        if options.normaliser == "hardmax" and len(set(distribution.values())) > 1:
            raise NotCompilable(
                target, [f"a hardmax gives equal shares, but f({model.show(context)}) is not uniform"]
            )
        scores.append(make_scores(distribution, model.end + 1, options.normaliser, options.eps))
    beyond = None
    if options.unknown_contexts:
        rest = {model.end: Fraction(1)} if model.unseen is None else dict(model.unseen)
        beyond = make_scores(rest, model.end + 1, options.normaliser, options.eps)
    return Targets(
        contexts=contexts,
        scores=tuple(scores),
        unknown=beyond,
        normaliser=options.normaliser,
        num_outputs=model.end + 1,
    )


def make_scores(distribution: Scores, num_outputs: int, normaliser: str, eps: Fraction) -> Scores:
    """Returns scores that a normaliser turns into a distribution, for a softmax up to eps/2 in L1.

    A softmax cannot give 0, so the outputs of probability 0 share eps/4 and the others are scaled by
    1 - eps/4. The other half of eps is left to the rounding of floats. Where eps/4 would make an output
    of probability 0 more than half as likely as one that may follow, less is shared out.

    Implements: [Nandakumar2024, Definition 4.2]
    """
    if normaliser != "softmax":
        return dict(distribution)
    least = min(distribution.values())
    zeros = num_outputs - len(distribution)
    if zeros == 0:
        # Any common factor gives the same distribution; this one keeps all scores above 0.
        return {output: 2 * p / least for output, p in distribution.items()}
    share = min(eps / 4, least * zeros / (2 + least * zeros))
    return {output: p * (1 - share) * zeros / share for output, p in distribution.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """The detectors that remain, and the weights of delay neurons and detectors.

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
