"""Cells that are boxes: an interval for every coordinate, closed under every letter and under noise.

What is verified, in interval arithmetic with outward rounding: the start lies in a cell; the image of every
cell under every letter, with the noise added to every coordinate of every layer, lies in a cell; and the
decoder gives the language's answer on all of it. Then the network is correct at every length, whatever noise
of that size does after each letter.

    BoxDomain        a cell is a choice of one interval per coordinate, with a configuration of the language
    NodeDomain       one listed box for each configuration and last letters
    check_rounding   boxes with room for noise that also bear the roundings of float32

Implements: [Dankowiakowski2025, Theorem 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from nerode.kernel.claims import DTYPES, RECOGNISE
from nerode.kernel.languages import NextLetters
from nerode.kernel.meter import fits
from nerode.kernel.network import (
    CheckedLayer,
    CheckedNetwork,
    PointTable,
    Row,
    ScoreRows,
    SquashedMove,
    before,
    now,
)
from nerode.kernel.numbers import Number, rational, read_rational
from nerode.kernel.reader import quoted, read_list, read_whole
from nerode.kernel.spans import ONE, Span, inner, outer
from nerode.kernel.step import SpanArithmetic, State, States, Stepper
from nerode.kernel.walk import CheckProblem, Image, WalkCell, agrees
from nerode.kernel.work import Undecided, Unreadable

Json = Any

MAX_INTERVALS = 10_000
MAX_LETTERS = 16
"""Last letters that a node may know."""

Ends = tuple[Fraction, Fraction]


def read_noise(data: Json) -> Fraction:
    """Returns the noise of a cover.

    Raises:
        Unreadable: if it is not above 0.
    """
    noise = read_rational(data, "noise")
    if noise <= 0:
        raise Unreadable(f"noise is {quoted(data)}, which is not above 0")
    return noise


def span_stepper(problem: CheckProblem, noise: Fraction) -> Stepper:
    """Returns the steps of a network on spans, with noise."""
    return Stepper(problem.network, SpanArithmetic(problem.work, outer(noise, noise)[1]))


class BoxDomain:
    """Choices of one interval per coordinate, with configurations of the language."""

    names_words = True

    def __init__(self, problem: CheckProblem, cover: Mapping[str, Json]) -> None:
        self._language = problem.language
        self._stepper = span_stepper(problem, read_noise(cover["noise"]))
        given = _read_layers(cover["layers"], problem.network)
        # Rounded outward to start from, inward to arrive in.
        self._outside = [[[outer(*ends) for ends in place] for place in layer] for layer in given]
        self._inside = [[[inner(*ends) for ends in place] for place in layer] for layer in given]
        self._moves: dict[tuple[WalkCell, int], tuple[WalkCell, NextLetters | None]] = {}

    def start(self) -> WalkCell:
        """Returns the cell of the start."""
        return self._labels(self._stepper.start()), self._language.initial()

    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the configuration."""
        return self._language.legal(cell[1])

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the cell of the image."""
        labels, configuration = cell
        if (labels, letter) not in self._moves:
            box = tuple(
                tuple([intervals[k] for intervals, k in zip(layer, chosen, strict=True)])
                for layer, chosen in zip(self._outside, labels, strict=True)
            )
            new, got = self._stepper.step(box, letter)
            self._moves[labels, letter] = (self._labels(new), got)
        reached, got = self._moves[labels, letter]
        target = self._language.advance(configuration, letter)
        return [Image((reached, target), self._language.legal(target), got)]

    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns nothing: the intervals are given."""
        return ()

    def _labels(self, states: States) -> WalkCell:
        """For each layer the number of the interval that holds each coordinate."""
        return tuple(
            tuple([self._find(n, i, span) for i, span in enumerate(state)]) for n, state in enumerate(states)
        )

    def _find(self, layer: int, coordinate: int, span: Span) -> int:
        for k, interval in enumerate(self._inside[layer][coordinate]):
            if _holds(interval, span):
                return k
        raise Undecided(f"coordinate {coordinate + 1} of layer {layer + 1} {_shown(span)} is in no interval")


