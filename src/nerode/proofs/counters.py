"""Counters and stacks of a network, found by looking at it.

counters    coordinates to which every letter adds a fixed amount are affine functions of counters
signs       counters that change their sign at every letter are multiples of one such number
slots       of a bracket language: the coordinates that hold the kind of bracket at each depth

Nothing here is a proof. That every letter keeps the invariant and that the answers are correct is shown by
the kernel, cell by cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Exact, write_exact
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.network import Interpreter, Layer, Network, NetworkState
from nerode.proofs.answers import breadth_first

Json = Any
Place = tuple[int, int]
"""The number of a layer from 0, and of a coordinate of its state."""

GatedStep = tuple[Fraction, Fraction]
"""A gate and a write."""

_FEW_WORDS = 500
"""Short words whose values are compared with the counters of a language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrator:
    """A state coordinate to which each letter adds a fixed amount, for ever.

    Attributes:
        place: where it is.
        start: its value before the first letter.
        steps: what each letter adds.
    """

    place: Place
    start: Fraction
    steps: tuple[Fraction, ...]


def find_integrators(network: Network) -> list[Integrator]:
    """Returns the coordinates with gate 1 to which letters add amounts that are not all zero."""
    found = []
    directions = frozenset(network.embedding.directions)
    for number, layer in enumerate(network.layers):
        if not directions.issuperset(layer.reads) or layer.complex_state:
            continue
        streams = [
            dict(zip(network.embedding.directions, vector, strict=True))
            for vector in network.embedding.vectors
        ]
        moves = [gated_steps(layer, stream, letter) for letter, stream in enumerate(streams)]
        for i, start in enumerate(layer.start):
            steps = [move.get(i, (Fraction(0), Fraction(0))) for move in moves]
            kept = all(gate == 1 for gate, _ in steps) and any(write for _, write in steps)
            if kept and isinstance(start, int | Fraction):
                amounts = tuple(write for _, write in steps)
                found.append(Integrator(place=(number, i), start=Fraction(start), steps=amounts))
    return found


def gated_steps(layer: Layer, stream: dict[str, Exact], letter: int) -> dict[int, GatedStep]:
    """Returns gate and write of the coordinates that read no other one, where both are rational."""
    reads = [stream[name] for name in layer.reads]
    seen = [*reads, *(v if v > 0 else 0 for v in layer.units(reads))]
    move = layer.recurrence.transition(seen, letter)
    if move is None:
        return {}
    found = {}
    for i, (row, write) in enumerate(zip(*move, strict=True)):
        gate = dict(row).get(i, 0)
        alone = all(j == i for j, _ in row)
        if alone and isinstance(gate, int | Fraction) and isinstance(write, int | Fraction):
            found[i] = (Fraction(gate), Fraction(write))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternatingSums:
    """Coordinates that count in proportion to a number which every letter multiplies by -1.

    Attributes:
        integrators: coordinates that are the number times what letters add up to; itself among them.
        tallies: coordinates with the gate -1 to which letters add different amounts at different times.
    """

    integrators: tuple[Integrator, ...]
    tallies: tuple[Place, ...]


def find_alternating(network: Network) -> AlternatingSums | None:
    """Returns the counters of a network that change their sign together, None without any.

    There is a coordinate that starts at 1, is never written, and has the gate -1. What other coordinates with
    this gate count is read off words of up to two letters.
    """
    places = [
        (n, i) for n, layer in enumerate(network.layers) for i, g in fixed_gates(layer).items() if g == -1
    ]
    for n, i in places:
        write = network.layers[n].recurrence.maps()[-1]
        if network.layers[n].start[i] == 1 and not write.rows[i] and write.bias[i] == 0:
            return _alternating(network, places)
    return None


def fixed_gates(layer: Layer) -> dict[int, Fraction]:
    """Returns the gates that are rational numbers and the same for all letters."""
    gated = None if layer.complex_state else layer.recurrence.as_gated()
    if gated is None:
        return {}
    pairs = enumerate(zip(gated.gate.bias, gated.gate.rows, strict=True))
    return {i: Fraction(g) for i, (g, row) in pairs if not row and isinstance(g, int | Fraction)}


