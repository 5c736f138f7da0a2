"""The form of one row of the theorem table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nerode.core import Reference
from nerode.verdict.architectures import ARCHITECTURES, Architecture
from nerode.verdict.classes import ArchitectureClass, ClassCondition, MemoryKind, gates_open
from nerode.verdict.facts import Facts, LanguageCondition
from nerode.verdict.records import Bits, Provenance, Sense, Size, Status, VerdictTask

EXACT = frozenset({Sense.EXACT})
FINITE = frozenset({Sense.FINITE_PRECISION})
IEEE = frozenset({Sense.IEEE})
ROBUST = frozenset({Sense.ROBUST})
"""Senses of a row; several are joined by |."""

ANYTHING = ClassCondition("any architecture", lambda c: True)
ANY_LANGUAGE = LanguageCondition("any language", lambda f: True)

TAME = "real numbers without rounding, tame maps between layers"
GEOMETRIC = "one layer over the reals, readout continuous on finitely many open convex sets"
MARGIN = "unrounded states, finitely many values between layers, read with a margin"
SARROF = "constantly many fractional bits and unbounded integer bits, states normalised before the readout"
CAST = "all states and products cast into one finite set of values"
FIXED_WIDTH = "fixed-width arithmetic that saturates"
LOG_BITS = "numbers with O(log n) bits on words of length n"
FLOATS = "IEEE floats step by step: to nearest, gradual underflow, no fused operations"
METRIC = "metric automata: a disturbance below eps at every step"
HARD = "unique hard attention with strict future masking"
SOFT = "softmax over the reals; averages may be compared exactly"
INTEGERS = "unbounded integers"
RATIONALS = "rational numbers of unbounded length"
SATURATING = "units with a threshold or saturation, exact"
"""Models of arithmetic in which sources state their results; docs/theory/senses.md says how they relate."""

BY_HAND = "a network is written by hand and run in tests/theory/test_fixed_gates.py"
NO_FLOAT = "no float format carries it: its numbers shrink, or grow, at every letter"
LINDEMANN = f"gates γ e^{{iθ}} are transcendental, and numbers of the record are algebraic; {BY_HAND}"
ROUNDING = (
    "it is correct by rounding alone; the same weights in exact arithmetic, that of the record, are wrong"
)
QUOTIENT = "a linear layer of the record has no quotient of two states"
BY_NAME = "the compiler writes it for a language that is given by its name"
NOT_WRITTEN = "the construction is proved, and the compiler does not write it"
NO_TALLY = "its network is proved in exact arithmetic, in floats up to a length: a sum of events stops"
LIMIT_PAIR = "a write of ±1 beside a gate of 1 is a limit of its pairs; the record writes with finite weights"
NO_ROTARY = "the compiler writes no decoder whose queries and keys are turned by their positions"
ON_PREFIXES = "the compiler writes decoders for all words, which need a window here"
MIRRORS = (
    "the compiler turns by mirrors of the plane, which floats round from order 5 on; its blocks of swaps are "
    "for languages of groups"
)
MANY_MOVES = (
    "its network is written; its proof in floats is not tried for more than 500 moves of the automaton"
)
LARGE = "for an automaton of more than 3,000 moves its network takes minutes, and no proof in floats is tried"
NO_AUTOMATON = "the compiler writes it from the automaton, which has too many states"
BIAS_ROW = "the layer that is trained here has a bias row, so that its keys end in 1"
"""Reasons for which a "yes" is not compiled; docs/theory/senses.md explains the mark †."""

RATIONAL_ANGLES = "the angle of every gate is a rational multiple of 2π"
TC0 = "TC0 ≠ NC1"
"""Conditions on which answers may hang."""

HERE = Reference("NerodeTheory")


def hybrid_of(layers: ClassCondition) -> ClassCondition:
    """Returns the condition of a hybrid all of whose parts are so; a "no" for one part says nothing."""
    return ClassCondition(
        f"a hybrid whose parts each have {layers.text}",
        lambda c: bool(c.parts) and all(layers(ARCHITECTURES[name].properties) for name in c.parts),
    )


def hybrid_with(*layers: ClassCondition) -> ClassCondition:
    """Returns the condition of a hybrid that has, for each of these, a part that is so."""
    return ClassCondition(
        "a hybrid with " + " and with ".join(part.text for part in layers),
        lambda c: all(any(part(ARCHITECTURES[name].properties) for name in c.parts) for part in layers),
    )


def no_size(facts: Facts, architecture: Architecture) -> Size | None:
    """The theorem gives no size."""
    return None


def no_witness(facts: Facts) -> Mapping[str, Any] | None:
    """The theorem needs no witness."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNetwork:
    """Classes, languages and senses for which a "yes" has no compiled network, and the reason."""

    reason: str
    architecture: ClassCondition = ANYTHING
    language: LanguageCondition = ANY_LANGUAGE
    senses: frozenset[Sense] = frozenset(Sense)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """One result: if the language is so and the architecture is so, then yes (or no).

    Attributes:
        name: kebab-case.
        statement: the result in one sentence, for the documentation.
        language: the hypothesis on the language.
        architecture: the hypothesis on the architecture's class.
        over_the_reals: what the class needs besides in exact arithmetic, where a gate that a sigmoid reaches
            only in the limit is not reached; None if nothing.
        senses: the arithmetic in which it holds.
        tasks: prediction, recognition or both.
        conclusion: yes or no.
        reference: where it comes from; a place inside the work only where that was read. Derived here if
            nothing else is said.
        provenance: how we know what the work says.
        model: the model of arithmetic in which the source states it.
        conditional_on: a conjecture, or an assumption about the weights that the sense does not make; empty
            if the answer hangs on nothing.
        assumptions: what a reader must accept.
        reason: the short "because" for a language to which it applies.
        size: the smallest size that it gives.
        witness: what shows a "no".
        no_network: where the compiler has no network for this "yes".
        bits: bits of a number after n letters; floats and robust states have constantly many.
        fades: whether the network holds by gates, so that it fades over the reals where they stay below 1.
    """

    name: str
    statement: str
    language: LanguageCondition
    architecture: ClassCondition
    senses: frozenset[Sense]
    conclusion: Status
    reference: Reference = HERE
    provenance: Provenance = Provenance.DERIVED
    model: str
    reason: Callable[[Facts], str]
    over_the_reals: ClassCondition | None = None
    tasks: frozenset[VerdictTask] = frozenset(VerdictTask)
    conditional_on: str = ""
    assumptions: tuple[str, ...] = ()
    size: Callable[[Facts, Architecture], Size | None] = no_size
    witness: Callable[[Facts], Mapping[str, Any] | None] = no_witness
    no_network: tuple[NoNetwork, ...] = ()
    bits: Bits = Bits.CONSTANT
    fades: bool = True

    def __post_init__(self) -> None:
        if self.conclusion is Status.OPEN:
            raise ValueError(f"the theorem {self.name} concludes nothing")
        if not self.senses or not self.tasks:
            raise ValueError(f"the theorem {self.name} holds in no sense or for no task")
        if self.reference.place and self.provenance is not Provenance.READ:
            raise ValueError(f"the theorem {self.name} cites a place in a work that was not read")
        if self.over_the_reals is not None and Sense.EXACT not in self.senses:
            raise ValueError(f"the theorem {self.name} asks for more in a sense that it does not speak of")

    def comes_only_close(self, properties: ArchitectureClass, sense: Sense) -> bool:
        """Returns whether a class lacks what the theorem asks for in exact arithmetic alone."""
        further = self.over_the_reals if sense is Sense.EXACT else None
        return further is not None and not further(properties)

    def bits_in(self, properties: ArchitectureClass, sense: Sense) -> Bits:
        """Returns how many bits a number takes after n letters in one sense."""
        if sense in (Sense.IEEE, Sense.ROBUST):
            return Bits.CONSTANT
        recurrent = properties.recurrence in (MemoryKind.LINEAR, MemoryKind.NONLINEAR)
        if sense is Sense.EXACT and self.fades and recurrent and gates_open(properties):
            return Bits.LINEAR
        return self.bits

    def why_no_network(self, facts: Facts, properties: ArchitectureClass, sense: Sense) -> str:
        """Returns why this "yes" has no network; empty where the compiler makes one."""
        for n in self.no_network:
            if sense in n.senses and n.architecture(properties) and n.language(facts):
                return n.reason
        return ""


yes = functools.partial(Theorem, conclusion=Status.YES)
no = functools.partial(Theorem, conclusion=Status.NO)
"""Rows that conclude that the language can be done, and that it cannot."""
