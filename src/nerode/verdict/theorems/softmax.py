"""Theorems about softmax attention by language tests on components, and about its hybrids.

Answers are read at the last letter, which a position sees without attention. In a float format a head with a
distance penalty is a window, and one without is a count up to a bound; so the senses differ.
docs/theory/attention.md has the arguments.
"""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.classes import (
    ClassCondition,
    Positions,
    averaging_heads,
    hard_left,
    hard_right,
    sloped_heads,
    softmax,
)
from nerode.verdict.facts import (
    Facts,
    clocked_local,
    in_class,
    letter_constant,
    locally_r_trivial,
    quasi_aperiodic,
    regular,
    star_free,
)
from nerode.verdict.records import Provenance, Sense, Status
from nerode.verdict.theorems.base import FLOATS, HARD, SOFT, Theorem, theorem

_IEEE = frozenset({Sense.IEEE})
_FINITE = frozenset({Sense.FINITE_PRECISION})
_ALL = frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE})
_SUMS = "a sum over positions depends only on how often each value occurs, counted up to a bound"

_plain = ClassCondition("no positions", lambda c: c.positions is Positions.NONE)
_penalty = ClassCondition("a distance penalty alone", lambda c: c.positions is Positions.PENALTY)
_periodic = ClassCondition(
    "periodic vectors and a distance penalty", lambda c: c.positions is Positions.PERIODIC_AND_PENALTY
)
_no_phase = _plain | _penalty
_bounded = _no_phase | _periodic
_diagonal_hybrid = ClassCondition(
    "nonnegative diagonal layers and softmax attention without positions",
    lambda c: c.parts in (("mamba", "transformer-nope"), ("diagonal", "transformer-nope")),
)

_clocked_hybrid = ClassCondition(
    "nonnegative diagonal layers and softmax attention with periodic vectors",
    lambda c: c.parts == ("mamba", "transformer-periodic"),
)

theorem(
    Theorem(
        name="hard-attention-regular",
        statement="Masked unique hard attention with finitely many position vectors recognises only regular "
        "languages.",
        language=~regular,
        architecture=hard_right | hard_left,
        senses=_ALL,
        conclusion=Status.NO,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        reason=lambda f: "as unique hard attention: regular languages only",
    )
)

