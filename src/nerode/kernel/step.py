"""One step of a network, written once, over the values of an arithmetic.

    ExactArithmetic        exact numbers, or forms over the unknowns of a region; piecewise linear networks
    domains.spans          intervals with outward rounding, and noise on every coordinate; all networks

The formulas are those of the network format; the code shares nothing with the compiler's interpreter. A
value that is missing from a table is zero: with one-hot vectors nearly everything is. A meter, if one is
given, sees the terms of every sum in exact arithmetic, so that exactness in a float format can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.letters import NextLetters
from nerode.kernel.network import (
    AffineMove,
    CellMove,
    CheckedLayer,
    CheckedNetwork,
    GatedMove,
    LogitRows,
    PointTable,
    Row,
    ScoreRows,
    before,
    move_maps,
    now,
    number_size,
    seen_unit,
    unit,
)
from nerode.kernel.numbers import (
    NUMBERS,
    Number,
    Region,
    Value,
    conjugate,
    imaginary_part,
    num_bits,
    real_part,
)
from nerode.kernel.work import Undecided

Table = dict[str, Any]
"""Values by name; a name that is missing stands for zero."""

State = tuple[Any, ...]
"""The values of the coordinates of one layer."""

States = tuple[State, ...]

MAX_STATE_BITS = 900
"""Bits of a number of a state; only a network that runs away computes larger ones."""

_HALF = Fraction(1, 2)


class ColumnRows:
    """An affine map in exact arithmetic, stored by what each input adds to which rows."""

    def __init__(self, rows: Iterable[Row], width: int, arithmetic: ExactArithmetic) -> None:
        self._arithmetic = arithmetic
        self.bias: list[Number] = []
        self.columns: dict[str, list[tuple[int, Number]]] = {}
        for i, (bias, terms) in enumerate(rows):
            self.bias.append(bias)
            for name, c in terms:
                if c != 0:
                    self.columns.setdefault(name, []).append((i, c))
        self._held = [self.columns.get(before(i), []) for i in range(width)]
        self._resting: dict[int, Value] = {i: b for i, b in enumerate(self.bias) if b != 0}
        self._resting_relus: dict[int, Value] | None = None
        if arithmetic.meter is not None:
            for b in self.bias:
                arithmetic.meter.sum([(1, b)], NUMBERS)

    def values(self, table: Mapping[str, Value], state: State = ()) -> dict[int, Value]:
        """Returns the rows that are not zero."""
        found = {**self._resting, **self._touched(table, state)}
        return {i: v for i, v in found.items() if v != 0}

    def relus(self, table: Mapping[str, Value]) -> dict[int, Value]:
        """Returns the ReLUs of the rows that are not zero."""
        relu = self._arithmetic.region.relu
        if self._resting_relus is None:
            self._resting_relus = {i: relu(b) for i, b in self._resting.items()}
        found = dict(self._resting_relus)
        for i, v in self._touched(table, ()).items():
            found[i] = relu(v)
        return {i: v for i, v in found.items() if v != 0}

    def all_values(self, table: Mapping[str, Value], state: State = ()) -> list[Value]:
        """Returns all rows."""
        found: list[Value] = list(self.bias)
        for i, v in self._touched(table, state).items():
            found[i] = v
        return found

    def _touched(self, table: Mapping[str, Value], state: State) -> dict[int, Value]:
        """The rows that some input adds to."""
        columns, resting = self.columns, self._resting
        inputs = [(columns[name], v) for name, v in table.items() if name in columns]
        if state:
            inputs += [(column, v) for column, v in zip(self._held, state, strict=True) if v != 0]
        sums: dict[int, Value] = {}
        count = 1 + len(table) + len(state)
        for column, v in inputs:
            count += len(column)
            is_one = v == 1
            for i, c in column:
                term = c if is_one else v if c == 1 else c * v
                known = sums.get(i)
                if known is None:
                    known = resting.get(i)
                sums[i] = term if known is None else known + term
        self._arithmetic.work.spend(count * self._arithmetic.number_size)
        meter = self._arithmetic.meter
        if meter is not None and meter.is_open:
            meter.rows(self.bias, inputs, self._arithmetic.region)
        return sums


class ExactArithmetic:
    """Exact numbers, and forms over unknowns.

    Attributes:
        region: answers about the values of the current step.
        meter: sees every sum, None if no float formats are asked for.
        work: counts the operations.
        number_size: machine words of the largest stored number.
    """

    zero = 0
    one = 1
    leaves_open = False

    def __init__(self, network: CheckedNetwork, meter: Any = None) -> None:
        self.region = NUMBERS
        self.meter = meter
        self.work = network.field.work
        self.number_size = number_size(network)

    def rows(self, rows: Iterable[Row], width: int = 0) -> ColumnRows:
        """Returns an affine map of names and of a state of this width."""
        return ColumnRows(rows, width, self)

    def value(self, number: Number) -> Value:
        """Returns a stored number as a value."""
        return number

    def settle(self, layer: int, values: Sequence[Value]) -> State:
        """Returns the new state of a layer.

        Raises:
            Undecided: for a number of very many digits.
        """
        for v in values:
            if (v.bit_length() if type(v) is int else num_bits(v)) > MAX_STATE_BITS:
                raise Undecided(f"a number of the state has more than {MAX_STATE_BITS} bits")
        state = tuple(values)
        if self.meter is not None:
            self.meter.state(layer, state, self.region)
        return state

    def gated(self, gate: Value, value: Value, write: Value) -> Value:
        """Returns gate · value + write."""
        if gate == 0 or value == 0:
            return write
        if gate == 1 and write == 0:
            return value
        if self.meter is not None:
            self.meter.sum([(gate, value), (1, write)], self.region)
        return gate * value + write

    def squash(self, activation: str, values: Sequence[Value], layer: int) -> list[Value]:
        """Returns the activations of the coordinates of a layer.

        Raises:
            Undecided: for tanh, whose values are irrational.
        """
        if activation == "tanh":
            if any(v != 0 for v in values):
                raise Undecided("exact arithmetic is for piecewise linear networks, and this one has tanh")
            return [0] * len(values)
        relu = self.region.relu
        found = [(v if v > 0 else 0) if type(v) is int else relu(v) for v in values]
        return (
            found if activation == "relu" else [a - relu(v - 1) for a, v in zip(found, values, strict=True)]
        )

    def cell(self, move: CellMove, maps: Sequence[ColumnRows], table: Table, state: State) -> list[Value]:
        """Raises Undecided: gated cells have sigmoid and tanh in them."""
        raise Undecided("exact arithmetic is for piecewise linear networks, and this one has gated cells")

    def above(self, value: Value, threshold: Fraction) -> bool | None:
        """Whether the value is above the threshold, on the whole region."""
        return self.region.above(value, threshold)

    def largest(self, products: Sequence[Value]) -> int:
        """Returns the number of the largest value."""
        best = 0
        for i in range(1, len(products)):
            if self.region.above(products[i] - products[best], 0):
                best = i
        return best

    def leads(self, points: PointTable, best: int, products: Sequence[Value], table: Table) -> list[Value]:
        """Returns how far one product is above each."""
        return [products[best] - product for product in products]


def check_heads(kinds: Sequence[str], holds: Mapping[int, Any], values: Mapping[int, Any]) -> None:
    """Checks what heads of attention hold and write at one position; what is missing is 0.

    Raises:
        Undecided: if a head neither holds nor matches, or writes where it holds.
    """
    for i, hold in holds.items():
        if kinds[i] == "mean":
            continue
        if hold != 1:
            raise Undecided(f"a head of the kind {kinds[i]} holds {hold}, which is neither 0 nor 1")
        if values.get(i, 0) != 0:
            raise Undecided(f"a head of the kind {kinds[i]} writes {values[i]} where it holds")


@dataclass(frozen=True, slots=True)
class _LayerMaps:
    """The affine maps of one layer; `moves` has one for each choice, or for gates and writes.

    `names` are what its outputs call the state, `names_before` the state before the letter.
    """

    names: tuple[str, ...]
    names_before: tuple[str, ...]
    units: Any
    moves: tuple[Any, ...]
    selector: Any
    seen_units: Any
    outputs: Any


class Stepper:
    """Steps a network on values of one arithmetic; without a decoder it only runs layers.

    Raises:
        Undecided: if the arithmetic cannot hold the network's numbers, or the decoder has no set of letters.
    """

    def __init__(
        self,
        network: CheckedNetwork,
        arithmetic: Any,
        *,
        decodes: bool = True,
    ) -> None:
        self.network = network
        self.arithmetic = arithmetic
        decoder = network.decoder
        if decodes and isinstance(decoder, LogitRows):
            raise Undecided("the decoder has distributions; this method is for sets of letters")
        self._embedding = [
            {name: arithmetic.value(v) for name, v in letter.items() if v != 0}
            for letter in network.embedding
        ]
        self._maps = [self._read_maps(layer) for layer in network.layers]
        self._memory: list[dict[Any, tuple[State, Table]]] = [{} for _ in network.layers]
        self._answers: dict[State, NextLetters | None] = {}
        self.decoder_reads: tuple[str, ...] = ()
        if isinstance(decoder, PointTable):
            self.decoder_reads = decoder.reads
            points = [tuple(zip(decoder.reads, map(conjugate, p), strict=True)) for p in decoder.points]
            self._scores = arithmetic.rows([(0, row) for row in points])
        elif isinstance(decoder, ScoreRows):
            read = {name for _, terms in (*decoder.units, *decoder.rows) for name, _ in terms}
            self.decoder_reads = tuple(sorted(name for name in read if name.isprintable()))
            self._decoder_units = arithmetic.rows(decoder.units)
            self._scores = arithmetic.rows(decoder.rows)

    def _read_maps(self, layer: CheckedLayer) -> _LayerMaps:
        rows, width = self.arithmetic.rows, len(layer.state)
        selector = layer.move.selector if isinstance(layer.move, AffineMove) else None
        return _LayerMaps(
            names=tuple(map(now, range(width))),
            names_before=tuple(map(before, range(width))),
            units=rows(layer.units),
            moves=tuple(rows(one, width) for one in move_maps(layer.move)),
            selector=None if selector is None else rows(selector),
            seen_units=rows(layer.seen_units),
            outputs=rows(row for _, row in layer.outputs),
        )

    def start(self) -> States:
        """Returns the states before the first letter."""
        value: Callable[[Number], Any] = self.arithmetic.value
        return tuple(tuple([value(v) for v in layer.start]) for layer in self.network.layers)

    def forget(self) -> None:
        """Forgets all steps, so that a meter sees every sum again."""
        self._answers.clear()
        for memory in self._memory:
            memory.clear()

    def step(
        self, states: States, letter: int, region: Region = NUMBERS
    ) -> tuple[States, NextLetters | None]:
        """Returns the states after a letter and the answer there; None if spans leave it open.

        Raises:
            Cut: if the region has to be cut for the answer to be the same all over it.
            Undecided: if the region cannot be cut so.
        """
        found, stream = self.run_layers(states, letter, region)
        return found, self.answer(stream, region)

    def run_layers(self, states: States, letter: int, region: Region = NUMBERS) -> tuple[States, Table]:
        """Returns the states of the first layers after a letter, as many as are given, and the stream."""
        stream = dict(self._embedding[letter])
        found = []
        for number, state in enumerate(states):
            new, outputs = self._layer(number, stream, state, letter, region)
            found.append(new)
            stream.update(outputs)
        return tuple(found), stream

    def _layer(
        self, number: int, stream: Table, state: State, letter: int, region: Region
    ) -> tuple[State, Table]:
        layer, arithmetic = self.network.layers[number], self.arithmetic
        zero = arithmetic.zero
        reads = tuple([stream.get(name, zero) for name in layer.reads])
        by_letter = isinstance(layer.move, AffineMove) and layer.move.chosen and layer.move.selector is None
        key = (letter if by_letter else -1, reads, state)
        arithmetic.region = region = region.around(reads, state)
        known = self._memory[number].get(key) if region.repeats else None
        if known is None:
            known = self._compute(number, reads, state, letter)
            if region.repeats:
                self._memory[number][key] = known
        else:
            arithmetic.work.spend(1)
        return known

    def _compute(self, number: int, reads: State, state: State, letter: int) -> tuple[State, Table]:
        layer, maps, zero = self.network.layers[number], self._maps[number], self.arithmetic.zero
        table: Table = {name: v for name, v in zip(layer.reads, reads, strict=True) if v != zero}
        for i, v in maps.units.relus(table).items():
            table[unit(i)] = v
        new = self.arithmetic.settle(number, self._move(number, table, state, letter))
        self._show(table, new, now, maps.names, layer.complex_state)
        if layer.exposes_previous:
            self._show(table, state, before, maps.names_before, layer.complex_state)
        for i, v in maps.seen_units.relus(table).items():
            table[seen_unit(i)] = v
        return new, {layer.outputs[i][0]: v for i, v in maps.outputs.values(table).items()}

    def _move(self, number: int, table: Table, state: State, letter: int) -> list[Any]:
        move, maps, arithmetic = self.network.layers[number].move, self._maps[number], self.arithmetic
        match move:
            case GatedMove():
                gates, writes = (rows.values(table) for rows in maps.moves)
                if move.heads:
                    check_heads(move.heads, gates, writes)
                if arithmetic.meter is not None:
                    arithmetic.meter.gates(number, gates, writes)
                zero = arithmetic.zero
                return [
                    arithmetic.gated(gates.get(i, zero), v, writes.get(i, zero)) for i, v in enumerate(state)
                ]
            case AffineMove():
                choice = 0 if not move.chosen else letter
                if maps.selector is not None:
                    choice = self._selected(maps.selector.values(table))
                meter = arithmetic.meter
                if meter is not None and meter.is_open and move.factors is not None:
                    meter.factors(move.factors[choice], state, arithmetic.region)
                moved: list[Any] = maps.moves[choice].all_values(table, state)
                return arithmetic.squash(move.activation, moved, number) if move.activation else moved
            case CellMove():
                new: list[Any] = arithmetic.cell(move, maps.moves, table, state)
                return new

    def _selected(self, values: Mapping[int, Any]) -> int:
        chosen = [i for i, v in values.items() if v != self.arithmetic.zero]
        if len(chosen) != 1 or values[chosen[0]] != self.arithmetic.one:
            raise Undecided("a selector is not one-hot")
        return chosen[0]

    def _show(
        self, table: Table, state: State, name: Callable[..., str], names: Sequence[str], is_complex: bool
    ) -> None:
        """Puts the coordinates of a state into a table, under their names."""
        zero = self.arithmetic.zero
        if not is_complex:
            table.update((place, value) for place, value in zip(names, state, strict=True) if value != zero)
            return
        for i, value in enumerate(state):
            for part, v in (("re", real_part(value)), ("im", imaginary_part(value))):
                if v not in (0, zero):
                    table[name(i, part)] = v

    def answer(self, stream: Table, region: Region = NUMBERS) -> NextLetters | None:
        """Returns the answer of the decoder; None if spans leave it open."""
        key = tuple([stream.get(name, self.arithmetic.zero) for name in self.decoder_reads])
        self.arithmetic.region = region = region.around(key)
        if region.has_unknowns:
            return self._decode(stream)
        if key not in self._answers:
            self._answers[key] = self._decode(stream)
        return self._answers[key]

    def _decode(self, stream: Table) -> NextLetters | None:
        decoder, above = self.network.decoder, self.arithmetic.above
        if isinstance(decoder, PointTable):
            return self._nearest(decoder, stream)
        table = dict(stream)
        for i, v in self._decoder_units.relus(table).items():
            table[unit(i)] = v
        flags: list[bool | None] = [above(score, _HALF) for score in self._scores.all_values(table)]
        if None in flags:
            return None
        return NextLetters(frozenset(i for i, flag in enumerate(flags[:-1]) if flag), bool(flags[-1]))

    def _nearest(self, decoder: PointTable, stream: Table) -> NextLetters | None:
        """The answer of the largest product; equal products must belong to equal answers."""
        arithmetic, answers = self.arithmetic, decoder.answers
        products = [real_part(v) for v in self._scores.all_values(stream)]
        best: int = arithmetic.largest(products)
        for lead, answer in zip(arithmetic.leads(decoder, best, products, stream), answers, strict=True):
            if answer != answers[best] and not arithmetic.above(lead, Fraction(0)):
                if arithmetic.leaves_open:
                    return None
                raise Undecided("two points of the decoder with different answers are equally near")
        return answers[best]
