"""Theorems about transformers."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.classes import attention, with_positions
from nerode.verdict.facts import Facts, of_family, quasi_aperiodic, regular, star_free
from nerode.verdict.records import Provenance, Sense, Size, Status
from nerode.verdict.theorems.base import Theorem, theorem

_HARD = "unique hard attention with strict future masking; softmax attention is not covered"

theorem(
    Theorem(
        name="hard-attention-star-free",
        statement="Masked hard-attention transformers without positions recognise exactly the star-free "
        "languages.",
        language=star_free,
        architecture=attention,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.YES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        assumptions=(_HARD,),
        reason=lambda f: "star-free: hard attention finds the last relevant letter",
    )
)

theorem(
    Theorem(
        name="hard-attention-only-star-free",
        statement="Masked hard-attention transformers without positions recognise nothing but star-free "
        "languages.",
        language=regular & ~star_free,
        architecture=attention & ~with_positions,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.NO,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        assumptions=(_HARD,),
        reason=lambda f: "hard attention without positions is star-free",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="hard-attention-positions",
        statement="With periodic position encodings masked hard-attention transformers recognise exactly the "
        "regular languages in AC0.",
        language=quasi_aperiodic,
        architecture=attention & with_positions,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.YES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        assumptions=(_HARD, "position encodings with finitely many values (periodic)"),
        reason=lambda f: "regular in AC0: star-free with positions modulo m",
    )
)

theorem(
    Theorem(
        name="hard-attention-positions-only-ac0",
        statement="With periodic position encodings masked hard-attention transformers recognise no regular "
        "language outside AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=attention & with_positions,
        senses=frozenset({Sense.EXACT}),
        conclusion=Status.NO,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        assumptions=(_HARD, "position encodings with finitely many values (periodic)"),
        reason=lambda f: "hard attention with periodic positions stays in AC0",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="bounded-dyck-attention",
        statement="Self-attention with suitable position encodings does bounded Dyck(K, m) with O(log K) "
        "dimensions.",
        language=of_family({"bounded-dyck"}, "a bounded Dyck language"),
        architecture=attention & with_positions,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Yao2021"),
        provenance=Provenance.SECONDARY,
        assumptions=("position encodings made for the purpose",),
        reason=lambda f: "matching bracket by depth",
        size=lambda f, a: Size(note="O(log K) dimensions"),
    )
)
