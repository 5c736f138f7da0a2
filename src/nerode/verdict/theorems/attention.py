"""Theorems about transformers: hard attention as classes of its own, softmax attention under its names."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.classes import (
    averaging_heads,
    hard_left,
    hard_right,
    penalised,
    periodic_positions,
    sloped_heads,
    softmax,
    with_positions,
)
from nerode.verdict.facts import (
    Facts,
    bounded_dyck,
    bracket_stack,
    counter_machine,
    counts_decide,
    in_class,
    quasi_aperiodic,
    r_trivial,
    regular,
    solvable,
    star_free,
)
from nerode.verdict.records import Bits, Provenance, Size
from nerode.verdict.theorems.base import EXACT, FINITE, HARD, IEEE, LOG_BITS, SOFT, TAME, no, yes
from nerode.verdict.theorems.groups import parity_like

_HARD_SENSES = EXACT | FINITE | IEEE
_FREE_POSITIONS = "position encodings are free to choose, not only those of the architecture"
_PERIODIC = "position encodings with finitely many values (periodic)"
_DIVISION = "a map between layers divides by the mean of the mark: tame, but no ReLU network"
_KROHN_RHODES = "Krohn-Rhodes: cyclic groups of prime order and registers"

ROWS = (
    yes(
        name="hard-attention-star-free",
        statement="Masked unique hard attention without positions recognises the star-free languages.",
        language=star_free,
        architecture=hard_right,
        senses=_HARD_SENSES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        assumptions=("strict future masking, ties to the right",),
        reason=lambda f: "as unique hard attention: star-free, a head finds the last relevant letter",
    ),
    no(
        name="hard-attention-only-star-free",
        statement="Masked unique hard attention without positions recognises only star-free languages.",
        language=regular & ~star_free,
        architecture=(hard_right | hard_left) & ~with_positions,
        senses=_HARD_SENSES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.SECONDARY,
        model=HARD,
        reason=lambda f: "as unique hard attention without positions: star-free languages only",
        witness=Facts.counter_witness,
    ),
    yes(
        name="hard-attention-left",
        statement="With ties to the left hard attention expresses the logic of 'once', which contains the "
        "R-trivial languages.",
        language=r_trivial,
        architecture=hard_left,
        senses=_HARD_SENSES,
        reference=Reference("Jerad2025"),
        provenance=Provenance.RECALLED,
        model=HARD,
        reason=lambda f: "as leftmost hard attention: the first letters of each kind, in order",
    ),
    yes(
        name="hard-attention-positions",
        statement="With periodic position encodings masked hard attention recognises exactly the regular "
        "languages in AC0.",
        language=quasi_aperiodic,
        architecture=hard_right & periodic_positions,
        senses=_HARD_SENSES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        model=HARD,
        assumptions=(_PERIODIC,),
        reason=lambda f: "as unique hard attention: star-free once positions modulo m are known",
    ),
    no(
        name="hard-attention-positions-only-ac0",
        statement="With periodic position encodings masked hard attention recognises no regular language "
        "outside AC0.",
        language=regular & ~quasi_aperiodic,
        architecture=hard_right & periodic_positions,
        senses=_HARD_SENSES,
        reference=Reference("YangChiangAngluin2024"),
        provenance=Provenance.RECALLED,
        model=HARD,
        assumptions=(_PERIODIC,),
        reason=lambda f: "as unique hard attention with periodic positions: regular languages in AC0 only",
        witness=Facts.counter_witness,
    ),
    yes(
        name="softmax-simulates-hard",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention with positions or temperatures that grow with the length simulates "
        "unique hard attention, so it does the regular languages in AC0.",
        language=quasi_aperiodic,
        architecture=softmax & with_positions,
        senses=EXACT,
        reference=Reference("YangStrobl2026"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        conditional_on=_FREE_POSITIONS,
        reason=lambda f: "softmax with unbounded positions finds the last relevant letter",
    ),
    yes(
        name="softmax-parity",
        bits=Bits.LOGARITHMIC,
        statement="Four layers of causal softmax attention with positions that do not depend on the length "
        "compute PARITY.",
        language=parity_like,
        architecture=softmax & with_positions,
        senses=EXACT,
        reference=Reference("Kozachinskiy2026"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        conditional_on=_FREE_POSITIONS,
        assumptions=("polynomially bounded position encodings; no layer norm; earlier: [ChiangCholak2022]",),
        reason=lambda f: "softmax with positions counts the ones and looks up the parity of the count",
        size=lambda f, a: Size(layers=4),
    ),
    yes(
        name="soft-exact-counters",
        bits=Bits.LOGARITHMIC,
        statement="Over the reals the mark tells the position, and heads whose scores fall with the square "
        "of a difference of counts tell counts modulo m: every regular language with solvable groups.",
        language=solvable,
        architecture=averaging_heads,
        senses=EXACT,
        model=TAME,
        assumptions=(_DIVISION, _KROHN_RHODES),
        reason=lambda f: "solvable groups: counts modulo m and latest writes, found among earlier positions",
    ),
    yes(
        name="soft-exact-brackets",
        bits=Bits.LOGARITHMIC,
        statement="Over the reals the mark tells the position and counts tell the depth, so a head finds the "
        "matching bracket: Dyck languages.",
        language=bracket_stack,
        architecture=averaging_heads,
        senses=EXACT,
        model=TAME,
        assumptions=(_DIVISION,),
        reason=lambda f: "the latest open bracket of the same depth is the matching one",
    ),
    yes(
        name="soft-free-positions",
        bits=Bits.LOGARITHMIC,
        statement="With position vectors of free choice beside its own, softmax attention over the reals "
        "does every regular language with solvable groups, and Dyck languages.",
        language=solvable | bracket_stack,
        architecture=softmax & with_positions,
        senses=EXACT,
        model=TAME,
        conditional_on=_FREE_POSITIONS,
        assumptions=("products between layers", _KROHN_RHODES),
        reason=lambda f: "counts, latest writes and matching brackets, found among earlier positions",
    ),
    yes(
        name="attention-once",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention expresses 'once', hence the languages of partially ordered automata, up "
        "to the current letter.",
        language=r_trivial | in_class("letter-constant"),
        architecture=softmax,
        senses=EXACT | FINITE,
        reference=Reference("LiCotterell2025"),
        provenance=Provenance.SECONDARY,
        model=SOFT,
        assumptions=("that an average is above 0 is seen at every length",),
        reason=lambda f: "which letters have occurred, level by level, and the current one",
    ),
    yes(
        name="attention-counts",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention without rounding inside the average expresses C-RASP, which compares "
        "counts of earlier positions, as far as the letter before need not be known.",
        language=counts_decide,
        architecture=averaging_heads | (softmax & ~penalised),
        senses=EXACT | FINITE,
        reference=Reference("YangChiang2024"),
        provenance=Provenance.RECALLED,
        model=SOFT,
        assumptions=("averages are not rounded; everything else may be",),
        reason=lambda f: "averages are counts divided by the length; their signs are compared",
    ),
    yes(
        name="sloped-counts",
        bits=Bits.LOGARITHMIC,
        statement="Softmax attention with free slopes does the languages of counter machines: one head "
        "counts, another one sees the letter before.",
        language=counter_machine,
        architecture=sloped_heads,
        senses=EXACT | FINITE,
        model=SOFT,
        assumptions=("averages are not rounded; everything else may be",),
        reason=lambda f: "averages are counts divided by the length; a steep head sees the letter before",
    ),
    yes(
        name="bounded-dyck-attention",
        bits=Bits.LOGARITHMIC,
        statement="Self-attention with the positions i/n does bounded Dyck(K, m) with O(log K) dimensions.",
        language=bounded_dyck,
        architecture=softmax & with_positions,
        senses=EXACT,
        reference=Reference("Yao2021"),
        provenance=Provenance.SECONDARY,
        model=LOG_BITS,
        conditional_on="positions i/n, so that the length n is known in advance",
        assumptions=("partly hard attention, O(log n) bits",),
        reason=lambda f: "matching bracket by depth",
        size=lambda f, a: Size(note="O(log K) dimensions"),
    ),
)
