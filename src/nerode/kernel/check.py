"""Checking a certificate.

What is verified of a certificate:

1. its hashes are those of the network and of the language's definition;
2. every claim names a method with evidence, and all evidence is used by a claim;
3. each claim follows from what the method re-derives from the evidence (`first_not_implied`).

    folder     network.json   language.json   certificate.json
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.kernel.claims import (
    INTEGERS,
    LANGUAGE_TASKS,
    Certificate,
    Claim,
    Derivation,
    Failure,
    Refutation,
    certificate_from_json,
    first_not_implied,
)
from nerode.kernel.covers import EXACT_COVERS, METHODS, check_evidence, derive, find_failing_word
from nerode.kernel.languages import read_language
from nerode.kernel.network import read_network
from nerode.kernel.reader import check_values, choice, content_hash, quoted, read_json, record, whole
from nerode.kernel.walk import CheckProblem
from nerode.kernel.work import Unreadable, WorkBudget, WorkCount

Json = Any

NETWORK_FILE = "network.json"
LANGUAGE_FILE = "language.json"
CERTIFICATE_FILE = "certificate.json"

MAX_BYTES = {NETWORK_FILE: 1 << 28, LANGUAGE_FILE: 1 << 28, CERTIFICATE_FILE: 1 << 24}
"""Files above these sizes are refused unread."""

_MOST_CELLS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Result of a check.

    Attributes:
        ok: whether every claim of the certificate holds.
        claims: the claims that hold; none unless all do.
        failure: why the certificate is refused.
    """

    ok: bool
    claims: tuple[Claim, ...]
    failure: Failure | None


def check_folder(path: Path | str, *, budget: WorkBudget | None = None) -> CheckResult:
    """Returns whether the certificate in a folder holds.

    Raises:
        Unreadable: for a file that is missing, too large, cut short or not what it should be.
        OverBudget: if the budget ends before the check does.
    """
    folder = Path(path)
    parts = [read_json(folder / name, most) for name, most in MAX_BYTES.items()]
    return _check(*parts, budget=budget, names=[str(folder / name) for name in MAX_BYTES])


def check(
    network: Json, language: Json, certificate: Json, *, budget: WorkBudget | None = None
) -> CheckResult:
    """Returns whether a certificate holds; all three are JSON values.

    Raises:
        Unreadable: if one of them does not have the form it should have.
        OverBudget: if the budget ends before the check does.
    """
    return _check(network, language, certificate, budget=budget, names=["network", "language", "certificate"])


def _check(
    network: Json, language: Json, certificate: Json, *, budget: WorkBudget | None, names: list[str]
) -> CheckResult:
    work = WorkCount(budget)
    stated = _reading(names[2], certificate, certificate_from_json, work)
    problem = read_problem(network, language, work, names)
    hashes = {"network": content_hash(network), "language": content_hash(language["definition"])}
    for what, found in hashes.items():
        wanted = getattr(stated, what)
        if wanted != found:
            whole = f"the certificate is for another {what}: its SHA-256 is {found}, not {wanted}"
            return _refused(Failure(what=whole, entry=what, refutation=_failing_word(problem, stated)))
    if problem.network.alphabet != problem.language.letters:
        return _refused(
            Failure(what="network and language have different alphabets", entry="network.alphabet")
        )
    failure = _first_failure(problem, stated)
    if failure is not None:
        return _refused(failure)
    return CheckResult(ok=True, claims=stated.claims, failure=None)


def read_problem(network: Json, language: Json, work: WorkCount, names: Sequence[str]) -> CheckProblem:
    """Returns network and language, read.

    Raises:
        Unreadable: if one of them, which is named, does not have the form it should have.
    """
    return CheckProblem(
        network=_reading(names[0], network, lambda data: read_network(data, work), work),
        language=_reading(names[1], language, lambda data: read_language(data, work), work),
        work=work,
    )


def _reading(name: str, data: Json, read: Callable[[Json], Any], work: WorkCount) -> Any:
    """Returns what `read` returns; what it cannot make sense of is named after its file."""
    try:
        check_values(data, work)
        return read(data)
    except Unreadable as error:
        raise Unreadable(error.what, path=name) from None


def _refused(failure: Failure) -> CheckResult:
    return CheckResult(ok=False, claims=(), failure=failure)


def _failing_word(problem: CheckProblem, stated: Certificate) -> Refutation | None:
    """A shortest word on which the network fails the claims, for a message that says more than a hash."""
    task = next((claim.task for claim in stated.claims if claim.task in LANGUAGE_TASKS), None)
    if task is None or problem.network.alphabet != problem.language.letters:
        return None
    failure = find_failing_word(problem, task)
    return None if failure is None else failure.refutation


def _first_failure(problem: CheckProblem, stated: Certificate) -> Failure | None:
    unknown = sorted(({claim.method for claim in stated.claims} | stated.evidence.keys()) - {*METHODS})
    if unknown:
        known = ", ".join(METHODS)
        return Failure(what=f"the method {quoted(unknown[0])} is not among {known}", entry="claims")
    derived = functools.cache(functools.partial(_derived, problem, stated))
    for method in METHODS:
        claims = [claim for claim in stated.claims if claim.method == method]
        if method in stated.evidence and not claims:
            return Failure(what="evidence that no claim uses", entry=f"evidence.{method}")
        if not claims:
            continue
        try:
            source = method
            if method == INTEGERS:
                evidence = record({"proof": choice(*EXACT_COVERS)})(stated.evidence.get(method), "evidence")
                source = evidence["proof"]
            shown = derived(source)
        except Unreadable as error:
            return Failure(what=str(error), entry=f"evidence.{method}")
        failure = shown.failure or first_not_implied(claims, shown.claims)
        if failure is not None:
            return failure
    return None


def _derived(problem: CheckProblem, stated: Certificate, method: str) -> Derivation:
    """The claims that follow from stated evidence, if it is what the kernel completes it to."""
    if method not in stated.evidence:
        return Derivation(
            failure=Failure(what=f"the certificate has no evidence for {method}", entry="evidence")
        )
    evidence = check_evidence(stated.evidence[method], method, complete=True)
    if "cells" in evidence:
        problem.work.count_cells(whole(1, _MOST_CELLS)(evidence["cells"], "cells"))
    claims = [claim for claim in stated.claims if claim.method in (method, INTEGERS)]
    found = derive(
        problem, method, evidence, [c for c in claims if c.method == method or method in EXACT_COVERS]
    )
    for key, value in found.found.items():
        if evidence[key] != value:
            what = f"{key} is {quoted(evidence[key], 70)}, but the walk has {value}"
            return Derivation(failure=Failure(what=what, entry=f"evidence.{method}.{key}"))
    return found
