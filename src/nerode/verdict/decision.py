"""From a language to a verdict for every architecture, in every sense."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nerode.algebra import Profile, profile as algebra_profile
from nerode.core import DTYPES, Budget, InputError
from nerode.languages import Language
from nerode.verdict.architectures import ARCHITECTURES, Architecture, find_architecture
from nerode.verdict.classes import MemoryKind
from nerode.verdict.facts import Facts
from nerode.verdict.records import Provenance, Sense, Status, Verdict, VerdictTable, VerdictTask
from nerode.verdict.theorems import THEOREMS, Theorem

_TRUST = {p: i for i, p in enumerate(Provenance)}


class ContradictionError(AssertionError):
    """Two rows of the theorem table answer the same question differently: a bug in the table."""


def decide(
    language: Language,
    *,
    architectures: Iterable[str] | None = None,
    task: VerdictTask | str = VerdictTask.PREDICT,
    dtype: str = "float32",
    profile: Profile | None = None,
    budget: Budget | None = None,
) -> VerdictTable:
    """Returns the verdict for every architecture in every sense.

    Args:
        language: the language to be expressed.
        architectures: names; all named architectures (not the classes) when None.
        task: "predict" or "recognise".
        dtype: the float format that the IEEE sense speaks of.
        profile: the algebra's findings, computed when None.
        budget: limits for computing them.

    Raises:
        InputError: for an unknown task, dtype or architecture.
        ContradictionError: if two theorem rows disagree.
    """
    facts = collect_facts(language, task=task, dtype=dtype, profile=profile, budget=budget)
    rows = select_architectures(architectures)
    verdicts = [verdict_for(facts, row, sense) for row in rows for sense in Sense]
    return VerdictTable(language=language.name, task=facts.task, dtype=dtype, verdicts=tuple(verdicts))


def select_architectures(names: Iterable[str] | None) -> list[Architecture]:
    """Returns the rows of these names, or all named architectures when None."""
    if names is None:
        return [row for row in ARCHITECTURES.values() if not row.is_class]
    return [find_architecture(name) for name in names]


def collect_facts(
    language: Language,
    *,
    task: VerdictTask | str = VerdictTask.PREDICT,
    dtype: str = "float32",
    profile: Profile | None = None,
    budget: Budget | None = None,
) -> Facts:
    """Returns what the theorems may ask about a language."""
    if task not in list(VerdictTask):
        raise InputError(f"unknown task {task!r}; allowed are {', '.join(VerdictTask)}")
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}; allowed are {', '.join(DTYPES)}")
    budget = budget or Budget()
    found = profile if profile is not None else algebra_profile(language, budget)
    return Facts(language=language, profile=found, task=VerdictTask(task), dtype=dtype, budget=budget)


def verdict_for(facts: Facts, architecture: Architecture, sense: Sense) -> Verdict:
    """Returns the verdict of one architecture in one sense."""
    found = _by_theorems(facts, architecture, sense)
    if found.status is Status.OPEN and architecture.properties.recurrence is MemoryKind.HYBRID:
        return _by_parts(facts, architecture, sense, found)
    return found


def _by_theorems(facts: Facts, architecture: Architecture, sense: Sense) -> Verdict:
    applying: list[Theorem] = []
    tried: list[str] = []
    close: list[str] = []
    for row in THEOREMS.values():
        if sense not in row.senses or facts.task not in row.tasks:
            continue
        if not row.architecture(architecture.properties):
            continue
        holds = row.language(facts)
        if holds and row.comes_only_close(architecture.properties, sense):
            close.append(
                f"{row.name}: in exact arithmetic it asks for gates that this class only comes close to"
            )
        elif holds:
            applying.append(row)
        else:
            why = "is not" if holds is False else "was not decided within the budget to be"
            tried.append(f"{row.name}: the language {why} {row.language.text}")
    if not applying:
        return _open(facts, architecture, sense, tried, close)
    answers = {row.conclusion for row in applying}
    if len(answers) > 1:
        names = ", ".join(f"{row.name} says {row.conclusion}" for row in applying)
        raise ContradictionError(f"{facts.language.name} on {architecture.name}, {sense}: {names}")
    best = min(applying, key=lambda row: _rank(row, facts, architecture))
    return Verdict(
        architecture=architecture.name,
        sense=sense,
        task=facts.task,
        status=best.conclusion,
        reason=best.reason(facts),
        reference=best.reference,
        provenance=best.provenance,
        assumptions=best.assumptions,
        size=best.size(facts, architecture),
        witness=best.witness(facts),
        theorem=best.name,
        also=tuple(row.name for row in applying if row is not best),
    )


def _rank(row: Theorem, facts: Facts, architecture: Architecture) -> tuple[int, ...]:
    """Orders rows that agree: a smaller known network first, then the better source."""
    size = row.size(facts, architecture)
    unknown = 10**9
    if size is None:
        layers = width = factors = unknown
    else:
        layers = unknown if size.layers is None else size.layers
        width = unknown if size.width is None else size.width
        factors = unknown if size.factors is None else size.factors
    return (layers, factors, width, _TRUST[row.provenance])


def _by_parts(facts: Facts, architecture: Architecture, sense: Sense, found: Verdict) -> Verdict:
    """A hybrid can leave the layers of one kind idle, so a "yes" for one of its parts carries over."""
    for name in architecture.properties.parts:
        part = _by_theorems(facts, ARCHITECTURES[name], sense)
        if part.status is Status.YES:
            return Verdict(
                architecture=architecture.name,
                sense=sense,
                task=facts.task,
                status=Status.YES,
                reason=f"its {name} layers suffice: {part.reason}",
                reference=part.reference,
                provenance=part.provenance,
                assumptions=(*part.assumptions, "the other layers pass the stream on"),
                size=part.size,
                theorem=part.theorem,
                also=part.also,
            )
    return found


def _open(
    facts: Facts, architecture: Architecture, sense: Sense, tried: Sequence[str], close: Sequence[str]
) -> Verdict:
    properties = architecture.properties
    if close:
        reason = (
            "its gates reach 1 and -1 only in the limit, which the known constructions need over the reals"
        )
    elif not tried:
        reason = "no theorem of the table speaks of this architecture in this sense"
    elif not facts.regular and not properties.free_write:
        reason = "the write vanishes when the gate is 1, so the counter construction does not apply"
    else:
        reason = "no theorem of the table applies"
    return Verdict(
        architecture=architecture.name,
        sense=sense,
        task=facts.task,
        status=Status.OPEN,
        reason=reason,
        tried=(*close, *tried),
    )