def _alternating(network: Network, places: Sequence[Place]) -> AlternatingSums:
    interpreter = Interpreter(network)
    start, letters = interpreter.start(), range(len(network.alphabet))
    single = [interpreter.step(start, a)[0] for a in letters]
    integrators, tallies = [], []
    for n, i in places:
        first = start[n][i]
        steps = [Fraction(-states[n][i] - first) for states in single]
        adds_up = all(
            interpreter.step(single[a], b)[0][n][i] == first + steps[a] + steps[b]
            for a in letters
            for b in letters
        )
        if adds_up:
            integrators.append(Integrator(place=(n, i), start=Fraction(first), steps=tuple(steps)))
        elif first == 0:
            tallies.append((n, i))
    return AlternatingSums(integrators=tuple(integrators), tallies=tuple(tallies))


def alternating_cover(
    network: Network, language: Language, found: AlternatingSums, budget: Budget
) -> dict[str, Json] | None:
    """Returns the cover of counters that change their sign together, None if they are not whole."""
    cover = counter_cover(network, language, found.integrators, budget)
    if cover is None:
        return None
    return {**cover, "scale": -1, "tallies": [name_of(network, place) for place in found.tallies]}


def rectified_cover(network: Network, language: CounterLanguage) -> dict[str, Json] | None:
    """Returns the coordinates that are the ReLU of a counter plus a small number, None if there are none.

    They are found by comparing the values on short words.
    """
    machine, interpreter = language.machine, Interpreter(network)
    nodes = [(interpreter.start(), machine.start)]
    for states, counts in nodes:
        if len(nodes) < _FEW_WORDS:
            letters = range(len(network.alphabet))
            nodes += [(interpreter.step(states, a)[0], machine.add(counts, a)) for a in letters]
    affine: dict[str, Json] = {}
    guesses = [(c, s, b) for c in range(machine.num_counters) for s in (1, -1) for b in range(-2, 3)]
    for n, i in _places(network):
        for c, slope, constant in guesses:
            if all(states[n][i] == max(slope * counts[c] + constant, 0) for states, counts in nodes):
                weights = [slope * int(k == c) for k in range(machine.num_counters)]
                affine[name_of(network, (n, i))] = [constant, weights]
                break
    if not affine:
        return None
    columns = zip(machine.start, zip(*machine.increments, strict=True), strict=True)
    counters = [{"start": s, "increments": list(steps), "points": [-2, 2]} for s, steps in columns]
    return {"counters": counters, "affine": affine, "rectified": list(affine)}


def _places(network: Network) -> list[Place]:
    return [(n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)]


def _after(interpreter: Interpreter, word: Iterable[int]) -> NetworkState:
    states = interpreter.start()
    for letter in word:
        states, _ = interpreter.step(states, letter)
    return states


def counter_cover(
    network: Network,
    language: Language,
    integrators: Sequence[Integrator],
    budget: Budget,
) -> dict[str, Json] | None:
    """Returns counters and affine coordinates, or None if the coordinates are not whole counters.

    For a counter machine its own counters come first; other integrators that never fall are tallies, of
    which it matters whether they are 0. In other languages each
    integrator that is not a combination of the counters so far becomes a counter itself.
    """
    counters: list[dict[str, Json]] = []
    machine_counts = isinstance(language, CounterLanguage)
    if isinstance(language, CounterLanguage):
        machine = language.machine
        for c in range(machine.num_counters):
            increments = [row[c] for row in machine.increments]
            counters.append({"start": machine.start[c], "increments": increments, "points": [0, 0]})
    spread = _values_on_valid_prefixes(language, integrators, budget)
    affine: dict[str, Json] = {}
    tallies: list[str] = []
    for which, integrator in enumerate(integrators):
        columns = [counter["increments"] for counter in counters]
        weights = solve(columns, integrator.steps)
        summed = weights is None or sum(map(bool, weights)) > 1
        if machine_counts and min(integrator.steps) >= 0 and summed:
            tallies.append(name_of(network, integrator.place))
            continue
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
        affine[name_of(network, integrator.place)] = [
            write_number(constant),
            [write_number(w) for w in weights],
        ]
    for value in affine.values():
        value[1] += [0] * (len(counters) - len(value[1]))
    one_kind = isinstance(language, Dyck) and len(language.pairs) == 1 and language.regular
    if one_kind or machine_counts:
        counted = {integrator.place for integrator in integrators}
        tallies += [name_of(network, place) for place in _kept_sums(network) if place not in counted]
    return {"counters": counters, "affine": affine, **({"tallies": tallies} if tallies else {})}


