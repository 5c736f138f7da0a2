"""Claims that float arithmetic makes no error, re-derived from the states that a proof has visited."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.proofs.certificate import Claim
from nerode.proofs.checker_cells import METHODS, search_cells
from nerode.proofs.checker_closure import METHOD as CLOSURE, verify_closure
from nerode.proofs.checker_dtypes import Exactness
from nerode.proofs.checker_problem import Evidence, Failure, Problem, refuse_unless_implied


def verify_integers(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks bit-exact claims; the evidence names the proof whose states they speak of."""
    proof = evidence.get("proof")
    if set(evidence) != {"proof"} or proof not in (CLOSURE, *METHODS) or proof not in problem.evidence:
        return Failure(
            what="the evidence does not name a proof of this certificate", entry="evidence.integer-exactness"
        )
    shown: list[Claim] = []
    for task in dict.fromkeys(claim.task for claim in claims):
        failure, exactness = _measured(problem, proof, task)
        if failure is not None:
            return failure
        if exactness is not None:
            shown.extend(exactness.claims(task))
    return refuse_unless_implied(claims, shown)


def _measured(problem: Problem, proof: str, task: str) -> tuple[Failure | None, Exactness | None]:
    if proof != CLOSURE:
        return search_cells(problem, problem.evidence[proof], task, proof)
    if (CLOSURE, task) not in problem.notes:
        failure = verify_closure(problem, problem.evidence[proof], ())
        if failure is not None:
            return failure, None
    return None, problem.notes.get((CLOSURE, task))
