"""Groups in the monoid: signs, roots of unity, matrices; reflections have a file of their own."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    can_fade,
    complex_gates,
    dense,
    diagonal,
    has_minus_one,
    householder,
    input_dependent,
    linear,
    permutation_diagonal,
    real_gates,
    softmax,
)
from nerode.verdict.facts import Facts, LanguageCondition, regular, solvable, two_groups
from nerode.verdict.records import Provenance, Sense, Size, Status
from nerode.verdict.theorems.base import CAST, LOG_BITS, SARROF, TAME, TC0, Theorem, hybrid_of, theorem

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


def _series_size(facts: Facts, architecture: Architecture) -> Size | None:
    group = facts.group_of_language
    if group is None or group.structure.derived_length is None:
        return None
    return Size(layers=group.structure.derived_length, note="derived length of the group")


def _states_size(facts: Facts, architecture: Architecture) -> Size:
    return Size(layers=1, width=facts.profile.num_states)


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
        model=SARROF,
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
        architecture=linear & (diagonal | householder) & input_dependent & has_minus_one & can_fade,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
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
        model=CAST,
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
        model=TAME,
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
        architecture=linear & diagonal & input_dependent & complex_gates & can_fade,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        model=CAST,
        assumptions=("stated for groups; for other monoids through the Krohn-Rhodes decomposition",),
        reason=lambda f: (
            f"solvable groups ({f.group_names()}): a cascade of rotations and registers"
            if f.profile.groups
            else "star-free: a cascade of set-reset layers"
        ),
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
        model=CAST,
        assumptions=("stated for tracking a group that divides the monoid",),
        reason=name_non_solvable,
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
        model=LOG_BITS,
        conditional_on=TC0,
        assumptions=("the word problem of the group reduces to the language",),
        reason=lambda f: f"{name_non_solvable(f)}: NC1-complete, so no unless TC0 = NC1",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    )
)

theorem(
    Theorem(
        name="transformers-in-tc0",
        statement="Transformers of fixed depth at logarithmic precision are in TC0; diagonal recurrences "
        "are, too [Merrill2024], hence their mixtures.",
        language=regular & ~solvable,
        architecture=softmax | hybrid_of(softmax | (linear & diagonal)),
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("MerrillSabharwal2023"),
        provenance=Provenance.SECONDARY,
        model=LOG_BITS,
        conditional_on=TC0,
        assumptions=("the word problem of the group reduces to the language",),
        reason=lambda f: f"{name_non_solvable(f)}: NC1-complete, so no unless TC0 = NC1",
        witness=lambda f: f.group_witness(f.largest_group(solvable=False)),
    )
)

theorem(
    Theorem(
        name="regular-by-dense-matrices",
        statement="One layer with input-dependent dense matrices and a start symbol recognises every regular "
        "language: the state is the one-hot vector of the automaton's state.",
        language=regular,
        architecture=linear & dense & input_dependent & can_fade,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Merrill2024", "Theorem 5.2"),
        provenance=Provenance.READ,
        model=TAME,
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
        model=TAME,
        assumptions=("|D| = 1: in the limit over the reals, by saturation (logit of 17 in float32)",),
        reason=lambda f: "column-one-hot transition matrices",
        size=_states_size,
    )
)
