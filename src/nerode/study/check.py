"""Algebra and verdicts of one language, within a budget: what `nerode check` prints.

The compiler is loaded only where few architectures are asked for, for the sizes of its networks; the proofs
are not. `study_language` has the whole way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nerode.algebra import Profile, profile as algebra_profile
from nerode.core import Budget, BudgetExceeded, started
from nerode.languages import Dfa, Language
from nerode.verdict import VerdictTable, VerdictTask, decide


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageProfile:
    """A language with its algebra.

    Attributes:
        language: the language.
        profile: what the algebra found.
        automaton: the minimal automaton; None if there is none or it was too large to build.
    """

    language: Language
    profile: Profile
    automaton: Dfa | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageVerdicts:
    """A language with its algebra and the verdicts on architectures."""

    language: Language
    profile: Profile
    table: VerdictTable


def profile_language(language: Language, *, budget: Budget | None = None) -> LanguageProfile:
    """Returns the algebra of a language and its automaton, as far as the budget goes."""
    budget = started(budget)
    found = algebra_profile(language, budget)
    automaton = None
    if found.regular:
        try:
            automaton = language.dfa(budget)
        except BudgetExceeded:
            automaton = None
    return LanguageProfile(language=language, profile=found, automaton=automaton)


def check_language(
    language: Language,
    *,
    architectures: Iterable[str] | None = None,
    task: VerdictTask | str = VerdictTask.PREDICT,
    dtype: str = "float32",
    budget: Budget | None = None,
) -> LanguageVerdicts:
    """Returns the algebra and the verdicts, as `study_language` does, and nothing else."""
    budget = started(budget)
    with budget.running():
        found = algebra_profile(language, budget)
        table = decide(
            language, architectures=architectures, task=task, dtype=dtype, profile=found, budget=budget
        )
        if architectures is not None:
            from nerode.study.sizes import is_cheap, with_compiled_sizes

            if is_cheap(found, table):
                table = with_compiled_sizes(language, found, table)
    return LanguageVerdicts(language=language, profile=found, table=table)


def check_object(language: Language, profile: Profile, table: VerdictTable) -> dict[str, Any]:
    """Returns what is known about a language as JSON-ready values.

    A value that was not computed within the budget is null, and its name is a key of "incomplete".
    """
    return {
        "language": language_object(language, profile),
        "algebra": algebra_object(language, profile),
        "task": table.task.value,
        "dtype": table.dtype,
        "verdicts": [verdict.to_json() for verdict in table],
        "incomplete": _incomplete(profile),
    }


def _incomplete(profile: Profile) -> dict[str, str]:
    """The reasons for values that are null, by their keys."""
    found = dict(profile.incomplete)
    why = found.pop("monoid", "")
    if why and profile.monoid_size is None:
        found |= {"monoid_size": why, "d_classes": why}
    return found


def language_object(language: Language, profile: Profile) -> dict[str, Any]:
    """Returns the description of a language."""
    return {
        "name": language.name,
        "kind": language.kind,
        "regular": language.regular,
        "alphabet": list(language.alphabet),
        "states": profile.num_states,
        "convention": language.convention,
        "family": language.family,
        "parameters": dict(language.parameters),
    }


def algebra_object(language: Language, profile: Profile) -> dict[str, Any]:
    """Returns what the algebra found."""
    decode = language.alphabet.decode
    witness = None if profile.counter is None else profile.counter.to_json(language.alphabet)
    return {
        "star_free": profile.star_free,
        "monoid_size": profile.monoid_size,
        "d_classes": profile.d_classes,
        "groups": [
            {
                "name": g.structure.name,
                "order": g.structure.order,
                "solvable": g.structure.solvable,
                "abelian": g.structure.abelian,
                "derived_length": g.structure.derived_length,
                "factors": list(g.structure.factors),
                "scope": g.scope,
                "states": list(g.points),
                "generators": [decode(w) for w in g.generators],
            }
            for g in profile.groups
        ],
        "classes": {name: m.holds for name, m in profile.classes.items()},
        "class_details": {
            name: {
                "k": m.parameter,
                "identity": m.identity,
                "method": m.method,
                "reference": str(m.reference),
                "witness": {role: decode(w) for role, w in m.witness.items()},
                "explanation": m.explanation,
            }
            for name, m in profile.classes.items()
        },
        "witness": witness,
        "source": profile.source,
    }
