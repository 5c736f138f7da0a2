"""All that is said about a compiled network in one dtype: proofs first, then tests, then the horizon."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nerode.core import Budget, BudgetExceeded, FormatError, InputError, write_atomically
from nerode.languages import Language
from nerode.models.compiled import load_model
from nerode.network import Network, network_hash
from nerode.proofs.certificate import (
    ANY_ORDER,
    TESTED,
    Certificate,
    Claim,
    Refutation,
    certificate_from_json,
    certificate_to_json,
)
from nerode.proofs.checker_problem import Failure
from nerode.proofs.floats.agreement import agreement_claim, compare_forward, random_words
from nerode.proofs.floats.arithmetic import describe_arithmetic
from nerode.proofs.floats.certify import FloatVerdict, certify_floats
from nerode.proofs.floats.horizons import Horizon
from nerode.proofs.floats.loop_search import LoopReport, search_loops
from nerode.proofs.floats.recheck import METHOD, recheck
from nerode.proofs.floats.runner import Runner

Json = Any

LOOPS = "loops"
LONGEST = 1 << 16
"""Length to which loops are read where no proof reaches all lengths."""

LOOP_SECONDS = 5.0
"""Time for loops, even if the proof has taken all of the budget."""

MAX_BYTES = 1 << 26

_WORDS, _LENGTH, _CUTS = 8, 65, ((), (1, 2, 40))
"""Random words on which `forward` is compared with `step`, and where they are cut."""


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What was found about a network in one dtype.

    Attributes:
        dtype: the format.
        claims: proofs, then tests.
        failure: a word on which the module fails, or why a stored certificate is refused.
        horizon: where a loop fails, predicted and measured; None if no loop was seen to fail.
        details: facts about how it was found, for reading.
        certificate: the proof by closure, as far as it goes.
    """

    dtype: str
    claims: tuple[Claim, ...]
    failure: Failure | None
    horizon: Horizon | None
    details: dict[str, Json]
    certificate: Certificate | None


def examine(
    network: Network,
    language: Language,
    *,
    dtype: str,
    known: Sequence[Claim] = (),
    budget: Budget | None = None,
) -> Examination:
    """Returns what can be shown about a network in a dtype, and what was tested.

    Args:
        network: a compiled network.
        language: what it should do.
        dtype: the format.
        known: claims that are already proved, of which one may cover any order of evaluation.
        budget: limits the joint states (`elements`) and the time.
    """
    budget = budget or Budget()
    task = next((c.task for c in known if c.dtype == dtype), None)
    try:
        verdict = certify_floats(network, language, dtype=dtype, task=task, budget=budget)
    except InputError as error:
        # A complex state in half precision, or a weight that the format does not hold: there is no module.
        return Examination(
            dtype=dtype,
            claims=(),
            failure=None,
            horizon=None,
            details={"reason": str(error)},
            certificate=None,
        )
    claims = [] if verdict.certificate is None else list(verdict.certificate.claims)
    failure = None if verdict.refutation is None else _failure(verdict.refutation, verdict.runner.dtype)
    details = _details(verdict)
    horizon = None
    if verdict.length != "all":
        seconds = max(LOOP_SECONDS, budget.seconds - budget.elapsed())
        more = replace(budget, seconds=seconds).start()
        loops = search_loops(verdict.runner, language, task=verdict.task, longest=LONGEST, budget=more)
        horizon = loops.horizon
        details |= _loop_details(loops, language)
        if horizon is None and failure is None and loops.tested:
            claims.append(_loop_claim(verdict, loops))
        elif failure is None and horizon is not None:
            failure = _loop_failure(horizon, language, dtype)
    tested, differs = _compare(verdict.runner, verdict.task, budget)
    exact = any(c.dtype == dtype and c.scope == ANY_ORDER for c in known)
    if differs and exact and failure is None:
        failure = Failure(what=f"{differs}, although every order of evaluation is exact", entry="forward")
    return Examination(
        dtype=dtype,
        claims=(*claims, *tested),
        failure=failure,
        horizon=horizon,
        details=details | ({"forward": differs} if differs else {}),
        certificate=verdict.certificate,
    )


