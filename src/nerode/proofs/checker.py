"""Re-checking a certificate: the program that does not trust who made it.

It imports the record of certificates, `nerode.languages` and `nerode.core`, and nothing else of nerode: no
compiler, no models, no torch. A certificate is accepted only if its hashes fit, and every claim follows
from what is recomputed here. It does not matter which program wrote it.

    folder     config.json (network)   language.json   certificate.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import Budget, FormatError, InputError
from nerode.languages import Language, language_from_description
from nerode.proofs.certificate import (
    Certificate,
    Claim,
    Refutation,
    certificate_from_json,
    content_hash,
)
from nerode.proofs.checker_boxes import METHOD as BOXES, verify_boxes
from nerode.proofs.checker_cells import METHODS as CELL_METHODS, verify_cells
from nerode.proofs.checker_closure import METHOD as CLOSURE, find_failure, verify_closure
from nerode.proofs.checker_dtypes import METHOD as INTEGERS
from nerode.proofs.checker_forms import Undecided
from nerode.proofs.checker_integers import verify_integers
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_ngrams import METHOD as NGRAMS, verify_ngrams
from nerode.proofs.checker_noise import METHOD as NOISE, verify_noise
from nerode.proofs.checker_problem import LANGUAGE_TASKS, Failure, Problem, Verifier
from nerode.proofs.checker_records import CheckedNetwork
from nerode.proofs.checker_saturation import METHOD as SATURATION, verify_saturation
from nerode.proofs.checker_state_boxes import METHOD as STATE_BOXES, verify_state_boxes
from nerode.proofs.checker_windows import METHODS as WINDOW_METHODS, verify_window

Json = Any

VERIFIERS: dict[str, Verifier] = {
    CLOSURE: verify_closure,
    **dict.fromkeys(CELL_METHODS, verify_cells),
    INTEGERS: verify_integers,
    BOXES: verify_boxes,
    STATE_BOXES: verify_state_boxes,
    **dict.fromkeys(WINDOW_METHODS, verify_window),
    NOISE: verify_noise,
    NGRAMS: verify_ngrams,
    SATURATION: verify_saturation,
}
"""One verifier for each method; methods are tried in this order."""

NETWORK_FILE = "config.json"
LANGUAGE_FILE = "language.json"
CERTIFICATE_FILE = "certificate.json"

MAX_BYTES = {NETWORK_FILE: 1 << 28, LANGUAGE_FILE: 1 << 28, CERTIFICATE_FILE: 1 << 24}
"""Files above these sizes are refused unread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What the check found.

    Attributes:
        ok: whether every claim of the certificate holds.
        claims: the claims that hold; none unless all do.
        failure: why the certificate is refused.
        language: what the claims are about, as the checker has read it; None if the certificate is refused.
    """

    ok: bool
    claims: tuple[Claim, ...]
    failure: Failure | None
    language: Language | None = None


def check_folder(path: Path | str, *, budget: Budget | None = None) -> CheckResult:
    """Returns whether the certificate in a folder holds.

    Raises:
        FormatError: for a file that is missing, too large, cut short or not what it should be.
        BudgetExceeded: if the budget ends before the check does.
    """
    folder = Path(path)
    parts = [_read_json(folder / name) for name in (NETWORK_FILE, LANGUAGE_FILE, CERTIFICATE_FILE)]
    return _check(*parts, budget=budget, names=[str(folder / name) for name in MAX_BYTES])


def check(network: Json, language: Json, certificate: Json, *, budget: Budget | None = None) -> CheckResult:
    """Returns whether a certificate holds; all three are JSON values.

    Raises:
        FormatError: if one of them does not have the form it should have.
        BudgetExceeded: if the budget ends before the check does.
    """
    return _check(network, language, certificate, budget=budget, names=["network", "language", "certificate"])


def _check(
    network: Json, language: Json, certificate: Json, *, budget: Budget | None, names: list[str]
) -> CheckResult:
    stated = _reading(names[2], lambda: certificate_from_json(certificate))
    hashes = (
        _reading(names[0], lambda: content_hash(network)),
        _reading(names[1], lambda: _definition_hash(language)),
    )
    read = _reading(names[0], lambda: read_network(network))
    spoken = _reading(names[1], lambda: language_from_description(language))
    for what, wanted, found in zip(
        ("network", "language"), (stated.network, stated.language), hashes, strict=True
    ):
        if wanted != found:
            whole = f"the certificate is for another {what}: its SHA-256 is {found}, not {wanted}"
            return _refused(
                Failure(what=whole, entry=what, refutation=_failing_word(read, spoken, stated, budget))
            )
    if tuple(read.alphabet) != tuple(spoken.alphabet):
        return _refused(
            Failure(what="network and language have different alphabets", entry="network.alphabet")
        )
    problem = Problem(network=read, language=spoken, evidence=stated.evidence, budget=budget or Budget())
    failure = _first_failure(problem, stated)
    if failure is not None:
        return _refused(failure)
    return CheckResult(ok=True, claims=stated.claims, failure=None, language=spoken)


def _failing_word(
    network: CheckedNetwork, language: Language, stated: Certificate, budget: Budget | None
) -> Refutation | None:
    """A shortest word on which the network fails the claims, for a message that says more than a hash."""
    task = next((claim.task for claim in stated.claims if claim.task in LANGUAGE_TASKS), None)
    if task is None or tuple(network.alphabet) != tuple(language.alphabet):
        return None
    problem = Problem(network=network, language=language, evidence={}, budget=budget or Budget())
    try:
        failure = find_failure(problem, task)
    except (InputError, Undecided):
        return None
    return None if failure is None else failure.refutation


def _first_failure(problem: Problem, stated: Certificate) -> Failure | None:
    methods = {claim.method for claim in stated.claims} | set(stated.evidence)
    unknown = sorted(methods - set(VERIFIERS))
    if unknown:
        known = ", ".join(VERIFIERS)
        return Failure(what=f"the method {unknown[0][:60]!r} is not among {known}", entry="claims")
    for method, verifier in VERIFIERS.items():
        claims = [claim for claim in stated.claims if claim.method == method]
        if method in stated.evidence and not claims:
            return Failure(what="evidence that no claim uses", entry=f"evidence.{method}")
        if not claims:
            continue
        if method not in stated.evidence:
            return Failure(what=f"the certificate has no evidence for {method}", entry="evidence")
        try:
            failure = verifier(problem, stated.evidence[method], claims)
        except (InputError, Undecided) as error:
            failure = Failure(what=str(error), entry=f"evidence.{method}")
        if failure is not None:
            return failure
    return None


def _refused(failure: Failure) -> CheckResult:
    return CheckResult(ok=False, claims=(), failure=failure)


def _definition_hash(language: Json) -> str:
    if not isinstance(language, Mapping) or "definition" not in language:
        raise InputError("a language without a definition")
    return content_hash(language["definition"])


def _reading(name: str, read: Any) -> Any:
    """Returns what `read` returns; anything it cannot make sense of is a FormatError of the named file."""
    try:
        return read()
    except FormatError:
        raise
    except (InputError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(str(error), path=name) from None


def _read_json(path: Path) -> Json:
    limit = MAX_BYTES[path.name]
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
    if len(content) > limit:
        raise FormatError(f"is larger than {limit:,} bytes", path=path)
    try:
        return json.loads(content.decode(), object_pairs_hook=_no_repetition, parse_constant=_no_constant)
    except RecursionError:
        raise FormatError("is nested too deeply", path=path) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error.msg}", path=path, line=error.lineno) from None
    except ValueError as error:
        raise FormatError(f"is not JSON text: {error}", path=path) from None


def _no_repetition(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a number")
