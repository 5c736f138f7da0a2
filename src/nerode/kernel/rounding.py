"""Boxes with room for noise that also bear the roundings of float32: a widening of the step.

For one tanh layer whose outputs are its state. In float32 a sum of n products, in any order and with or
without fused operations, is off by at most γ = (n+3)·u / (1 - (n+3)·u) times the sum of the absolute values,
u = 2**-24, and by 2**-120 for what underflows; tanh never enlarges an error, and adds one of its own of at
most 2**-20.

What is verified: float32 holds every weight; the error of a step is at most half of the noise, so that the
other half is left for noise on top; and the error of the decoder's rows is smaller than the margin of every
answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from nerode.kernel.boxes import Ends, as_fractions
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
from nerode.kernel.numbers import Number, rational
from nerode.kernel.step import States
from nerode.kernel.walk import agrees
from nerode.kernel.work import Undecided

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
    """How far a computed sum of products may be off."""
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
