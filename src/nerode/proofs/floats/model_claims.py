"""Modules of compiled networks with their claims: `load_model` for users."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from nerode.core import Budget, BudgetExceeded, NerodeError, plural
from nerode.kernel import LANGUAGE_TASKS, TESTED, Certificate, Claim, Refutation
from nerode.languages import Language, language_hash, resolve_language
from nerode.models import dtype_name
from nerode.models.network_module import CompiledModel, load_model as load_bare
from nerode.network import LogitDecoder, Network
from nerode.proofs.certification import certify
from nerode.proofs.floats.examination import examine
from nerode.records import REFUTED, ModelClaim, unexamined

SECONDS = 10.0
"""CPU time for the claims of one model."""


def known(claims: Iterable[Claim]) -> tuple[ModelClaim, ...]:
    """Returns claims of certificates as what is known of a model."""
    return tuple(
        ModelClaim(scope=claim.scope, says=claim.covers, dtype=claim.dtype, length=claim.length)
        for claim in claims
    )


def load_model(
    network: Network,
    *,
    dtype: torch.dtype = torch.float32,
    language: Language | None = None,
    budget: Budget | None = None,
) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.
    `claims` of the model says what is known of it; that is found out when it is first asked for.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.
        language: what it should do; None finds the language by the name that the network gives, if that is
            the language that it was made for.
        budget: limits of the search for proofs.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    model = load_bare(network, dtype=dtype)
    name = dtype_name(dtype)
    model.find_claims = functools.partial(_network_claims, network, language, name, budget)
    return model


def _network_claims(
    network: Network, language: Language | None, dtype: str, budget: Budget | None
) -> tuple[ModelClaim, ...]:
    language = language or _named_language(network)
    if language is None:
        reason = (
            f"The network was made for {network.origin.language!r}, which is no name of a language; "
            "load_model(network, language=…) looks for proofs."
        )
        return (unexamined(reason, dtype=dtype),)
    budget = (budget or Budget(seconds=SECONDS)).start()
    found = certified(network, language, budget)
    if isinstance(found, Refutation):
        return (refuted(found, None),)
    claims = [c for c in found if c.task in LANGUAGE_TASKS and c.dtype in (None, dtype)]
    if any(c.dtype == dtype and c.length == "all" for c in claims):
        return known(claims)
    if network.attends:
        reason = "This is the streaming form of attention; load_architecture gives the softmax decoder."
        return (*known(claims), unexamined(reason, dtype=dtype))
    if isinstance(network.decoder, LogitDecoder):
        reason = f"The distributions were not looked at in {dtype}; their weights are rounded to it."
        return (*known(claims), unexamined(reason, dtype=dtype))
    seen = examine(network, language, dtype=dtype, known=claims, budget=rest(budget))
    failed = [] if seen.failure is None else [refuted(seen.failure.refutation, dtype, seen.failure.what)]
    tested = seen.claims or failed
    if not tested:
        failed = [unexamined(str(seen.details.get("reason") or "Nothing was found."), dtype=dtype)]
    return (*known([*claims, *seen.claims]), *failed)


def graph_failure(
    network: Network, language: Language, *, dtype: str, budget: Budget | None = None
) -> ModelClaim:
    """Returns what the module of a network says of a graph with the same steps, where no proof does.

    A word on which the module fails counts as one on which the graph does. That the module is correct is no
    claim about another program, which may round otherwise.
    """
    nothing = f"Nothing is proved for every program that computes in {dtype}."
    if network.attends or isinstance(network.decoder, LogitDecoder):
        return unexamined(nothing, dtype=dtype)
    seen = examine(network, language, dtype=dtype, budget=budget or Budget(seconds=SECONDS))
    if seen.failure is not None:
        return refuted(seen.failure.refutation, dtype, seen.failure.what)
    lengths = [c.length for c in seen.claims if c.scope != TESTED]
    reach = (
        "at every length"
        if "all" in lengths
        else f"up to {plural(max(map(int, lengths), default=0), 'letter')}"
    )
    module = f" Nerode's module of the network is correct there {reach}." if lengths else ""
    return unexamined(nothing + module, dtype=dtype)


def _named_language(network: Network) -> Language | None:
    """The language that a network was made for, if its name says which."""
    try:
        found = resolve_language(network.origin.language, files=False)
        return found if language_hash(found) == network.origin.language_hash else None
    except NerodeError:
        return None


def certified(network: Network, language: Language, budget: Budget) -> Sequence[Claim] | Refutation:
    """Returns the claims of a certificate for the network itself, or the word that refutes it."""
    try:
        found = certify(network, language, budget=rest(budget, 0.5))
    except BudgetExceeded:
        return ()
    if isinstance(found, Refutation):
        return found
    return found.claims if isinstance(found, Certificate) else ()


def refuted(found: Refutation | None, dtype: str | None, says: str = "") -> ModelClaim:
    """Returns the claim that a word refutes a model."""
    if found is None:
        return ModelClaim(scope=REFUTED, says=says, dtype=dtype, length=0)
    got, expected = (", ".join(answer) for answer in (found.got, found.expected))
    return ModelClaim(
        scope=REFUTED,
        says=says or f"It says {{{got}}}; the language says {{{expected}}}.",
        dtype=dtype,
        length=found.at,
        word=" ".join(found.word[:40]) + (" …" if len(found.word) > 40 else ""),
    )


def rest(budget: Budget, share: float = 1.0) -> Budget:
    """Returns the same limits with a share of the seconds that are left, from now on."""
    return replace(budget, seconds=max(0.1, share * (budget.seconds - budget.elapsed()))).start()
