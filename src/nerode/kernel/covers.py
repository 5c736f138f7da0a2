"""Methods of proof: from the evidence of a method to the claims that follow from it.

A cover has the keys `task`, `cells`, `digest` and those that say what a cell knows (`METHOD_ROWS`). What is
verified: the walk over the cells closes without a failure. How many cells it finds, and the digest of its
table, complete the evidence; a certificate must state the same (which adds no trust, but shows that maker and
kernel compute the same).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.claims import (
    INTEGERS,
    LANGUAGE_TASKS,
    PREDICT,
    VALID_PREFIXES,
    Claim,
    Derivation,
    Failure,
    language_claim,
)
from nerode.kernel.reader import check_keys, choice
from nerode.kernel.step import ExactArithmetic, Stepper
from nerode.kernel.walk import CheckProblem, Domain, PointDomain, WalkResult, walk
from nerode.kernel.work import OverBudget, Undecided

Json = Any

_UNKNOWNS = ("counters", "affine", "rectified", "scale", "tallies", "intervals", "merged")


@dataclass(frozen=True, slots=True)
class MethodRow:
    """The evidence of a method, and where it is checked.

    Attributes:
        domain: "core", or the optional module (in `domains`) that is imported for it.
        needed: the keys of the evidence, besides those that all covers have.
        optional: the keys that it may have.
        exact: whether its cells hold the numbers of the network exactly, so that sums can be bounded.
    """

    domain: str
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    exact: bool = False


METHOD_ROWS: Mapping[str, MethodRow] = {
    "joint-closure": MethodRow("core", exact=True),
    "counter-invariant": MethodRow("infinite", (), _UNKNOWNS, exact=True),
    "stack-invariant": MethodRow("infinite", ("slots", "codes"), _UNKNOWNS, exact=True),
    "interval-closure": MethodRow("infinite", ("intervals",), _UNKNOWNS, exact=True),
    "boxes": MethodRow("boxes", ("noise", "layers")),
    "state-boxes": MethodRow("boxes", ("noise", "letters", "boxes")),
    "n-gram-contexts": MethodRow("distributions"),
    "saturating-closure": MethodRow("infinite", ("caps",)),
    INTEGERS: MethodRow("floats", ("proof",)),
    "window": MethodRow("windows", ("letters",)),
    "identity-word": MethodRow("windows", ("layer", "first", "second", "identity", "apart")),
}

METHODS = tuple(METHOD_ROWS)
"""All methods, in the order in which they are checked."""

EXACT_COVERS = tuple(method for method, row in METHOD_ROWS.items() if row.exact)
"""The methods that claims in float formats may rest on."""

_FIRST_LOOK = 100
"""Cells that are searched for a failing word before a cover with unknowns is walked."""

_PATIENCE = 6_000
"""Cells beyond the stated number that are searched for a word on which the network fails."""

_SPAN_PATIENCE = 2_000
"""The same in interval arithmetic, which is slower."""


def check_evidence(evidence: Json, method: str, *, complete: bool) -> Mapping[str, Json]:
    """Returns the evidence of a method after checking its keys, with or without what a walk completes.

    Raises:
        Unreadable: if it has others.
    """
    row = METHOD_ROWS[method]
    keys = row.needed
    if row.domain != "windows":
        # Where distributions are compared, the next cell is known without the network: nothing is walked.
        completed = ("cells",) if row.domain == "distributions" else ("cells", "digest")
        keys = ("task", *keys, *(completed if complete else ()))
    return check_keys(evidence, keys, "evidence", row.optional)


def derive(
    problem: CheckProblem,
    method: str,
    evidence: Mapping[str, Json],
    stated: Sequence[Claim] | None,
    eps: Fraction | None = None,
) -> Derivation:
    """Returns what follows from evidence.

    Args:
        problem: network, language and work.
        method: the method, not integer exactness.
        evidence: with the right keys.
        stated: the claims that are to follow, with those in float formats that rest on the same cells; None
            for all that there are.
        eps: where all are asked for, the size to claim something about.

    Raises:
        Unreadable: if the evidence does not have its form.
    """
    needed = METHOD_ROWS[method].domain
    try:
        if needed == "windows":
            from nerode.kernel.domains.windows import window_claims

            sizes = [eps] if stated is None else [claim.eps for claim in stated]
            return Derivation(claims=window_claims(problem, method, evidence, sizes))
        task = choice(*LANGUAGE_TASKS)(evidence["task"], "task")
        if needed == "distributions":
            from nerode.kernel.domains.ngrams import compare

            return compare(problem, task).derive(task, stated, eps)
        return _derive_cover(problem, method, evidence, task, stated)
    except Undecided as doubt:
        word = find_failing_word(problem, task) if stated is None and needed != "windows" else None
        return Derivation(failure=word or Failure(what=str(doubt), entry=f"evidence.{method}"))


def _derive_cover(
    problem: CheckProblem,
    method: str,
    cover: Mapping[str, Json],
    task: str,
    stated: Sequence[Claim] | None,
) -> Derivation:
    """The claims that follow where the walk over a cover closes.

    Where float claims for valid prefixes are wanted, these are also walked by themselves, where fewer values
    occur.
    """
    floats = LANGUAGE_TASKS if stated is None else {c.task for c in stated if c.method == INTEGERS}
    limit = cover["cells"] + _PATIENCE if "cells" in cover else None
    tasks = [task]
    meter = None
    row = METHOD_ROWS[method]
    domain: Domain
    if row.domain == "core":
        if floats:
            from nerode.kernel.domains.meter import ExactnessMeter

            meter = ExactnessMeter(problem.network)
        domain = PointDomain(problem, Stepper(problem.network, ExactArithmetic(problem.network, meter)))
    elif row.domain == "boxes":
        from nerode.kernel.domains.boxes import BoxDomain, NodeDomain

        domain = BoxDomain(problem, cover) if method == "boxes" else NodeDomain(problem, cover)
    else:
        from nerode.kernel.domains.knowledge import read_knowledge
        from nerode.kernel.domains.unknowns import MAX_CELLS, UnknownsDomain

        known = read_knowledge(cover, problem.network)
        failure = find_failing_word(problem, task, limit=_FIRST_LOOK) if row.exact else None
        if failure is not None:
            return Derivation(failure=failure)
        domain = UnknownsDomain(problem, known, metered=row.exact)
        if row.exact:
            meter, limit = domain.meter, MAX_CELLS
            tasks = [VALID_PREFIXES, task] if task == PREDICT and VALID_PREFIXES in floats else tasks
    claims = [language_claim(task=task, method=method)]
    claims += [language_claim(task=VALID_PREFIXES, method=method)] if task == PREDICT else []
    for each in tasks:
        result = walk(problem, domain, each, limit=limit, guarded=True)
        if not result.closed:
            return Derivation(failure=_failure(problem, method, task, result))
        claims += meter.claims(each) if meter is not None else []
    if row.domain == "boxes":
        from nerode.kernel.domains.boxes import claims_under_noise

        claims += claims_under_noise(problem, method, cover, task, stated, result.cells)
    return Derivation(found={"cells": result.cells, "digest": result.digest}, claims=claims)


def _failure(problem: CheckProblem, method: str, task: str, result: WalkResult) -> Failure:
    """The reason why a walk shows nothing, with a failing word if one is found."""
    found = result.failure
    if found is not None and found.refutation is not None:
        return found
    what = f"the walk has more than {result.cells:,} cells" if found is None else found.what
    return find_failing_word(problem, task) or Failure(what=what, entry=f"evidence.{method}")


def find_failing_word(problem: CheckProblem, task: str, *, limit: int = _PATIENCE) -> Failure | None:
    """Returns the failure on a shortest word if a limited search finds one.

    Piecewise linear networks are run in exact arithmetic, others in interval arithmetic without noise.
    """
    for search, most in ((_exact_search, limit), (_span_search, min(limit, _SPAN_PATIENCE))):
        try:
            failure = walk(problem, search(problem), task, limit=most).failure
        except (Undecided, OverBudget):
            continue
        if failure is None or failure.refutation is not None:
            return failure
    return None


def _exact_search(problem: CheckProblem) -> Domain:
    return PointDomain(problem, Stepper(problem.network, ExactArithmetic(problem.network)))


def _span_search(problem: CheckProblem) -> Domain:
    from nerode.kernel.domains.boxes import SearchDomain

    return SearchDomain(problem)
