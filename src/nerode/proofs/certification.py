"""Certification: the method of proof that fits a network, and the finder that it needs.

finite state sets       joint closure
tallies                 saturating closure
fading registers        interval closure
counters, stacks        an invariant
tanh, sigmoid, exp      boxes
distributions           contexts of an n-gram model

What a finder finds goes to the kernel, which has the last word.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import PREDICT, VALID_PREFIXES, Certificate, Refutation
from nerode.languages import Language
from nerode.languages.ngrams import BackoffModel, NgramLanguage
from nerode.network import LogitDecoder, Network
from nerode.proofs.boxes import certify_boxes, with_noise
from nerode.proofs.counters import find_integrators
from nerode.proofs.invariants import cap_cover, choose_cover, find_caps
from nerode.proofs.proving import Outcome, Prover, Unproved

Json = Any

NGRAMS = "n-gram-contexts"

MOST_WORK = 2_000_000_000
"""Products that the closure of a network with feedback through units may take, roughly."""

MOST_UNITS = 200
"""Wider layers of ReLU units are not searched for a noise margin."""

FEW_CELLS = 500
"""Joint configurations that are searched for a failing word before anything else."""

MOST_STEPS = 2_400
"""Cells of unknowns times letters after which a closure for all words waits for that of valid prefixes."""

FEW_UNKNOWNS = 100
"""As many cells of unknowns are walked at once for any alphabet."""

MORE_CELLS = 40
"""All words may take this many times the cells of valid prefixes."""

MOST_UNKNOWNS = 20_000
"""Cells of unknowns that the kernel visits; where all words may take more, they are not tried again."""

FIRST_SHARE = 0.85
"""The share of the seconds in which all words are tried first: what is left is for valid prefixes."""


def certify(
    network: Network, language: Language, *, dtype: str | None = None, budget: Budget | None = None
) -> Outcome:
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
    budget = started(budget)
    with budget.running():
        if dtype is None:
            return _certify_network(network, language, budget)
        from nerode.proofs.find.closure import certify_floats

        return certify_floats(network, language, dtype=dtype, budget=budget).outcome()


def _certify_network(network: Network, language: Language, budget: Budget) -> Outcome:
    if isinstance(network.decoder, LogitDecoder):
        if not isinstance(language, NgramLanguage):
            return Unproved(reason="the network has distributions, but the language is not an n-gram model")
        return certify_ngrams(network, language, budget=budget)
    if not network.exact:
        return certify_boxes(network, language, budget=budget)
    if language.regular and _has_tallies(network) and not _falls(network):
        return certify_saturating(network, language, budget=budget)
    if not all(layer.recurrence.linear for layer in network.layers):
        return _certify_relu(network, language, budget)
    return certify_exact(network, language, budget=budget)


def _certify_relu(network: Network, language: Language, budget: Budget) -> Outcome:
    """Networks with feedback through units: by closure, and under noise by boxes where they are robust."""
    steps = (language.num_states() or 1) * len(network.alphabet) ** 2
    if language.regular and steps * network.num_parameters > MOST_WORK:
        return Unproved(
            reason=f"about {steps:,} steps of a network of {network.num_parameters:,} numbers are too many"
        )
    found = certify_exact(network, language, budget=budget)
    if isinstance(found, Certificate) and language.regular and network.state_size <= MOST_UNITS:
        return with_noise(found, network, language, budget=budget)
    return found


def _has_tallies(network: Network) -> bool:
    """Whether a time-invariant layer counts events that only matter once."""
    tallied = {layer for layer, _ in find_caps(network)}
    return any(network.layers[n].recurrence.as_fixed() is not None for n in tallied)


def _falls(network: Network) -> bool:
    """Whether some letter lowers what others add up, so that it is no tally."""
    return any(min(integrator.steps) < 0 for integrator in find_integrators(network))


def certify_exact(
    network: Network, language: Language, *, task: str | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate for all lengths, the shortest word on which the network fails, or neither.

    Args:
        network: a network with exact arithmetic and a decoder of scores or points.
        language: the language that it should do.
        task: PREDICT, VALID_PREFIXES or RECOGNISE; None for the first two, the stronger one if it holds.
        budget: limits the cells (`elements`) and the time.

    Raises:
        InputError: if the network is of another kind (tanh, sigmoid, logits).
        BudgetExceeded: if the cells are too many for the budget.
    """
    budget = started(budget)
    if not network.exact or isinstance(network.decoder, LogitDecoder):
        raise InputError(
            f"the network for {network.origin.language} has tanh, sigmoid, exp or logits; exact proofs are "
            "for piecewise linear networks, use the certificates for boxes or n-gram models"
        )
    prover = Prover(network, language, budget)
    if task is not None:
        return _certify(prover, network, language, task)
    if not language.regular:
        return _certify_counters(prover, network, language)
    best = _certify(prover, network, language, PREDICT)
    if isinstance(best, Certificate):
        return best
    return _stronger(language, best, _certify(prover, network, language, VALID_PREFIXES))


