"""Invariants of a network, found by looking at it, and the choice of the method of proof that they need.

counters    counts, and the slots of a stack, see `counters`
intervals   registers whose overwritten values fade (gates such as 1/4) lie in a few clusters
caps        tallies that only matter until they are large enough

Nothing here is a proof. That every letter keeps the invariant and that the answers are correct is shown by
the kernel, cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Exact, write_exact
from nerode.kernel import VALID_PREFIXES
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.network import Affine, Interpreter, Layer, Network, NetworkState
from nerode.proofs.answers import breadth_first, letters_read
from nerode.proofs.counters import (
    GatedStep,
    Place,
    alternating_cover,
    counter_cover,
    find_alternating,
    find_integrators,
    gated_steps,
    name_of,
    rectified_cover,
    slot_cover,
)

Json = Any

GAP = Fraction(1, 8)
"""Values of one cluster are at most this far from the next one."""

SLACK = Fraction(1, 128)
"""Room of a cluster on both sides, for the values of longer sequences."""

_SAMPLE = 5_000
"""Configurations that are looked at."""

_MOST_STEPS = 64
"""Pairs of gate and write of a register; a coordinate that meets more of them is none."""

_ROUNDING = 16
_LENGTH = 6
_VALUES = 4_000
_FINE = 4_096

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
    intervals = interval_cover(network, language, task)
    if intervals:
        cover["intervals"] = intervals
    if "slots" in cover:
        return "stack-invariant", cover
    if counting:
        return "counter-invariant", cover
    return ("interval-closure" if intervals else "joint-closure"), cover


def interval_cover(network: Network, language: Language, task: str) -> dict[str, Json]:
    """Returns the clusters of every coordinate that fades, by name; none if there is no such coordinate.

    Args:
        network: the network.
        language: what it should do.
        task: says which words matter.
    """
    if not any(map(_may_fade, network.layers)):
        return {}
    found = {}
    for place, steps in sorted(_sampled_steps(network, language, task).items()):
        start = network.layers[place[0]].start[place[1]]
        if len(steps) > _MOST_STEPS:
            continue
        if any(gate.denominator != 1 for gate, _ in steps) and isinstance(start, int | Fraction):
            intervals = clusters(sorted(_values(Fraction(start), steps)))
            found[name_of(network, place)] = [[write_exact(a), write_exact(b)] for a, b in intervals]
    return found


def clusters(values: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Returns widened intervals around sorted values, cut where two neighbours are further apart than GAP."""
    found: list[tuple[Fraction, Fraction]] = []
    for value in values:
        if found and value - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return [(low - SLACK, high + SLACK) for low, high in found]


def _may_fade(layer: Layer) -> bool:
    """Whether a gate is not a whole number."""
    gated, fixed = layer.recurrence.as_gated(), layer.recurrence.as_fixed()
    if gated is not None:
        numbers: Iterable[Exact] = [*gated.gate.bias, *(c for row in gated.gate.rows for _, c in row)]
    else:
        numbers = () if fixed is None else [c for row in fixed.matrix for _, c in row]
    return any(isinstance(v, Fraction) for v in numbers)


def _sampled_steps(network: Network, language: Language, task: str) -> dict[Place, set[GatedStep]]:
    """The effect of letters on each coordinate, on configurations that differ by more than low digits."""
    interpreter = Interpreter(network)
    steps: dict[Place, set[GatedStep]] = {}
    fading = [(n, layer) for n, layer in enumerate(network.layers) if _may_fade(layer)]

    def successors(node: tuple[NetworkState, Hashable]) -> Iterator[tuple[NetworkState, Hashable]]:
        states, configuration = node
        for letter in letters_read(language, configuration, task):
            stream = interpreter.stream(states, letter)
            for n, layer in fading:
                for i, step in gated_steps(layer, stream, letter).items():
                    steps.setdefault((n, i), set()).add(step)
            yield interpreter.step(states, letter)[0], language.advance(configuration, letter)

    def rounded(node: tuple[NetworkState, Hashable]) -> Hashable:
        return tuple(tuple(round(v * _ROUNDING) for v in state) for state in node[0]), node[1]

    start = (interpreter.start(), language.initial())
    for _ in breadth_first(start, successors, key=rounded, most=_SAMPLE):
        pass
    return steps


def _values(start: Fraction, steps: Iterable[GatedStep]) -> set[Fraction]:
    """The values after sequences of steps, those that differ only by low digits taken together."""
    moving = [step for step in steps if step != (Fraction(1), Fraction(0))]
    values = {start}
    for _ in range(_LENGTH):
        reached = {gate * value + write for value in values for gate, write in moving} | values
        distinct = {round(value * _FINE): value for value in sorted(reached)}
        values = set(distinct.values())
        if len(values) > _VALUES:
            break
    return values


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
