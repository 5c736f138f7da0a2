"""Groups in the monoid: signs, roots of unity, reflections, permutations."""

from __future__ import annotations

from nerode.core.refs import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    attention,
    complex_gates,
    dense,
    diagonal,
    exact_gates,
    free_write,
    has_minus_one,
    householder,
    hybrid,
    input_dependent,
    linear,
    many_factors,
    one_factor,
    permutation_diagonal,
    real_gates,
    scalar_gate,
)
from nerode.verdict.facts import Facts, LanguageCondition, group_language, regular, solvable, two_groups
from nerode.verdict.group_sizes import reflection_room
from nerode.verdict.records import Provenance, Sense, Size, Status
from nerode.verdict.theorems.base import Theorem, theorem

shrinks_evenly = many_factors | exact_gates
"""Reflections with β = 2, or factors enough to shrink a state evenly where β only comes close to 2."""

_EVENLY = (
    "n_h counts factors with β = 2; where β stays below 2, in exact arithmetic, further factors shrink the "
    "state evenly and its direction is read (docs/theory)"
)

parity_like = LanguageCondition(
    "a group language with two states",
    lambda f: f.is_group_language if f.profile.num_states == 2 else False,
)
swaps_only = LanguageCondition(
    "one in which every letter is neutral or swaps two states",
    lambda f: None if f.automaton is None else (f.most_points_moved or 99) <= 2,
)
cyclic_group = LanguageCondition(
    "a cyclic group language",
    lambda f: (
        bool(f.group_of_language and f.group_of_language.structure.cyclic)
        if f.automaton is not None
        else None
    ),
)


def _is_rotation_group(facts: Facts) -> bool | None:
    if facts.automaton is None:
        return None
    group = facts.group_of_language
    if group is None:
        return False
    name = group.structure.name
    dihedral = name in ("S3", "Z2xZ2") or (name[0] == "D" and name[1:].isdigit())
    return group.structure.cyclic or dihedral or name in ("A4", "S4", "A5")


rotation_group = LanguageCondition("a finite group of rotations of space", _is_rotation_group)


def _groups(facts: Facts) -> str:
    return f"groups inside: {facts.group_names()}"


def _non_solvable(facts: Facts) -> str:
    group = facts.largest_group(solvable=False)
    return f"the monoid contains {group.structure.name}, not solvable" if group else "not solvable"


def _series_size(facts: Facts, architecture: Architecture) -> Size | None:
    group = facts.group_of_language
    if group is None or group.structure.derived_length is None:
        return None
    return Size(layers=group.structure.derived_length, note="derived length of the group")


def _states_size(facts: Facts, architecture: Architecture) -> Size:
    return Size(layers=1, width=facts.profile.num_states)


def _swap_size(facts: Facts, architecture: Architecture) -> Size:
    moved = facts.most_points_moved or 2
    return Size(layers=1, width=facts.profile.num_states, factors=max(1, moved - 1))


def _reflection_size(facts: Facts, architecture: Architecture) -> Size:
    """The letters as permutations of the states, or a better known representation of their group."""
    on_states = _swap_size(facts, architecture)
    group = facts.group_of_language
    room = None if group is None else reflection_room(group.structure.name)
    if room is None or (room[1], room[0]) >= (on_states.factors or 0, on_states.width or 0):
        return on_states
    return Size(layers=1, width=room[0], factors=room[1])


theorem(
    Theorem(
        name="parity-one-scalar",
        statement="One scalar with gates 1 and -1 tracks parity, exactly in any arithmetic.",
        language=parity_like,
        architecture=linear & diagonal & input_dependent & has_minus_one,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        assumptions=("a gate of exactly -1: in the limit over the reals, by saturation in floats",),
        reason=lambda f: "one sign that flips",
        size=lambda f, a: Size(layers=1, width=1),
    )
)

theorem(
    Theorem(
        name="signs-do-two-groups",
        statement="If every group in the monoid is a 2-group, a cascade of set-reset and sign "
        "components does "
        "the language with gates in {-1, 0, 1}.",
        language=two_groups,
        architecture=linear & (diagonal | householder) & input_dependent & has_minus_one,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        assumptions=(
            "Krohn-Rhodes decomposition; a 2-group has a subnormal series with factors Z2",
            "gates -1, 0 and 1 are reached: in the limit over the reals, by saturation in floats",
        ),
        reason=lambda f: _groups(f) if f.profile.groups else "star-free: a cascade of set-reset layers",
    )
)