theorem(
    Theorem(
        name="hard-left-letter-constant",
        statement="With ties to the left hard attention does every language whose components are "
        "letter-constant.",
        language=letter_constant,
        architecture=hard_left,
        senses=_ALL,
        conclusion=Status.YES,
        reference=Reference("Jerad2025"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        assumptions=("strict mask; the last letter is seen without attention",),
        reason=lambda f: "the component of the state and the letter determine the next state",
    )
)

theorem(
    Theorem(
        name="hard-left-only-letter-constant",
        statement="With ties to the left hard attention does no regular language with a component that is "
        "not letter-constant.",
        language=regular & ~letter_constant,
        architecture=hard_left,
        senses=_ALL,
        conclusion=Status.NO,
        reference=Reference("Jerad2025"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        reason=lambda f: f"{f.letter_split_text}; 'once' does not tell them apart",
        witness=Facts.letter_split_witness,
    )
)

theorem(
    Theorem(
        name="soft-letter-constant",
        statement="Softmax attention without positions does in floats, at every length, every language whose "
        "components are letter-constant.",
        language=letter_constant,
        architecture=averaging_heads,
        senses=_ALL,
        conclusion=Status.YES,
        reference=Reference("LiCotterell2025"),
        provenance=Provenance.SECONDARY,
        model=FLOATS,
        assumptions=("a beginning mark; sums over positions are trees of bounded depth",),
        reason=lambda f: "what has happened, component by component, decides together with the letter",
    )
)

theorem(
    Theorem(
        name="soft-only-letter-constant",
        statement="In floats softmax attention without positions does no regular language with a component "
        "that is not letter-constant.",
        language=regular & ~letter_constant,
        architecture=softmax & _plain,
        senses=_IEEE,
        conclusion=Status.NO,
        reference=Reference("LiCotterell2025"),
        provenance=Provenance.SECONDARY,
        model=FLOATS,
        assumptions=(_SUMS,),
        reason=lambda f: f"{f.letter_split_text}; counts up to a bound do not tell them apart",
        witness=Facts.letter_split_witness,
    )
)

theorem(
    Theorem(
        name="soft-floats-regular",
        statement="In floats softmax attention without positions, with a distance penalty or with periodic "
        "vectors does regular languages only.",
        language=~regular,
        architecture=softmax & _bounded,
        senses=_IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=(_SUMS,),
        reason=lambda f: "in floats heads are windows and counts up to a bound: finitely many states",
    )
)

theorem(
    Theorem(
        name="soft-locally-r-trivial",
        statement="Softmax attention with a distance penalty and free slopes does every locally R-trivial "
        "language in floats, at every length.",
        language=locally_r_trivial,
        architecture=sloped_heads,
        senses=_ALL,
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=("a beginning mark; sums over positions are trees of bounded depth",),
        reason=lambda f: "a window and what has happened decide",
    )
)

theorem(
    Theorem(
        name="soft-only-locally-r-trivial",
        statement="In floats softmax attention with a distance penalty does no regular language that is not "
        "locally R-trivial.",
        language=regular & ~locally_r_trivial,
        architecture=softmax & _penalty,
        senses=_IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=(_SUMS,),
        reason=lambda f: f"{f.fixed_pair_text}: no window decides",
        witness=Facts.fixed_pair_witness,
    )
)

theorem(
    Theorem(
        name="soft-periodic",
        statement="With periodic position vectors and a distance penalty softmax attention does the "
        "languages in floats, at every length, that are locally R-trivial once positions modulo m are known.",
        language=clocked_local,
        architecture=softmax & _periodic,
        senses=_ALL,
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=("a beginning mark; sums over positions are trees of bounded depth",),
        reason=lambda f: "a window, what has happened and the position modulo m decide",
    )
)

theorem(
    Theorem(
        name="soft-periodic-only-local",
        statement="In floats softmax attention with periodic vectors and a distance penalty does no regular "
        "language that is not locally R-trivial for any clock.",
        language=regular & ~clocked_local,
        architecture=softmax & _periodic,
        senses=_IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=(_SUMS,),
        reason=lambda f: f"{f.clocked_pair_text}, at every position modulo m: no window decides",
        witness=Facts.clocked_pair_witness,
    )
)

theorem(
    Theorem(
        name="hybrid-clocked-registers",
        statement="Diagonal layers that hold, and attention with periodic vectors, do in floats, at every "
        "length, every language that is star-free once positions modulo m are known.",
        language=quasi_aperiodic,
        architecture=_clocked_hybrid,
        senses=_FINITE | _IEEE,
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=("a beginning mark; position vectors stand on the stream of all layers",),
        reason=lambda f: "registers over letters that are marked with their position modulo m",
    )
)

theorem(
    Theorem(
        name="hybrid-clocked-only-ac0",
        statement="Rounded between layers or in floats, nonnegative diagonal layers and attention with "
        "periodic vectors stay inside the regular languages of AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=_clocked_hybrid,
        senses=_FINITE | _IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=SOFT,
        assumptions=(_SUMS, "no limit lies on an edge of the rounding"),
        reason=lambda f: "words of one length that count would have to count modulo m, too",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="soft-periodic-only-ac0",
        statement="Rounded between layers or in floats, periodic position vectors and a distance penalty "
        "leave softmax attention inside the regular languages of AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=softmax & _periodic,
        senses=_FINITE | _IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=(_SUMS, "no limit lies on an edge of the rounding"),
        reason=lambda f: "words of one length that count would have to count modulo m, too",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="soft-counts-regular",
        statement="Softmax attention that does not round inside averages does the regular languages whose "
        "states iterated counts of letters tell apart (C-RASP).",
        language=in_class("c-rasp"),
        architecture=averaging_heads,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("YangCadilhacChiang2025"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        assumptions=("a beginning mark; averages are not rounded, everything else may be",),
        reason=lambda f: "counts of letters, compared level by level, give the state",
    )
)

theorem(
    Theorem(
        name="soft-counts-only",
        statement="Softmax attention without positions that rounds outside averages does no other regular "
        "language than those of C-RASP.",
        language=regular & ~in_class("c-rasp"),
        architecture=softmax & _plain,
        senses=_FINITE,
        conclusion=Status.NO,
        reference=Reference("Veseli2026"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        conditional_on="the decision of regular C-RASP languages as published with code",
        assumptions=("the answer is read at the last letter",),
        reason=lambda f: "no count of letters tells the states of a component apart",
    )
)

theorem(
    Theorem(
        name="nearest-sign",
        statement="Over the reals a head with constant scores and a slope above ln 2 has the sign of the "
        "latest write, so softmax attention with free slopes does every star-free language.",
        language=star_free,
        architecture=sloped_heads,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=SOFT,
        assumptions=("a norm with epsilon 0 reads the sign",),
        reason=lambda f: "the latest write outweighs all earlier ones together",
    )
)

theorem(
    Theorem(
        name="soft-no-periods",
        statement="Softmax attention without positions or with a distance penalty, rounded between layers, "
        "does star-free languages only.",
        language=regular & ~star_free,
        architecture=softmax & _no_phase,
        senses=_FINITE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=SOFT,
        assumptions=("no limit lies on an edge of the rounding",),
        reason=lambda f: "on u vⁿ every layer converges at each place of v, so answers stop to alternate",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="hybrid-no-periods",
        statement="Nonnegative diagonal layers and softmax attention without positions, rounded between "
        "layers, do star-free languages only.",
        language=regular & ~star_free,
        architecture=_diagonal_hybrid,
        senses=_FINITE | _IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=SOFT,
        assumptions=(_SUMS, "no limit lies on an edge of the rounding"),
        reason=lambda f: "on u vⁿ both kinds of layers converge at each place of v",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="hybrid-floats-regular",
        statement="In floats, diagonal layers and softmax attention without positions do regular languages "
        "only.",
        language=~regular,
        architecture=_diagonal_hybrid | _clocked_hybrid,
        senses=_IEEE,
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        assumptions=(_SUMS,),
        reason=lambda f: "states are floats and heads count up to a bound: finitely many states",
    )
)
