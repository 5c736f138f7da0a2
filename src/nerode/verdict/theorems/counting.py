"""Counters, stacks and nonlinear recurrences: over the reals, at finite precision, beyond a finite memory."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    ClassCondition,
    State,
    WayOfCounting,
    below_minus_one,
    can_fade,
    can_hold,
    counting_state,
    counts_by,
    dense,
    exact_gates,
    fixed_memory,
    householder,
    hybrid,
    input_dependent,
    linear,
    nonexpansive,
    nonlinear,
    plain_state,
    relu_state,
    softmax,
    squashed,
    time_invariant,
    unit_gates,
    with_positions,
)
from nerode.verdict.facts import (
    Facts,
    LanguageCondition,
    bounded_dyck,
    bracket_stack,
    counter_machine,
    named_bounded_dyck,
    regular,
    solvable,
    thousands_of_moves,
)
from nerode.verdict.records import Bits, Provenance, Size, VerdictTask
from nerode.verdict.theorems.base import (
    BY_NAME,
    EXACT,
    FINITE,
    FLOATS,
    IEEE,
    INTEGERS,
    LARGE,
    LIMIT_PAIR,
    MANY_MOVES,
    MARGIN,
    METRIC,
    NO_AUTOMATON,
    NO_FLOAT,
    NO_TALLY,
    RATIONALS,
    SATURATING,
    TAME,
    NoNetwork,
    hybrid_of,
    no,
    yes,
)

_GROWING = "a map between layers with exp, 4ᵗ of the count t: tame, but no ReLU network"

one_kind_bounded = LanguageCondition(
    "a bounded Dyck language with one kind of brackets",
    lambda f: (f.parameters_in("bounded-dyck") or {}).get("k") == 1,
)

_one_kind_below_format = LanguageCondition(
    "a bounded Dyck language with one kind of brackets, of a depth below 2^p in a format of p bits",
    lambda f: (
        one_kind_bounded(f) and (f.parameters_in("bounded-dyck") or {})["depth"] < f.exact_integers_below
    ),
)

_held_back = counts_by(WayOfCounting.BOUNDED, WayOfCounting.TIED, WayOfCounting.NONE)
"""Layers whose counters the record has in no sense."""


_smooth = ClassCondition("tanh or sigmoid units", lambda c: c.state not in (State.RELU, State.ADDITIVE))

_many_moves = LanguageCondition(
    "one with more than 500 moves", lambda f: f.automaton is None or f.automaton.transitions.size > 500
)

_no_automaton = LanguageCondition("one with too many states for an automaton", lambda f: f.automaton is None)

_recognised = LanguageCondition("to recognise", lambda f: f.task is VerdictTask.RECOGNISE)


def _counter_size(facts: Facts, architecture: Architecture) -> Size | None:
    """The counters suffice where every prefix is valid; a recogniser has to remember errors besides."""
    return Size(layers=1, width=facts.num_counters) if facts.task is VerdictTask.PREDICT else None


def _integers_size(facts: Facts, architecture: Architecture) -> Size | None:
    """Two integers for each bit of the kind of a bracket."""
    bits = (facts.language.parameters["k"] - 1).bit_length()
    return Size(layers=1, width=2 * bits) if facts.task is VerdictTask.PREDICT else None


def _elman_size(facts: Facts, architecture: Architecture) -> Size | None:
    states = facts.profile.num_states
    if states is None or architecture.properties.state not in (State.SQUASHED, State.RELU):
        return Size(layers=1)
    letters = len(facts.language.alphabet)
    return Size(layers=1, width=states * letters, note="one unit for each state and letter")


ROWS = (
    yes(
        name="exact-counters-open-gates",
        bits=Bits.LINEAR,
        statement="Two layers count over the reals with gates strictly inside (0,1): u = cᵗ fades in the "
        "first, h = cᵗ·count in the second, and their quotient is exact.",
        language=counter_machine,
        architecture=linear | nonlinear,
        senses=EXACT,
        model=TAME,
        assumptions=(
            "the state starts away from 0",
            "the readout compares numbers however small",
            "where a tanh or a norm stands between, errors are summable and below 1/4 for a small start",
        ),
        reason=lambda f: "counter and unit fade together; their quotient is the count",
        no_network=(NoNetwork(reason=NO_FLOAT, architecture=_held_back),),
    ),
    yes(
        name="exact-stack-open-gates",
        bits=Bits.LINEAR,
        statement="Two layers with input-dependent gates in (0,1) keep a stack over the reals: push "
        "h = (c/4) h + d u, pop h = 4c h - 4d u beside u = cᵗ.",
        language=bracket_stack,
        architecture=(linear & input_dependent & can_fade) | nonlinear,
        senses=EXACT,
        model=TAME,
        assumptions=(
            "the state starts away from 0",
            "the readout compares numbers however small",
            "where a tanh or a norm stands between, errors are summable for c < 1/4 and a small start",
        ),
        reason=lambda f: "stack and unit fade together; their quotient is the stack as digits",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="counters-slow-decay",
        bits=Bits.LOGARITHMIC,
        statement="Mamba's gate exp(-Δ e^a) is 1 for e^a = 0 whatever Δ is, so that the write Δ B x is free: "
        "one layer counts.",
        language=counter_machine,
        architecture=linear & counts_by(WayOfCounting.SLOW_DECAY),
        senses=FINITE,
        model=MARGIN,
        assumptions=("e^a = 0 is reached in the limit, by rounding in floats (a = -30 in float32)",),
        reason=lambda f: "a decay rate of 0 holds at every step size, and the step size writes ±1",
        size=_counter_size,
    ),
    yes(
        name="counters-two-reflections",
        bits=Bits.LOGARITHMIC,
        statement="With β = 2 the delta rule moves h to -h + 2v: two such steps add, or one with the sign of "
        "the position.",
        language=counter_machine,
        architecture=linear & householder & counts_by(WayOfCounting.REFLECTIONS),
        senses=FINITE,
        model=MARGIN,
        assumptions=("one factor per token: a layer below keeps the parity of the position",),
        reason=lambda f: "h ← -h + 2v: reflections add, up to the sign of the position",
    ),
    yes(
        name="counters-normaliser",
        bits=Bits.LOGARITHMIC,
        statement="mLSTM's output C q / max(|n·q|, 1) with v = 1 and k·q = ±1 is the sign of the count: its "
        "normaliser is the zero test.",
        language=counter_machine,
        architecture=linear & counts_by(WayOfCounting.NORMALISER),
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "the normaliser divides the count by its own size: the sign is left",
        size=_counter_size,
    ),
    yes(
        name="counters-additive-memory",
        bits=Bits.LOGARITHMIC,
        statement="NRU's memory m = m + write - erase is a counter.",
        language=counter_machine,
        architecture=nonlinear & counts_by(WayOfCounting.MEMORY),
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "an additive memory is a counter",
        size=_counter_size,
    ),
    yes(
        name="counters-tied-writes",
        bits=Bits.LOGARITHMIC,
        statement="The pairs of a gate g and a write (1-g) i, or of a step size β and a write βv, have "
        "limits with a gate of 1 and a write of ±1: one layer counts.",
        language=counter_machine,
        architecture=linear & counts_by(WayOfCounting.TIED),
        senses=FINITE,
        model=MARGIN,
        assumptions=("gate and write in the limit; in floats by rounding, in the zoo's minGRU and DeltaNet",),
        reason=lambda f: "the gate goes to 1 while what it lets in grows: a write of ±1 is left",
        size=_counter_size,
        no_network=(NoNetwork(reason=LIMIT_PAIR),),
    ),
    yes(
        name="bounded-depth-by-counting",
        bits=Bits.LOGARITHMIC,
        statement="With gates of 1 the depth is a counter, and a tally of errors is never 0 again: brackets "
        "of one kind and bounded depth.",
        language=one_kind_bounded,
        architecture=linear & can_hold & counts_by(WayOfCounting.FREE) & plain_state,
        over_the_reals=exact_gates,
        senses=EXACT | FINITE,
        model=MARGIN,
        assumptions=("a gate of exactly 1 while the write is ±1: at finite precision in the limit",),
        reason=lambda f: "the depth is a counter, and the first error is tallied for ever",
        size=lambda f, a: Size(layers=2, width=1),
        no_network=(NoNetwork(reason=BY_NAME, language=~named_bounded_dyck),),
    ),
    yes(
        name="float-bounded-depth",
        statement="In a format of p bits a depth below 2^p is a sum that is exact up to the first error, and "
        "a tally of errors stops at a power of two, which is not 0.",
        language=_one_kind_below_format,
        architecture=linear & can_hold & counts_by(WayOfCounting.FREE) & plain_state,
        senses=IEEE,
        model=FLOATS,
        assumptions=("a gate of exactly 1 while the write is ±1, by rounding",),
        reason=lambda f: "the depth is a counter, and the first error is tallied for ever",
        size=lambda f, a: Size(layers=2, width=1),
        no_network=(
            NoNetwork(reason=BY_NAME, language=~named_bounded_dyck),
            NoNetwork(reason=NO_TALLY, language=_recognised),
        ),
    ),
    no(
        name="few-configurations-no-stack",
        statement="States that grow at most linearly, under steps that bring no two states apart, have "
        "polynomially many configurations up to the margin; a stack of two symbols has exponentially many.",
        language=bracket_stack,
        architecture=nonexpansive | hybrid_of(nonexpansive | (softmax & ~with_positions)),
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "2^(n/2) stacks after n letters, but only polynomially many configurations",
    ),
    yes(
        name="stack-of-digits-with-gaps",
        bits=Bits.LINEAR,
        statement="ReLU units keep a stack as digits 1, 3, 5, … of a rational number. Between the digits are "
        "gaps, so what is asked has a margin, after errors too.",
        language=bracket_stack,
        architecture=nonlinear & (relu_state | counts_by(WayOfCounting.MEMORY)),
        senses=FINITE,
        model=MARGIN,
        assumptions=("the state is fed back unrounded, as a state; no gate reads it",),
        reason=lambda f: "a stack as odd digits of a number: gaps between the digits are a margin",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="stack-of-two-integers",
        bits=Bits.LINEAR,
        statement="Two integers with the steps y += x, y -= x, x += y, x -= y keep a stack of two kinds of "
        "brackets: the larger one shows the top (Stern-Brocot tree). More kinds take a pair for each bit.",
        language=bracket_stack,
        architecture=linear & dense & input_dependent & can_fade,
        senses=EXACT | FINITE,
        model=MARGIN,
        assumptions=("unbounded integer bits", "entries of -1 in the transition"),
        reason=lambda f: "a path in the Stern-Brocot tree is a stack in two integers",
        size=_integers_size,
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="stack-in-digits",
        bits=Bits.LINEAR,
        statement="With a gate below -1 four tokens multiply a number by a base above 2, so that numbers "
        "hold brackets as digits ±1: number j those of the depths j modulo 9, one change per four tokens.",
        language=bracket_stack,
        architecture=linear & householder & below_minus_one,
        senses=FINITE,
        tasks=frozenset({VerdictTask.PREDICT}),
        model=MARGIN,
        assumptions=(
            "unbounded states",
            "the depth modulo 9 and the position modulo 4, as every regular language, by layers below",
        ),
        reason=lambda f: "four tokens with a gate below -1 shift a stack of digits by one",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="exact-stack-growing-weights",
        bits=Bits.LINEAR,
        statement="Beside an exact count n of the depth, which fixed gates have, a sum of d·4ⁿ for each open "
        "bracket is the stack as digits; 4ⁿ is a tame map of the count.",
        language=bracket_stack,
        architecture=(linear & plain_state & (time_invariant | unit_gates))
        | (nonlinear & (squashed | ~exact_gates)),
        senses=EXACT,
        model=TAME,
        assumptions=(
            _GROWING,
            "where tanh squashes what is kept, all errors together are small for c < 1/8 and a small start",
        ),
        reason=lambda f: "open brackets weigh 4 to the power of their depth; their sum shows the top one",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="exact-growing-registers",
        bits=Bits.LINEAR,
        statement="With gates of 1 and writes ±3·4ᵗ the sign of a sum is the last write, so that isometries "
        "have registers over the reals; with their turns they do what a cascade of both does.",
        language=regular & solvable,
        architecture=linear & input_dependent & unit_gates,
        senses=EXACT,
        model=TAME,
        assumptions=(_GROWING, "Krohn-Rhodes: cyclic groups of prime order and registers"),
        reason=lambda f: "a write of ±3·4ᵗ outweighs all before it: registers without forgetting, and turns",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="exact-growing-registers-and-rotations",
        bits=Bits.LINEAR,
        statement="Blocks of rotations do every group, and sums of ±3·4ᵗ are registers: every regular "
        "language over the reals.",
        language=regular,
        architecture=linear & input_dependent & dense & unit_gates,
        senses=EXACT,
        model=TAME,
        assumptions=(_GROWING, "Krohn-Rhodes: simple groups and registers"),
        reason=lambda f: (
            "a write of ±3·4ᵗ outweighs all before it: registers without forgetting, and rotations"
        ),
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
    yes(
        name="regular-by-nonlinear-units",
        fades=False,
        statement="One layer of threshold or saturating units runs every finite automaton.",
        language=regular,
        architecture=nonlinear,
        senses=EXACT | FINITE,
        reference=Reference("Minsky1967"),
        provenance=Provenance.RECALLED,
        model=SATURATING,
        reason=lambda f: "one unit for each state and letter",
        size=_elman_size,
    ),
    yes(
        name="regular-by-nonlinear-units-floats",
        statement="A strongly robust eta-finite system is implemented by floats of sufficient precision, so "
        "saturating units run every automaton bit for bit.",
        language=regular,
        architecture=nonlinear,
        senses=IEEE,
        reference=Reference("Dankowiakowski2025", "Theorem 2"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=("the float format is fine enough for the margin of the weights",),
        reason=lambda f: "robust, hence correct in floats",
        size=_elman_size,
        no_network=(
            NoNetwork(reason=NO_AUTOMATON, language=_no_automaton),
            NoNetwork(reason=MANY_MOVES, architecture=_smooth, language=_many_moves),
            NoNetwork(reason=LARGE, language=thousands_of_moves),
        ),
    ),
    yes(
        name="counters-in-one-layer",
        bits=Bits.LOGARITHMIC,
        statement="Dyck-1, Shuffle-Dyck, n-ary Boolean expressions, aⁿbⁿ(cⁿ(dⁿ)) and majority are "
        "predicted by one layer of integer counters; a second layer that tallies errors recognises them.",
        language=counter_machine,
        architecture=linear & can_hold & counts_by(WayOfCounting.FREE) & plain_state,
        over_the_reals=exact_gates,
        senses=EXACT | FINITE,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=INTEGERS,
        assumptions=(
            "unbounded integer bits",
            "a gate of exactly 1 while the write is ±1",
            "each counter is compared with zero before any joint norm",
        ),
        reason=lambda f: "counters with gate 1 and writes ±1",
        size=_counter_size,
    ),
    yes(
        name="cells-count",
        bits=Bits.LOGARITHMIC,
        statement="LSTM cells and ReLU units count, at finite precision with saturating gates.",
        language=counter_machine,
        architecture=nonlinear & counts_by(WayOfCounting.CELL, WayOfCounting.FREE),
        over_the_reals=exact_gates,
        senses=EXACT | FINITE,
        reference=Reference("Weiss2018"),
        provenance=Provenance.RECALLED,
        model=SATURATING,
        assumptions=(
            "unbounded integer bits",
            "at finite precision: a forget gate that has saturated to 1",
        ),
        reason=lambda f: "an unbounded cell is a counter",
        size=_counter_size,
    ),
    no(
        name="squashed-states-do-not-count",
        statement="A bounded state with a constant number of fractional bits takes finitely many "
        "values, so it "
        "does only regular languages.",
        language=~regular,
        architecture=nonlinear & squashed,
        senses=FINITE,
        reference=Reference("Weiss2018"),
        provenance=Provenance.RECALLED,
        model=SATURATING,
        reason=lambda f: "bounded state, finitely many values",
    ),
    yes(
        name="rational-networks-compute-anything",
        bits=Bits.LINEAR,
        statement="Networks of saturated-linear units with rational states simulate machines with several "
        "stacks in real time.",
        language=counter_machine | bracket_stack,
        architecture=nonlinear & (relu_state | counts_by(WayOfCounting.MEMORY)),
        senses=EXACT,
        reference=Reference("SiegelmannSontag1995"),
        provenance=Provenance.RECALLED,
        model=RATIONALS,
        assumptions=("unbounded precision",),
        reason=lambda f: "a stack as the digits of one rational number",
        no_network=(NoNetwork(reason=NO_FLOAT, language=bracket_stack),),
    ),
    no(
        name="finite-memory-is-regular",
        statement="A state of fixed size in a float format takes finitely many values, so it recognises only "
        "regular languages at all lengths.",
        language=~regular,
        architecture=(~hybrid & fixed_memory) | hybrid_of(fixed_memory),
        senses=IEEE,
        reference=Reference("MyhillNerode1958"),
        provenance=Provenance.RECALLED,
        model=FLOATS,
        reason=lambda f: (
            f"a {f.dtype} state is finite; where integer counters work they are exact up to "
            f"{f.exact_integers_below:,}"
        ),
    ),
    yes(
        name="bounded-dyck-lstm",
        statement="LSTMs do bounded Dyck(K, m) with O(m log K) units.",
        language=bounded_dyck,
        architecture=nonlinear & counting_state,
        senses=FINITE,
        reference=Reference("Hewitt2020"),
        provenance=Provenance.SECONDARY,
        model=SATURATING,
        reason=lambda f: "a stack of bounded depth in the cells",
        size=lambda f, a: Size(layers=1, note="O(m log K) units"),
    ),
)
