"""Noise: Metric Automata Theory."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.classes import (
    ClassCondition,
    State,
    diagonal,
    fixed_memory,
    gates_open,
    hybrid,
    linear,
    nonlinear,
    nonnegative,
)
from nerode.verdict.facts import regular, star_free, window_determined
from nerode.verdict.records import Provenance, Sense, Status
from nerode.verdict.theorems.base import METRIC, Theorem, hybrid_of, theorem

_ROBUST = frozenset({Sense.ROBUST})
_slstm = ClassCondition("sLSTM cells", lambda c: c.state is State.NORMALISED)

theorem(
    Theorem(
        name="robust-linear-is-contracting",
        statement="A cascade of robust linear recurrences is contracting, so it forgets: it cannot implement "
        "the flip-flop, nor anything that a finite window does not settle.",
        language=regular & ~window_determined,
        architecture=linear | hybrid_of(linear),
        senses=_ROBUST,
        conclusion=Status.NO,
        reference=Reference("Dankowiakowski2025", "Theorems 3 and 4"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=(
            "stated for FLIP-FLOP; the proof's contraction covers every language that no finite window "
            "settles (docs/theory)",
        ),
        reason=lambda f: "a linear state that is held never heals from noise",
    )
)

theorem(
    Theorem(
        name="open-gates-forget",
        statement="With gates strictly inside the unit interval the state space collapses: no flip-flop "
        "as an "
        "eta-finite system.",
        language=regular & ~window_determined,
        architecture=linear & diagonal & nonnegative & gates_open,
        senses=_ROBUST,
        conclusion=Status.NO,
        reference=Reference("Dankowiakowski2025", "Theorem 7"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=("real-valued gates: in floats a saturated gate is exactly 1",),
        reason=lambda f: "gates below 1 let every held state collapse",
    )
)

theorem(
    Theorem(
        name="eta-finite-is-regular",
        statement="An eta-finite system implements exactly the functions of its canonical automaton, all of "
        "them regular.",
        language=~regular,
        architecture=(~hybrid & fixed_memory) | hybrid_of(fixed_memory),
        senses=_ROBUST,
        conclusion=Status.NO,
        reference=Reference("Dankowiakowski2025", "Theorem 1"),
        provenance=Provenance.READ,
        model=METRIC,
        reason=lambda f: "a robust state space has finitely many components",
    )
)

theorem(
    Theorem(
        name="robust-slstm-star-free",
        statement="sLSTM cascades recognise every star-free language robustly.",
        language=star_free,
        architecture=nonlinear & _slstm,
        senses=_ROBUST,
        conclusion=Status.YES,
        reference=Reference("Dankowiakowski2025", "Theorem 5"),
        provenance=Provenance.READ,
        model=METRIC,
        assumptions=("with the repeat cell's intervals scaled by tanh 2",),
        reason=lambda f: "star-free: flip-flop and repeat cells with a margin",
    )
)

theorem(
    Theorem(
        name="robust-nonlinear-regular",
        statement="Saturating units with feedback run every automaton with a noise margin.",
        language=regular,
        architecture=nonlinear,
        senses=_ROBUST,
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=METRIC,
        assumptions=("gated cells are set so that they act as an Elman network",),
        reason=lambda f: "each step pulls the state back to its corner",
    )
)
