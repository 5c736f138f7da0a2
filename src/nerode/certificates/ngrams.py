"""Certificates for networks that carry the distributions of an n-gram model."""

from __future__ import annotations

import math
from fractions import Fraction

from nerode.certificates.certificate import Certificate, content_hash
from nerode.certificates.checker_network import read_network
from nerode.certificates.checker_ngrams import METHOD, ngram_claim, worst_distance
from nerode.certificates.checker_problem import Problem
from nerode.compiler.json_form import network_to_json
from nerode.compiler.network import Network
from nerode.core.budget import Budget
from nerode.languages.description import language_hash
from nerode.languages.ngrams import NgramLanguage


def certify_ngrams(
    network: Network, language: NgramLanguage, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Certificate:
    """Returns a certificate that the network is eps-equivalent to the model over its whole language.

    Args:
        network: a network with a distribution.
        language: the language of an exact model.
        eps: the bound to claim; None claims the distance that was found, rounded up to three digits.
        budget: limits.

    Raises:
        InputError: if the network is not of the form that the method covers.
    """
    data = network_to_json(network)
    if eps is None:
        problem = Problem(
            network=read_network(data), language=language, evidence={}, budget=budget or Budget()
        )
        worst, _ = worst_distance(problem)
        eps = _rounded_up(worst)
    words = language.model.order - 1
    return Certificate(
        network=content_hash(data),
        language=language_hash(language, budget),
        claims=(ngram_claim(words=words, eps=eps),),
        evidence={METHOD: {"words": words}},
    )


def _rounded_up(value: Fraction) -> Fraction:
    """The next number with three digits above a distance; a billionth where the distance is zero."""
    if value <= 0:
        return Fraction(1, 10**9)
    exponent = math.floor(math.log10(value.numerator) - math.log10(value.denominator)) - 2
    unit = Fraction(10) ** exponent
    return (value // unit + 1) * unit
