"""Groups in the monoid: signs, roots of unity, matrices, and products of reflections."""

from __future__ import annotations

from nerode.algebra import GroupFactor, GroupStructure
from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    above_minus_half,
    can_fade,
    complex_gates,
    dense,
    diagonal,
    exact_gates,
    free_write,
    has_minus_one,
    has_negative,
    householder,
    input_dependent,
    linear,
    many_factors,
    nonnegative,
    one_factor,
    permutation_diagonal,
    real_gates,
    scalar_gate,
    signed,
    softmax,
)
from nerode.verdict.facts import (
    Facts,
    LanguageCondition,
    group_language,
    regular,
    solvable,
    two_groups,
    with_group,
)
from nerode.verdict.records import Bits, Provenance, Size
from nerode.verdict.theorems.base import (
    CAST,
    EXACT,
    FINITE,
    IEEE,
    LOG_BITS,
    NO_FLOAT,
    SARROF,
    TAME,
    TC0,
    NoNetwork,
    hybrid_of,
    no,
    yes,
)

parity_like = LanguageCondition(
    "a group language with two states",
    lambda f: f.is_group_language if f.profile.num_states == 2 else False,
)


def _groups(facts: Facts) -> str:
    return f"groups inside: {facts.group_names()}"


def name_non_solvable(facts: Facts) -> str:
    """Returns the reason that names a group inside that is not solvable."""
    group = facts.largest_group(solvable=False)
    return f"the monoid contains {group.structure.name}, not solvable" if group else "not solvable"


def series_size(facts: Facts, architecture: Architecture) -> Size | None:
    """Returns the least number of complex diagonal layers that track a group; None for other languages."""
    group = facts.group_of_language
    if group is None or group.structure.derived_length is None:
        return None
    layers, name = group.structure.derived_length, group.structure.name
    fewer = f"the derived length of {name}, for states of finitely many values" if layers > 1 else ""
    return Size(layers=layers, fewer=fewer)


def _states_size(facts: Facts, architecture: Architecture) -> Size:
    return Size(layers=1, width=facts.profile.num_states)


shrinks_evenly = many_factors | exact_gates
"""Reflections with β = 2, or factors enough to shrink a state evenly where β only comes close to 2."""

_EVENLY = (
    "n_h counts factors with β = 2; where β stays below 2, in exact arithmetic, further factors shrink the "
    "state evenly and its direction is read (docs/theory)"
)

swaps_only = LanguageCondition(
    "one in which every letter is neutral or swaps two states",
    lambda f: None if f.automaton is None else (f.most_points_moved or 99) <= 2,
)
cyclic_group = with_group("a cyclic group language", lambda group: group.cyclic)
rotation_group = with_group(
    "a finite group of rotations of space",
    lambda group: group.cyclic or group.is_dihedral or group.name in ("Z2xZ2", "A4", "S4", "A5"),
)


def reflection_room(group: GroupStructure) -> tuple[int, int] | None:
    """Returns dimensions in which a group acts, and reflections that each element is a product of at most.

    Cyclic and dihedral groups turn and mirror the plane, S_n and A_n permute n points, a direct product acts
    on the sum of what its factors act on. None where a factor is none of these.

    Implements: [Grazzi2025, Theorem 3]
    """
    rooms = [_factor_room(factor) for factor in group.direct_factors]
    known = [room for room in rooms if room is not None]
    if not known or len(known) < len(rooms):
        return None
    return sum(d for d, _ in known), sum(r for _, r in known)


def _factor_room(factor: GroupFactor) -> tuple[int, int] | None:
    n = factor.number
    if factor.family == "Z" and n <= 2:
        return n - 1, n - 1
    if factor.family == "Z" or factor.is_dihedral:
        return 2, 2
    # A permutation with c cycles is a product of n - c swaps; an even one of an even number of them.
    swaps = n - 1
    if factor.family == "S":
        return n, swaps
    return (n, swaps - swaps % 2) if factor.family == "A" else None


def _swap_size(facts: Facts, architecture: Architecture) -> Size:
    moved = facts.most_points_moved or 2
    return Size(layers=1, width=facts.profile.num_states, factors=max(1, moved - 1))


