"""Invariants of a network, found by looking at it, and the choice of the method of proof that they need.

counters    counts, and the slots of a stack, see `counters`
caps        tallies that only matter until they are large enough

Nothing here is a proof. That every letter keeps the invariant and that the answers are correct is shown by
the kernel, cell by cell.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from nerode.core import Budget
from nerode.kernel import VALID_PREFIXES
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.network import Affine, Layer, Network
from nerode.proofs.counters import (
    Place,
    alternating_cover,
    counter_cover,
    find_alternating,
    find_integrators,
    name_of,
    rectified_cover,
    slot_cover,
)

Json = Any

MANY_STACKS = 2_000
"""Above this number of stacks a bracket language is proved depth by depth."""


def choose_cover(
    network: Network, language: Language, task: str, budget: Budget
) -> tuple[str, dict[str, Json]]:
    """Returns the method of proof that fits a network, and what its cells know."""
    if isinstance(language, CounterLanguage) and not network.layers[0].recurrence.linear:
        rectified = rectified_cover(network, language)
        if rectified is not None:
            return "counter-invariant", rectified
    alternating = find_alternating(network)
    signed = None if alternating is None else alternating_cover(network, language, alternating, budget)
    if signed is not None:
        return "counter-invariant", signed
    integrators = find_integrators(network)
    bounded = language.regular and task == VALID_PREFIXES
    many = isinstance(language, Dyck) and (language.num_states() or MANY_STACKS + 1) > MANY_STACKS
    counting = isinstance(language, CounterLanguage) or (integrators and (many or not bounded))
    cover: dict[str, Json] = {}
    if counting:
        cover |= counter_cover(network, language, integrators, budget) or {}
    if many and isinstance(language, Dyck):
        cover |= slot_cover(network, language) or {}
    if "slots" in cover:
        return "stack-invariant", cover
    return ("counter-invariant" if counting else "joint-closure"), cover


def find_caps(network: Network) -> dict[Place, int]:
    """Returns the caps of the coordinates that only matter up to a cap.

    A cap is where every unit that reads the coordinate is on as long as what else it reads is between
    -1 and 1; the kernel looks at the actual values.
    """
    caps = {}
    for number, layer in enumerate(network.layers):
        for i in range(0 if layer.complex_state else layer.width):
            cap = _cap(layer, i) if _is_held(layer, i) else None
            if cap is not None:
                caps[number, i] = cap
    return caps


def cap_cover(network: Network) -> dict[str, Json]:
    """Returns the caps by the names of their coordinates."""
    return {"caps": {name_of(network, place): cap for place, cap in sorted(find_caps(network).items())}}


def _is_held(layer: Layer, i: int) -> bool:
    """Whether every letter keeps a coordinate and adds to it, and no other one reads it."""
    gated, fixed = layer.recurrence.as_gated(), layer.recurrence.as_fixed()
    if gated is not None:
        return gated.gate.bias[i] == 1 and not gated.gate.rows[i]
    if fixed is None:
        return False
    others = any(j == i for k, row in enumerate(fixed.matrix) if k != i for j, _ in row)
    return fixed.matrix[i] == ((i, 1),) and not others


def _cap(layer: Layer, i: int) -> int | None:
    """The cap of a coordinate, None if some output grows along it."""
    columns = [len(layer.reads) + i]
    if layer.exposes_previous:
        columns.append(len(layer.reads) + layer.width + i)
    first_unit = layer.readout_units.num_inputs
    needed = Fraction(1)
    for column in columns:
        slopes = {
            first_unit + j: c for j, row in enumerate(layer.readout_units.rows) for k, c in row if k == column
        }
        if any(not isinstance(c, int | Fraction) or c <= 0 for c in slopes.values()):
            return None
        for row in layer.readout.rows:
            entries = dict(row)
            if column in entries or sum((entries[u] * s for u, s in slopes.items() if u in entries), 0) != 0:
                return None
        for j, slope in slopes.items():
            needed = max(needed, _reach(layer.readout_units, j - first_unit, column) / Fraction(slope))  # type: ignore[arg-type]
    return math.ceil(needed) + 1


def _reach(units: Affine, j: int, column: int) -> Fraction:
    """The lowest value that the other terms of a unit can give it, for inputs between -1 and 1."""
    rest = [abs(Fraction(c)) for k, c in units.rows[j] if k != column and isinstance(c, int | Fraction)]
    bias = units.bias[j]
    return sum(rest, Fraction(0)) - (Fraction(bias) if isinstance(bias, int | Fraction) else 0)
