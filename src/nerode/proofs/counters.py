"""Finding the invariant of a network with counters: which coordinates are affine functions of which counters.

The prover only finds the invariant. That every letter keeps it, and that the answers are right for every
value of the counters, is shown by the checker, cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Exact, write_exact
from nerode.languages import CounterLanguage, Language
from nerode.network import Layer, Network

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrator:
    """A state coordinate to which each letter adds a fixed amount, for ever.

    Attributes:
        layer: number of its layer, from 0.
        coordinate: its number in the layer.
        start: its value before the first letter.
        steps: what each letter adds.
    """

    layer: int
    coordinate: int
    start: Fraction
    steps: tuple[Fraction, ...]


def find_integrators(network: Network) -> list[Integrator]:
    """Returns the coordinates with gate 1 to which letters add amounts that are not all zero."""
    found = []
    directions = frozenset(network.embedding.directions)
    for number, layer in enumerate(network.layers):
        if not directions.issuperset(layer.reads) or layer.complex_state:
            continue
        rows = [_kept_and_added(network, layer, letter) for letter in range(len(network.alphabet))]
        for i in range(layer.width):
            start = layer.start[i]
            steps = [added[i] for _, added in rows]
            if (
                all(kept[i] for kept, _ in rows)
                and any(steps)
                and all(isinstance(v, int | Fraction) for v in (start, *steps))
            ):
                amounts = tuple(Fraction(v) for v in steps if isinstance(v, int | Fraction))
                assert isinstance(start, int | Fraction)
                found.append(Integrator(layer=number, coordinate=i, start=Fraction(start), steps=amounts))
    return found


def _kept_and_added(network: Network, layer: Layer, letter: int) -> tuple[list[bool], Sequence[Exact]]:
    """For each coordinate: whether a letter keeps it as it is (gate 1), and what the letter adds."""
    stream = dict(zip(network.embedding.directions, network.embedding.vectors[letter], strict=True))
    reads = [stream[name] for name in layer.reads]
    seen = [*reads, *(v if v > 0 else 0 for v in layer.units(reads))]
    moved = layer.recurrence.transition(seen, letter)
    if moved is None:
        return [False] * layer.width, [0] * layer.width
    return [row == ((i, 1),) for i, row in enumerate(moved[0])], moved[1]


def counter_evidence(
    network: Network, language: Language, integrators: Sequence[Integrator], budget: Budget
) -> dict[str, Json] | None:
    """Returns the counters and the affine coordinates, or None if the coordinates are not whole counters.

    For a counter machine its own counters come first; each integrator that is not a combination of the
    counters so far becomes a counter itself.
    """
    counters: list[dict[str, Json]] = []
    if isinstance(language, CounterLanguage):
        machine = language.machine
        for c in range(machine.num_counters):
            increments = [row[c] for row in machine.increments]
            counters.append({"start": machine.start[c], "increments": increments, "points": [0, 0]})
    spread = _values_on_valid_prefixes(network, language, integrators, budget)
    coordinates: dict[str, Json] = {}
    for which, integrator in enumerate(integrators):
        columns = [counter["increments"] for counter in counters]
        weights = solve(columns, integrator.steps)
        if weights is None:
            values = (integrator.start, *integrator.steps)
            if any(v.denominator != 1 for v in values):
                return None
            start, *increments = (int(v) for v in values)
            low, high = spread[which]
            counters.append({"start": start, "increments": increments, "points": [min(low, 0), max(high, 0)]})
            weights = [Fraction(0)] * len(columns) + [Fraction(1)]
        starts = [counter["start"] for counter in counters]
        constant = integrator.start - sum(w * s for w, s in zip(weights, starts[: len(weights)], strict=True))
        layer = network.layers[integrator.layer]
        name = f"{integrator.layer + 1}:{layer.state[integrator.coordinate]}"
        coordinates[name] = [_number(constant), [_number(w) for w in weights]]
    for value in coordinates.values():
        value[1] += [0] * (len(counters) - len(value[1]))
    return {"counters": counters, "coordinates": coordinates}


def solve(columns: Sequence[Sequence[int]], target: Sequence[Fraction]) -> list[Fraction] | None:
    """Returns weights with sum of weight · column = target, or None if there are none."""
    rows = [[*(Fraction(column[i]) for column in columns), Fraction(target[i])] for i in range(len(target))]
    pivots: list[tuple[int, int]] = []
    for column in range(len(columns)):
        free = range(len(pivots), len(rows))
        pivot = next((r for r in free if rows[r][column]), None)
        if pivot is None:
            continue
        top = len(pivots)
        rows[top], rows[pivot] = rows[pivot], rows[top]
        rows[top] = [v / rows[top][column] for v in rows[top]]
        for r, row in enumerate(rows):
            if r != top and row[column]:
                rows[r] = [v - row[column] * w for v, w in zip(row, rows[top], strict=True)]
        pivots.append((top, column))
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    weights = [Fraction(0)] * len(columns)
    for row_number, column in pivots:
        weights[column] = rows[row_number][-1]
    return weights


def _values_on_valid_prefixes(
    network: Network, language: Language, integrators: Sequence[Integrator], budget: Budget
) -> list[tuple[int, int]]:
    """The least and the greatest value of each integrator while words of a regular language are read."""
    if not language.regular or not integrators:
        return [(0, 0)] * len(integrators)
    states = language.num_states()
    low = [i.start for i in integrators]
    high = list(low)
    if states is not None and states <= budget.states:
        pending = [(language.initial(), tuple(low))]
        known = set(pending)
        for configuration, values in pending:
            budget.check("elements", len(known), values=len(known))
            for letter in language.legal(configuration).symbols:
                new = tuple(v + i.steps[letter] for v, i in zip(values, integrators, strict=True))
                reached = (language.advance(configuration, letter), new)
                if reached not in known:
                    known.add(reached)
                    pending.append(reached)
                    low = [min(a, b) for a, b in zip(low, new, strict=True)]
                    high = [max(a, b) for a, b in zip(high, new, strict=True)]
    elif "depth" in language.parameters:
        depth = language.parameters["depth"]
        low = [i.start - depth * max(map(abs, i.steps)) for i in integrators]
        high = [i.start + depth * max(map(abs, i.steps)) for i in integrators]
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _number(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else write_exact(value)
