"""Gates that do not depend on the input, over the reals and at finite precision; gates that never fade."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.classes import (
    above_minus_half,
    can_hold,
    complex_gates,
    dense,
    diagonal,
    householder,
    input_dependent,
    linear,
    never_holds,
    nonnegative,
    plain_state,
    time_invariant,
    unit_gates,
)
from nerode.verdict.facts import (
    Facts,
    group_language,
    letter_decides,
    one_letter_counter,
    overwrites,
    position_decides,
    quasi_aperiodic,
    r_trivial,
    regular,
    solvable,
    star_free,
    two_groups,
    window_determined,
    with_group,
)
from nerode.verdict.records import Provenance, Sense, Size, Status
from nerode.verdict.theorems.base import (
    ANYTHING,
    FLOATS,
    MARGIN,
    QUOTIENT,
    TAME,
    NoNetwork,
    Theorem,
    theorem,
)

_EXACT = frozenset({Sense.EXACT})
_FINITE = frozenset({Sense.FINITE_PRECISION})
_HERE = Reference("NerodeTheory")

sign_group = with_group(
    "a group language of signs",
    lambda group: all((factor.family, factor.number) == ("Z", 2) for factor in group.direct_factors),
)
"""Its cascade has signs side by side: no gate hangs on one of them."""

theorem(
    Theorem(
        name="letter-decides",
        statement="Where the current letter decides, no memory is needed: every architecture does it.",
        language=letter_decides,
        architecture=ANYTHING,
        senses=frozenset(Sense),
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=TAME,
        reason=lambda f: "the current letter decides, no memory is needed",
    )
)

theorem(
    Theorem(
        name="exact-registers-fixed-gates",
        statement="h = λ h ± 1 with a fixed λ below 1/2 has the sign of the last write for ever; with a "
        "turning state as clock, fixed gates do every regular language in AC0 over the reals.",
        language=quasi_aperiodic,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=_EXACT,
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=TAME,
        assumptions=("the readout looks at signs however small the state is",),
        reason=lambda f: (
            "star-free: the sign of a fading state is the last write"
            if f.profile.star_free
            else "regular in AC0: signs of fading states beside a clock"
        ),
    )
)

theorem(
    Theorem(
        name="exact-registers-fixed-decay",
        statement="Without a gate below 1/2, two states that fade at different rates keep the last write in "
        "the sign of their quotient: every star-free language over the reals.",
        language=star_free,
        architecture=linear & time_invariant,
        senses=_EXACT,
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=TAME,
        assumptions=("the readout looks at signs however small the state is",),
        reason=lambda f: "star-free: of two states that fade, the quotient has the sign of the last write",
    )
)

theorem(
    Theorem(
        name="normalised-decay-registers",
        statement="A weighted mean with a fixed decay keeps its value while new letters have the weight 0, "
        "so RWKV-4 does every star-free language.",
        language=star_free,
        architecture=linear & time_invariant & nonnegative & ~plain_state,
        senses=frozenset({Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=MARGIN,
        assumptions=(
            "the weight e^k of letters that hold is 0: in the limit, in floats by rounding in the form with "
            "a stabiliser",
        ),
        reason=lambda f: "star-free: a mean that gives new letters no weight is a register",
        no_network=(NoNetwork(reason=QUOTIENT),),
    )
)

theorem(
    Theorem(
        name="position-decides",
        statement="If each live state has at most one live successor, the position decides: a threshold, "
        "then a turning state modulo m.",
        language=position_decides,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=MARGIN,
        reason=lambda f: f"only the position matters, from some point on modulo {f.position_period}",
        size=lambda f, a: Size(layers=1),
    )
)

theorem(
    Theorem(
        name="fixed-decay-is-a-window",
        statement="Where every gate has a modulus below some number below 1 by design, a state depends on a "
        "window up to the margin of the readout.",
        language=~window_determined,
        architecture=linear & never_holds,
        senses=_FINITE,
        conclusion=Status.NO,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=MARGIN,
        reason=lambda f: "every state fades at a fixed rate: only a window of the input is left",
    )
)

theorem(
    Theorem(
        name="one-letter-counters-need-minus-one",
        statement="RWKV-7's transition has a real spectrum above -1/2, so that along the powers of one "
        "letter every state settles or grows without turning: no period.",
        language=one_letter_counter,
        architecture=linear & householder & above_minus_half,
        senses=_FINITE,
        conclusion=Status.NO,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=MARGIN,
        reason=lambda f: "a letter counts by itself, and no gate is below -1/2: its powers settle",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="exact-fading-signs",
        statement="A sign that fades by gates above -1/2 still flips, so over the reals RWKV-7 does every "
        "language whose groups are 2-groups.",
        language=two_groups,
        architecture=linear & householder & above_minus_half,
        senses=_EXACT,
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=TAME,
        reason=lambda f: "all groups are 2-groups: signs that fade and flip, and registers",
    )
)

theorem(
    Theorem(
        name="unitary-solvable-groups",
        statement="Unitary diagonal layers do every solvable group: cascades of rotations need no overwrite.",
        language=group_language & solvable,
        architecture=linear & diagonal & input_dependent & unit_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        model=MARGIN,
        reason=lambda f: "a solvable group: a cascade of rotations",
    )
)

theorem(
    Theorem(
        name="orthogonal-groups",
        statement="Every finite group is a group of rotations of some space, so one block of rotations that "
        "depend on the input does every group language; signed permutation matrices are exact in floats.",
        language=group_language,
        architecture=linear & dense & input_dependent & unit_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=("the matrices are given as they are, with entries 0, 1 and -1",),
        reason=lambda f: "every letter permutes the states: a signed permutation matrix of determinant 1",
        size=lambda f, a: Size(layers=1, width=(f.profile.num_states or 0) + 1),
    )
)

theorem(
    Theorem(
        name="isometries-do-not-overwrite",
        statement="If every step is an isometry and the states stay bounded, each word has a power that "
        "brings all states back up to the margin: nothing is overwritten.",
        language=regular & overwrites,
        architecture=linear & unit_gates,
        senses=_FINITE,
        conclusion=Status.NO,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=MARGIN,
        conditional_on="the states stay bounded: no coordinate with gate 1 is also written",
        reason=lambda f: "every step is an isometry: what was written comes back, nothing is overwritten",
    )
)

theorem(
    Theorem(
        name="isometries-tell-once",
        statement="A coordinate with gate 1 tells whether something has ever happened, so layers without any "
        "fading still do the languages of partially ordered automata.",
        language=r_trivial,
        architecture=linear & unit_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=_HERE,
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=("in floats the sum of events stops at a power of two, which is not 0",),
        reason=lambda f: "R-trivial: counters of events, each asked whether it is above 0",
    )
)
