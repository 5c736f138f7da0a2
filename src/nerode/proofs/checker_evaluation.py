"""The checker's own evaluation of a network, on numbers or on affine forms over a region.

The formulas are those of the network format; the code shares nothing with the compiler's interpreter. A
meter, if one is given, sees the terms of every sum, so that exactness in a float format can be judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, InputError, imaginary_part, real_part, root_of_unity, simplify
from nerode.languages import Legal
from nerode.proofs.checker_columns import Columns, Meter, State, Table
from nerode.proofs.checker_forms import Form, Region, Undecided, Value
from nerode.proofs.checker_records import (
    ByLetter,
    CheckedNetwork,
    Fixed,
    Gated,
    Layer,
    Points,
    Scores,
    Squashed,
    all_numbers,
    before,
    now,
    seen_unit,
    unit,
)

States = tuple[State, ...]
Outputs = tuple[tuple[str, Value], ...]

_HALF = Fraction(1, 2)
_MAX_BITS = 900
"""Below what overflows a float, which hashing an irrational number goes through."""


@dataclass(frozen=True, slots=True)
class _Maps:
    """The maps of one layer; `moves` has one map for each choice, or gates and writes."""

    units: Columns
    moves: tuple[Columns, ...]
    selector: Columns | None
    seen_units: Columns
    outputs: Columns


class Evaluator:
    """Steps a network on numbers (no region) or on forms.

    Raises:
        InputError: if the network has a part that is not piecewise linear.
    """

    def __init__(self, network: CheckedNetwork, meter: Meter | None = None) -> None:
        if not isinstance(network.decoder, Scores | Points):
            raise InputError("a decoder with logits has distributions; this method is for sets of symbols")
        self.network = network
        self.meter = meter
        self._field = _common_field(network)
        self._maps = [_read_maps(layer, n, meter) for n, layer in enumerate(network.layers, start=1)]
        self._memory: list[dict[tuple[int, State, State], tuple[State, Outputs]]]
        self._memory = [{} for _ in network.layers]
        self._answers: dict[State, Legal] = {}
        decoder = network.decoder
        if isinstance(decoder, Points):
            self.decoder_reads: tuple[str, ...] = decoder.reads
            rows = [(0, tuple(zip(decoder.reads, map(_conjugate, p), strict=True))) for p in decoder.points]
            self._scores = Columns(rows, meter)
        else:
            self._decoder_units = Columns(decoder.units, meter)
            self._scores = Columns(decoder.rows, meter)
            read = {*self._decoder_units.columns, *self._scores.columns}
            self.decoder_reads = tuple(sorted(name for name in read if name.isprintable()))

    def start(self) -> States:
        """Returns the states before the first letter."""
        return tuple(tuple(self._lift(v) for v in layer.start) for layer in self.network.layers)

    def step(self, states: States, letter: int, region: Region | None = None) -> tuple[States, Legal]:
        """Returns the states after a letter and the answer there.

        Raises:
            Cut: if the region has to be cut for the answer to be the same all over it.
            Undecided: if the region cannot be cut so.
        """
        found, stream = self.run_layers(states, letter, region)
        return found, self._answer(stream, region)

    def run_layers(self, states: States, letter: int, region: Region | None = None) -> tuple[States, Table]:
        """Returns the states of the first layers after a letter, as many as are given, and the stream."""
        stream: Table = {name: v for name, v in self.network.embedding[letter].items() if v != 0}
        found = []
        for number, state in enumerate(states):
            new, outputs = self._layer(number, stream, state, letter, region)
            found.append(new)
            stream.update(outputs)
        return tuple(found), stream

    def _layer(
        self, number: int, stream: Table, state: State, letter: int, region: Region | None
    ) -> tuple[State, Outputs]:
        layer = self.network.layers[number]
        reads = tuple([stream.get(name, 0) for name in layer.reads])
        if region is not None and _has_forms((*reads, *state)):
            return self._compute(number, reads, state, letter, region)
        by_letter = isinstance(layer.moves, ByLetter) and layer.moves.selector is None
        key = (letter if by_letter else -1, reads, state)
        known = self._memory[number].get(key)
        if known is None:
            known = self._memory[number][key] = self._compute(number, reads, state, letter, Region({}))
        return known

    def _compute(
        self, number: int, reads: State, state: State, letter: int, region: Region
    ) -> tuple[State, Outputs]:
        layer, maps = self.network.layers[number], self._maps[number]
        table: Table = {name: v for name, v in zip(layer.reads, reads, strict=True) if v != 0}
        for i, v in maps.units.relus(table, region).items():
            table[unit(i)] = v
        new = tuple([self._lift(v) for v in self._move(number, table, state, letter, region)])
        if self.meter is not None:
            self.meter.state(number, new, region)
        _show(table, new, now, layer.complex_state)
        if layer.exposes_previous:
            _show(table, state, before, layer.complex_state)
        for i, v in maps.seen_units.relus(table, region).items():
            table[seen_unit(i)] = v
        outputs = maps.outputs.values(table, region)
        return new, tuple([(layer.outputs[i][0], v) for i, v in outputs.items()])

    def _move(self, number: int, table: Table, state: State, letter: int, region: Region) -> list[Value]:
        layer, maps = self.network.layers[number], self._maps[number]
        moves = layer.moves
        held = {before(i): v for i, v in enumerate(state) if v != 0}
        match moves:
            case Gated():
                gates = maps.moves[0].values(table, region)
                writes = maps.moves[1].values(table, region)
                if self.meter is not None:
                    self.meter.gates(number, gates, writes, region)
                return [
                    self._gated(gates.get(i, 0), v, writes.get(i, 0), region) for i, v in enumerate(state)
                ]
            case Fixed():
                return maps.moves[0].all_values({**table, **held}, region)
            case ByLetter():
                choice = letter if maps.selector is None else _one_hot(maps.selector.values(table, region))
                self._meter_factors(moves, state, choice, region)
                return maps.moves[choice].all_values(held, region)
            case Squashed():
                values = maps.moves[0].all_values({**table, **held}, region)
                new = [region.relu(v) for v in values]
                if moves.activation == "clip":
                    new = [v - region.relu(w - 1) for v, w in zip(new, values, strict=True)]
                return new
            case _:
                raise InputError("this recurrence is not piecewise linear")

    def _gated(self, gate: Value, value: Value, write: Value, region: Region) -> Value:
        if gate == 0 or value == 0:
            return write
        if gate == 1 and write == 0:
            return value
        if self.meter is not None:
            self.meter.sum([(gate, value), (1, write)], region)
        return gate * value + write

    def _meter_factors(self, moves: ByLetter, state: State, choice: int, region: Region) -> None:
        """Shows the meter how a product of factors I - scale·v vᵀ is computed one factor after the other."""
        if self.meter is None or moves.factors is None:
            return
        values = list(state)
        for scale, vector in moves.factors[choice]:
            terms = [(e, v) for e, v in zip(vector, values, strict=True) if e != 0]
            self.meter.sum(terms, region)
            product: Value = 0
            for e, v in terms:
                product = product + e * v
            self.meter.sum([(scale, product)], region)
            amount = _plain(scale * product)
            for i, e in enumerate(vector):
                if e != 0:
                    self.meter.sum([(1, values[i]), (-e, amount)], region)
                    values[i] = _plain(values[i] - e * amount)

    def _answer(self, stream: Table, region: Region | None) -> Legal:
        key = tuple([stream.get(name, 0) for name in self.decoder_reads])
        if region is not None and _has_forms(key):
            return self._decode(stream, region)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._decode(stream, Region({}))
        return known

    def _decode(self, stream: Table, region: Region) -> Legal:
        if isinstance(self.network.decoder, Points):
            return self._nearest(self.network.decoder, stream, region)
        units = self._decoder_units.relus(stream, region)
        table = {**stream, **{unit(i): v for i, v in units.items()}}
        flags = [region.above(score, _HALF) for score in self._scores.all_values(table, region)]
        return Legal(frozenset(i for i, flag in enumerate(flags[:-1]) if flag), flags[-1])

    def _nearest(self, decoder: Points, stream: Table, region: Region) -> Legal:
        """The answer of the largest product; equal products must belong to equal answers."""
        products = [
            v if isinstance(v, Form) else real_part(v) for v in self._scores.all_values(stream, region)
        ]
        best = 0
        for i in range(1, len(products)):
            if region.above(products[i] - products[best], 0):
                best = i
        for product, answer in zip(products, decoder.answers, strict=True):
            if answer != decoder.answers[best] and not region.above(products[best] - product, 0):
                raise Undecided("two points of the decoder with different answers are equally near")
        return decoder.answers[best]

    def _lift(self, value: Value) -> Value:
        """The same number, written in the one field that holds all numbers of the network.

        Raises:
            Undecided: for a number of thousands of digits, which only a network that runs away computes.
        """
        if isinstance(value, Form):
            return value
        if _bits(value) > _MAX_BITS:
            raise Undecided(f"a number of the state has more than {_MAX_BITS} bits")
        if self._field is None or not isinstance(value, Cyclotomic):
            return value
        return (value + self._field) - self._field


def _bits(value: Exact) -> int:
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return max(value.numerator.bit_length(), value.denominator.bit_length())
    return max(value.denominator.bit_length(), *(n.bit_length() for n in value.numerators))


def _read_maps(layer: Layer, number: int, meter: Meter | None) -> _Maps:
    moves = layer.moves
    selector = None
    match moves:
        case Gated():
            kinds = [moves.gates, moves.writes]
        case Fixed():
            kinds = [
                tuple(
                    (bias, (*terms, *((before(j), c) for j, c in row)))
                    for (bias, terms), row in zip(moves.writes, moves.matrix, strict=True)
                )
            ]
        case ByLetter():
            kinds = [
                tuple(
                    (shift, tuple((before(j), c) for j, c in row))
                    for shift, row in zip(shifts, matrix, strict=True)
                )
                for shifts, matrix in zip(moves.shifts, moves.matrices, strict=True)
            ]
            selector = None if moves.selector is None else Columns(moves.selector, meter)
        case Squashed() if moves.activation != "tanh":
            kinds = [moves.rows]
        case _:
            raise InputError(
                f"layer {number} has tanh, sigmoid or exp in it; this method is for exact arithmetic"
            )
    return _Maps(
        units=Columns(layer.units, meter),
        moves=tuple(Columns(rows, meter) for rows in kinds),
        selector=selector,
        seen_units=Columns(layer.seen_units, meter),
        outputs=Columns((row for _, row in layer.outputs), meter),
    )


def _one_hot(values: dict[int, Value]) -> int:
    if list(values.values()) != [1]:
        raise Undecided("a selector is not one-hot")
    return next(iter(values))


def _has_forms(values: State) -> bool:
    return any(isinstance(v, Form) for v in values)


def _show(table: Table, state: State, name: Callable[..., str], complex_state: bool) -> None:
    for i, value in enumerate(state):
        if value == 0:
            continue
        if not complex_state:
            table[name(i)] = value
        elif isinstance(value, Form):
            table[name(i, "re")] = value
        else:
            for part, v in (("re", real_part(value)), ("im", imaginary_part(value))):
                if v != 0:
                    table[name(i, part)] = v


def _plain(value: Value) -> Value:
    return value if isinstance(value, Form) else simplify(value)


def _conjugate(value: Exact) -> Exact:
    return value.conjugate() if isinstance(value, Cyclotomic) else value


def _common_field(network: CheckedNetwork) -> Exact | None:
    """A root of unity whose powers express every number of the network; None if all are rational."""
    orders = {v.order for v in all_numbers(network) if isinstance(v, Cyclotomic)}
    return root_of_unity(1, math.lcm(4, *orders)) if orders else None
