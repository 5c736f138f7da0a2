"""One question, whatever the network: is it right at every length?"""

from __future__ import annotations

from nerode.core import Budget
from nerode.languages import Language
from nerode.languages.ngrams import NgramLanguage
from nerode.network import Interpreter, LogitDecoder, Network
from nerode.proofs.boxes import certify_boxes, with_noise
from nerode.proofs.certificate import Certificate, Refutation, Unproved
from nerode.proofs.exact import certify_exact
from nerode.proofs.ngrams import certify_ngrams
from nerode.proofs.saturation import certify_saturating, find_caps

MOST_WORK = 2_000_000_000
"""Products that the closure of a network with feedback through units may take, roughly."""

MOST_UNITS = 200
"""Wider layers of ReLU units are not searched for a noise margin."""


def certify(
    network: Network, language: Language, *, dtype: str | None = None, budget: Budget | None = None
) -> Certificate | Refutation | Unproved:
    """Returns a certificate, the shortest word on which the network fails, or a reason why neither was found.

    Networks with distributions are compared with their n-gram model on every context; networks in exact
    arithmetic by closure or invariants; networks with tanh, sigmoid or exp by boxes.

    Args:
        network: a compiled network.
        language: what it should do.
        dtype: None for the network itself; "float64", "float32", "bfloat16" or "float16" for its module as
            it runs in this format, roundings included, which needs torch. That proof may reach only up to
            some length.
        budget: limits for the search.
    """
    if dtype is not None:
        from nerode.proofs.floats.certify import certify_floats

        return certify_floats(network, language, dtype=dtype, budget=budget).outcome()
    if isinstance(network.decoder, LogitDecoder):
        if not isinstance(language, NgramLanguage):
            return Unproved(reason="the network has distributions, but the language is not an n-gram model")
        return certify_ngrams(network, language, budget=budget)
    if not Interpreter(network).exact:
        return certify_boxes(network, language, budget=budget)
    if language.regular and _has_tallies(network):
        return certify_saturating(network, language, budget=budget)
    if not all(layer.recurrence.linear for layer in network.layers):
        return _certify_relu(network, language, budget or Budget())
    return certify_exact(network, language, budget=budget)


def _certify_relu(
    network: Network, language: Language, budget: Budget
) -> Certificate | Refutation | Unproved:
    """Networks with feedback through units: by closure, and under noise by boxes where they are robust."""
    steps = (language.num_states() or 1) * len(network.alphabet) ** 2
    if language.regular and steps * network.num_parameters > MOST_WORK:
        return Unproved(
            reason=f"about {steps:,} steps of a network of {network.num_parameters:,} numbers are too many"
        )
    found = certify_exact(network, language, budget=budget)
    if isinstance(found, Certificate) and network.state_size <= MOST_UNITS:
        return with_noise(found, network, language, budget=budget)
    return found


def _has_tallies(network: Network) -> bool:
    """Whether a time-invariant layer counts events that only matter once."""
    tallied = {layer for layer, _ in find_caps(network)}
    return any(network.layers[n].recurrence.as_fixed() is not None for n in tallied)
