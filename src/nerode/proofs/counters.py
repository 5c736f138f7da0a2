"""Counters and stacks of a network, found by looking at it.

counters    coordinates to which every letter adds a fixed amount are affine functions of counters
scales      counters that shrink or change their sign together are counted in proportion to a number
digits      a coordinate whose digits are the open brackets
slots       of a bracket language: the coordinates that hold the kind of bracket at each depth

Nothing here is a proof. That every letter keeps the invariant and that the answers are correct is shown by
the kernel, cell by cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Exact, inverse, write_exact
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.network import Affine, Gated, Interpreter, Layer, Network, NetworkState
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
class CommonScale:
    """A number that every letter multiplies by the same factor, and what is counted in proportion to it.

    Attributes:
        factor: between 0 and 1, or -1.
        integrators: coordinates that are the scale times what letters add up to; the scale itself among them.
        tallies: coordinates with the same gate to which letters add different amounts at different times.
    """

    factor: Fraction
    integrators: tuple[Integrator, ...]
    tallies: tuple[Place, ...]


def find_scale(network: Network) -> CommonScale | None:
    """Returns the scale of a network whose counters shrink or change their sign together, None without one.

    The scale is the first coordinate that starts at 1, is never written, and whose gate is a number between 0
    and 1, or -1. What other coordinates with this gate count is read off words of up to two letters.
    """
    gates = {(n, i): g for n, layer in enumerate(network.layers) for i, g in fixed_gates(layer).items()}
    for (n, i), gate in gates.items():
        write = network.layers[n].recurrence.maps()[-1]
        starts = network.layers[n].start[i] == 1
        if (0 < gate < 1 or gate == -1) and starts and not write.rows[i] and write.bias[i] == 0:
            return _scale_of(network, gate, [place for place, other in gates.items() if other == gate])
    return None


def fixed_gates(layer: Layer) -> dict[int, Fraction]:
    """Returns the gates that are rational numbers and the same for all letters."""
    gated = None if layer.complex_state else layer.recurrence.as_gated()
    if gated is None:
        return {}
    pairs = enumerate(zip(gated.gate.bias, gated.gate.rows, strict=True))
    return {i: Fraction(g) for i, (g, row) in pairs if not row and isinstance(g, int | Fraction)}


def _scale_of(network: Network, factor: Fraction, places: Sequence[Place]) -> CommonScale:
    interpreter = Interpreter(network)
    start, letters = interpreter.start(), range(len(network.alphabet))
    single = [interpreter.step(start, a)[0] for a in letters]
    integrators, tallies = [], []
    for n, i in places:
        first = start[n][i]
        steps = [Fraction(states[n][i] / factor - first) for states in single]
        adds_up = all(
            interpreter.step(single[a], b)[0][n][i] == factor**2 * (first + steps[a] + steps[b])
            for a in letters
            for b in letters
        )
        if adds_up:
            integrators.append(Integrator(place=(n, i), start=Fraction(first), steps=tuple(steps)))
        elif first == 0:
            tallies.append((n, i))
    return CommonScale(factor=factor, integrators=tuple(integrators), tallies=tuple(tallies))


def scale_cover(
    network: Network, language: Language, scale: CommonScale, budget: Budget, *, tallied: bool = True
) -> dict[str, Json] | None:
    """Returns the cover of counters that shrink or change their sign together, None if they are not whole."""
    cover = counter_cover(network, language, scale.integrators, budget, tallied=tallied)
    if cover is None:
        return None
    tallies = [name_of(network, place) for place in scale.tallies]
    return {**cover, "scale": write_number(scale.factor), "tallies": tallies}


def squash_cover(network: Network, language: CounterLanguage) -> dict[str, Json] | None:
    """Returns the counters of a network of tanh units in proportion to the first one, None if it is none.

    What the counters are is read off the same network without tanh.
    """
    layers, weights = [], set()
    for layer in network.layers:
        if layer.recurrence.fields().get("activation") != "tanh":
            return None
        (update,) = layer.recurrence.maps()
        first = update.num_inputs - layer.width
        own = [dict(row).get(first + i, 0) for i, row in enumerate(update.rows)]
        if any(j >= first and j != first + i for i, row in enumerate(update.rows) for j, _ in row):
            return None
        weights |= set(own)
        rows = tuple(tuple((j, c) for j, c in row if j < first) for row in update.rows)
        linear = Gated(
            gate=Affine(num_inputs=first, bias=tuple(own), rows=((),) * layer.width),
            write=Affine(num_inputs=first, bias=update.bias, rows=rows),
        )
        start = tuple(v * inverse(network.layers[0].start[0]) for v in layer.start)
        layers.append(replace(layer, recurrence=linear, start=start))
    scale = find_scale(replace(network, layers=tuple(layers))) if len(weights) == 1 else None
    cover = None if scale is None else scale_cover(network, language, scale, Budget(), tallied=False)
    return None if cover is None else {**cover, "squashed": [name_of(network, (0, 0)), "1/4"]}


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


def digit_cover(network: Network, language: Dyck, scale: CommonScale) -> dict[str, Json] | None:
    """Returns the coordinate whose digits are the open brackets, None if the network has none.

    It is the first one that the opening brackets set to multiples of the scale; the base is read off two
    opening brackets.
    """
    if language.depth is not None:
        return None
    interpreter, factor = Interpreter(network), scale.factor
    start, kinds = interpreter.start(), range(len(language.pairs))
    opened = [interpreter.step(start, 2 * k)[0] for k in kinds]
    known = {*(integrator.place for integrator in scale.integrators), *scale.tallies}
    for place in _places(network):
        n, i = place
        digits = [Fraction(states[n][i] / factor) for states in opened]
        twice = interpreter.step(opened[0], 0)[0][n][i] / factor**2
        if place not in known and start[n][i] == 0 and min(digits) > 0 and twice > digits[0]:
            base = digits[0] / (Fraction(twice) - digits[0])
            affine = {name_of(network, integrator.place): [1, []] for integrator in scale.integrators}
            return {
                "affine": affine,
                "scale": write_number(factor),
                "tallies": [name_of(network, other) for other in scale.tallies if other != place],
                "stack": [name_of(network, place), [write_number(d) for d in digits], write_number(base)],
            }
    return None


def power_digit_cover(network: Network, language: Dyck) -> dict[str, Json] | None:
    """Returns the depth and the coordinate whose digits weigh powers of it, None if the network has none.

    The depth is the only integrator of a first layer with powers; the stack is the first coordinate of the
    second layer, and all others are tallies.
    """
    if language.depth is not None or "power" not in network.layers[0].functions:
        return None
    (depth,), stack = find_integrators(network), (1, 0)
    base = Fraction(4) ** int(depth.steps[0])
    interpreter = Interpreter(network)
    opened = [_after(interpreter, (2 * k,)) for k in range(len(language.pairs))]
    places = _places(network)
    return {
        "counters": [{"start": 0, "increments": [int(s) for s in depth.steps], "points": [0, 0]}],
        "affine": {name_of(network, depth.place): [0, [1]]},
        "power": 0,
        "stack": [
            name_of(network, stack),
            [write_number(Fraction(s[1][0]) / base) for s in opened],
            write_number(base),
        ],
        "tallies": [name_of(network, place) for place in places if place not in (depth.place, stack)],
    }


def unit_digit_cover(network: Network, language: Dyck) -> dict[str, Json] | None:
    """Returns the units that hold the digits of the open brackets in turn; all others count errors.

    The digits and the base are read off two opening brackets.
    """
    interpreter, kinds = Interpreter(network), range(len(language.pairs))
    places = _places(network)
    used: dict[Place, None] = {}
    for k, j in itertools.product(kinds, kinds):
        for word in ((2 * k,), (2 * k, 2 * j), (2 * k, 2 * j, 2 * j + 1)):
            states = _after(interpreter, word)
            used |= {(n, i): None for n, i in places if states[n][i] != 0}
    opened = [sum(_after(interpreter, (2 * k,))[n][i] for n, i in used) for k in kinds]
    twice = sum(_after(interpreter, (0, 0))[n][i] for n, i in used)
    if language.depth is not None or min(opened, default=0) <= 0 or twice <= opened[0]:
        return None
    names = [name_of(network, place) for place in used]
    base = Fraction(opened[0]) / (Fraction(twice) - Fraction(opened[0]))
    return {
        "tallies": [name_of(network, place) for place in places if place not in used],
        "stack": [names[0], [write_number(Fraction(d)) for d in opened], write_number(base)],
        "stacks": names[1:],
    }


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
    *,
    tallied: bool = True,
) -> dict[str, Json] | None:
    """Returns counters and affine coordinates, or None if the coordinates are not whole counters.

    For a counter machine its own counters come first; other integrators that never fall are tallies, of
    which it matters whether they are 0, unless these are to be counters as well. In other languages each
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
        if tallied and machine_counts and min(integrator.steps) >= 0 and summed:
            tallies.append(name_of(network, integrator.place))
            continue
        if weights is None or (summed and not tallied):
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