theorem(
    Theorem(
        name="real-gates-only-two-groups",
        statement="With real eigenvalues, even negative ones, no depth counts modulo m unless m is a "
        "power of "
        "two.",
        language=regular & ~two_groups,
        architecture=linear & diagonal & real_gates,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("Grazzi2025", "Theorem 2"),
        provenance=Provenance.READ,
        assumptions=("stated for counting modulo m; a loop of the language counts modulo an odd number",),
        reason=lambda f: f"real gates only double periods; {_groups(f)}",
        witness=lambda f: f.group_witness(f.odd_group()),
    )
)

theorem(
    Theorem(
        name="real-gates-double-periods",
        statement="Two steps of a loop with real gates make a monotone map, so each layer at most "
        "doubles the "
        "period: no odd period, over the reals with a geometrically constrained readout and in floats.",
        language=regular & ~two_groups,
        architecture=linear & diagonal & real_gates,
        senses=frozenset({Sense.EXACT, Sense.IEEE}),
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        reason=lambda f: f"real gates only double periods; {_groups(f)}",
        witness=lambda f: f.group_witness(f.odd_group()),
    )
)

theorem(
    Theorem(
        name="complex-diagonal-solvable",
        statement="k complex diagonal layers track a group exactly when it has a subnormal series of "
        "length k "
        "with Abelian factors; with set-reset layers this gives every regular language with solvable groups.",
        language=solvable,
        architecture=linear & diagonal & input_dependent & complex_gates,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        assumptions=("stated for groups; for other monoids through the Krohn-Rhodes decomposition",),
        reason=lambda f: _groups(f) + ", solvable" if f.profile.groups else "star-free",
        size=_series_size,
    )
)

theorem(
    Theorem(
        name="complex-diagonal-only-solvable",
        statement="No number of complex diagonal layers tracks a group that is not solvable.",
        language=regular & ~solvable,
        architecture=linear & diagonal & input_dependent & complex_gates,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        assumptions=("stated for tracking a group that divides the monoid",),
        reason=_non_solvable,
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    )
)

theorem(
    Theorem(
        name="diagonal-in-tc0",
        statement="Diagonal linear recurrences at logarithmic precision are in TC0, so they do not solve the "
        "word problem of a group that is not solvable unless TC0 = NC1.",
        language=regular & ~solvable,
        architecture=linear & diagonal & input_dependent,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("Merrill2024", "Theorem 4.4 and Corollary 4.7"),
        provenance=Provenance.READ,
        assumptions=("TC0 is not NC1", "the word problem of the group reduces to the language"),
        reason=lambda f: f"{_non_solvable(f)}: NC1-complete",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    )
)

theorem(
    Theorem(
        name="transformers-in-tc0",
        statement="Transformers of fixed depth at logarithmic precision are in TC0, and so are their "
        "mixtures "
        "with diagonal recurrences.",
        language=regular & ~solvable,
        architecture=attention | hybrid,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("MerrillSabharwal2023"),
        provenance=Provenance.SECONDARY,
        assumptions=("TC0 is not NC1", "the word problem of the group reduces to the language"),
        reason=lambda f: f"{_non_solvable(f)}: NC1-complete",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    )
)

theorem(
    Theorem(
        name="group-by-reflections",
        statement="A group language is done by one layer whose transitions are products of k-1 reflections, "
        "k the largest number of points that a letter moves in a permutation representation of the group.",
        language=group_language,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Grazzi2025", "Theorem 3"),
        provenance=Provenance.READ,
        assumptions=(_EVENLY,),
        reason=lambda f: "every letter permutes the states: products of reflections",
        size=_reflection_size,
    )
)

theorem(
    Theorem(
        name="rotation-group-two-reflections",
        statement="A rotation of space is a product of two reflections, so the finite rotation groups "
        "(cyclic, "
        "dihedral, A4, S4, A5) need n_h = 2 and three dimensions in one layer.",
        language=rotation_group,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        assumptions=(_EVENLY,),
        reason=lambda f: "a rotation group: two reflections a letter",
        size=lambda f, a: Size(layers=1, width=3, factors=2),
    )
)