def _reflection_size(facts: Facts, architecture: Architecture) -> Size:
    """The letters as permutations of the states, or a better known representation of their group."""
    on_states = _swap_size(facts, architecture)
    group = facts.group_of_language
    room = None if group is None else reflection_room(group.structure)
    if room is None or (room[1], room[0]) >= (on_states.factors or 0, on_states.width or 0):
        return on_states
    return Size(layers=1, width=room[0], factors=room[1])


ROWS = (
    yes(
        name="parity-one-scalar",
        statement="One scalar with gates 1 and -1 tracks parity, exactly in any arithmetic.",
        language=parity_like,
        architecture=linear & diagonal & input_dependent & has_minus_one,
        senses=EXACT | FINITE | IEEE,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        assumptions=("a gate of exactly -1: in the limit over the reals, by saturation in floats",),
        reason=lambda f: "one sign that flips",
        size=lambda f, a: Size(layers=1, width=1),
    ),
    yes(
        name="signs-do-two-groups",
        statement="If every group in the monoid is a 2-group, a cascade of set-reset and sign "
        "components does "
        "the language with gates in {-1, 0, 1}.",
        language=two_groups,
        architecture=linear & (diagonal | householder) & input_dependent & has_minus_one & can_fade,
        senses=EXACT | FINITE | IEEE,
        model=TAME,
        assumptions=(
            "Krohn-Rhodes decomposition; a 2-group has a subnormal series with factors Z2",
            "gates -1, 0 and 1 are reached: in the limit over the reals, by saturation in floats",
        ),
        reason=lambda f: (
            "all groups are 2-groups: a cascade of signs and registers"
            if f.profile.groups
            else "star-free: a cascade of set-reset layers"
        ),
    ),
    no(
        name="real-gates-only-two-groups",
        statement="With real eigenvalues, even negative ones, no depth counts modulo m unless m is a "
        "power of "
        "two.",
        language=regular & ~two_groups,
        architecture=linear & diagonal & real_gates,
        senses=FINITE,
        reference=Reference("Grazzi2025", "Theorem 2"),
        provenance=Provenance.READ,
        model=CAST,
        assumptions=(
            "stated for counting modulo m; a loop of the language counts modulo an odd number",
            "unrounded states by the sign lemma: after u vⁿ they are A + Bn + Σ c(-g)ⁿ, which double periods",
        ),
        reason=lambda f: f"real gates only double periods; {_groups(f)}",
        witness=lambda f: f.group_witness(f.odd_group()),
    ),
    no(
        name="real-gates-double-periods",
        statement="Two steps of a loop with real gates make a monotone map, so each layer at most "
        "doubles the "
        "period: no odd period, over the reals with a geometrically constrained readout and in floats.",
        language=regular & ~two_groups,
        architecture=linear & diagonal & real_gates,
        senses=EXACT | IEEE,
        model=TAME,
        reason=lambda f: f"real gates only double periods; {_groups(f)}",
        witness=lambda f: f.group_witness(f.odd_group()),
    ),
    yes(
        name="complex-diagonal-solvable",
        statement="k complex diagonal layers track a group exactly when it has a subnormal series of "
        "length k "
        "with Abelian factors; with set-reset layers this gives every regular language with solvable groups.",
        language=solvable,
        architecture=linear & diagonal & input_dependent & complex_gates & can_fade,
        senses=EXACT | FINITE,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        assumptions=("stated for groups; for other monoids through the Krohn-Rhodes decomposition",),
        reason=lambda f: (
            f"solvable groups ({f.group_names()}): a cascade of rotations and registers"
            if f.profile.groups
            else "star-free: a cascade of set-reset layers"
        ),
        size=series_size,
    ),
    no(
        name="complex-diagonal-only-solvable",
        statement="No number of complex diagonal layers tracks a group that is not solvable.",
        language=regular & ~solvable,
        architecture=linear & diagonal & input_dependent & complex_gates,
        senses=FINITE,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        conditional_on="states take finitely many values, as in the source",
        assumptions=("stated for tracking a group that divides the monoid",),
        reason=name_non_solvable,
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    ),
    no(
        name="diagonal-in-tc0",
        statement="Diagonal linear recurrences at logarithmic precision are in TC0, so they do not solve the "
        "word problem of a group that is not solvable unless TC0 = NC1.",
        language=regular & ~solvable,
        architecture=linear & diagonal & input_dependent,
        senses=FINITE,
        reference=Reference("Merrill2024", "Theorem 4.4 and Corollary 4.7"),
        provenance=Provenance.READ,
        model=LOG_BITS,
        conditional_on=TC0,
        assumptions=("the word problem of the group reduces to the language",),
        reason=lambda f: f"{name_non_solvable(f)}: NC1-complete, so no unless TC0 = NC1",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    ),
    no(
        name="transformers-in-tc0",
        statement="Transformers of fixed depth at logarithmic precision are in TC0; diagonal recurrences "
        "are, too [Merrill2024], hence their mixtures.",
        language=regular & ~solvable,
        architecture=softmax | hybrid_of(softmax | (linear & diagonal)),
        senses=FINITE,
        reference=Reference("MerrillSabharwal2023"),
        provenance=Provenance.SECONDARY,
        model=LOG_BITS,
        conditional_on=TC0,
        assumptions=("the word problem of the group reduces to the language",),
        reason=lambda f: f"{name_non_solvable(f)}: NC1-complete, so no unless TC0 = NC1",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    ),
    yes(
        name="regular-by-dense-matrices",
        statement="One layer with input-dependent dense matrices and a start symbol recognises every regular "
        "language: the state is the one-hot vector of the automaton's state.",
        language=regular,
        architecture=linear & dense & input_dependent & can_fade,
        senses=EXACT | FINITE | IEEE,
        reference=Reference("Merrill2024", "Theorem 5.2"),
        provenance=Provenance.READ,
        model=TAME,
        reason=lambda f: "the transition matrices themselves, entries 0 and 1",
        size=_states_size,
    ),
    yes(
        name="regular-by-permutation-diagonal",
        statement="One PD-SSM layer with N states emulates every automaton with N states.",
        language=regular,
        architecture=linear & permutation_diagonal,
        senses=EXACT | FINITE | IEEE,
        reference=Reference("Terzic2025PdSsm", "Proposition 2"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=("|D| = 1: in the limit over the reals, by saturation (logit of 17 in float32)",),
        reason=lambda f: "column-one-hot transition matrices",
        size=_states_size,
    ),
    yes(
        name="group-by-reflections",
        statement="A group language is done by one layer whose transitions are products of k-1 reflections, "
        "k the largest number of points that a letter moves in a permutation representation of the group.",
        language=group_language,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=EXACT | FINITE,
        reference=Reference("Grazzi2025", "Theorem 3"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=(_EVENLY,),
        reason=lambda f: "every letter permutes the states: products of reflections",
        size=_reflection_size,
    ),
    yes(
        name="rotation-group-two-reflections",
        statement="A rotation of space is a product of two reflections, so the finite rotation groups "
        "(cyclic, "
        "dihedral, A4, S4, A5) are done with n_h = 2 and three dimensions in one layer.",
        language=rotation_group,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=EXACT | FINITE,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        assumptions=(_EVENLY,),
        reason=lambda f: "a rotation group: two reflections per letter",
        size=lambda f, a: Size(layers=1, width=3, factors=2),
    ),
    yes(
        name="swaps-one-reflection",
        statement="If every letter swaps two states or does nothing, one reflection a token suffices.",
        language=group_language & swaps_only,
        architecture=linear & householder & has_minus_one,
        over_the_reals=shrinks_evenly,
        senses=EXACT | FINITE,
        reference=Reference("Grazzi2025", "Theorem 3"),
        provenance=Provenance.READ,
        model=CAST,
        reason=lambda f: "every letter is one swap",
        size=_swap_size,
    ),
    yes(
        name="addition-by-two-reflection-layers",
        statement="Addition modulo m is done by two layers of single reflections in the plane.",
        language=cyclic_group,
        architecture=linear & householder & has_minus_one,
        over_the_reals=shrinks_evenly,
        senses=EXACT | FINITE,
        reference=Reference("Grazzi2025", "Theorem 6"),
        provenance=Provenance.READ,
        model=CAST,
        assumptions=("with the two cases of the proof's induction exchanged",),
        reason=lambda f: "a cyclic group: position parity, then reflections in the plane",
        size=lambda f, a: Size(layers=2, width=3, factors=1, note="1 + 2"),
    ),
    yes(
        name="regular-by-householder-products",
        statement="Every regular language is done by finitely many layers whose transitions are products of "
        "generalised Householder factors.",
        language=regular,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=EXACT | FINITE,
        reference=Reference("Grazzi2025", "Theorem 4"),
        provenance=Provenance.READ,
        model=CAST,
        assumptions=(
            "the printed proof hands the new state upwards; a delay between the layers mends it",
            _EVENLY,
        ),
        reason=lambda f: "permutation-reset layers by Krohn-Rhodes",
    ),
    yes(
        name="regular-by-gated-deltaproduct",
        statement="For any n_h ≥ 1, gated DeltaProduct with β in [0,2] recognises every regular language in "
        "finitely many layers.",
        language=regular,
        architecture=linear & householder & has_minus_one & scalar_gate,
        over_the_reals=shrinks_evenly,
        senses=EXACT | FINITE,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        reason=lambda f: "permutation-reset layers; the gate clears the state",
    ),
    yes(
        name="regular-by-single-reflections",
        statement="Four layers with one reflection a token solve the word problem of every S_n, so with "
        "set-reset heads they do every regular language.",
        language=regular,
        architecture=linear & householder & has_minus_one & one_factor,
        over_the_reals=shrinks_evenly,
        senses=EXACT | FINITE,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        assumptions=(
            "stated for the word problem of S_n with a lookup table of exponential size between the layers",
            "other monoids through the Krohn-Rhodes decomposition",
        ),
        reason=lambda f: (
            "one reflection per token: four layers for each group of the Krohn-Rhodes cascade, registers for "
            "the rest"
        ),
    ),
    yes(
        name="regular-by-rwkv7",
        statement="RWKV-7 with the removal doubled, so that a gate of -1 exists, recognises every regular "
        "language with four layers.",
        language=regular,
        architecture=linear & householder & signed & one_factor & free_write,
        senses=FINITE,
        reference=Reference("Peng2025Rwkv7"),
        provenance=Provenance.SECONDARY,
        model=TAME,
        assumptions=(
            "the abstract claims it of RWKV-7; a swap I - 2 κ κᵀ needs a removal of 2, which the published "
            "parametrisation, a in (0,1), does not contain",
        ),
        reason=lambda f: "any regular language in four layers",
        size=lambda f, a: Size(layers=4),
    ),
    yes(
        name="exact-blocks-one-factor",
        bits=Bits.LINEAR,
        statement="One factor per token, β strictly between 0 and 2: over a block of tokens, timed by a "
        "clock of signs, the factors make a multiple of the permutation of the block before, so that "
        "directions are exact over the reals.",
        language=regular,
        architecture=linear & householder & one_factor & has_negative,
        senses=EXACT,
        model=TAME,
        assumptions=(
            "Krohn-Rhodes: blocks for the groups, registers that fade for the rest",
            "the readout looks at directions however small the state is",
        ),
        reason=lambda f: "blocks of tokens turn the state and shrink it evenly; its direction is exact",
        no_network=(NoNetwork(reason=NO_FLOAT, architecture=above_minus_half),),
    ),
    yes(
        name="exact-products-of-contractions",
        bits=Bits.LINEAR,
        statement="Products of factors with β in (0,1) make multiples of every rotation, so several factors "
        "per token do every regular language over the reals.",
        language=regular,
        architecture=linear & householder & nonnegative & many_factors,
        senses=EXACT,
        model=TAME,
        assumptions=(
            "a matrix of positive determinant is a product of at most five positive definite ones "
            "[Ballantine1970]",
            "as many factors per token as the dimension asks for; the readout looks at directions",
        ),
        reason=lambda f: "products of contractions turn and shrink the state; its direction is exact",
        no_network=(NoNetwork(reason=NO_FLOAT),),
    ),
)
