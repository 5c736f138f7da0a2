"""Services for finders: completed evidence with all that follows from it, and the certificate.

Nothing here is needed to check a certificate. Proving is the same derivation: a finder hands over the
description of a cover, and the walk completes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.check import read_problem
from nerode.kernel.claims import INTEGERS, SCOPES, Certificate, Claim, Failure
from nerode.kernel.covers import METHODS, check_evidence, derive
from nerode.kernel.reader import check_values, choice, content_hash
from nerode.kernel.work import Unreadable, WorkBudget, WorkCount

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedEvidence:
    """Evidence that the kernel has completed, with all that follows from it.

    Attributes:
        method: the method of proof.
        evidence: what a certificate holds for it.
        claims: what follows, the strongest first; none if there is a failure.
        failure: why the evidence proves nothing, with a failing word if one was found.
    """

    method: str
    evidence: Mapping[str, Json]
    claims: tuple[Claim, ...]
    failure: Failure | None


def prove(
    network: Json,
    language: Json,
    method: str,
    description: Mapping[str, Json],
    *,
    eps: Fraction | None = None,
    budget: WorkBudget | None = None,
) -> ProvedEvidence:
    """Returns the evidence that a description stands for, with every claim that follows from it.

    Args:
        network: JSON values of a network.
        language: JSON values of a language.
        method: a method of proof other than integer exactness, whose claims come with those of a cover.
        description: the evidence, without `cells` and `digest`.
        eps: for distributions the bound to claim, None for the distance that is found; for windows and
            fragile layers the change or noise to claim something about.
        budget: limits of the work.

    Raises:
        Unreadable: if network, language or description do not have the form they should have.
        OverBudget: if the budget ends first.
    """
    work = WorkCount(budget)
    problem = read_problem(network, language, work, ("network", "language"))
    check_values(dict(description), work)
    if problem.network.alphabet != problem.language.letters:
        raise Unreadable("network and language have different alphabets")
    choice(*(name for name in METHODS if name != INTEGERS))(method, "the method")
    evidence = check_evidence(dict(description), method, complete=False)
    found = derive(problem, method, evidence, None, eps)
    return ProvedEvidence(
        method=method,
        evidence={**evidence, **found.found},
        claims=tuple(_strongest(found.claims, evidence["task"]) if "digest" in found.found else found.claims),
        failure=found.failure,
    )


def _strongest(claims: Sequence[Claim], task: str) -> list[Claim]:
    """The claims that a certificate should state: for the task of a cover, and stronger ones in floats."""
    kept = [claim for claim in claims if claim.task == task]
    best: dict[str | None, int] = {}
    for claim in kept:
        best[claim.dtype] = min(SCOPES.index(claim.scope), best.get(claim.dtype, len(SCOPES)))
    others = [claim for claim in claims if claim.task != task and claim.dtype is not None]
    return kept + [c for c in others if SCOPES.index(c.scope) < best.get(c.dtype, len(SCOPES))]


def seal(network: Json, language: Json, proofs: Sequence[ProvedEvidence]) -> Certificate:
    """Returns the certificate of proofs about one network and one language."""
    evidence: dict[str, Json] = {proof.method: dict(proof.evidence) for proof in proofs}
    for proof in proofs:
        if any(claim.method == INTEGERS for claim in proof.claims):
            evidence[INTEGERS] = {"proof": proof.method}
    return Certificate(
        network=content_hash(network),
        language=content_hash(language["definition"]),
        claims=tuple(claim for proof in proofs for claim in proof.claims),
        evidence=evidence,
    )
