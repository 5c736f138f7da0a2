"""What the checker keeps of a network: rows that speak of names, matrices for each letter.

Every value of one position lives in one table from names to numbers: directions of the stream under their
own names, everything inside a layer under names that no direction can have (they begin with a control
character).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from nerode.core import Exact
from nerode.languages import Alphabet, Legal

Row = tuple[Exact, tuple[tuple[str, Exact], ...]]
"""A bias and the coefficients by name."""

Matrix = tuple[tuple[tuple[int, Exact], ...], ...]
"""Rows of (column, entry)."""


@dataclass(frozen=True, slots=True)
class Gated:
    """Each coordinate is multiplied by its gate, then its write is added."""

    gates: tuple[Row, ...]
    writes: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """One matrix for all letters, then the writes are added."""

    matrix: Matrix
    writes: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ByLetter:
    """A matrix and a shift for each letter; the factors (scale, vector) of the matrix where it has them.

    With a selector, matrices and shifts are numbered by its one row that is 1 (all others being 0) instead.
    """

    matrices: tuple[Matrix, ...]
    shifts: tuple[tuple[Exact, ...], ...]
    factors: tuple[tuple[tuple[Exact, tuple[Exact, ...]], ...], ...] | None
    selector: tuple[Row, ...] | None = None


@dataclass(frozen=True, slots=True)
class Squashed:
    """A nonlinear function ("relu", "clip", "tanh") of rows that also read the state before the letter."""

    activation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """An LSTM, GRU or sLSTM cell; rows of each gate read h of the step before.

    The cap is the largest share of h that a GRU keeps.
    """

    cell: str
    gates: tuple[tuple[Row, ...], ...]
    cap: Fraction = Fraction(1)


Moves = Gated | Fixed | ByLetter | Squashed | Cell


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, with its rows by name."""

    name: str
    reads: tuple[str, ...]
    state: tuple[str, ...]
    start: tuple[Exact, ...]
    units: tuple[Row, ...]
    moves: Moves
    seen_units: tuple[Row, ...]
    outputs: tuple[tuple[str, Row], ...]
    complex_state: bool
    exposes_previous: bool


@dataclass(frozen=True, slots=True)
class Scores:
    """A symbol is legal where its score is above 1/2; the last row is the end."""

    units: tuple[Row, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """The answer of the point with the largest real product."""

    reads: tuple[str, ...]
    points: tuple[tuple[Exact, ...], ...]
    answers: tuple[Legal, ...]


Weight = tuple[tuple[Fraction, Fraction], ...]
"""The sum of scale · ln(ratio) over its pairs (scale, ratio); without a softmax the sum of the scales."""


@dataclass(frozen=True, slots=True)
class Logits:
    """Rows of weights over letters and the end: (number of the direction read, weight)."""

    reads: tuple[str, ...]
    normaliser: str
    rows: tuple[tuple[tuple[int, Weight], ...], ...]


Decoder = Scores | Points | Logits


@dataclass(frozen=True, slots=True)
class CheckedNetwork:
    """A network as the checker sees it: for each letter the stream it starts, layers, decoder."""

    alphabet: Alphabet
    embedding: tuple[dict[str, Exact], ...]
    layers: tuple[Layer, ...]
    decoder: Decoder
    empty: Legal


def unit(i: int) -> str:
    """The name of ReLU unit i before the recurrence."""
    return f"\x01unit{i}"


def seen_unit(i: int) -> str:
    """The name of ReLU unit i after the recurrence."""
    return f"\x01seen{i}"


def now(i: int, part: str = "") -> str:
    """The name of coordinate i after the letter; `part` is "re" or "im" for a complex state."""
    return f"\x01now{part}{i}"


def before(i: int, part: str = "") -> str:
    """The name of coordinate i before the letter."""
    return f"\x01before{part}{i}"


def all_numbers(network: CheckedNetwork) -> Iterable[Exact]:
    """Yields every stored number."""
    for letter in network.embedding:
        yield from letter.values()
    rows: list[Row] = []
    for layer in network.layers:
        yield from layer.start
        rows += [*layer.units, *layer.seen_units, *(row for _, row in layer.outputs)]
        moves = layer.moves
        match moves:
            case Gated():
                rows += [*moves.gates, *moves.writes]
            case Fixed():
                rows += moves.writes
                yield from (c for row in moves.matrix for _, c in row)
            case ByLetter():
                yield from (c for matrix in moves.matrices for row in matrix for _, c in row)
                yield from (c for shift in moves.shifts for c in shift)
                rows += moves.selector or ()
                for scale, vector in (f for letter in moves.factors or () for f in letter):
                    yield scale
                    yield from vector
            case Squashed():
                rows += moves.rows
            case _:
                rows += [row for gate in moves.gates for row in gate]
    decoder = network.decoder
    if isinstance(decoder, Points):
        yield from (c for point in decoder.points for c in point)
    elif isinstance(decoder, Scores):
        rows += [*decoder.units, *decoder.rows]
    else:
        yield from (c for row in decoder.rows for _, weight in row for pair in weight for c in pair)
    for bias, terms in rows:
        yield bias
        yield from (c for _, c in terms)
