"""Gates in [0,1] and star-free languages."""

from __future__ import annotations

import math

from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    WayOfCounting,
    can_fade,
    can_hold,
    counts_by,
    dense,
    diagonal,
    exact_gates,
    householder,
    input_dependent,
    linear,
    nonnegative,
    plain_state,
    unit_gates,
)
from nerode.verdict.facts import Facts, bounded_dyck, flip_flop, named_bounded_dyck, regular, star_free
from nerode.verdict.records import Provenance, Size, VerdictTask
from nerode.verdict.theorems.base import (
    BY_NAME,
    CAST,
    EXACT,
    FINITE,
    FLOATS,
    GEOMETRIC,
    IEEE,
    SARROF,
    TAME,
    NoNetwork,
    hybrid_of,
    no,
    yes,
)


def _not_star_free(facts: Facts) -> str:
    groups = facts.group_names()
    return (
        f"needs a star-free language; the monoid contains {groups}"
        if facts.profile.groups
        else ("needs a star-free language; some word acts as a counter")
    )


def _bounded_dyck_size(facts: Facts, architecture: Architecture) -> Size:
    """The counter, and bits for the kind of each open bracket; with one kind the counter says it all."""
    parameters = facts.parameters_in("bounded-dyck") or facts.language.parameters
    k, depth = parameters["k"], parameters["depth"]
    bits = math.ceil(math.log2(k))
    if not bits:
        return Size(layers=1, width=1)
    return Size(layers=2, width=1 + depth * bits, note=f"1 + {depth}·{bits}")


_nonnegative = linear & diagonal & nonnegative

