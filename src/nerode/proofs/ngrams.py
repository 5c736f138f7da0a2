"""Certificates for networks that carry the distributions of an n-gram model."""

from __future__ import annotations

import math
from fractions import Fraction

from nerode.core import Budget, InputError
from nerode.languages import language_hash
from nerode.languages.ngrams import NgramLanguage
from nerode.network import Network, network_to_json
from nerode.proofs.certificate import (
    PREDICT,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Refutation,
    Unproved,
    content_hash,
)
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_ngrams import (
    METHOD,
    ngram_claim,
    ngram_model,
    refute_distribution,
    worst_distance,
)
from nerode.proofs.checker_problem import Problem
from nerode.proofs.checker_windows import nilpotent_window

LARGEST_DISTANCE = Fraction(1)
"""Without a bound to claim, a network this far from its model is refuted; 2 is the farthest there is."""


def certify_ngrams(
    network: Network, language: NgramLanguage, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Certificate | Refutation | Unproved:
    """Returns a certificate that the network is eps-equivalent to the model over its whole language.

    Args:
        network: a network with a distribution.
        language: the language of an exact model.
        eps: the bound to claim; None claims the distance that was found, rounded up to three digits, or
            that there is none.
        budget: limits.

    Returns:
        A refutation where the network is not below eps, and why there is no proof if it is not of a form
        that the method covers. Where the network is right on all windows, that is claimed as well.

    Raises:
        InputError: for another alphabet, or eps not above 0.
    """
    if tuple(network.alphabet) != tuple(language.alphabet):
        raise InputError("network and language have different alphabets; certify a network with its language")
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0; leave it out to claim the distance that is found")
    data = network_to_json(network)
    problem = Problem(network=read_network(data), language=language, evidence={}, budget=budget or Budget())
    try:
        _, model = ngram_model(problem)
        window = nilpotent_window(problem.network)
        if window >= model.order:
            return Unproved(reason=f"the network looks at {window} words, the model at {model.order - 1}")
        worst = worst_distance(problem)
    except InputError as error:
        return Unproved(reason=str(error))
    if worst.distance >= (eps or LARGEST_DISTANCE):
        failure = refute_distribution(language, model, worst, eps or LARGEST_DISTANCE)
        assert failure.refutation is not None
        return failure.refutation
    words = model.order - 1
    bound = eps or rounded_up(worst.distance)
    claims = [ngram_claim(task=VALID_PREFIXES, words=words, eps=bound)]
    return Certificate(
        network=content_hash(data),
        language=language_hash(language, budget),
        claims=(*_on_all_windows(problem, words, eps), *claims),
        evidence={METHOD: {"words": words}},
    )


def _on_all_windows(problem: Problem, words: int, eps: Fraction | None) -> list[Claim]:
    """The claim for all windows, where it holds."""
    limit = eps or LARGEST_DISTANCE
    try:
        worst = worst_distance(problem, everywhere=True, enough=limit)
    except InputError:
        return []
    if worst.distance >= limit:
        return []
    return [ngram_claim(task=PREDICT, words=words, eps=eps or rounded_up(worst.distance))]


def rounded_up(value: Fraction) -> Fraction | None:
    """Returns the next number with three digits above a distance; None for none."""
    if value == 0:
        return None
    exponent = math.floor(math.log10(value.numerator) - math.log10(value.denominator)) - 2
    unit = Fraction(10) ** exponent
    return (value // unit + 1) * unit