class NodeDomain:
    """One listed box for each configuration of the language with the last letters.

    Nodes are numbered as the walk finds them.

    Attributes:
        boxes: the boxes, rounded outward.
        expected: for each node that was found, what may follow it.
    """

    names_words = True

    def __init__(self, problem: CheckProblem, cover: Mapping[str, Json]) -> None:
        self._language = problem.language
        self._stepper = span_stepper(problem, read_noise(cover["noise"]))
        self._letters = read_whole(cover["letters"], "letters", 0, MAX_LETTERS)
        given = [_read_box(box, problem.network.layers) for box in read_list(cover["boxes"], "boxes")]
        self.boxes = [tuple(tuple(outer(*ends) for ends in layer) for layer in box) for box in given]
        self._inside = [[[inner(*ends) for ends in layer] for layer in box] for box in given]
        self._number: dict[WalkCell, int] = {}
        self.expected: dict[int, NextLetters] = {}

    def start(self) -> WalkCell:
        """Returns the node of the empty word, whose box must hold the start."""
        return self._node((self._language.initial(), ()), self._stepper.start())

    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the configuration."""
        return self._language.legal(cell[0])

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the node that the letter leads to, whose box must hold the image."""
        configuration, last = cell
        new, got = self._stepper.step(self.boxes[self._number[cell]], letter)
        target = self._language.advance(configuration, letter)
        recent = (*last, letter)
        node = (target, recent[max(0, len(recent) - self._letters) :])
        return [Image(self._node(node, new), self._language.legal(target), got)]

    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns nothing: the boxes are given."""
        return ()

    def require_as_many_boxes(self, nodes: int) -> None:
        """Raises Undecided unless every listed box belongs to a node."""
        if len(self.boxes) != nodes:
            raise Undecided(f"there are {len(self.boxes)} boxes for {nodes} nodes")

    def _node(self, node: Any, states: States) -> WalkCell:
        number = self._number.setdefault(node, len(self._number))
        if number >= len(self.boxes):
            raise Undecided(f"there are more than {len(self.boxes)} nodes, which is the number of boxes")
        self.expected[number] = self._language.legal(node[0])
        for n, (layer, state) in enumerate(zip(self._inside[number], states, strict=True), start=1):
            for i, (interval, span) in enumerate(zip(layer, state, strict=True), start=1):
                if not _holds(interval, span):
                    raise Undecided(f"coordinate {i} of layer {n} {_shown(span)} leaves the box of its node")
        result: WalkCell = node
        return result


def _holds(interval: Span, span: Span) -> bool:
    return interval[0] <= span[0] and span[1] <= interval[1]


def _shown(span: Span) -> str:
    """A span in a message; the decimal places are for the reader alone."""
    low, high = (f"{end * 10**6 // ONE / 10**6:g}" if abs(end) < ONE << 60 else "…" for end in span)
    return f"[{low}, {high}]"


def _read_layers(data: Json, network: CheckedNetwork) -> list[list[list[Ends]]]:
    """For each layer, for each coordinate its intervals, from runs of coordinates that have the same."""
    found = []
    layers = read_list(data, "layers", length=len(network.layers))
    for number, (runs, layer) in enumerate(zip(layers, network.layers, strict=True), start=1):
        places: list[list[Ends]] = []
        for run in read_list(runs, f"the intervals of layer {number}"):
            count, intervals = read_list(run, f"a run of layer {number}", length=2)
            read_whole(count, f"the length of a run of layer {number}", 1, len(layer.state) - len(places))
            given = read_list(intervals, f"the intervals of layer {number}", most=MAX_INTERVALS)
            places += [[_read_ends(pair) for pair in given]] * count
        if len(places) != len(layer.state):
            raise Unreadable(
                f"layer {number} has {len(layer.state)} coordinates, its runs have {len(places)}"
            )
        found.append(places)
    return found


def _read_box(data: Json, layers: Sequence[CheckedLayer]) -> list[list[Ends]]:
    parts = read_list(data, "a box", length=len(layers))
    return [
        [_read_ends(pair) for pair in read_list(part, "a layer of a box", length=len(layer.state))]
        for part, layer in zip(parts, layers, strict=True)
    ]


def _read_ends(pair: Json) -> Ends:
    low, high = (read_rational(end, "an interval") for end in read_list(pair, "an interval", length=2))
    if low > high:
        raise Unreadable("an interval ends before it begins")
    return low, high


def as_fractions(state: State) -> list[Ends]:
    """Returns the ends of spans as fractions."""
    return [(Fraction(low, ONE), Fraction(high, ONE)) for low, high in state]


_TANH_ERROR = Fraction(1, 1 << 20)
_UNDERFLOW = Fraction(1, 1 << 120)
_LARGEST = 1 << 100
_MOST_TERMS = 1 << 16
_HALF = Fraction(1, 2)
_UNIT = Fraction(1, 1 << 24)


def check_rounding(
    network: CheckedNetwork,
    boxes: Sequence[States],
    expected: Sequence[NextLetters],
    noise: Fraction,
    task: str,
) -> None:
    """Checks that boxes that are closed under noise bear the roundings of float32 and half of the noise.

    For one tanh layer whose outputs are its state. In float32 a sum of n products, in any order and with or
    without fused operations, is off by at most γ = (n+3)·u / (1 - (n+3)·u) times the sum of the absolute
    values, u = 2**-24, and by 2**-120 for what underflows; tanh never enlarges an error, and adds one of its
    own of at most 2**-20.

    What is verified: float32 holds every weight; the error of a step is at most half of the noise, so that
    the other half is left for noise on top; and the error of the decoder's rows is smaller than the margin of
    every answer.

    Raises:
        Undecided: if they do not, or the network is not one tanh layer whose outputs are its state.
    """
    layer, places = _plain_layer(network)
    rows = layer.move.rows if isinstance(layer.move, SquashedMove) else ()
    _require_float32(network, layer, rows)
    sizes = {
        before(i): max(max(abs(low), abs(high)) for low, high in ends)
        for i, ends in enumerate(zip(*(as_fractions(box[0]) for box in boxes), strict=True))
    }
    for letter in network.embedding:
        known = {**sizes, **{name: abs(_number(v)) for name, v in letter.items()}}
        if any(_row_error(row, known) + _TANH_ERROR > noise / 2 for row in rows):
            raise Undecided("float32 moves a coordinate by more than half of the noise")
    for box, wanted in zip(boxes, expected, strict=True):
        ends = as_fractions(box[0])
        values = {
            name: ends[place] if isinstance(place, int) else (place, place) for name, place in places.items()
        }
        if not _settled(network, values, wanted, task):
            raise Undecided("the margin of an answer is smaller than the roundings of float32")


def _plain_layer(network: CheckedNetwork) -> tuple[CheckedLayer, dict[str, int | Fraction]]:
    """The only layer, and for each of its outputs the coordinate that it copies or its constant."""
    decoder, layer = network.decoder, network.layers[0] if network.layers else None
    if (
        len(network.layers) != 1
        or layer is None
        or not isinstance(layer.move, SquashedMove)
        or layer.move.activation != "tanh"
        or layer.units
        or layer.seen_units
        or not isinstance(decoder, ScoreRows | PointTable)
        or (isinstance(decoder, ScoreRows) and decoder.units)
    ):
        raise Undecided("roundings are bounded for one tanh layer and a decoder, both without units")
    coordinates = {now(i): i for i in range(len(layer.state))}
    places: dict[str, int | Fraction] = {}
    for name, (bias, terms) in layer.outputs:
        if not terms:
            places[name] = _number(bias)
        elif bias == 0 and len(terms) == 1 and terms[0][1] == 1 and terms[0][0] in coordinates:
            places[name] = coordinates[terms[0][0]]
        else:
            raise Undecided("roundings are bounded for outputs that are the state")
    if isinstance(decoder, PointTable):
        read = set(decoder.reads)
    else:
        read = {name for _, terms in decoder.rows for name, _ in terms}
    if not places.keys() >= read:
        raise Undecided("roundings are bounded for a decoder that reads the outputs of the layer alone")
    return layer, places


def _require_float32(network: CheckedNetwork, layer: CheckedLayer, rows: Sequence[Row]) -> None:
    """Raises Undecided unless float32 holds every number; the scores without their 1/2."""
    numbers: list[Number] = [v for letter in network.embedding for v in letter.values()]
    numbers += [*layer.start, *(bias for _, (bias, _) in layer.outputs)]
    if isinstance(network.decoder, PointTable):
        numbers += [v for point in network.decoder.points for v in point]
    for bias, terms in (*rows, *_scores_above_half(network)):
        numbers += [bias, *(c for _, c in terms)]
    if not all(fits(_number(v), DTYPES["float32"]) and abs(_number(v)) <= _LARGEST for v in numbers):
        raise Undecided("float32 does not hold every number of the network")


def _scores_above_half(network: CheckedNetwork) -> list[Row]:
    rows = network.decoder.rows if isinstance(network.decoder, ScoreRows) else ()
    return [(_number(bias) - _HALF, terms) for bias, terms in rows]


def _row_error(row: Row, sizes: Mapping[str, Fraction]) -> Fraction:
    """Error bound of a computed sum of products."""
    bias, terms = row
    total = abs(_number(bias)) + sum((abs(_number(c)) * sizes[name] for name, c in terms), Fraction(0))
    if total > _LARGEST or len(terms) > _MOST_TERMS:
        raise Undecided("a sum may leave the range of float32, or has too many terms for a bound")
    count = (len(terms) + 3) * _UNIT
    return total * count / (1 - count) + _UNDERFLOW


def _settled(network: CheckedNetwork, values: Mapping[str, Ends], wanted: NextLetters, task: str) -> bool:
    """Whether the computed answer is the wanted one on a whole box."""
    sizes = {name: max(abs(low), abs(high)) for name, (low, high) in values.items()}
    decoder = network.decoder
    if isinstance(decoder, PointTable):
        rows: list[Row] = [(0, tuple(zip(decoder.reads, p, strict=True))) for p in decoder.points]
        errors = [_row_error(row, sizes) for row in rows]
        good = [agrees(task, wanted, answer) for answer in decoder.answers]
        return any(
            good[i]
            and all(
                good[j] or _lead(rows[i], rows[j], values) > errors[i] + errors[j] for j in range(len(rows))
            )
            for i in range(len(rows))
        )
    flags = []
    for row in _scores_above_half(network):
        low, high = _range(row, values)
        error = _row_error(row, sizes)
        flags.append(True if low > error else False if high <= -error else None)
    if flags[-1] is None or (task != RECOGNISE and None in flags):
        return False
    got = NextLetters(frozenset(i for i, flag in enumerate(flags[:-1]) if flag), flags[-1])
    return agrees(task, wanted, got)


def _range(row: Row, values: Mapping[str, Ends]) -> Ends:
    bias, terms = row
    low = high = _number(bias)
    for name, c in terms:
        ends = [_number(c) * end for end in values[name]]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _lead(one: Row, other: Row, values: Mapping[str, Ends]) -> Fraction:
    """By how much one product is above another, at least."""
    pairs = zip(one[1], other[1], strict=True)
    return _range((0, tuple((name, _number(a) - _number(b)) for (name, a), (_, b) in pairs)), values)[0]


def _number(value: Number) -> Fraction:
    return rational(value, "the bound of roundings")
