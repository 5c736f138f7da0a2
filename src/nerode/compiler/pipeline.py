"""From a language to a network: a table of contents.

1. facts      the language and what the algebra knows about it (`verdict`)
2. verdict    whether the target can express it at all; if not, a refusal with the theorem and its witness
3. choice     the first construction of `table` whose hypotheses language and target meet
4. build      exact weights (`constructions`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nerode.algebra import profile
from nerode.algebra.cascades import Cascade
from nerode.compiler.construction import Construction, Options, Request
from nerode.compiler.constructions.star_free import STAR_FREE, STAR_FREE_CASCADE
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Language
from nerode.languages.ngrams import BackoffModel, NgramLanguage
from nerode.network import Network
from nerode.verdict import (
    Architecture,
    Facts,
    Sense,
    Status,
    Verdict,
    VerdictTask,
    collect_facts,
    find_architecture,
    softmax,
    verdict_for,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A network and what it was made from, for writers of weights that begin before its layers.

    Attributes:
        network: what the construction made.
        cascade: the set-reset levels that its layers run; None for another construction.
        facts: about the language.
        options: those that it was made with.
    """

    network: Network
    cascade: Cascade | None
    facts: Facts
    options: Options


def compile_language(
    language: Language, to: str, options: Options | None = None, *, facts: Facts | None = None
) -> Network:
    """Returns the exact network of a language for a class or an architecture."""
    return compile_program(language, to, options, facts=facts).network


def compile_program(
    language: Language, to: str, options: Options | None = None, *, facts: Facts | None = None
) -> Program:
    """Returns a network with exact weights that does the language on the target, and its cascade.

    Args:
        language: the language.
        to: a class ("diagonal", "householder" …) or a named architecture ("mamba" …).
        options: the user's choices.
        facts: about the language, for the task of recognition; collected when None.

    Raises:
        UnknownName: for an unknown target or construction.
        NotCompilable: with all reasons, when theory or the constructions at hand say no.
        BudgetExceeded: if no construction makes a network and the budget ended one of them.
    """
    options = options or Options()
    with options.budget.running() as budget:
        options = replace(options, budget=budget)
        facts = facts or language_facts(language, budget)
        network = _compile(Request(facts=facts, target=find_architecture(to), options=options))
        cascade = facts.found.get(STAR_FREE_CASCADE)
        if not isinstance(cascade, Cascade) or network.origin.construction != STAR_FREE.name:
            cascade = None
        return Program(network=network, cascade=cascade, facts=facts, options=options)


def _compile(request: Request) -> Network:
    reasons, possible = _refusals(request.facts, request.target)
    if reasons and not possible and not _is_predicted(request):
        raise NotCompilable(request.target.name, reasons, impossible=True)
    stopped: BudgetExceeded | None = None
    tried: dict[str, str] = {}
    for row in _candidates(request, reasons):
        try:
            # Another construction is no way out once the seconds are used up.
            request.options.budget.check_time()
            return row.compile(request)
        except NotCompilable as refusal:
            reasons.extend(f"{row.name}: {reason}" for reason in refusal.reasons)
            tried[row.name] = "; ".join(refusal.reasons)
        except BudgetExceeded as stop:
            stopped = stopped or stop
    if stopped is not None:
        raise stopped
    reasons = reasons or ["no construction for this class of architectures"]
    known = _without_network(request)
    reasons = [*(f"{name}: {reason}" for name, reason in known.items()), *reasons]
    raise NotCompilable(request.target.name, reasons, tried=known | tried)


def language_facts(language: Language, budget: Budget) -> Facts:
    """Returns the facts for recognition; class tests run only where a theorem or construction asks."""
    found = profile(language, budget, on_demand=True)
    return collect_facts(language, task=VerdictTask.RECOGNISE, profile=found, budget=budget)


def _refusals(facts: Facts, target: Architecture) -> tuple[list[str], bool]:
    """The theorems that say no, over the reals or at finite precision, and whether one of the two says yes.

    Over the reals states may fade for ever, so that a network may exist there alone.
    """
    asked = [verdict_for(facts, target, sense) for sense in (Sense.FINITE_PRECISION, Sense.EXACT)]
    possible = any(verdict.status is Status.YES for verdict in asked)
    if softmax(target.properties) and any(verdict.status is Status.NO for verdict in asked):
        # The language test of attention in floats has words to show.
        asked.append(verdict_for(facts, target, Sense.IEEE))
    works: dict[tuple[str, str], list[str]] = {}
    for verdict in asked:
        if verdict.status is Status.NO:
            named = works.setdefault((verdict.reason, _witness_text(verdict, facts)), [])
            named += [str(verdict.reference)] if str(verdict.reference) not in named else []
    return [f"{reason} ({'; '.join(named)}){witness}" for (reason, witness), named in works.items()], possible


def _without_network(request: Request) -> dict[str, str]:
    """The theorems that say yes although no network is compiled, with the reason."""
    senses = (Sense.EXACT, Sense.FINITE_PRECISION)
    verdicts = [verdict_for(request.facts, request.target, sense) for sense in senses]
    return {v.theorem: f"yes ({v.sense}), but {v.no_network}" for v in verdicts if v.no_network}


def _is_predicted(request: Request) -> bool:
    """Whether the target does the language on prefixes of valid words, though not on all words."""
    known = request.facts
    facts = collect_facts(
        known.language, task=VerdictTask.PREDICT, profile=known.profile, budget=request.options.budget
    )
    return _refusals(facts, request.target)[1]


def _witness_text(verdict: Verdict, facts: Facts) -> str:
    """The words that show a "no", to stand behind its reason; empty if there are none."""
    if verdict.witness is not None and "u" in verdict.witness and facts.profile.counter is not None:
        return f"; witness {facts.profile.counter.describe(facts.language.alphabet)}"
    if verdict.witness is not None and "second" in verdict.witness:
        first, second = (verdict.witness[name] or "ε" for name in ("first", "second"))
        return f"; witness the states after {first} and {second}"
    return ""


def _candidates(request: Request, reasons: list[str]) -> list[Construction]:
    """The constructions whose hypotheses are met; the others leave their reason."""
    asked = request.options.construction
    found = []
    rows = list(CONSTRUCTIONS.values()) if asked is None else [CONSTRUCTIONS[asked]]
    rows.sort(key=lambda row: row.predicts_only != request.options.predicts)
    language = request.facts.language
    if isinstance(language, NgramLanguage) and isinstance(language.model, BackoffModel):
        # Its probabilities are asked for; a network of the sentences alone would be another thing.
        rows = [row for row in rows if row.distributions]
        if not any(row.architecture(request.target.properties) for row in rows):
            known = ", ".join(
                f"{r.name} ({r.architecture.text})" for r in CONSTRUCTIONS.values() if r.distributions
            )
            reasons.append(
                f"{language.name} is a model with probabilities, and the constructions that give them are "
                f"{known}; choose such a target, for example ssm or elman-relu, or ask for the sentences "
                "of positive probability alone (--support)"
            )
    for row in rows:
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
