"""Nonlinear recurrences, counters, and what a finite memory cannot do."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    State,
    can_hold,
    counting_state,
    exact_gates,
    fixed_memory,
    free_write,
    linear,
    nonlinear,
    plain_state,
    relu_state,
    squashed,
)
from nerode.verdict.facts import Facts, counter_language, of_family, regular
from nerode.verdict.records import Provenance, Sense, Size, Status, VerdictTask
from nerode.verdict.theorems.base import Theorem, theorem


def _elman_size(facts: Facts, architecture: Architecture) -> Size | None:
    states = facts.profile.num_states
    if states is None or architecture.properties.state not in (State.SQUASHED, State.RELU):
        return Size(layers=1)
    letters = len(facts.language.alphabet)
    return Size(layers=1, width=states * letters, note="one unit for each state and letter")


def _counter_size(facts: Facts, architecture: Architecture) -> Size | None:
    """The counters suffice where every prefix is valid; a recogniser has to remember errors besides."""
    return Size(layers=1, width=facts.num_counters) if facts.task is VerdictTask.PREDICT else None


theorem(
    Theorem(
        name="regular-by-nonlinear-units",
        statement="One layer of threshold or saturating units runs every finite automaton.",
        language=regular,
        architecture=nonlinear,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Minsky1967"),
        provenance=Provenance.RECALLED,
        reason=lambda f: "one unit for each state and letter",
        size=_elman_size,
    )
)

theorem(
    Theorem(
        name="regular-by-nonlinear-units-floats",
        statement="A strongly robust eta-finite system is implemented by floats of sufficient precision, so "
        "saturating units run every automaton bit for bit.",
        language=regular,
        architecture=nonlinear,
        senses=frozenset({Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Dankowiakowski2025", "Theorem 2"),
        provenance=Provenance.READ,
        assumptions=("the float format is fine enough for the margin of the weights",),
        reason=lambda f: "robust, hence right in floats",
        size=_elman_size,
    )
)

theorem(
    Theorem(
        name="counters-in-one-layer",
        statement="Dyck-1, Shuffle-Dyck, n-ary Boolean expressions and aⁿbⁿ(cⁿ(dⁿ)) are predicted by "
        "one layer "
        "of integer counters; a second layer that tallies errors recognises them.",
        language=counter_language,
        architecture=linear & can_hold & free_write & plain_state,
        over_the_reals=exact_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        assumptions=(
            "unbounded integer bits",
            "a gate of exactly 1 while the write is ±1",
            "each counter is compared with zero before any joint norm",
        ),
        reason=lambda f: "counters with gate 1 and writes ±1",
        size=_counter_size,
    )
)

theorem(
    Theorem(
        name="cells-count",
        statement="LSTM cells and ReLU units count, at finite precision with saturating gates.",
        language=counter_language,
        architecture=nonlinear & counting_state,
        over_the_reals=exact_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Weiss2018"),
        provenance=Provenance.RECALLED,
        assumptions=(
            "unbounded integer bits",
            "at finite precision: a forget gate that has saturated to 1",
        ),
        reason=lambda f: "an unbounded cell is a counter",
        size=_counter_size,
    )
)

theorem(
    Theorem(
        name="squashed-states-do-not-count",
        statement="A bounded state with a constant number of fractional bits takes finitely many "
        "values, so it "
        "does only regular languages.",
        language=~regular,
        architecture=nonlinear & squashed,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("Weiss2018"),
        provenance=Provenance.RECALLED,
        reason=lambda f: "bounded state, finitely many values",
    )
)

theorem(
    Theorem(
        name="rational-networks-compute-anything",
        statement="Networks of saturated-linear units with rational states simulate stacks in real time.",
        language=~regular,
        architecture=nonlinear & relu_state,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.YES,
        reference=Reference("SiegelmannSontag1995"),
        provenance=Provenance.RECALLED,
        assumptions=("unbounded precision",),
        reason=lambda f: "a stack as the digits of one rational number",
    )
)

theorem(
    Theorem(
        name="finite-memory-is-regular",
        statement="A state of fixed size in a float format takes finitely many values, so it recognises only "
        "regular languages at all lengths.",
        language=~regular,
        architecture=fixed_memory,
        senses=frozenset({Sense.IEEE}),
        conclusion=Status.NO,
        reference=Reference("MyhillNerode1958"),
        provenance=Provenance.RECALLED,
        reason=lambda f: (
            f"a {f.dtype} state is finite; where integer counters work they are exact up to "
            f"{f.exact_integers_below:,}"
        ),
    )
)

theorem(
    Theorem(
        name="bounded-dyck-lstm",
        statement="LSTMs do bounded Dyck(K, m) with O(m log K) units.",
        language=of_family({"bounded-dyck"}, "a bounded Dyck language"),
        architecture=nonlinear & counting_state,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Hewitt2020"),
        provenance=Provenance.SECONDARY,
        reason=lambda f: "a stack of bounded depth in the cells",
        size=lambda f, a: Size(layers=1, note="O(m log K) units"),
    )
)
