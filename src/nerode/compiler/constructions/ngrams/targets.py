"""What the network has to say after each context, as scores that an output layer can carry."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.construction import Options
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the network has to say after each context.

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


def make_targets(language: NgramLanguage, model: NgramModel, options: Options, *, target: str) -> Targets:
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
