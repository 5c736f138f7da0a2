"""Proofs for all lengths: a certificate, a word on which the network fails, or neither.

finite state sets    the joint configurations of network and language are searched until they close
counters, stacks     an invariant is found here and proved by the checker's search over cells
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import CounterLanguage, Dyck, Language, language_hash
from nerode.network import Interpreter, LogitDecoder, Network, network_hash, network_to_json
from nerode.proofs.certificate import (
    DTYPES,
    PREDICT,
    SCOPES,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Refutation,
    Unproved,
    language_claim,
)
from nerode.proofs.checker_cells import search_cells
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_problem import Problem
from nerode.proofs.closure import JointClosure, close_jointly
from nerode.proofs.clusters import interval_evidence
from nerode.proofs.counters import counter_evidence, find_integrators
from nerode.proofs.integers import METHOD as INTEGERS, integer_claims
from nerode.proofs.stacks import slot_evidence

Json = Any

CLOSURE = "joint-closure"

FEW_CONFIGURATIONS = 500
"""Joint configurations that are searched for a failing word before anything else."""

MANY_STACKS = 2_000
"""Above this number of stacks a bracket language is proved depth by depth."""


def certify_exact(
    network: Network, language: Language, *, task: str | None = None, budget: Budget | None = None
) -> Certificate | Refutation | Unproved:
    """Returns a certificate for all lengths, the shortest word on which the network fails, or neither.

    Args:
        network: a network with exact arithmetic and a decoder of scores or points.
        language: the language that it should do.
        task: PREDICT, VALID_PREFIXES or RECOGNISE; None for the first two, the stronger one if it holds.
        budget: limits the configurations (`elements`) and the time.

    Raises:
        InputError: if the network is of another kind (tanh, sigmoid, logits).
        BudgetExceeded: if the configurations are too many for the budget.
    """
    budget = budget or Budget()
    if not Interpreter(network).exact or isinstance(network.decoder, LogitDecoder):
        raise InputError(
            f"the network for {network.origin.language} has tanh, sigmoid, exp or logits; exact proofs are "
            "for piecewise linear networks, use the certificates for boxes or n-gram models"
        )
    if tuple(network.alphabet) != tuple(language.alphabet):
        raise InputError("network and language have different alphabets; certify a network with its language")
    if task is not None:
        return _certify(network, language, task, budget)
    best = _certify(network, language, PREDICT, budget)
    if isinstance(best, Certificate):
        return best
    weaker = _certify(network, language, VALID_PREFIXES, budget)
    return weaker if isinstance(weaker, Certificate | Refutation) else best


def _certify(
    network: Network, language: Language, task: str, budget: Budget
) -> Certificate | Refutation | Unproved:
    closure = _first_look(network, language, task, budget)
    if isinstance(closure, Refutation):
        return closure
    if closure is None:
        method, evidence = _choose_method(network, language, task, budget)
        if method != CLOSURE:
            return _certify_by_cells(network, language, task, method, evidence, budget)
        closure = close_jointly(network, language, task=task, budget=budget)
        if isinstance(closure, Refutation):
            return closure
    found = {"task": task, "configurations": len(closure), "digest": closure.digest}
    bits = integer_claims(network, closure, task)
    return _seal(network, language, task, CLOSURE, found, bits)


def _first_look(
    network: Network, language: Language, task: str, budget: Budget
) -> JointClosure | Refutation | None:
    """The closure or a word on which the network fails, if few configurations show it; None otherwise."""
    few = Budget(elements=min(FEW_CONFIGURATIONS, budget.elements), seconds=budget.seconds)
    try:
        return close_jointly(network, language, task=task, budget=few)
    except BudgetExceeded:
        if budget.elements <= FEW_CONFIGURATIONS:
            raise
        return None


def _choose_method(
    network: Network, language: Language, task: str, budget: Budget
) -> tuple[str, Mapping[str, Json]]:
    """Returns the method that fits, with its evidence."""
    integrators = find_integrators(network)
    bounded = language.regular and task == VALID_PREFIXES
    many = isinstance(language, Dyck) and (language.num_states() or MANY_STACKS + 1) > MANY_STACKS
    intervals = interval_evidence(network, language, task)
    counting = isinstance(language, CounterLanguage) or (integrators and (many or not bounded))
    parts: dict[str, Json] = {}
    if counting:
        parts |= counter_evidence(network, language, integrators, budget) or {}
    if many and isinstance(language, Dyck):
        parts |= slot_evidence(network, language) or {}
    if intervals:
        parts["intervals"] = intervals
    if "slots" in parts:
        return "stack-invariant", parts
    if counting:
        return "counter-invariant", parts
    return ("interval-closure", parts) if intervals else (CLOSURE, {})


def _certify_by_cells(
    network: Network,
    language: Language,
    task: str,
    method: str,
    evidence: Mapping[str, Json],
    budget: Budget,
) -> Certificate | Refutation | Unproved:
    problem = Problem(
        network=read_network(network_to_json(network)),
        language=language,
        evidence={method: evidence},
        budget=budget,
    )
    failure, exactness = search_cells(problem, evidence, task, method)
    if failure is not None or exactness is None:
        if failure is None or failure.refutation is None:
            return Unproved(reason=failure.what if failure else "no bound was found")
        return failure.refutation
    bits = exactness.claims(task)
    if task == PREDICT:
        # On valid prefixes fewer values occur, so that more may be true of them.
        _, narrower = search_cells(problem, evidence, VALID_PREFIXES, method)
        bits += _stronger(narrower.claims(VALID_PREFIXES), bits) if narrower is not None else ()
    return _seal(network, language, task, method, evidence, bits)


def _stronger(claims: Sequence[Claim], known: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims with a stronger scope than any known claim for their dtype."""
    best = {
        dtype: min((SCOPES.index(c.scope) for c in known if c.dtype == dtype), default=99) for dtype in DTYPES
    }
    return tuple(c for c in claims if c.dtype is not None and SCOPES.index(c.scope) < best[c.dtype])


def _seal(
    network: Network,
    language: Language,
    task: str,
    method: str,
    evidence: Mapping[str, Json],
    bits: tuple[Claim, ...],
) -> Certificate:
    """Puts claims, evidence and hashes together."""
    parts: dict[str, Json] = {method: dict(evidence)}
    if bits:
        parts[INTEGERS] = {"proof": method}
    return Certificate(
        network=network_hash(network),
        language=language_hash(language),
        claims=(language_claim(task=task, method=method), *bits),
        evidence=parts,
    )
