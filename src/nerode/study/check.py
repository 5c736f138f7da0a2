"""Algebra and verdicts of one language, within a budget: what `nerode check` prints.

The compiler is loaded only where few architectures are asked for, for the sizes of its networks; the proofs
are not. `study_language` has the whole way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nerode.algebra import Profile, profile as algebra_profile
from nerode.core import Budget, BudgetExceeded, NotCompilable, started
from nerode.languages import Dfa, Language
from nerode.verdict import Sense, Size, Status, Verdict, VerdictTable, VerdictTask, collect_facts, decide
from nerode.verdict.theorems import THEOREMS

if TYPE_CHECKING:
    from nerode.network import Network

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
    from nerode.compiler import Options, compile_language

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
    from nerode.compiler import CONSTRUCTIONS

    construction = CONSTRUCTIONS[network.origin.construction]
    if construction.predicts_only and verdict.task is VerdictTask.RECOGNISE:
        return verdict
    theorem = THEOREMS[construction.theorem]
    if not theorem.senses & {verdict.sense, Sense.ROBUST}:  # what is robust is right in every sense
        return verdict
    factors = [n for layer in network.layers if (n := layer.recurrence.most_factors) is not None]
    known = verdict.size
    found = Size(
        layers=network.depth,
        width=network.width,
        factors=max(factors, default=None),
        fewer=known.fewer if known is not None and known.layers == network.depth else "",
        note="compiled",
    )
    return replace(verdict, size=found) if _rank(found) < _rank(verdict.size) else verdict


def _rank(size: Size | None) -> tuple[int, ...]:
    """Orders sizes: fewer layers, then factors, then states."""
    if size is None or size.layers is None:
        return (_UNKNOWN,)
    width = _UNKNOWN if size.width is None else size.width
    return (size.layers, size.factors or 0, width)


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
        if architectures is not None and is_cheap(found, table):
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