ROWS = (
    yes(
        name="star-free-selective",
        statement="A stack of input-dependent diagonal layers with gates in [0,1] predictively models every "
        "star-free language.",
        language=star_free,
        architecture=linear & diagonal & input_dependent & can_hold & can_fade,
        senses=FINITE,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        assumptions=(
            "gates 0 (or 1/4) and 1 are available: over the reals in the limit, in floats by saturation",
            "a layer can see the state before the current letter (short convolution, delay or retentive "
            "overwrite)",
        ),
        reason=lambda f: "star-free: a cascade of set-reset layers",
    ),
    yes(
        name="star-free-selective-exact",
        statement="Mamba-type layers recognise every star-free language as geometrically constrained "
        "systems.",
        language=star_free,
        architecture=linear & diagonal & input_dependent & can_fade,
        senses=EXACT,
        reference=Reference("Dankowiakowski2025", "Theorem 8"),
        provenance=Provenance.READ,
        model=GEOMETRIC,
        assumptions=("exact real arithmetic; the readout looks at signs however small the state is",),
        reason=lambda f: "star-free: sign-coded registers decay but never cross zero",
    ),
    yes(
        name="star-free-selective-floats",
        statement="With saturated gates the set-reset cascade takes finitely many float values and is exact "
        "at every length.",
        language=star_free,
        architecture=linear & diagonal & input_dependent & can_hold & can_fade,
        senses=IEEE,
        model=FLOATS,
        assumptions=(
            "the gate saturates to exactly 1.0 (Mamba: Δ pre-activation of about -25 in float32; a sigmoid "
            "computed as 1/(1 + exp(-x)): logit of 17, a correctly rounded one: 17.4)",
            "about the recurrence; a whole block is certified when it is compiled",
        ),
        reason=lambda f: f"star-free: saturated gates hold exactly in {f.dtype}",
    ),
    yes(
        name="star-free-delta-rule",
        statement="A delta-rule head is a set-reset register (β = 1 writes, β = 0 holds), so stacks of them "
        "do every star-free language.",
        language=star_free,
        architecture=linear & householder & input_dependent,
        senses=EXACT | FINITE | IEEE,
        model=FLOATS,
        assumptions=(
            "β reaches 1, and v = 0 while a register holds: in the limit over the reals, by saturation in "
            "floats",
        ),
        reason=lambda f: "star-free: each head is a set-reset register",
    ),
    no(
        name="nonnegative-gates-need-star-free",
        statement="Diagonal layers with gates in [0,1] recognise only star-free regular languages.",
        language=regular & ~star_free,
        architecture=linear & diagonal & nonnegative,
        senses=FINITE,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        assumptions=(
            "stated for a state that is normalised before the readout; without a norm a state after u vⁿ is "
            "A + Bn + Σ cgⁿ, whose readings with a margin settle, too",
        ),
        reason=_not_star_free,
        witness=Facts.counter_witness,
    ),
    no(
        name="nonnegative-gates-are-aperiodic",
        statement="Linear recurrences with nonnegative eigenvalues are aperiodic for every convex covering: "
        "they implement no alternating function.",
        language=regular & ~star_free,
        architecture=_nonnegative | hybrid_of(_nonnegative),
        senses=EXACT,
        reference=Reference("Dankowiakowski2025", "Theorem 9"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=(
            "stated for one layer and a readout on finitely many open convex sets; stacks with tame maps by "
            "the sign lemma (docs/theory/tame-maps.md)",
        ),
        reason=_not_star_free,
        witness=Facts.counter_witness,
    ),
    no(
        name="monotone-floats",
        statement="In float arithmetic a step with a gate ≥ 0 is a monotone map of a finite chain, so its "
        "iterates settle: diagonal layers with gates in [0,1] recognise only star-free languages in any "
        "float format.",
        language=regular & ~star_free,
        architecture=linear & diagonal & nonnegative,
        senses=IEEE,
        model=FLOATS,
        assumptions=(
            "step by step evaluation with a monotone rounding, fused or not; a related result: [Nowak2026]",
        ),
        reason=_not_star_free,
        witness=Facts.counter_witness,
    ),
    no(
        name="delta-rule-nonnegative",
        statement="Products of factors I - β k kᵀ with β in [0,1] have no eigenvalue of modulus 1 but 1, so "
        "they recognise only star-free regular languages.",
        language=regular & ~star_free,
        architecture=linear & householder & nonnegative,
        senses=FINITE,
        reference=Reference("Grazzi2025", "Proposition 1"),
        provenance=Provenance.READ,
        model=CAST,
        assumptions=(
            "Theorem 1 is about (11)*; a loop of several letters, or several factors, is covered by the "
            "proposition on products; a drift along fixed vectors settles, too (docs/theory/counting.md)",
            "over the reals, where a state may fade without end, several factors do more "
            "(exact-products-of-contractions)",
        ),
        reason=_not_star_free,
        witness=Facts.counter_witness,
    ),
    yes(
        name="bounded-dyck-two-layers",
        statement="Two layers of width O(m log K) predict bounded Dyck(K, m): a depth counter, then one "
        "register for each depth.",
        language=bounded_dyck,
        architecture=linear
        & (diagonal | (dense & unit_gates))
        & input_dependent
        & can_hold
        & counts_by(WayOfCounting.FREE, WayOfCounting.SLOW_DECAY)
        & plain_state,
        over_the_reals=exact_gates,
        senses=EXACT | FINITE,
        tasks=frozenset({VerdictTask.PREDICT}),
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        assumptions=(
            "gates of modulus 1 do not overwrite: the bracket that closes takes away what the other added",
        ),
        reason=lambda f: "depth counter and one register per depth, no stack",
        size=_bounded_dyck_size,
        no_network=(NoNetwork(reason=BY_NAME, language=~named_bounded_dyck),),
    ),
    yes(
        name="flip-flop-two-layers",
        statement="Two layers predict the flip-flop language: the last instruction, then the last "
        "written bit.",
        language=flip_flop,
        architecture=linear & diagonal & input_dependent & can_hold & can_fade,
        senses=FINITE,
        tasks=frozenset({VerdictTask.PREDICT}),
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        assumptions=("gates 0 and 1 are available: over the reals in the limit, in floats by saturation",),
        reason=lambda f: "layer 1 keeps the instruction, layer 2 the bit",
        size=lambda f, a: Size(layers=2, width=5),
    ),
)
