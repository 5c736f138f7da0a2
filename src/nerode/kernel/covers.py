"""Methods of proof: from the evidence of a method to the claims that follow from it.

A cover has the keys `task`, `cells`, `digest` and those that say what a cell knows (`METHODS`). What is
verified: the walk over the cells closes without a failure. How many cells it finds, and the digest of its
table, complete the evidence; a certificate must state the same (which adds no trust, but shows that maker and
kernel compute the same).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

_UNKNOWNS = ("counters", "affine", "rectified", "scale", "squashed", "tallies", "intervals", "merged")

COVER_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "joint-closure": ((), ()),
    "counter-invariant": ((), _UNKNOWNS),
    "stack-invariant": (("slots", "codes"), _UNKNOWNS),
    "digit-invariant": (("stack",), ("stacks", "power", *_UNKNOWNS)),
    "interval-closure": (("intervals",), _UNKNOWNS),
    "boxes": (("noise", "layers"), ()),
    "state-boxes": (("noise", "letters", "boxes"), ()),
    "n-gram-contexts": (("words",), ()),
    "n-gram-suffixes": ((), ()),
    "saturating-closure": (("caps",), ()),
    "fading-closure": (("scales", "registers"), ()),
    "ray-closure": (("rays",), ()),
    "growing-closure": (("counters", "affine", "power", "registers"), ()),
}
"""For each method the keys that its cover has besides those of all covers, and those that it may have."""

OTHER_KEYS: Mapping[str, tuple[str, ...]] = {
    "nilpotent-window": ("letters",),
    "contraction-window": ("letters",),
    "identity-word": ("layer", "first", "second", "identity", "apart"),
}
"""For each method whose evidence is no cover its keys."""

METHODS = (*COVER_KEYS, INTEGERS, *OTHER_KEYS)
"""All methods, in the order in which they are checked."""

EXACT_COVERS = tuple(COVER_KEYS)[:5]
"""The methods whose cells hold the numbers of the network exactly, so that its sums can be bounded."""

_FIRST_LOOK = 100
"""Cells that are searched for a failing word before a cover with unknowns is walked."""

_PATIENCE = 6_000
"""Cells beyond the stated number that are searched for a word on which the network fails."""

_SPAN_PATIENCE = 2_000
"""The same in interval arithmetic, which is slower."""

_DISTRIBUTIONS = ("n-gram-contexts", "n-gram-suffixes")
"""The methods that compare distributions. The next cell is known without the network: nothing is walked."""


def check_evidence(evidence: Json, method: str, *, complete: bool) -> Mapping[str, Json]:
    """Returns the evidence of a method after checking its keys, with or without what a walk completes.

    Raises:
        Unreadable: if it has others.
    """
    if method in OTHER_KEYS:
        return check_keys(evidence, OTHER_KEYS[method], "evidence")
    needed, optional = COVER_KEYS[method]
    completed = ("cells",) if method in _DISTRIBUTIONS else ("cells", "digest")
    return check_keys(evidence, ("task", *needed, *(completed if complete else ())), "evidence", optional)


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
    try:
        if method in OTHER_KEYS:
            return _derive_window(problem, method, evidence, stated, eps)
        task = choice(*LANGUAGE_TASKS)(evidence["task"], "task")
        if method in _DISTRIBUTIONS:
            found: Derivation = _compare(problem, method, evidence, task).derive(task, stated, eps)
            return found
        return _derive_cover(problem, method, evidence, task, stated)
    except Undecided as doubt:
        word = find_failing_word(problem, task) if stated is None and method in COVER_KEYS else None
        return Derivation(failure=word or Failure(what=str(doubt), entry=f"evidence.{method}"))


def _derive_window(
    problem: CheckProblem,
    method: str,
    evidence: Mapping[str, Json],
    stated: Sequence[Claim] | None,
    eps: Fraction | None,
) -> Derivation:
    """The claims that follow from evidence that is no cover."""
    from nerode.kernel.rooms.windows import contraction_claims, fragile_claims, nilpotent_claims

    sizes = [eps] if stated is None else [claim.eps for claim in stated]
    derive_claims = {
        "nilpotent-window": nilpotent_claims,
        "contraction-window": contraction_claims,
        "identity-word": fragile_claims,
    }[method]
    return Derivation(claims=derive_claims(problem, evidence, [size for size in sizes if size is not None]))


def _compare(problem: CheckProblem, method: str, evidence: Mapping[str, Json], task: str) -> Any:
    """The network compared with a model of distributions."""
    if method == "n-gram-contexts":
        from nerode.kernel.rooms.ngrams import compare_windows

        return compare_windows(problem, evidence, task)
    from nerode.kernel.rooms.suffixes import compare_contexts

    return compare_contexts(problem, evidence, task)


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
    domain: Domain
    if method == "joint-closure":
        if floats:
            from nerode.kernel.rooms.meter import ExactnessMeter

            meter = ExactnessMeter(problem.network)
        domain = PointDomain(problem, Stepper(problem.network, ExactArithmetic(problem.network, meter)))
    elif method in ("boxes", "state-boxes"):
        from nerode.kernel.rooms.boxes import BoxDomain, NodeDomain

        domain = BoxDomain(problem, cover) if method == "boxes" else NodeDomain(problem, cover)
    else:
        from nerode.kernel.rooms.knowledge import read_knowledge
        from nerode.kernel.rooms.unknowns import MAX_CELLS, UnknownsDomain

        known = read_knowledge(cover, problem.network)
        exact = method in EXACT_COVERS and not known.squashes
        failure = find_failing_word(problem, task, limit=_FIRST_LOOK) if exact else None
        if failure is not None:
            return Derivation(failure=failure)
        domain = UnknownsDomain(problem, known, metered=exact)
        if exact:
            meter, limit = domain.meter, MAX_CELLS
            tasks = [VALID_PREFIXES, task] if task == PREDICT and VALID_PREFIXES in floats else tasks
    claims = [language_claim(task=task, method=method)]
    claims += [language_claim(task=VALID_PREFIXES, method=method)] if task == PREDICT else []
    for each in tasks:
        result = walk(problem, domain, each, limit=limit)
        if not result.closed:
            return Derivation(failure=_failure(problem, method, task, result))
        claims += meter.claims(each) if meter is not None else []
    if method in ("boxes", "state-boxes"):
        from nerode.kernel.rooms.boxes import claims_under_noise

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
    from nerode.kernel.rooms.boxes import SearchDomain

    return SearchDomain(problem)
