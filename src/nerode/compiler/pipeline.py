"""From a language to a network: a table of contents.

1. facts      the language and what the algebra knows about it (`verdict`)
2. verdict    whether the target can express it at all; if not, a refusal with the theorem and its witness
3. choice     the first construction of `table` whose hypotheses language and target meet
4. build      exact weights (`constructions`)
"""

from __future__ import annotations

from nerode.algebra import profile
from nerode.compiler.construction import Construction, Options, Request
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Language
from nerode.network import Network
from nerode.verdict import (
    Facts,
    Sense,
    Status,
    Verdict,
    VerdictTask,
    collect_facts,
    find_architecture,
    verdict_for,
)


def compile_language(
    language: Language, to: str, options: Options | None = None, *, facts: Facts | None = None
) -> Network:
    """Returns a network with exact weights that does the language on the target.

    Args:
        language: the language.
        to: a class ("diagonal", "householder" …) or a named architecture ("mamba" …).
        options: the user's choices.
        facts: about the language, for the task of recognition; collected when None.

    Raises:
        UnknownName: for an unknown target or construction.
        NotCompilable: with all reasons, when theory or the constructions at hand say no.
    """
    options = options or Options()
    request = Request(
        facts=facts or _facts(language, options.budget),
        target=find_architecture(to),
        options=options,
    )
    reasons = _refusals(request)
    if reasons:
        raise NotCompilable(request.target.name, reasons, impossible=True)
    for row in _candidates(request, reasons):
        try:
            return row.compile(request)
        except NotCompilable as refusal:
            reasons.extend(f"{row.name}: {reason}" for reason in refusal.reasons)
        except BudgetExceeded as stop:
            reasons.append(f"{row.name}: {stop}")
    raise NotCompilable(request.target.name, reasons or ["no construction for this class of architectures"])


def _facts(language: Language, budget: Budget) -> Facts:
    """The facts for recognition; class tests run only where a theorem or a construction asks for them."""
    found = profile(language, budget, on_demand=True)
    return collect_facts(language, task=VerdictTask.RECOGNISE, profile=found, budget=budget)


def _refusals(request: Request) -> list[str]:
    """The theorem that says no, in exact arithmetic or at finite precision."""
    found: list[str] = []
    for sense in (Sense.FINITE_PRECISION, Sense.EXACT):
        verdict = verdict_for(request.facts, request.target, sense)
        if verdict.status is Status.NO:
            text = _refusal(verdict, request.facts)
            if text not in found:
                found.append(text)
    return found


def _refusal(verdict: Verdict, facts: Facts) -> str:
    witness = ""
    if verdict.witness is not None and "u" in verdict.witness and facts.profile.counter is not None:
        witness = f"; witness {facts.profile.counter.describe(facts.language.alphabet)}"
    return f"{verdict.reason} ({verdict.reference}){witness}"


def _candidates(request: Request, reasons: list[str]) -> list[Construction]:
    """The constructions whose hypotheses are met; the others leave their reason."""
    asked = request.options.construction
    found = []
    for row in CONSTRUCTIONS.values() if asked is None else [CONSTRUCTIONS[asked]]:
        if not row.architecture(request.target.properties):
            if asked is not None:
                reasons.append(f"{row.name}: needs {row.architecture.text}")
            continue
        if holds := row.language(request.facts):
            found.append(row)
        else:
            why = "is not" if holds is False else "was not decided within the budget to be"
            reasons.append(f"{row.name}: the language {why} {row.language.text}")
    return found
