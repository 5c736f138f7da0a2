"""Sizes of networks that the compiler makes, beside verdicts, where that is cheap."""

from __future__ import annotations

from dataclasses import replace

from nerode.algebra import Profile
from nerode.compiler import CONSTRUCTIONS, Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Language
from nerode.network import Network
from nerode.verdict import Sense, Size, Status, Verdict, VerdictTable, VerdictTask, collect_facts
from nerode.verdict.theorems import THEOREMS

MOST_ARCHITECTURES = 8
"""Verdicts on more architectures than that are shown with the sizes of their theorems."""

_MOST_TRANSITIONS = 500
_SECONDS = 1.0
_UNKNOWN = 10**9


def is_cheap(profile: Profile, table: VerdictTable) -> bool:
    """Returns whether networks for all "yes" of a table are made in about a second."""
    if len(table.architectures()) > MOST_ARCHITECTURES:
        return False
    if not profile.regular:
        return True
    return profile.num_states is not None and profile.num_states <= _MOST_TRANSITIONS


def with_compiled_sizes(language: Language, profile: Profile, table: VerdictTable) -> VerdictTable:
    """Returns the verdicts; a "yes" has the size of the compiler's network where that is smaller."""
    if profile.regular and (profile.num_states or 0) * len(language.alphabet) > _MOST_TRANSITIONS:
        return table
    budget = Budget(seconds=_SECONDS).start()
    facts = collect_facts(language, task=VerdictTask.RECOGNISE, profile=profile, budget=budget)
    made: dict[str, Network] = {}
    for name in table.architectures():
        if any(v.architecture == name and v.status is Status.YES for v in table):
            try:
                made[name] = compile_language(language, name, Options(budget=budget), facts=facts)
            except (NotCompilable, BudgetExceeded):
                continue
    return replace(table, verdicts=tuple(_sized(v, made.get(v.architecture)) for v in table))


def _sized(verdict: Verdict, network: Network | None) -> Verdict:
    if network is None or verdict.status is not Status.YES:
        return verdict
    theorem = THEOREMS[CONSTRUCTIONS[network.origin.construction].theorem]
    if not theorem.senses & {verdict.sense, Sense.ROBUST}:  # what is robust is right in every sense
        return verdict
    factors = [n for layer in network.layers if (n := layer.recurrence.most_factors) is not None]
    found = Size(
        layers=network.depth, width=network.width, factors=max(factors, default=None), note="compiled"
    )
    return replace(verdict, size=found) if _rank(found) < _rank(verdict.size) else verdict


def _rank(size: Size | None) -> tuple[int, ...]:
    """Orders sizes: fewer layers, then factors, then states."""
    if size is None or size.layers is None:
        return (_UNKNOWN,)
    width = _UNKNOWN if size.width is None else size.width
    return (size.layers, size.factors or 0, width)
