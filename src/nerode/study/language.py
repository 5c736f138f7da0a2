"""The study of one language: algebra, automaton, egg-boxes, verdicts, networks and proofs, within a budget.

`study_language` is the whole way; its first two steps are in `check`, for those who need no more. Pages and
terminals draw a study; they do not compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nerode.algebra import Profile
from nerode.core import Budget
from nerode.languages import Dfa, Language
from nerode.study.check import profile_language
from nerode.study.eggboxes import MAX_ELEMENTS, Box, draw_eggboxes
from nerode.study.networks import NetworkStudy, study_networks
from nerode.verdict import VerdictTable, VerdictTask, decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A language with its algebra, its verdicts and its networks.

    Attributes:
        language: the language.
        profile: what the algebra found.
        table: verdicts for one task; any number of architectures and senses.
        automaton: the minimal automaton; None if there is none or it was too large to build.
        eggboxes: the D-classes of the syntactic monoid; none if it was not enumerated.
        networks: compiled networks with their certificates; none if they were not asked for.
    """

    language: Language
    profile: Profile
    table: VerdictTable
    automaton: Dfa | None = None
    eggboxes: tuple[Box, ...] = ()
    networks: tuple[NetworkStudy, ...] = ()


def study_language(
    language: Language,
    *,
    architectures: Iterable[str] | None = None,
    task: VerdictTask | str = VerdictTask.PREDICT,
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
    known = profile_language(language, budget=budget)
    table = decide(
        language, architectures=architectures, task=task, dtype=dtype, profile=known.profile, budget=budget
    )
    return Study(
        language=language,
        profile=known.profile,
        table=table,
        automaton=known.automaton,
        eggboxes=_eggboxes(known.automaton, known.profile),
        networks=tuple(study_networks(language, profile=known.profile, budget=budget)) if networks else (),
    )


def _eggboxes(automaton: Dfa | None, found: Profile) -> tuple[Box, ...]:
    if automaton is None or found.monoid_size is None or found.monoid_size > MAX_ELEMENTS:
        return ()
    return tuple(draw_eggboxes(automaton))