def _kept_sums(network: Network) -> Iterator[Place]:
    """The coordinates that start at 0 and have the gate 1."""
    for n, layer in enumerate(network.layers):
        yield from ((n, i) for i, g in fixed_gates(layer).items() if g == 1 and layer.start[i] == 0)


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
    language: Language, integrators: Sequence[Integrator], budget: Budget
) -> list[tuple[int, int]]:
    """The least and the greatest value of each integrator while words of a regular language are read."""
    if not language.regular or not integrators:
        return [(0, 0)] * len(integrators)
    states = language.num_states()
    low = [i.start for i in integrators]
    high = list(low)
    if states is not None and states <= budget.states:

        def successors(node: tuple[Hashable, tuple[Fraction, ...]]) -> Iterator[Any]:
            for letter in language.legal(node[0]).symbols:
                new = tuple(v + i.steps[letter] for v, i in zip(node[1], integrators, strict=True))
                yield language.advance(node[0], letter), new

        start = (language.initial(), tuple(low))
        for count, (_, values) in enumerate(breadth_first(start, successors, most=budget.elements)):
            budget.check("elements", count + 1, values=count + 1)
            low = [min(a, b) for a, b in zip(low, values, strict=True)]
            high = [max(a, b) for a, b in zip(high, values, strict=True)]
    elif "depth" in language.parameters:
        depth = language.parameters["depth"]
        low = [i.start - depth * max(map(abs, i.steps)) for i in integrators]
        high = [i.start + depth * max(map(abs, i.steps)) for i in integrators]
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def slot_cover(network: Network, language: Dyck) -> dict[str, Json] | None:
    """Returns slots and codes, or None if the network does not keep kinds in separate coordinates.

    Among words of opening brackets only, changing the kind at one depth must change one set of coordinates,
    the slot of that depth. Where several layers come before the slots, their states are merged.
    """
    if language.depth is None:
        return None
    depth, kinds = language.depth, len(language.pairs)
    interpreter = Interpreter(network)

    def after(level: int, kind: int) -> NetworkState:
        return _after(interpreter, (2 * kind if d == level else 0 for d in range(1, depth + 1)))

    plain = after(0, 0)
    places = _places(network)
    slots: list[list[Place]] = []
    codes: list[list[Json]] | None = None
    for level in range(1, depth + 1):
        probes = [after(level, kind) for kind in range(kinds)]
        slot = [(n, i) for n, i in places if any(probe[n][i] != plain[n][i] for probe in probes)]
        found = [[write_number(probe[n][i]) for n, i in slot] for probe in probes]
        if codes is not None and found != codes:
            return None
        codes = found
        slots.append(slot)
    used = [place for slot in slots for place in slot]
    if len(set(used)) < len(used) or not used:
        return None
    first = min(n for n, _ in used)
    merged = {"merged": first} if first > 1 else {}
    return {
        **merged,
        "slots": [[name_of(network, place) for place in slot] for slot in slots],
        "codes": codes,
    }


def name_of(network: Network, place: Place) -> str:
    """Returns the name of a coordinate in covers: the number of its layer from 1, and its own."""
    return f"{place[0] + 1}:{network.layers[place[0]].state[place[1]]}"


def write_number(value: Exact) -> int | str:
    """Returns a number as covers have it."""
    return int(value) if isinstance(value, int | Fraction) and value.denominator == 1 else write_exact(value)