theorem(
    Theorem(
        name="swaps-one-reflection",
        statement="If every letter swaps two states or does nothing, one reflection a token suffices.",
        language=group_language & swaps_only,
        architecture=linear & householder & has_minus_one,
        over_the_reals=shrinks_evenly,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Grazzi2025", "Theorem 3"),
        provenance=Provenance.READ,
        reason=lambda f: "every letter is one swap",
        size=_swap_size,
    )
)

theorem(
    Theorem(
        name="addition-by-two-reflection-layers",
        statement="Addition modulo m is done by two layers of single reflections in the plane.",
        language=cyclic_group,
        architecture=linear & householder & has_minus_one,
        over_the_reals=shrinks_evenly,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Grazzi2025", "Theorem 6"),
        provenance=Provenance.READ,
        assumptions=("with the two cases of the proof's induction exchanged",),
        reason=lambda f: "a cyclic group: position parity, then reflections in the plane",
        size=lambda f, a: Size(layers=2, width=3, factors=1, note="1 + 2"),
    )
)

theorem(
    Theorem(
        name="regular-by-householder-products",
        statement="Every regular language is done by finitely many layers whose transitions are products of "
        "generalised Householder factors.",
        language=regular,
        architecture=linear & householder & has_minus_one & many_factors,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Grazzi2025", "Theorem 4"),
        provenance=Provenance.READ,
        assumptions=(
            "the printed proof hands the new state upwards; a delay between the layers mends it",
            _EVENLY,
        ),
        reason=lambda f: "permutation-reset layers by Krohn-Rhodes",
    )
)

theorem(
    Theorem(
        name="regular-by-gated-deltaproduct",
        statement="For any n_h ≥ 1, gated DeltaProduct with β in [0,2] recognises every regular language in "
        "finitely many layers.",
        language=regular,
        architecture=linear & householder & has_minus_one & scalar_gate,
        over_the_reals=shrinks_evenly,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        reason=lambda f: "permutation-reset layers; the gate clears the state",
    )
)

theorem(
    Theorem(
        name="regular-by-single-reflections",
        statement="Four layers with one reflection a token solve the word problem of every S_n, so with "
        "set-reset heads they do every regular language.",
        language=regular,
        architecture=linear & householder & has_minus_one & one_factor,
        over_the_reals=shrinks_evenly,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Siems2025"),
        provenance=Provenance.SECONDARY,
        assumptions=(
            "stated for the word problem of S_n with a lookup table of exponential size between the layers",
            "other monoids through the Krohn-Rhodes decomposition",
        ),
        reason=lambda f: "four layers a group, set-reset heads for the rest",
    )
)

theorem(
    Theorem(
        name="regular-by-rwkv7",
        statement="RWKV-7 recognises every regular language with four layers.",
        language=regular,
        architecture=linear & householder & has_minus_one & one_factor & free_write,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Peng2025Rwkv7"),
        provenance=Provenance.SECONDARY,
        reason=lambda f: "any regular language in four layers",
        size=lambda f, a: Size(layers=4),
    )
)

theorem(
    Theorem(
        name="regular-by-dense-matrices",
        statement="One layer with input-dependent dense matrices and a start symbol recognises every regular "
        "language: the state is the one-hot vector of the automaton's state.",
        language=regular,
        architecture=linear & dense & input_dependent,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Merrill2024", "Theorem 5.2"),
        provenance=Provenance.READ,
        reason=lambda f: "the transition matrices themselves, entries 0 and 1",
        size=_states_size,
    )
)

theorem(
    Theorem(
        name="regular-by-permutation-diagonal",
        statement="One PD-SSM layer with N states emulates every automaton with N states.",
        language=regular,
        architecture=linear & permutation_diagonal,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Terzic2025PdSsm", "Proposition 2"),
        provenance=Provenance.READ,
        assumptions=("|D| = 1: in the limit over the reals, by saturation (logit of 17 in float32)",),
        reason=lambda f: "column-one-hot transition matrices",
        size=_states_size,
    )
)
