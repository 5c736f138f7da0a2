"""From a language to a verdict for every architecture, in every sense; and the open questions by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nerode.algebra import Profile, profile as algebra_profile
from nerode.core import DTYPES, Budget, InputError, started
from nerode.languages import Language
from nerode.verdict.architectures import ARCHITECTURES, Architecture, find_architecture
from nerode.verdict.classes import (
    ArchitectureClass,
    ClassCondition,
    MemoryKind,
    Positions,
    State,
    above_minus_half,
    attention,
    complex_gates,
    diagonal,
    hybrid,
    linear,
    never_holds,
    nonlinear,
    nonnegative,
    plain_state,
    rotated_heads,
    sloped_heads,
    time_invariant,
    unit_gates,
)
from nerode.verdict.facts import Facts
from nerode.verdict.records import Bits, Provenance, Sense, Size, Status, Verdict, VerdictTable, VerdictTask
from nerode.verdict.theorems import THEOREMS, Theorem
from nerode.verdict.theorems.base import NO_AUTOMATON

_UNDECIDED = "the algebra of this language was not computed within the budget"

_QUESTIONS: tuple[tuple[ClassCondition, Sense | None, str], ...] = (
    (
        attention,
        Sense.IEEE,
        "can a head without a slope keep the latest write, if sums are taken in order",
    ),
    (
        attention,
        Sense.EXACT,
        "which languages beyond counters, stacks and solvable groups can softmax express over the reals",
    ),
    (
        rotated_heads,
        None,
        "which periods can rotary positions express, and can they keep the latest write",
    ),
    (attention, None, "can averages with a distance penalty keep a stack, if they are compared exactly"),
    (
        hybrid,
        Sense.IEEE,
        "can rounding help alternating kinds of layers beyond what they do over the reals",
    ),
    (hybrid, None, "what can layers of two kinds do together that neither can alone"),
    (
        unit_gates,
        None,
        "can layers of isometries overwrite with the help of unbounded counters",
    ),
    (
        never_holds,
        Sense.IEEE,
        "can a fixed decay with fixed rotations count in the last bits of a float, or hold a value "
        "outside of float32",
    ),
    (
        never_holds,
        Sense.EXACT,
        "can fixed rotations by irrational angles count modulo m, read by tame maps",
    ),
    (
        time_invariant & complex_gates,
        Sense.IEEE,
        "can rounded rotations count modulo m at chosen letters, which exact ones cannot",
    ),
    (
        time_invariant,
        Sense.FINITE_PRECISION,
        "can fixed gates keep the last write, or a count, with a margin",
    ),
    (time_invariant, Sense.EXACT, "can a mean with fixed decay keep a stack over the reals"),
    (
        above_minus_half,
        Sense.FINITE_PRECISION,
        "can products of several steps count along loops of letters, or keep a stack",
    ),
    (
        linear & nonnegative,
        Sense.EXACT,
        "can one contraction per token rotate a state over the reals, as several can",
    ),
    (
        linear & ~diagonal,
        Sense.IEEE,
        "can rounding rotate a state that contractions alone do not rotate",
    ),
    (
        linear & ~diagonal,
        Sense.FINITE_PRECISION,
        "can steps that separate states keep a stack, with a margin that survives errors",
    ),
    (
        linear & diagonal,
        Sense.EXACT,
        "can commuting gates track a group that is not solvable, over the reals with tame maps",
    ),
    (linear & diagonal, Sense.IEEE, "can rounding make commuting gates track a group that is not solvable"),
    (
        nonlinear & ~plain_state,
        Sense.FINITE_PRECISION,
        "can a weighted mean count, if its weights are exponentials",
    ),
    (nonlinear, Sense.FINITE_PRECISION, "can units without gates choose between push and pop by the letter"),
)
"""Questions in the order in which they are asked: the first whose class and sense fit is the one."""


def open_question(facts: Facts, properties: ArchitectureClass, sense: Sense) -> str:
    """Returns what is not known, as a question or as a limit that was reached."""
    if facts.regular and facts.automaton is None:
        return _UNDECIDED
    for condition, asked, question in _QUESTIONS:
        if condition(properties) and asked in (sense, None):
            return question + "?"
    return "no known theorem decides this architecture in this arithmetic"


STACK = "the compiler is asked for one of its layers alone; of a stack given by its parts nothing is tried"
"""The reason for which a "yes" of a stack has the mark †."""

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
    budget = started(budget)
    found = profile if profile is not None else algebra_profile(language, budget)
    return Facts(language=language, profile=found, task=VerdictTask(task), dtype=dtype, budget=budget)


def verdict_for(facts: Facts, architecture: Architecture, sense: Sense) -> Verdict:
    """Returns the verdict of one architecture in one sense."""
    if sense is Sense.ROBUST and architecture.properties.state is State.CACHE:
        return Verdict(
            architecture=architecture.name,
            sense=sense,
            task=facts.task,
            status=Status.OPEN,
            reason="robustness is defined for states of fixed size, not for a cache that grows",
            undefined=True,
        )
    found = _by_theorems(facts, architecture, sense)
    if found.status is not Status.YES and architecture.properties.recurrence is MemoryKind.HYBRID:
        found = _by_parts(facts, architecture, sense, found)
    if "+" in architecture.name and found.status is Status.YES:
        found = replace(found, no_network=found.no_network or STACK)
    if architecture.properties.recurrence is MemoryKind.HYBRID:
        unlisted = facts.regular and facts.automaton is None and facts.language.family == "bounded-dyck"
        if found.status is Status.YES and unlisted:
            found = replace(found, no_network=found.no_network or NO_AUTOMATON)
        return found
    return _with_horizon(found, facts, architecture) if sense is Sense.IEEE else found


HORIZONS = {"float64": 1 << 53, "float32": 1 << 24, "bfloat16": 1 << 24}
"""Letters up to which a decoder with slopes finds the latest match: scores are in float32 or wider."""


def _with_horizon(found: Verdict, facts: Facts, architecture: Architecture) -> Verdict:
    """The length that a compiled cascade of heads reaches, sums in any order, where no network has none."""
    sloped = sloped_heads(architecture.properties) and facts.profile.star_free
    if (found.status is Status.YES and not found.no_network) or not sloped:
        return found
    # In 16 bits the labels before the letter need positions.
    periodic = architecture.properties.positions is Positions.PERIODIC_AND_PENALTY
    reached = {name: n for name, n in HORIZONS.items() if name != "bfloat16" or periodic}
    reach = reached.get(facts.dtype)
    reason = found.reason if reach is None else f"{found.reason}; in any order up to {reach:,} letters"
    return replace(found, horizon=reached, reason=reason)


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
    # What holds without a condition stands; what hangs on one may speak of other weights.
    firm = [row for row in applying if not row.conditional_on] or applying
    answers = {row.conclusion for row in firm}
    if len(answers) > 1:
        names = ", ".join(f"{row.name} says {row.conclusion}" for row in firm)
        raise ContradictionError(f"{facts.language.name} on {architecture.name}, {sense}: {names}")
    best = min(firm, key=lambda row: _rank(row, facts, architecture))
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
        also=tuple(row.name for row in applying if row is not best and row.conclusion is best.conclusion),
        conditional_on=best.conditional_on,
        model=best.model,
        no_network=_why_no_network(facts, best, applying, architecture, sense),
        bits=_fewest_bits(best, applying, architecture, sense),
    )


def _fewest_bits(
    best: Theorem, applying: Sequence[Theorem], architecture: Architecture, sense: Sense
) -> Bits | None:
    """The bits of a number in the network of a row that takes fewest; None where the answer is no "yes"."""
    if best.conclusion is not Status.YES:
        return None
    agreeing = (row for row in applying if row.conclusion is Status.YES)
    found = (row.bits_in(architecture.properties, sense) for row in agreeing)
    return min(found, key=list(Bits).index)


def _why_no_network(
    facts: Facts, best: Theorem, applying: Sequence[Theorem], architecture: Architecture, sense: Sense
) -> str:
    """The reason for which a "yes" has no network; empty if the compiler has one by any row that applies."""
    agreeing = [row for row in applying if row.conclusion is Status.YES]
    why = [row.why_no_network(facts, architecture.properties, sense) for row in agreeing]
    return why[0] if best.conclusion is Status.YES and all(why) else ""


def _rank(row: Theorem, facts: Facts, architecture: Architecture) -> tuple[int, ...]:
    """Orders rows that agree: a smaller known network first, then the better source."""
    size = row.size(facts, architecture) or Size()
    numbers = [10**9 if n is None else n for n in (size.layers, size.factors, size.width)]
    return (*numbers, _TRUST[row.provenance])


def _by_parts(facts: Facts, architecture: Architecture, sense: Sense, found: Verdict) -> Verdict:
    """A hybrid can leave the layers of one kind idle, so a "yes" for one of its parts carries over.

    Raises:
        ContradictionError: if both that and a "no" of the hybrid hold without a condition.
    """
    for name in architecture.properties.parts:
        part = _by_theorems(facts, ARCHITECTURES[name], sense)
        if part.status is not Status.YES or (found.status is Status.NO and part.conditional_on):
            continue
        if found.status is Status.NO and not found.conditional_on:
            raise ContradictionError(
                f"{facts.language.name} on {architecture.name}, {sense}: {found.theorem} says no, and "
                f"{part.theorem} says yes for {name} alone"
            )
        finite = _by_theorems(facts, architecture, Sense.FINITE_PRECISION)
        compiled = finite.status is Status.YES and not finite.no_network
        return replace(
            part,
            architecture=architecture.name,
            no_network="" if compiled else part.no_network,
            reason=f"its {name} layers suffice: {part.reason}",
            assumptions=(*part.assumptions, "the other layers pass the stream on"),
            witness=None,
        )
    return found


def _open(
    facts: Facts, architecture: Architecture, sense: Sense, tried: Sequence[str], close: Sequence[str]
) -> Verdict:
    question = open_question(facts, architecture.properties, sense)
    return Verdict(
        architecture=architecture.name,
        sense=sense,
        task=facts.task,
        status=Status.OPEN,
        reason=question,
        question=question,
        tried=(*close, *tried),
    )
