"""Whether boxes with room for noise also bear the roundings of float32.

For one tanh layer whose outputs are its state. In float32 a sum of n products, in any order and with or
without fused operations, is off by at most γ = (n+3)·u / (1 - (n+3)·u) times the sum of the absolute values,
u = 2**-24, and by 2**-120 for what underflows; tanh never enlarges an error, and adds one of its own.
If that is at most half of the noise, the other half is left for noise on top. The same bound, for the rows of
the decoder, has to be smaller than the margin of every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nerode.core import Exact, InputError
from nerode.languages import Legal
from nerode.proofs.certificate import RECOGNISE
from nerode.proofs.checker_problem import Failure, agrees
from nerode.proofs.checker_records import (
    CheckedNetwork,
    Layer,
    Points,
    Row,
    Scores,
    Squashed,
    before,
    now,
)
from nerode.proofs.checker_span_network import LayerState
from nerode.proofs.checker_spans import ONE, Span, rational
from nerode.proofs.rounded_claims import TANH_ERROR

_BITS = 24
_UNDERFLOW = Fraction(1, 1 << 120)
_LARGEST = 1 << 100
_MOST_TERMS = 1 << 16
_HALF = Fraction(1, 2)

Values = dict[str, tuple[Fraction, Fraction]]


def refuse_rounding(
    network: CheckedNetwork,
    boxes: Sequence[Sequence[LayerState]],
    expected: Sequence[Legal],
    eps: Fraction,
    task: str,
) -> Failure | None:
    """Returns why float32 is not covered; None if it is.

    Args:
        network: a network whose boxes are closed under noise of eps.
        boxes: for each node the box.
        expected: for each node the answer.
        eps: the noise.
        task: which part of the answers matters.

    Raises:
        InputError: if the network is not one tanh layer whose outputs are its state.
    """
    layer, places = _plain_layer(network)
    _require_float32(network, layer)
    widest = [
        max(max(abs(low), abs(high)) for low, high in (box[0][i] for box in boxes))
        for i in range(len(layer.state))
    ]
    worst = max(
        (
            _state_error(row, letter, [Fraction(w, ONE) for w in widest])
            for row in _rows(layer)
            for letter in network.embedding
        ),
        default=Fraction(0),
    )
    if worst > eps / 2:
        return Failure(
            what=f"float32 moves a coordinate by up to {float(worst):.2g}, more than half of the noise",
            entry="claims",
        )
    for box, wanted in zip(boxes, expected, strict=True):
        values = {
            name: _fractions(box[0][place]) if isinstance(place, int) else (place, place)
            for name, place in places.items()
        }
        if not _settled(network, values, wanted, task):
            return Failure(
                what="the margin of an answer is smaller than the roundings of float32", entry="claims"
            )
    return None


def _plain_layer(network: CheckedNetwork) -> tuple[Layer, dict[str, int | Fraction]]:
    """The only layer, and for each of its outputs the coordinate that it copies or its constant."""
    if len(network.layers) != 1 or not isinstance(network.decoder, Scores | Points):
        raise InputError("roundings are bounded for one layer and a decoder of scores or points")
    (layer,) = network.layers
    if not isinstance(layer.moves, Squashed) or layer.moves.activation != "tanh" or layer.units:
        raise InputError("roundings are bounded for a tanh layer without other units")
    if layer.seen_units or (isinstance(network.decoder, Scores) and network.decoder.units):
        raise InputError("roundings are bounded for a readout without units")
    coordinates = {now(i): i for i in range(len(layer.state))}
    places: dict[str, int | Fraction] = {}
    for name, (bias, terms) in layer.outputs:
        if not terms:
            places[name] = rational(bias)
        elif bias == 0 and len(terms) == 1 and terms[0][1] == 1 and terms[0][0] in coordinates:
            places[name] = coordinates[terms[0][0]]
        else:
            raise InputError("roundings are bounded for outputs that are the state")
    if not places.keys() >= _names_read(network.decoder):
        raise InputError("roundings are bounded for a decoder that reads the outputs of the layer alone")
    return layer, places


def _names_read(decoder: Scores | Points) -> set[str]:
    if isinstance(decoder, Points):
        return set(decoder.reads)
    return {name for _, terms in decoder.rows for name, _ in terms}


def _require_float32(network: CheckedNetwork, layer: Layer) -> None:
    """Raises InputError unless float32 holds every number; the scores without their 1/2."""
    numbers = [v for letter in network.embedding for v in letter.values()]
    numbers += [*layer.start, *(bias for _, (bias, _) in layer.outputs)]
    rows = list(_rows(layer))
    if isinstance(network.decoder, Scores):
        rows += [(rational(bias) - _HALF, terms) for bias, terms in network.decoder.rows]
    elif isinstance(network.decoder, Points):
        numbers += [v for point in network.decoder.points for v in point]
    numbers += [v for bias, terms in rows for v in (bias, *(c for _, c in terms))]
    for number in numbers:
        value = rational(number)
        odd = abs(value.numerator)
        while odd and odd % 2 == 0:
            odd //= 2
        power = value.denominator
        if odd.bit_length() > _BITS or power & (power - 1) or power > 1 << 126 or abs(value) > _LARGEST:
            raise InputError(f"{float(value)} is not a number of float32")


def _rows(layer: Layer) -> Sequence[Row]:
    assert isinstance(layer.moves, Squashed)
    return layer.moves.rows


def _state_error(row: Row, letter: dict[str, Exact], widest: Sequence[Fraction]) -> Fraction:
    """How far a coordinate may be off after one letter."""
    sizes = {name: abs(rational(v)) for name, v in letter.items()}
    sizes |= {before(i): w for i, w in enumerate(widest)}
    return _row_error(row, sizes) + TANH_ERROR


def _row_error(row: Row, sizes: dict[str, Fraction]) -> Fraction:
    """How far a computed sum of products may be off."""
    bias, terms = row
    total = abs(rational(bias)) + sum((abs(rational(c)) * sizes[name] for name, c in terms), Fraction(0))
    if total > _LARGEST or len(terms) > _MOST_TERMS:
        raise InputError("a sum may leave the range of float32, or has too many terms for a bound")
    count = Fraction(len(terms) + 3, 1 << _BITS)
    return total * count / (1 - count) + _UNDERFLOW


def _settled(network: CheckedNetwork, values: Values, wanted: Legal, task: str) -> bool:
    """Whether the computed answer is the wanted one on a whole box."""
    sizes = {name: max(abs(low), abs(high)) for name, (low, high) in values.items()}
    decoder = network.decoder
    if isinstance(decoder, Points):
        rows: list[Row] = [(0, tuple(zip(decoder.reads, point, strict=True))) for point in decoder.points]
        errors = [_row_error(row, sizes) for row in rows]
        good = [agrees(task, wanted, answer) for answer in decoder.answers]
        return any(
            good[i]
            and all(
                good[j] or _lead(rows[i], rows[j], values) > errors[i] + errors[j] for j in range(len(rows))
            )
            for i in range(len(rows))
        )
    assert isinstance(decoder, Scores)
    flags = []
    for bias, terms in decoder.rows:
        row: Row = (rational(bias) - _HALF, terms)
        low, high = _range(row, values)
        error = _row_error(row, sizes)
        flags.append(True if low > error else False if high <= -error else None)
    if task != RECOGNISE and None in flags:
        return False
    if flags[-1] is None:
        return False
    got = Legal(frozenset(i for i, flag in enumerate(flags[:-1]) if flag), bool(flags[-1]))
    return agrees(task, wanted, got)


def _range(row: Row, values: Values) -> tuple[Fraction, Fraction]:
    bias, terms = row
    low = high = rational(bias)
    for name, c in terms:
        ends = [rational(c) * end for end in values[name]]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _lead(one: Row, other: Row, values: Values) -> Fraction:
    """By how much one product is above another, at least."""
    terms = tuple(
        (name, rational(a) - rational(b)) for (name, a), (_, b) in zip(one[1], other[1], strict=True)
    )
    return _range((0, terms), values)[0]


def _fractions(span: Span) -> tuple[Fraction, Fraction]:
    return Fraction(span[0], ONE), Fraction(span[1], ONE)
