"""Everything about one language that a page shows, computed within a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nerode.algebra import Profile, green, profile as algebra_profile, transition_monoid
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa, Language
from nerode.report.eggbox import Box, eggboxes_of
from nerode.report.networks import NetworkStudy, study_networks
from nerode.verdict import Task, VerdictTable, decide

_EGGBOX_ELEMENTS = 5_000
"""Monoids above this size are not drawn; their D-classes would not be readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A language with its algebra, drawings and verdicts."""

    language: Language
    profile: Profile
    automaton: Dfa | None
    networks: tuple[NetworkStudy, ...]
    eggboxes: tuple[Box, ...]
    table: VerdictTable


def study_language(
    language: Language,
    *,
    architectures: Iterable[str] | None = None,
    task: Task | str = Task.PREDICT,
    dtype: str = "float32",
    networks: bool = False,
    budget: Budget | None = None,
) -> Study:
    """Returns what is known about a language within the budget.

    Args:
        language: the language.
        architectures: names; all named architectures when None.
        task: what the verdicts are about.
        dtype: the float format of the IEEE sense.
        networks: whether to compile and certify networks too.
        budget: limits, for each network anew.
    """
    budget = budget or Budget()
    found = algebra_profile(language, budget)
    automaton = None
    if found.regular:
        try:
            automaton = language.dfa(budget)
        except BudgetExceeded:
            automaton = None
    table = decide(
        language, architectures=architectures, task=task, dtype=dtype, profile=found, budget=budget
    )
    return Study(
        language=language,
        profile=found,
        automaton=automaton,
        networks=tuple(study_networks(language, profile=found, budget=budget)) if networks else (),
        eggboxes=_eggboxes(automaton, found),
        table=table,
    )


def _eggboxes(automaton: Dfa | None, found: Profile) -> tuple[Box, ...]:
    if automaton is None or found.monoid_size is None or found.monoid_size > _EGGBOX_ELEMENTS:
        return ()
    monoid = transition_monoid(automaton, Budget(elements=_EGGBOX_ELEMENTS))
    return tuple(eggboxes_of(green(monoid), automaton.alphabet))
