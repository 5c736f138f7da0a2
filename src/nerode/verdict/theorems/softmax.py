"""Theorems about softmax attention by language tests on components, and about its hybrids.

Answers are read at the last letter, which a position sees without attention. In a float format a head with a
distance penalty is a window, and one without adds in order until its sum stops; so the senses differ.
docs/theory/attention.md has the arguments.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from nerode.core import Reference
from nerode.verdict.classes import (
    ClassCondition,
    Positions,
    averaging_heads,
    can_hold,
    diagonal,
    fixed_memory,
    hard_left,
    hard_right,
    householder,
    hybrid,
    input_dependent,
    linear,
    nonnegative,
    plain_state,
    rotated_heads,
    sloped_heads,
    softmax,
)
from nerode.verdict.facts import (
    Facts,
    LanguageCondition,
    bracket_stack,
    c_rasp,
    clocked_local,
    letter_constant,
    locally_r_trivial,
    num_components,
    quasi_aperiodic,
    regular,
    solvable,
    star_free,
)
from nerode.verdict.records import Bits, Provenance, VerdictTask
from nerode.verdict.theorems.base import (
    EXACT,
    FINITE,
    FLOATS,
    HARD,
    IEEE,
    NO_ROTARY,
    ON_PREFIXES,
    SOFT,
    TAME,
    TC0,
    NoNetwork,
    hybrid_of,
    hybrid_with,
    no,
    yes,
)
from nerode.verdict.theorems.groups import name_non_solvable

_ALL = EXACT | FINITE | IEEE
_FADED = "positions are numbers of the format, so that from some length on the rotations are the same"
_IN_ORDER = "it needs sums in order; those of a compiled decoder may be taken in any order"
_BOUNDED_SUMS = "the potentials of the states are whole numbers of at most 2^(p-6), p the bits of the format"

_plain = ClassCondition("no positions", lambda c: c.positions is Positions.NONE)
_penalty = ClassCondition("a distance penalty alone", lambda c: c.positions is Positions.PENALTY)
_periodic = ClassCondition(
    "periodic vectors and a distance penalty", lambda c: c.positions is Positions.PERIODIC_AND_PENALTY
)
_no_phase = _plain | _penalty
_bounded = _no_phase | _periodic
_holds_or_fades = linear & diagonal & nonnegative & plain_state
_contracts = linear & householder & nonnegative
_with_attention = hybrid & ~fixed_memory
_diagonal_hybrid = hybrid_of(_holds_or_fades | (softmax & _no_phase))
_settling_hybrid = hybrid_of(_holds_or_fades | _contracts | (softmax & _no_phase))
_clocked_hybrid = hybrid_with(softmax & _periodic) & hybrid_of(_holds_or_fades | (softmax & _bounded))
_floats_hybrid = _with_attention & hybrid_of(fixed_memory | (softmax & _bounded))
_clocked_registers = hybrid_with(
    (_holds_or_fades | _contracts) & input_dependent & can_hold, softmax & _periodic
)

_MOST_COMPONENTS = 16
"""Components that the compiler writes by heads; of more it makes a cascade."""

_many_components = LanguageCondition(
    f"one with more than {_MOST_COMPONENTS} components",
    lambda f: f.automaton is not None and num_components(f.automaton) > _MOST_COMPONENTS,
)


def _windows_above(most: int) -> LanguageCondition:
    return LanguageCondition(
        f"one whose windows have more than {most:,} contents",
        lambda f: isinstance(f.fixed_pair, int) and len(f.language.alphabet) ** f.fixed_pair > most,
    )


_by_cascade = functools.partial(
    NoNetwork,
    reason="the compiler writes a cascade of heads for it, which finds the latest write up to a length",
    senses=IEEE,
)
_MANY_COMPONENTS = _by_cascade(language=_many_components, architecture=sloped_heads)
_LONG_WINDOWS = (
    _by_cascade(language=_windows_above(64), architecture=_penalty),
    _by_cascade(language=_windows_above(1024), architecture=_periodic),
)

_on_prefixes_alone = LanguageCondition(
    "letter-constant on valid prefixes alone",
    lambda f: f.task is VerdictTask.PREDICT and not replace(f, task=VerdictTask.RECOGNISE).letter_constant,
)

ROWS = (
    no(
        name="hard-attention-regular",
        statement="Masked unique hard attention with finitely many position vectors recognises only regular "
        "languages.",
        language=~regular,
        architecture=hard_right | hard_left,
        senses=_ALL,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        reason=lambda f: "as unique hard attention: regular languages only",
    ),
    yes(
        name="hard-left-letter-constant",
        statement="With ties to the left hard attention does every language whose components are "
        "letter-constant.",
        language=letter_constant,
        architecture=hard_left,
        senses=_ALL,
        reference=Reference("Jerad2025"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        assumptions=("strict mask; the last letter is seen without attention",),
        reason=lambda f: "the component of the state and the letter determine the next state",
    ),
    no(
        name="hard-left-only-letter-constant",
        statement="With ties to the left hard attention does no regular language with a component that is "
        "not letter-constant.",
        language=regular & ~letter_constant,
        architecture=hard_left,
        senses=_ALL,
        reference=Reference("Jerad2025"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        reason=lambda f: f"{f.letter_split_text}; 'once' does not tell them apart",
        witness=Facts.letter_split_witness,
    ),
    yes(
        name="soft-letter-constant",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention without positions does in floats, at every length, every language whose "
        "components are letter-constant.",
        language=letter_constant,
        architecture=averaging_heads,
        senses=_ALL,
        reference=Reference("LiCotterell2025"),
        provenance=Provenance.SECONDARY,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, or by trees of bounded depth",),
        reason=lambda f: "what has happened, component by component, decides together with the letter",
        no_network=(
            NoNetwork(reason=ON_PREFIXES, language=_on_prefixes_alone, architecture=_plain),
            _MANY_COMPONENTS,
        ),
    ),
    no(
        name="soft-floats-regular",
        statement="In floats softmax attention without positions, with a distance penalty or with periodic "
        "vectors does regular languages only.",
        language=~regular,
        architecture=softmax & _bounded,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "in floats a head is a window and sums that stop growing: finitely many states",
    ),
    yes(
        name="soft-locally-r-trivial",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention with a distance penalty and free slopes does every locally R-trivial "
        "language in floats, at every length.",
        language=locally_r_trivial,
        architecture=sloped_heads,
        senses=_ALL,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, or by trees of bounded depth",),
        reason=lambda f: "a window and what has happened decide",
        no_network=(*_LONG_WINDOWS, _MANY_COMPONENTS),
    ),
    yes(
        name="soft-in-order-counts",
        statement="In a component sums of balanced weights are bounded whole numbers, exact in order; the "
        "denominator rounds, and cancels in comparisons: in floats softmax attention whose scores need not "
        "fall does the regular languages of C-RASP.",
        language=c_rasp,
        architecture=averaging_heads | rotated_heads,
        senses=IEEE,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, divided last", _BOUNDED_SUMS),
        reason=lambda f: "inside a component sums are bounded and exact, and the length cancels",
        no_network=(NoNetwork(reason=_IN_ORDER),),
    ),
    yes(
        name="soft-in-order-registers",
        statement="A head with equal scores adds +C, -C and v one after the other: large numbers absorb what "
        "was there, so that the sum holds the latest write v. Steep heads time it: in floats softmax "
        "attention with free slopes does every star-free language.",
        language=star_free,
        architecture=sloped_heads,
        senses=IEEE,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, divided last",),
        reason=lambda f: "a sum in order absorbs what was there and takes the new value",
        no_network=(NoNetwork(reason=_IN_ORDER),),
    ),
    yes(
        name="soft-in-order-registers-clocked",
        statement="With periodic vectors the same registers over letters that are marked with their position "
        "modulo m do every regular language in AC0.",
        language=quasi_aperiodic,
        architecture=softmax & _periodic,
        senses=IEEE,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, divided last",),
        reason=lambda f: "star-free beside a clock: a sum in order absorbs what was there",
        no_network=(NoNetwork(reason=_IN_ORDER),),
    ),
    yes(
        name="soft-periodic",
        bits=Bits.LOGARITHMIC,
        statement="With periodic position vectors and a distance penalty softmax attention does the "
        "languages in floats, at every length, that are locally R-trivial once positions modulo m are known.",
        language=clocked_local,
        architecture=softmax & _periodic,
        senses=_ALL,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, or by trees of bounded depth",),
        reason=lambda f: "a window, what has happened and the position modulo m decide",
        no_network=(*_LONG_WINDOWS, _MANY_COMPONENTS),
    ),
    yes(
        name="hybrid-clocked-registers",
        statement="Diagonal layers that hold, and attention with periodic vectors, do in floats, at every "
        "length, every language that is star-free once positions modulo m are known.",
        language=quasi_aperiodic,
        architecture=_clocked_registers,
        senses=FINITE | IEEE,
        model=FLOATS,
        assumptions=("a beginning mark; position vectors stand on the stream of all layers",),
        reason=lambda f: "registers over letters that are marked with their position modulo m",
    ),
    no(
        name="hybrid-clocked-only-ac0",
        statement="Rounded between layers or in floats, nonnegative diagonal layers and attention with "
        "periodic vectors stay inside the regular languages of AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=_clocked_hybrid,
        senses=FINITE | IEEE,
        model=SOFT,
        reason=lambda f: "words of one length that count would have to count modulo m, too",
        witness=Facts.counter_witness,
    ),
    no(
        name="soft-periodic-only-ac0",
        statement="Rounded between layers or in floats, periodic position vectors and a distance penalty "
        "leave softmax attention inside the regular languages of AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=softmax & _periodic,
        senses=FINITE | IEEE,
        model=FLOATS,
        reason=lambda f: "words of one length that count would have to count modulo m, too",
        witness=Facts.counter_witness,
    ),
    yes(
        name="soft-counts-regular",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention that does not round inside averages does the regular languages whose "
        "states iterated counts of letters tell apart (C-RASP).",
        language=c_rasp,
        architecture=averaging_heads,
        senses=EXACT | FINITE,
        reference=Reference("YangCadilhacChiang2025"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        assumptions=("a beginning mark; averages are not rounded, everything else may be",),
        reason=lambda f: "counts of letters, compared level by level, give the state",
    ),
    no(
        name="soft-counts-only",
        statement="Softmax attention without positions that rounds outside averages does no other regular "
        "language than those of C-RASP.",
        language=regular & ~c_rasp,
        architecture=softmax & _plain,
        senses=FINITE,
        reference=Reference("Veseli2026"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        conditional_on="the decision of regular C-RASP languages as published with code",
        assumptions=("the answer is read at the last letter",),
        reason=lambda f: "no count of letters tells the states of a component apart",
    ),
    yes(
        name="nearest-sign",
        bits=Bits.LINEAR,
        statement="A head with constant scores and a slope above ln 2 has the sign of the latest write. If "
        "averages are compared exactly, softmax attention with free slopes does every star-free language.",
        language=star_free,
        architecture=sloped_heads,
        senses=EXACT | FINITE,
        model=SOFT,
        assumptions=("the averages of two kinds of writes are compared exactly, however small they are",),
        reason=lambda f: "the latest write outweighs all earlier ones together",
    ),
    yes(
        name="nearest-sign-clocked",
        bits=Bits.LINEAR,
        statement="With periodic vectors and a distance penalty, the sign of the latest write over letters "
        "that are marked with their position modulo m does every regular language in AC0.",
        language=quasi_aperiodic,
        architecture=softmax & _periodic,
        senses=EXACT | FINITE,
        model=SOFT,
        assumptions=("the averages of two kinds of writes are compared exactly, however small they are",),
        reason=lambda f: "star-free once positions modulo m are known: the latest write outweighs the others",
    ),
    no(
        name="soft-no-periods",
        statement="Softmax attention without positions or with a distance penalty, rounded between layers or "
        "in floats, does star-free languages only, even if averages are compared exactly.",
        language=regular & ~star_free,
        architecture=softmax & _no_phase,
        senses=FINITE | IEEE,
        model=SOFT,
        reason=lambda f: "on u vⁿ every comparison settles, place by place, so the answer stops alternating",
        witness=Facts.counter_witness,
    ),
    no(
        name="hybrid-no-periods",
        statement="Layers that settle on u vⁿ, each by itself, settle together: diagonal layers with gates "
        "in [0,1], delta rules with β in [0,1], and softmax attention without positions or with a "
        "distance penalty, rounded between layers, do star-free languages only.",
        language=regular & ~star_free,
        architecture=_settling_hybrid,
        senses=FINITE,
        model=SOFT,
        reason=lambda f: "on u vⁿ every kind of layer converges at each place of v",
        witness=Facts.counter_witness,
    ),
    no(
        name="hybrid-floats-no-periods",
        statement="In floats diagonal layers with gates in [0,1] and softmax attention without positions or "
        "with a distance penalty do star-free languages only.",
        language=regular & ~star_free,
        architecture=_diagonal_hybrid,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "on u vⁿ every kind of layer converges at each place of v",
        witness=Facts.counter_witness,
    ),
    no(
        name="hybrid-floats-regular",
        statement="In floats layers with a state of fixed size and softmax attention without positions, with "
        "a distance penalty or with periodic vectors do regular languages only.",
        language=~regular,
        architecture=_floats_hybrid,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "states are floats, and so are sums taken in order: finitely many states",
    ),
    yes(
        name="rotary-letter-constant",
        bits=Bits.LOGARITHMIC,
        statement="A head with query 0 gives all positions one weight, whatever the rotations. Its averages "
        "tell in floats what has happened, so rotary attention does the letter-constant languages.",
        language=letter_constant,
        architecture=rotated_heads,
        senses=_ALL,
        model=FLOATS,
        assumptions=("a beginning mark; sums in order, or by trees of bounded depth",),
        reason=lambda f: "what has happened, component by component, decides together with the letter",
        no_network=(NoNetwork(reason=NO_ROTARY),),
    ),
    no(
        name="rotary-no-periods",
        statement="In floats rotary attention whose rotations stay the same does star-free languages only.",
        language=regular & ~star_free,
        architecture=rotated_heads,
        senses=IEEE,
        model=FLOATS,
        conditional_on=_FADED,
        reason=lambda f: "far away all rotations round to one, and sums taken in order settle on u vⁿ",
        witness=Facts.counter_witness,
    ),
    no(
        name="rotary-floats-regular",
        statement="In floats rotary attention does regular languages only.",
        language=~regular,
        architecture=rotated_heads,
        senses=IEEE,
        model=FLOATS,
        conditional_on=_FADED,
        reason=lambda f: "rotations have finitely many values, and so have sums in order",
    ),
    yes(
        name="rotary-counts",
        bits=Bits.LOGARITHMIC,
        statement="Heads with query 0 average over all positions whatever the rotations, so rotary "
        "attention does the regular languages of C-RASP.",
        language=c_rasp,
        architecture=rotated_heads,
        senses=EXACT | FINITE,
        model=SOFT,
        assumptions=("a beginning mark; averages are not rounded, everything else may be",),
        reason=lambda f: "counts of letters, compared level by level, give the state",
    ),
    no(
        name="soft-few-prefixes",
        statement="Rounded between layers, softmax attention without positions knows of a prefix how often "
        "finitely many values occur: too little for a stack.",
        language=bracket_stack,
        architecture=softmax & _plain,
        senses=FINITE,
        model=SOFT,
        reason=lambda f: "prefixes of n letters fall into polynomially many classes, stacks into 2ⁿ",
    ),
    no(
        name="soft-exact-in-tc0",
        statement="Softmax attention up to an error of 2 to the minus a polynomial of the length is in TC0; "
        "diagonal recurrences are, too, hence their mixtures.",
        language=regular & ~solvable,
        architecture=softmax | (_with_attention & hybrid_of(softmax | (linear & diagonal))),
        senses=EXACT,
        reference=Reference("Chiang2025"),
        provenance=Provenance.SECONDARY,
        model=TAME,
        conditional_on=f"{TC0}, and maps between layers are ReLU networks, norms, products and quotients",
        assumptions=("answers change by no error of 2 to the minus a polynomial of the length",),
        reason=lambda f: f"{name_non_solvable(f)}: NC1-complete, so no unless TC0 = NC1",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    ),
)