def _stronger(language: Language, best: Outcome, weaker: Outcome) -> Outcome:
    """The outcome for all words and that for valid prefixes, as one.

    A word that no word of the language begins with refutes nothing about valid prefixes: where these are
    open, so is the network.
    """
    if not isinstance(weaker, Unproved):
        return weaker
    if not isinstance(best, Refutation):
        return best
    word = language.alphabet.encode(best.word)
    if all(a in before.symbols for a, before in zip(word, language.legal_along(word), strict=False)):
        return best
    got, expected = (", ".join(answer) or "nothing" for answer in (best.got, best.expected))
    return Unproved(
        reason=f"after {language.alphabet.decode(word)}, with which no word begins, it says {got} and not "
        f"{expected}; of valid prefixes: {weaker.reason}"
    )


def _certify_counters(prover: Prover, network: Network, language: Language) -> Outcome:
    """The outcome for all words or valid prefixes of a language that is not regular.

    Where counters go on below zero in dead prefixes there is often no end of cells. So all words get many
    cells only if valid prefixes need some, or are not proved either.
    """
    few = max(FEW_UNKNOWNS, MOST_STEPS // len(network.alphabet))
    best: Outcome | None = None
    in_time = True
    try:
        with prover.budget.part(FIRST_SHARE).running():
            best = _certify_few(prover, network, language, few)
    except BudgetExceeded as stop:
        if stop.resource != "seconds":
            raise
        in_time = False
    if isinstance(best, Certificate):
        return best
    weaker = _certify(prover, network, language, VALID_PREFIXES)
    if isinstance(weaker, Certificate):
        worth = MORE_CELLS * max(cover.get("cells") or 0 for cover in weaker.evidence.values())
        if best is None and in_time and few < worth <= MOST_UNKNOWNS:
            with suppress(BudgetExceeded):
                best = _certify_few(prover, network, language, worth)
        return best if isinstance(best, Certificate) else weaker
    if best is None:
        best = _certify(prover, network, language, PREDICT)
    return _stronger(language, best, weaker)


def _certify_few(prover: Prover, network: Network, language: Language, most: int) -> Outcome | None:
    """The outcome for all words with so many cells of unknowns; None if there are more."""
    try:
        return _certify(prover, network, language, PREDICT, most=most)
    except BudgetExceeded as stop:
        if stop.resource != "elements" or most >= prover.budget.elements:
            raise
        return None


def certify_saturating(network: Network, language: Language, *, budget: Budget | None = None) -> Outcome:
    """Returns a certificate for a network with tallies, the shortest failing word, or neither."""
    if not find_caps(network):
        return Unproved(reason="no coordinate of the network saturates")
    covers = [{"task": task, **cap_cover(network)} for task in (PREDICT, VALID_PREFIXES)]
    return Prover(network, language, budget).certify("saturating-closure", covers)


def _certify(
    prover: Prover, network: Network, language: Language, task: str, *, most: int | None = None
) -> Outcome:
    """The outcome for a task, with at most so many cells of unknowns."""
    budget = prover.budget
    closed: Outcome | None = None
    try:
        # Counters have no end; for them the kernel looks for a failing word by itself.
        if language.regular:
            closed = prover.outcome(prover.prove("joint-closure", {"task": task}, most=FEW_CELLS))
    except BudgetExceeded as stop:
        if stop.resource == "seconds" or budget.elements <= FEW_CELLS:
            raise
    if closed is not None and not isinstance(closed, Unproved):
        return closed
    method, cover = choose_cover(network, language, task, budget)
    if closed is not None and method == "joint-closure":
        return closed
    limit = None if method == "joint-closure" else most
    return prover.outcome(prover.prove(method, {"task": task, **cover}, most=limit))


def certify_ngrams(
    network: Network, language: NgramLanguage, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate that the network is eps-equivalent to the model over its whole language.

    Args:
        network: a network with a distribution.
        language: the language of an exact model, or of a back-off model with decimal logarithms.
        eps: the bound to claim; None claims the distance that was found, rounded up to three digits, or
            that there is none.
        budget: limits.

    Returns:
        A refutation where the network is not below eps, and why there is no proof if it is not of a form
        that the method covers. Where the network is correct on all windows, that is claimed as well.

    Raises:
        InputError: for another alphabet, or eps not above 0.
    """
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0; leave it out to claim the distance that is found")
    prover = Prover(network, language, budget)
    proof = prover.prove(NGRAMS, {"task": PREDICT}, eps=eps)
    if proof.failure is not None and not isinstance(language.model, BackoffModel):
        proof = prover.prove(NGRAMS, {"task": VALID_PREFIXES}, eps=eps)
    return prover.outcome(proof)
