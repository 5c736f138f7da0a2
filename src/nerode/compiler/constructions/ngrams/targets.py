"""The distribution of each context as weights that the output layer can carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from nerode.compiler.construction import Options
from nerode.core.errors import NotCompilable
from nerode.languages.ngrams import NgramModel
from nerode.languages.ngrams.next_word import BOS

Context = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the network has to say after each context.

    Attributes:
        contexts: the windows of n-1 words, the set P of the definition.
        scores: for each context, output -> ratio (softmax: exp of the score, all others have score 0) or
            output -> probability (sparsemax, hardmax).
        unknown: the same for windows outside P, None if they are not treated.
        normaliser: how scores become probabilities.
        num_outputs: words and the end.
    """

    contexts: tuple[Context, ...]
    scores: tuple[Mapping[int, Fraction], ...]
    unknown: Mapping[int, Fraction] | None
    normaliser: str
    num_outputs: int


def make_targets(model: NgramModel, options: Options, *, unknown: bool, target: str) -> Targets:
    """Returns the scores for every context.

    A softmax cannot give 0, so the outputs of probability 0 share eps/4 and the others are scaled by
    1 - eps/4: the distance to the model is eps/2 in L1, whatever the network adds by rounding.

    Raises:
        NotCompilable: for a hardmax and a distribution that is not uniform on its support.
    """
    contexts = tuple(context for context in model.contexts if BOS not in context)
    num_outputs = model.end + 1
    scores = []
    for context in contexts:
        distribution = model.distribution(context)
        if options.normaliser == "hardmax" and len(set(distribution.values())) > 1:
            shown = " ".join(model.vocabulary.symbols[w] for w in context)
            raise NotCompilable(target, [f"a hardmax gives equal shares, but f({shown}) is not uniform"])
        scores.append(_scores(distribution, num_outputs, options))
    beyond = _scores({model.end: Fraction(1)}, num_outputs, options) if unknown else None
    return Targets(
        contexts=contexts,
        scores=tuple(scores),
        unknown=beyond,
        normaliser=options.normaliser,
        num_outputs=num_outputs,
    )


def _scores(
    distribution: Mapping[int, Fraction], num_outputs: int, options: Options
) -> Mapping[int, Fraction]:
    if options.normaliser != "softmax":
        return dict(distribution)
    zeros = num_outputs - len(distribution)
    if zeros == 0:
        return dict(distribution)
    share = options.eps / 4
    floor = share / zeros
    return {word: p * (1 - share) / floor for word, p in distribution.items()}