def recheck_stored(
    folder: Path, network: Network, language: Language, *, dtype: str, budget: Budget | None = None
) -> Examination | None:
    """Returns whether the stored certificate for a dtype holds; None if the folder has none."""
    path = certificate_path(folder, dtype)
    if not path.exists():
        return None
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"is larger than {MAX_BYTES:,} bytes", path=path)
    try:
        certificate = certificate_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (InputError, ValueError, RecursionError) as error:
        raise FormatError(f"is not a certificate: {error}", path=path) from None
    module = load_model(network, dtype=getattr(torch, dtype)).eval()
    failure = recheck(
        module,
        language,
        certificate,
        empty=network.decoder.empty,
        network=network_hash(network),
        budget=budget,
    )
    details: dict[str, Json] = {"replayed": str(path), "arithmetic": describe_arithmetic()}
    made_on = certificate.evidence.get(METHOD, {}).get("arithmetic")
    if made_on != details["arithmetic"]:
        # What holds here holds on the arithmetic of this machine; of the other one nothing was seen.
        details["made_on"] = made_on
    return Examination(
        dtype=dtype,
        claims=() if failure else certificate.claims,
        failure=failure,
        horizon=None,
        details=details,
        certificate=None if failure else certificate,
    )


def store(folder: Path, examination: Examination) -> Path | None:
    """Writes the proof by closure into a folder, beside the network; returns where."""
    if examination.certificate is None:
        return None
    path = certificate_path(folder, examination.dtype)
    write_atomically(path, json.dumps(certificate_to_json(examination.certificate), sort_keys=True) + "\n")
    return path


def certificate_path(folder: Path, dtype: str) -> Path:
    """Returns where the certificate for a dtype is kept."""
    return folder / f"certificate.{dtype}.json"


def _details(verdict: FloatVerdict) -> dict[str, Json]:
    found: dict[str, Json] = {"states": verdict.states, "reason": verdict.reason or None}
    if verdict.certificate is not None:
        evidence = verdict.certificate.evidence[METHOD]
        found |= {"batches": evidence["batches"], "arithmetic": evidence["arithmetic"]}
    return found


def _loop_details(loops: LoopReport, language: Language) -> dict[str, Json]:
    found: dict[str, Json] = {"loops": loops.loops, "loops_tested_to": loops.tested}
    horizon = loops.horizon or loops.foreseen
    if horizon is not None:
        found["horizon"] = {
            "word": horizon.word.show(language.alphabet),
            "predicted": horizon.predicted,
            "measured": horizon.repetitions,
            "at": None if horizon.error is None else horizon.error.at,
            "steps": horizon.steps,
        }
    return found


def _loop_claim(verdict: FloatVerdict, loops: LoopReport) -> Claim:
    return Claim(
        scope=TESTED,
        method=LOOPS,
        task=verdict.task,
        covers=(
            f"{loops.loops} words that repeat one or two letters, each followed by any one letter, were read "
            "up to this length without an error. This is a test, not a proof."
        ),
        dtype=verdict.runner.dtype,
        length=loops.tested,
    )


def _failure(refutation: Refutation, dtype: str) -> Failure:
    return Failure(
        what=(
            f"in {dtype}, after {refutation.at:,} letters, the module says "
            f"{{{', '.join(refutation.got)}}}, the language {{{', '.join(refutation.expected)}}}"
        ),
        refutation=refutation,
    )


def _loop_failure(horizon: Horizon, language: Language, dtype: str) -> Failure:
    assert horizon.error is not None
    assert horizon.repetitions is not None
    shown = horizon.word.show(language.alphabet, horizon.repetitions)
    return _failure(horizon.error.refutation((shown,)), dtype)


def _compare(runner: Runner, task: str, budget: Budget) -> tuple[list[Claim], str]:
    """The claim that `forward` agrees with `step` on random words, or where it does not."""
    if not runner.has_forward:
        return [], ""
    letters = random_words(runner, words=_WORDS, length=_LENGTH)
    try:
        difference = compare_forward(
            runner, letters, cuts=_CUTS, budget=replace(budget, seconds=10.0).start()
        )
    except BudgetExceeded:
        return [], ""
    if difference is None:
        return [agreement_claim(dtype=runner.dtype, task=task, words=_WORDS, length=_LENGTH)], ""
    return [], (
        f"forward gives {difference.forward} where step gives {difference.step} ({difference.what}, after "
        f"{difference.position} letters)"
    )
