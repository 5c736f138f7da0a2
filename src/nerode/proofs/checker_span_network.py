"""One step of a network on one cell of states: the checker's own evaluation, on spans."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.core import Exact, InputError
from nerode.languages import Legal
from nerode.proofs import checker_spans as spans
from nerode.proofs.checker_records import (
    ByLetter,
    Cell,
    CheckedNetwork,
    Fixed,
    Gated,
    Layer,
    Points,
    Row,
    Scores,
    Squashed,
    before,
    now,
    seen_unit,
    unit,
)
from nerode.proofs.checker_spans import ONE, Span, SpanRows, outer, rational

Table = dict[str, Span]
LayerState = tuple[Span, ...]

_HALF = spans.ONE // 2


class SpanNetwork:
    """Steps a network on spans.

    Raises:
        InputError: if the network has a part that is not made of real numbers and scores.
    """

    def __init__(self, network: CheckedNetwork) -> None:
        if not isinstance(network.decoder, Scores | Points):
            raise InputError("the decoder neither compares scores with 1/2 nor chooses a point")
        self.network = network
        self.layers = [_SpanLayer(layer, i) for i, layer in enumerate(network.layers, start=1)]
        self._embedding = [
            {name: spans.outer(rational(v), rational(v)) for name, v in vector.items()}
            for vector in network.embedding
        ]
        self._decoder = (
            _SpanScores(network.decoder)
            if isinstance(network.decoder, Scores)
            else _SpanPoints(network.decoder)
        )

    def start(self) -> list[LayerState]:
        """Returns the states before the first letter."""
        return [
            tuple(spans.outer(rational(v), rational(v)) for v in layer.start) for layer in self.network.layers
        ]

    def step(
        self, states: Sequence[LayerState], letter: int, noise: int
    ) -> tuple[list[LayerState], Legal | None]:
        """Returns the states after a letter, with noise, and the answer; None if it is not settled."""
        stream = dict(self._embedding[letter])
        found = []
        for layer, state in zip(self.layers, states, strict=True):
            new, outputs = layer.step(stream, state, letter, noise)
            found.append(new)
            stream.update(outputs)
        return found, self._decoder.answer(stream)


class _SpanScores:
    """A decoder that compares scores with 1/2."""

    def __init__(self, decoder: Scores) -> None:
        self._units = SpanRows(decoder.units)
        self._scores = SpanRows(decoder.rows)

    def answer(self, stream: Table) -> Legal | None:
        """Returns the answer that is the same for all values of the stream; None if there is none."""
        for i, value in enumerate(self._units(stream)):
            stream[unit(i)] = spans.relu(value)
        flags = []
        for low, high in self._scores(stream):
            if low <= _HALF < high:
                return None
            flags.append(low > _HALF)
        return Legal(frozenset(i for i, flag in enumerate(flags[:-1]) if flag), flags[-1])


class _SpanPoints:
    """A decoder that chooses the point with the largest product."""

    def __init__(self, decoder: Points) -> None:
        self._decoder = decoder
        points = [[rational(v) for v in point] for point in decoder.points]
        self._products = SpanRows([(0, tuple(zip(decoder.reads, p, strict=True))) for p in points])
        self._leads = [SpanRows([_difference(decoder.reads, p, q) for q in points]) for p in points]

    def answer(self, stream: Table) -> Legal | None:
        """Returns the answer that is the same for all values of the stream; None if none is found."""
        products = self._products(stream)
        best = max(range(len(self._leads)), key=lambda i: sum(products[i]))
        answers = self._decoder.answers
        for (low, _), other in zip(self._leads[best](stream), answers, strict=True):
            if other != answers[best] and low <= 0:
                return None
        return answers[best]


def _difference(names: Sequence[str], one: Sequence[Fraction], other: Sequence[Fraction]) -> Row:
    """The product with one point less that with another, as a row."""
    return 0, tuple((name, a - b) for name, a, b in zip(names, one, other, strict=True) if a != b)


class _SpanLayer:
    """One layer with its rows over common denominators; sums over a known state are remembered."""

    def __init__(self, layer: Layer, number: int) -> None:
        moves = layer.moves
        if layer.complex_state or (isinstance(moves, ByLetter) and moves.selector is not None):
            raise InputError(f"layer {number} has a complex state or a selector; boxes are not made for it")
        self.layer = layer
        self.number = number
        self._units = SpanRows(layer.units)
        late = frozenset([*layer.reads, *map(unit, range(len(layer.units)))])
        self._maps = [SpanRows(rows, late) for rows in _maps(moves)]
        self._seen_units = SpanRows(layer.seen_units)
        self._readout = SpanRows(row for _, row in layer.outputs)
        self._known: dict[LayerState, list[list[Span]]] = {}

    def step(self, stream: Table, state: LayerState, letter: int, noise: int) -> tuple[LayerState, Table]:
        table = {name: stream[name] for name in self.layer.reads}
        for i, value in enumerate(self._units(table)):
            table[unit(i)] = spans.relu(value)
        after = tuple((low - noise, high + noise) for low, high in self._move(table, state, letter))
        for i, value in enumerate(after):
            table[now(i)] = value
        if self.layer.exposes_previous:
            for i, value in enumerate(state):
                table[before(i)] = value
        for i, value in enumerate(self._seen_units(table)):
            table[seen_unit(i)] = spans.relu(value)
        names = [name for name, _ in self.layer.outputs]
        return after, dict(zip(names, self._readout(table), strict=True))

    def _move(self, table: Table, state: LayerState, letter: int) -> list[Span]:
        moves = self.layer.moves
        if isinstance(moves, Cell) and moves.cell == "gru":
            return self._gru(moves, table, state)
        chosen = [self._maps[letter]] if isinstance(moves, ByLetter) else self._maps
        values = [
            rows.finish(early, table)
            for rows, early in zip(chosen, self._early(chosen, state, letter), strict=True)
        ]
        match moves:
            case Gated():
                gates, writes = values
                return [
                    spans.add(spans.multiply(g, h), w) for g, h, w in zip(gates, state, writes, strict=True)
                ]
            case Fixed() | ByLetter():
                return values[0]
            case Squashed():
                squash = {"tanh": spans.tanh, "relu": spans.relu, "clip": spans.clip}[moves.activation]
                return [squash(v) for v in values[0]]
            case Cell():
                return _long_memory(moves.cell, values, state)

    def _early(self, maps: Sequence[SpanRows], state: LayerState, letter: int) -> list[list[Span]]:
        """The share of the state in every row, which is the same for every letter."""
        by_letter = isinstance(self.layer.moves, ByLetter)
        if not by_letter and state in self._known:
            return self._known[state]
        table = {before(i): value for i, value in enumerate(state)}
        sums = [rows.early(table) for rows in maps]
        if not by_letter:
            self._known[state] = sums
        return sums

    def _gru(self, moves: Cell, table: Table, state: LayerState) -> list[Span]:
        inside = {**table, **{before(i): value for i, value in enumerate(state)}}
        reset, update = ([spans.sigmoid(v) for v in rows(inside)] for rows in self._maps[:2])
        for i, (r, h) in enumerate(zip(reset, state, strict=True)):
            inside[before(i)] = spans.multiply(r, h)
        candidate = [spans.tanh(v) for v in self._maps[2](inside)]
        shares = update if moves.cap == 1 else [_capped(z, moves.cap) for z in update]
        return [spans.mix(z, h, n) for z, h, n in zip(shares, state, candidate, strict=True)]


def _capped(share: Span, cap: Fraction) -> Span:
    """1 - cap·(1 - share), which grows with the share."""
    kept = outer(cap, cap)
    low, high = (spans.multiply(kept, (ONE - end, ONE - end)) for end in share)
    return ONE - low[1], ONE - high[0]


def _maps(moves: Gated | Fixed | ByLetter | Squashed | Cell) -> list[tuple[Row, ...]]:
    match moves:
        case Gated():
            return [moves.gates, moves.writes]
        case Fixed():
            return [tuple(_joined(row, write) for row, write in zip(moves.matrix, moves.writes, strict=True))]
        case ByLetter():
            return [
                tuple(_joined(row, (shift, ())) for row, shift in zip(matrix, shifts, strict=True))
                for matrix, shifts in zip(moves.matrices, moves.shifts, strict=True)
            ]
        case Squashed():
            return [moves.rows]
        case Cell():
            return list(moves.gates)


def _joined(row: Sequence[tuple[int, Exact]], write: Row) -> Row:
    """A row of a matrix and a write, as one row over names."""
    bias, terms = write
    return bias, (*terms, *((before(j), c) for j, c in row))


def _long_memory(cell: str, values: list[list[Span]], state: LayerState) -> list[Span]:
    """The states h, c (and n) of an LSTM or sLSTM cell."""
    write, forget, shown, inner = values
    width = len(write)
    kept = [spans.sigmoid(v) for v in forget]
    amount = [spans.sigmoid(v) if cell == "lstm" else spans.exp(v) for v in write]
    new = [
        spans.add(spans.multiply(k, c), spans.multiply(a, spans.tanh(z)))
        for k, c, a, z in zip(kept, state[width : 2 * width], amount, inner, strict=True)
    ]
    gates = [spans.sigmoid(v) for v in shown]
    if cell == "lstm":
        return [*(spans.multiply(o, spans.tanh(c)) for o, c in zip(gates, new, strict=True)), *new]
    total = [
        spans.add(spans.multiply(k, n), a) for k, n, a in zip(kept, state[2 * width :], amount, strict=True)
    ]
    h = [spans.multiply(o, spans.divide(c, n)) for o, c, n in zip(gates, new, total, strict=True)]
    return [*h, *new, *total]
