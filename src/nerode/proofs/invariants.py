"""Invariants of a network, found by looking at it: counters, slots of a stack, intervals, caps.

counters    coordinates to which every letter adds a fixed amount are affine functions of counters
slots       of a bracket language: the coordinates that hold the kind of bracket at each depth
intervals   registers whose overwritten values fade (gates such as 1/4) lie in a few clusters
caps        tallies that only matter until they are large enough

Nothing here is a proof. That every letter keeps the invariant and that the answers are correct is shown by
the kernel, cell by cell.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from nerode.core import Budget, Exact, exact_sum, inverse, write_exact
from nerode.languages import CounterLanguage, Dyck, Language
from nerode.network import Affine, Gated, Interpreter, Layer, Network, NetworkState
from nerode.proofs.answers import breadth_first, letters_read

Json = Any
Place = tuple[int, int]
"""The number of a layer from 0, and of a coordinate of its state."""

GatedStep = tuple[Fraction, Fraction]
"""A gate and a write."""

GAP = Fraction(1, 8)
"""Values of one cluster are at most this far from the next one."""

SLACK = Fraction(1, 128)
"""Room of a cluster on both sides, for the values of longer sequences."""

_SAMPLE = 5_000
_FEW_SAMPLES = 500
"""Configurations that are looked at; fewer beside a scale, whose numbers become long."""

_MOST_STEPS = 64
"""Pairs of gate and write of a register; a coordinate that meets more of them is none."""

_ROUNDING = 16
_LENGTH = 6
_VALUES = 4_000
_FINE = 4_096


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
        moves = [_gated_steps(layer, stream, letter) for letter, stream in enumerate(streams)]
        for i, start in enumerate(layer.start):
            steps = [move.get(i, (Fraction(0), Fraction(0))) for move in moves]
            kept = all(gate == 1 for gate, _ in steps) and any(write for _, write in steps)
            if kept and isinstance(start, int | Fraction):
                amounts = tuple(write for _, write in steps)
                found.append(Integrator(place=(number, i), start=Fraction(start), steps=amounts))
    return found


def _gated_steps(layer: Layer, stream: dict[str, Exact], letter: int) -> dict[int, GatedStep]:
    """Gate and write of the coordinates that read no other one, where both are rational."""
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
    gates = {(n, i): g for n, layer in enumerate(network.layers) for i, g in _fixed_gates(layer).items()}
    for (n, i), gate in gates.items():
        write = network.layers[n].recurrence.maps()[-1]
        starts = network.layers[n].start[i] == 1
        if (0 < gate < 1 or gate == -1) and starts and not write.rows[i] and write.bias[i] == 0:
            return _scale_of(network, gate, [place for place, other in gates.items() if other == gate])
    return None


@functools.lru_cache(maxsize=2)
def fading_cover(network: Network) -> dict[str, Json] | None:
    """Returns scales and registers that fade beside them, None if there are none.

    A scale starts at 1, is never written, and has a gate between 0 and 1; a register has the gate of the last
    scale up to its layer.
    """
    scales: list[tuple[Place, Fraction]] = []
    registers: dict[str, Json] = {}
    for n, layer in enumerate(network.layers):
        gates = _fixed_gates(layer)
        for i, gate in gates.items():
            write = layer.recurrence.maps()[-1]
            if 0 < gate < 1 and layer.start[i] == 1 and not write.rows[i] and write.bias[i] == 0:
                scales.append(((n, i), gate))
        for i, gate in gates.items():
            if scales and gate == scales[-1][1] and (n, i) != scales[-1][0]:
                registers[_name(network, (n, i))] = [len(scales), "2/3", "4/3"]
    if not registers:
        return None
    return {"scales": [[_name(network, p), _written(g)] for p, g in scales], "registers": registers}


@functools.lru_cache(maxsize=2)
def ray_cover(network: Network) -> dict[str, Json] | None:
    """Returns groups of coordinates that are known up to positive numbers, None if there are none.

    In a layer that shows signs each coordinate with a gate of its own is a group; other layers with signs,
    and those that every letter takes to a smaller vector without writes, are one group each.
    """
    groups: list[list[str]] = []
    for n, layer in enumerate(network.layers):
        names = [_name(network, (n, i)) for i in range(layer.width)]
        if "sign" in layer.functions and layer.recurrence.as_gated() is not None:
            groups += [[name] for name in names]
        elif "sign" in layer.functions or _shrinks(network, n):
            groups.append(names)
    return {"rays": groups} if groups else None


def _shrinks(network: Network, n: int) -> bool:
    """Whether each single letter takes a layer without writes and without a scale to a smaller vector."""
    layer, interpreter = network.layers[n], Interpreter(network)
    recurrence = layer.recurrence
    written = recurrence.fields().get("writes")
    if written is None and recurrence.as_gated() is not None:
        write = recurrence.maps()[-1]
        written = (write.bias, *([c for _, c in row] for row in write.rows))
    if written is None or any(v != 0 for vector in written for v in vector) or layer.complex_state:
        return False
    start = interpreter.start()
    moved = [interpreter.step(start, a)[0][n] for a in range(len(network.alphabet))]
    first, *sizes = [exact_sum(v * v for v in state) for state in (start[n], *moved)]
    scale = any(0 < gate < 1 for gate in _fixed_gates(layer).values())
    return not scale and all(0 < size < first for size in sizes)


def growing_cover(network: Network) -> dict[str, Json] | None:
    """Returns the position, the powers of four of it and the registers that grow with them, if there are any.

    The position is every integrator of a layer with powers; a register is a coordinate with gate 1 of a layer
    that shows signs.
    """
    affine: dict[str, Json] = {}
    registers: dict[str, Json] = {}
    for n, layer in enumerate(network.layers):
        kept = [_name(network, (n, i)) for i, gate in _fixed_gates(layer).items() if gate == 1]
        if "power" in layer.functions:
            affine |= {name: [0, [1]] for name in kept}
        elif "sign" in layer.functions:
            registers |= {name: [1, 1, 4] for name in kept}
    if not affine:
        return None
    position = {"start": 0, "increments": [1] * len(network.alphabet), "points": [0, 0]}
    return {"counters": [position], "affine": affine, "power": 0, "registers": registers}


def _fixed_gates(layer: Layer) -> dict[int, Fraction]:
    """The gates that are rational numbers and the same for all letters."""
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
    tallies = [_name(network, place) for place in scale.tallies]
    return {**cover, "scale": _written(scale.factor), "tallies": tallies}


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
    return None if cover is None else {**cover, "squashed": [_name(network, (0, 0)), "1/4"]}


def rectified_cover(network: Network, language: CounterLanguage) -> dict[str, Json] | None:
    """Returns the coordinates that are the ReLU of a counter plus a small number, None if there are none.

    They are found by comparing the values on short words.
    """
    machine, interpreter = language.machine, Interpreter(network)
    nodes = [(interpreter.start(), machine.start)]
    for states, counts in nodes:
        if len(nodes) < _FEW_SAMPLES:
            letters = range(len(network.alphabet))
            nodes += [(interpreter.step(states, a)[0], machine.add(counts, a)) for a in letters]
    affine: dict[str, Json] = {}
    guesses = [(c, s, b) for c in range(machine.num_counters) for s in (1, -1) for b in range(-2, 3)]
    for n, i in ((n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)):
        for c, slope, constant in guesses:
            if all(states[n][i] == max(slope * counts[c] + constant, 0) for states, counts in nodes):
                weights = [slope * int(k == c) for k in range(machine.num_counters)]
                affine[_name(network, (n, i))] = [constant, weights]
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
    for place in ((n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)):
        n, i = place
        digits = [Fraction(states[n][i] / factor) for states in opened]
        twice = interpreter.step(opened[0], 0)[0][n][i] / factor**2
        if place not in known and start[n][i] == 0 and min(digits) > 0 and twice > digits[0]:
            base = digits[0] / (Fraction(twice) - digits[0])
            affine = {_name(network, integrator.place): [1, []] for integrator in scale.integrators}
            return {
                "affine": affine,
                "scale": _written(factor),
                "tallies": [_name(network, other) for other in scale.tallies if other != place],
                "stack": [_name(network, place), [_written(d) for d in digits], _written(base)],
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
    places = [(n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)]
    return {
        "counters": [{"start": 0, "increments": [int(s) for s in depth.steps], "points": [0, 0]}],
        "affine": {_name(network, depth.place): [0, [1]]},
        "power": 0,
        "stack": [
            _name(network, stack),
            [_written(Fraction(s[1][0]) / base) for s in opened],
            _written(base),
        ],
        "tallies": [_name(network, place) for place in places if place not in (depth.place, stack)],
    }


def unit_digit_cover(network: Network, language: Dyck) -> dict[str, Json] | None:
    """Returns the units that hold the digits of the open brackets in turn; all others count errors.

    The digits and the base are read off two opening brackets.
    """
    interpreter, kinds = Interpreter(network), range(len(language.pairs))
    places = [(n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)]
    used: dict[Place, None] = {}
    for k, j in itertools.product(kinds, kinds):
        for word in ((2 * k,), (2 * k, 2 * j), (2 * k, 2 * j, 2 * j + 1)):
            states = _after(interpreter, word)
            used |= {(n, i): None for n, i in places if states[n][i] != 0}
    opened = [sum(_after(interpreter, (2 * k,))[n][i] for n, i in used) for k in kinds]
    twice = sum(_after(interpreter, (0, 0))[n][i] for n, i in used)
    if language.depth is not None or min(opened, default=0) <= 0 or twice <= opened[0]:
        return None
    names = [_name(network, place) for place in used]
    base = Fraction(opened[0]) / (Fraction(twice) - Fraction(opened[0]))
    return {
        "tallies": [_name(network, place) for place in places if place not in used],
        "stack": [names[0], [_written(Fraction(d)) for d in opened], _written(base)],
        "stacks": names[1:],
    }


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
            tallies.append(_name(network, integrator.place))
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
        affine[_name(network, integrator.place)] = [_written(constant), [_written(w) for w in weights]]
    for value in affine.values():
        value[1] += [0] * (len(counters) - len(value[1]))
    one_kind = isinstance(language, Dyck) and len(language.pairs) == 1 and language.regular
    if one_kind or machine_counts:
        counted = {integrator.place for integrator in integrators}
        tallies += [_name(network, place) for place in _kept_sums(network) if place not in counted]
    return {"counters": counters, "affine": affine, **({"tallies": tallies} if tallies else {})}


def _kept_sums(network: Network) -> Iterator[Place]:
    """The coordinates that start at 0 and have the gate 1."""
    for n, layer in enumerate(network.layers):
        yield from ((n, i) for i, g in _fixed_gates(layer).items() if g == 1 and layer.start[i] == 0)


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
        states = interpreter.start()
        for position in range(1, depth + 1):
            states, _ = interpreter.step(states, 2 * kind if position == level else 0)
        return states

    plain = after(0, 0)
    places = [(n, i) for n, layer in enumerate(network.layers) for i in range(layer.width)]
    slots: list[list[Place]] = []
    codes: list[list[Json]] | None = None
    for level in range(1, depth + 1):
        probes = [after(level, kind) for kind in range(kinds)]
        slot = [(n, i) for n, i in places if any(probe[n][i] != plain[n][i] for probe in probes)]
        found = [[_written(probe[n][i]) for n, i in slot] for probe in probes]
        if codes is not None and found != codes:
            return None
        codes = found
        slots.append(slot)
    used = [place for slot in slots for place in slot]
    if len(set(used)) < len(used) or not used:
        return None
    first = min(n for n, _ in used)
    merged = {"merged": first} if first > 1 else {}
    return {**merged, "slots": [[_name(network, place) for place in slot] for slot in slots], "codes": codes}


def interval_cover(
    network: Network, language: Language, task: str, others: Collection[Place] = ()
) -> dict[str, Json]:
    """Returns the clusters of every coordinate that fades, by name; none if there is no such coordinate.

    Args:
        network: the network.
        language: what it should do.
        task: says which words matter.
        others: coordinates that are known otherwise.
    """
    rest = [{i for n, i in others if n == number} for number in range(network.depth)]
    if not any(_may_fade(*pair) for pair in zip(network.layers, rest, strict=True)):
        return {}
    found = {}
    most = _FEW_SAMPLES if others else _SAMPLE
    for place, steps in sorted(_sampled_steps(network, language, task, most).items()):
        start = network.layers[place[0]].start[place[1]]
        if place in others or len(steps) > _MOST_STEPS:
            continue
        if any(gate.denominator != 1 for gate, _ in steps) and isinstance(start, int | Fraction):
            intervals = clusters(sorted(_values(Fraction(start), steps)))
            found[_name(network, place)] = [[write_exact(a), write_exact(b)] for a, b in intervals]
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


def _may_fade(layer: Layer, others: Collection[int] = ()) -> bool:
    """Whether a gate is not a whole number; `others` are not looked at."""
    gated, fixed = layer.recurrence.as_gated(), layer.recurrence.as_fixed()
    if gated is not None:
        looked_at = [i for i in range(layer.width) if i not in others]
        numbers: Iterable[Exact] = [
            v for i in looked_at for v in (gated.gate.bias[i], *(c for _, c in gated.gate.rows[i]))
        ]
    else:
        numbers = () if fixed is None else [c for row in fixed.matrix for _, c in row]
    return any(isinstance(v, Fraction) for v in numbers)


def _sampled_steps(network: Network, language: Language, task: str, most: int) -> dict[Place, set[GatedStep]]:
    """The effect of letters on each coordinate, on configurations that differ by more than low digits."""
    interpreter = Interpreter(network)
    steps: dict[Place, set[GatedStep]] = {}
    fading = [(n, layer) for n, layer in enumerate(network.layers) if _may_fade(layer)]

    def successors(node: tuple[NetworkState, Hashable]) -> Iterator[tuple[NetworkState, Hashable]]:
        states, configuration = node
        for letter in letters_read(language, configuration, task):
            stream = interpreter.stream(states, letter)
            for n, layer in fading:
                for i, step in _gated_steps(layer, stream, letter).items():
                    steps.setdefault((n, i), set()).add(step)
            yield interpreter.step(states, letter)[0], language.advance(configuration, letter)

    def rounded(node: tuple[NetworkState, Hashable]) -> Hashable:
        return tuple(tuple(round(v * _ROUNDING) for v in state) for state in node[0]), node[1]

    start = (interpreter.start(), language.initial())
    for _ in breadth_first(start, successors, key=rounded, most=most):
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
    return {"caps": {_name(network, place): cap for place, cap in sorted(find_caps(network).items())}}


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


def _name(network: Network, place: Place) -> str:
    return f"{place[0] + 1}:{network.layers[place[0]].state[place[1]]}"


def _written(value: Exact) -> int | str:
    return int(value) if isinstance(value, int | Fraction) and value.denominator == 1 else write_exact(value)
