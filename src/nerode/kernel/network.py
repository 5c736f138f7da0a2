"""The kernel's own reading of a network: eight kinds of recurrence in the file, three kinds of move here.

Every value of one position lives in a table from names to numbers: directions of the stream under their own
names, everything inside a layer under names that no direction can have (they begin with a control
character). An affine map is a tuple of rows, each a bias and coefficients by name.

What is verified: every object has exactly its keys; every number, name, list and index is within bounds; maps
have as many inputs and rows as their places need; and every name that is read is on the stream.

Heads of attention are summaries of the past, each a gated coordinate: hold · summary + value.

    last      the value at the latest position that does not hold
    once      whether a bit has ever been 1
    previous  the value at the position before
    mean      the sum of all values

That this is what a head sees of the past is verified: `previous` and `mean` hold 0 and 1 everywhere, `once`
holds where its value is not; and at every step that a walk takes (`step.check_heads`) a head of the kind
`last` or `once` holds 0 or 1, and where it holds its value is 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.letters import LetterNames, NextLetters, read_letters
from nerode.kernel.numbers import Number, NumberReader, combined, num_bits, plain, read_rational
from nerode.kernel.reader import (
    Reader,
    anything,
    check_keys,
    choice,
    entries,
    file_record,
    flag,
    listing,
    names,
    quoted,
    record,
    whole,
)
from nerode.kernel.work import Unreadable, WorkCount

Json = Any

MAX_LAYERS = 10_000
MAX_WIDTH = 1_000_000
MAX_ENTRIES = 50_000_000
"""Entries that all matrices together may have, zeros included where they are stored as products."""

HEADS = ("last", "once", "previous", "mean")
CELLS = {"lstm": (4, 2), "gru": (3, 1), "slstm": (4, 3)}
"""For each gated cell its number of gates, and of vectors in its state."""

Place = tuple[int, int]
"""A layer and a coordinate of its state, both counting from 0."""

Row = tuple[Number, tuple[tuple[str, Number], ...]]
"""A bias and the coefficients by name."""

Rows = tuple[Row, ...]

Matrix = tuple[tuple[tuple[int, Number], ...], ...]
"""Rows of (column, entry)."""

Factor = tuple[Number, tuple[Number, ...]]
"""(scale, vector) of the matrix I - scale·v vᵀ."""


@dataclass(frozen=True, slots=True)
class GatedMove:
    """Each coordinate is multiplied by its gate, then its write is added; kinds of heads for attention."""

    gates: Rows
    writes: Rows
    heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AffineMove:
    """An affine map of inputs and state, then an activation of each coordinate.

    Attributes:
        maps: one for each choice; their rows read the state before the letter under its names.
        activation: "relu", "clip", "tanh", or "" for none.
        chosen: whether the map is chosen: by the letter, or by the selector's one row that is 1.
        selector: see `chosen`.
        factors: the factors of the matrices where the file has them; floats see one after the other.
    """

    maps: tuple[Rows, ...]
    activation: str = ""
    chosen: bool = False
    selector: Rows | None = None
    factors: tuple[tuple[Factor, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class CellMove:
    """An LSTM, GRU or sLSTM cell; the rows of each gate read h of the step before.

    The cap is the largest share of h that a GRU keeps.
    """

    cell: str
    gates: tuple[Rows, ...]
    cap: Fraction = Fraction(1)


Move = GatedMove | AffineMove | CellMove


@dataclass(frozen=True, slots=True)
class CheckedLayer:
    """One layer, with its rows by name."""

    reads: tuple[str, ...]
    state: tuple[str, ...]
    start: tuple[Number, ...]
    units: Rows
    move: Move
    seen_units: Rows
    outputs: tuple[tuple[str, Row], ...]
    complex_state: bool
    exposes_previous: bool


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """A letter is legal where its score is above 1/2; the last row is the end."""

    units: Rows
    rows: Rows


@dataclass(frozen=True, slots=True)
class PointTable:
    """The answer of the point with the largest real product."""

    reads: tuple[str, ...]
    points: tuple[tuple[Number, ...], ...]
    answers: tuple[NextLetters, ...]


Weight = tuple[tuple[Fraction, Fraction], ...]
"""The sum of scale · ln(ratio) over its pairs (scale, ratio); without a softmax the sum of the scales."""


@dataclass(frozen=True, slots=True)
class LogitRows:
    """Rows of weights over letters and the end: (number of the direction read, weight)."""

    reads: tuple[str, ...]
    normaliser: str
    rows: tuple[tuple[tuple[int, Weight], ...], ...]


@dataclass(frozen=True, slots=True)
class CheckedNetwork:
    """A network as the kernel sees it.

    Attributes:
        alphabet: the letters.
        embedding: for each letter what it puts on the stream.
        layers: the layers in order; each reads the stream and adds its outputs to it.
        decoder: how the answer is read off the stream.
        empty: the answer before the first letter.
        field: reads numbers of the field that all of them are in.
    """

    alphabet: LetterNames
    embedding: tuple[dict[str, Number], ...]
    layers: tuple[CheckedLayer, ...]
    decoder: ScoreRows | PointTable | LogitRows
    empty: NextLetters
    field: NumberReader


@functools.cache
def unit(i: int) -> str:
    """The name of ReLU unit i before the recurrence."""
    return f"\x01unit{i}"


@functools.cache
def seen_unit(i: int) -> str:
    """The name of ReLU unit i after the recurrence."""
    return f"\x01seen{i}"


@functools.cache
def now(i: int, part: str = "") -> str:
    """The name of coordinate i after the letter; `part` is "re" or "im" for a complex state."""
    return f"\x01now{part}{i}"


@functools.cache
def before(i: int, part: str = "") -> str:
    """The name of coordinate i before the letter."""
    return f"\x01before{part}{i}"


_NETWORK = file_record(
    "nerode-network",
    1,
    {
        "alphabet": read_letters,
        "target": anything,
        "embedding": record({"directions": names(MAX_WIDTH), "vectors": anything}),
        "layers": listing(anything, most=MAX_LAYERS),
        "decoder": anything,
        "origin": anything,
    },
)
_LAYER = record(
    {
        "name": anything,
        "reads": names(MAX_WIDTH, distinct=False),
        "state": names(MAX_WIDTH),
        "start": anything,
        "units": anything,
        "recurrence": anything,
        "readout_units": anything,
        "outputs": names(MAX_WIDTH),
        "readout": anything,
        "exposes_previous": flag,
        "complex_state": flag,
    },
)
"""What depends on other parts, such as the number of inputs of a map, is read after them."""


def read_network(data: Json, work: WorkCount) -> CheckedNetwork:
    """Returns the network of JSON values.

    Raises:
        Unreadable: with the first thing that is missing, unknown, too large or of the wrong size.
    """
    parts = _NETWORK(data, "a network")
    field = _field([data["embedding"], data["layers"], data["decoder"]], work)
    return _NetworkReader(field, parts["alphabet"]).read(parts)


def _field(written: list[Json], work: WorkCount) -> NumberReader:
    """The reader of all numbers of a network; roots of unity are read where some text has one."""
    if not any("e(" in text for text in _texts(written)):
        return NumberReader(work)
    from nerode.kernel.domains.roots import Field

    return Field.around(_texts(written), work)


def _texts(level: list[Json]) -> Iterator[str]:
    """All texts inside JSON values."""
    while level:
        below: list[Json] = []
        for value in level:
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, dict):
                below.extend(value.values())
        level = below


class _NetworkReader:
    """Reads the parts of one network."""

    def __init__(self, field: NumberReader, alphabet: LetterNames) -> None:
        self.field = field
        self.alphabet = alphabet
        self.num_letters = len(alphabet.symbols)
        self.entries = 0

    def read(self, parts: Mapping[str, Json]) -> CheckedNetwork:
        directions = parts["embedding"]["directions"]
        vectors = listing(self._vector(len(directions)), length=self.num_letters)
        given = vectors(parts["embedding"]["vectors"], "the embedding")
        embedding = tuple(dict(zip(directions, vector, strict=True)) for vector in given)
        stream = set(directions)
        layers = []
        for number, part in enumerate(parts["layers"], start=1):
            layer = self._layer(part, stream, f"layer {number}")
            for name, _ in layer.outputs:
                if name in stream:
                    raise Unreadable(
                        f"layer {number} puts out {quoted(name)}, which is on the stream already"
                    )
                stream.add(name)
            layers.append(layer)
        decoder, empty = self._decoder(parts["decoder"], stream)
        return CheckedNetwork(self.alphabet, embedding, tuple(layers), decoder, empty, self.field)

    def _layer(self, data: Json, stream: set[str], where: str) -> CheckedLayer:
        parts = _LAYER(data, where)
        reads, state, outputs = (parts[key] for key in ("reads", "state", "outputs"))
        _require_on(stream, reads, where)
        width, shows_old = len(state), parts["exposes_previous"]
        units = self._map(reads)(parts["units"], f"the units of {where}")
        sides = ("re", "im") if parts["complex_state"] else ("",)
        inside = [*reads, *(now(i, part) for part in sides for i in range(width))]
        if shows_old:
            inside += [before(i, part) for part in sides for i in range(width)]
        seen_units = self._map(inside)(parts["readout_units"], f"the readout units of {where}")
        readout = self._map([*inside, *map(seen_unit, range(len(seen_units)))], len(outputs))
        seen = [*reads, *map(unit, range(len(units)))]
        return CheckedLayer(
            reads=reads,
            state=state,
            start=self._vector(width)(parts["start"], f"the start of {where}"),
            units=units,
            move=self._move(parts["recurrence"], seen, width, f"the recurrence of {where}"),
            seen_units=seen_units,
            outputs=tuple(zip(outputs, readout(parts["readout"], f"the readout of {where}"), strict=True)),
            complex_state=parts["complex_state"],
            exposes_previous=shows_old,
        )

    def _move(self, data: Json, seen: list[str], width: int, where: str) -> Move:
        rows, vector, matrix = self._map(seen, width), self._vector(width), self._matrix(width)
        recurrent = self._map([*seen, *map(before, range(width))], width)
        each = self.num_letters
        vectors = listing(vector, length=each)
        selected: dict[str, Reader] = {"selector": anything}
        images = listing(listing(whole(0, width - 1), length=width), length=each)
        fields: dict[str, dict[str, Reader]] = {
            "diagonal": {"gate": rows, "write": rows},
            "attention": {"heads": listing(choice(*HEADS), length=width), "hold": rows, "values": rows},
            "time-invariant": {"matrix": matrix, "write": rows},
            "letter-matrices": {"matrices": listing(matrix), "writes": listing(vector)},
            "householder": {"factors": listing(listing(self._factor(width))), "writes": listing(vector)},
            "permutation-diagonal": {"images": images, "diagonals": vectors, "writes": vectors},
            "elman": {"activation": choice("tanh", "relu", "clip"), "update": recurrent},
            "gated-cell": {"cell": choice(*CELLS), "gates": anything},
        }
        optional: dict[str, dict[str, Reader]] = {
            "letter-matrices": selected,
            "householder": selected,
            "gated-cell": {"cap": read_rational},
        }
        kind, parts = self._of_kind(data, fields, where, optional)
        match kind:
            case "diagonal":
                return GatedMove(parts["gate"], parts["write"])
            case "attention":
                heads = tuple(parts["heads"])
                _check_kinds(heads, parts["hold"], parts["values"], where)
                return GatedMove(parts["hold"], parts["values"], heads)
            case "time-invariant":
                return AffineMove((_joined(parts["matrix"], parts["write"]),))
            case "elman":
                return AffineMove((parts["update"],), parts["activation"])
            case "gated-cell":
                return self._cell(parts, seen, width, where)
        return self._chosen(kind, parts, seen, width, where)

    def _of_kind(
        self,
        data: Json,
        fields: Mapping[str, Mapping[str, Reader]],
        where: str,
        optional: Mapping[str, Mapping[str, Reader]],
    ) -> tuple[str, dict[str, Any]]:
        """The kind of an object and its parts."""
        kind = data.get("kind") if isinstance(data, dict) else None
        choice(*fields)(kind, f"the kind of {where}")
        return str(kind), record({"kind": anything, **fields[str(kind)]}, optional.get(str(kind)))(
            data, where
        )

    def _chosen(
        self, kind: str, parts: Mapping[str, Any], seen: list[str], width: int, where: str
    ) -> AffineMove:
        """A move with one matrix and one write for each choice."""
        writes, factors, selector = parts["writes"], None, None
        count = len(writes) if "selector" in parts else self.num_letters
        match kind:
            case "letter-matrices":
                matrices = parts["matrices"]
            case "permutation-diagonal":
                pairs = zip(parts["images"], parts["diagonals"], strict=True)
                matrices = [_placed(image, diagonal) for image, diagonal in pairs]
            case _:
                factors = tuple(map(tuple, parts["factors"]))
                matrices = [factor_product(part, width, self.field.work) for part in factors]
        if not len(matrices) == len(writes) == count:
            raise Unreadable(f"{where} has {len(matrices)} matrices and {len(writes)} writes")
        if "selector" in parts:
            selector = self._map(seen, count)(parts["selector"], f"the selector of {where}")
        shifts = [[(v, ()) for v in write] for write in writes]
        maps = tuple(_joined(m, shift) for m, shift in zip(matrices, shifts, strict=True))
        return AffineMove(maps, chosen=True, selector=selector, factors=factors)

    def _cell(self, parts: Mapping[str, Any], seen: list[str], width: int, where: str) -> CellMove:
        cell, cap = parts["cell"], parts.get("cap", Fraction(1))
        num_gates, blocks = CELLS[cell]
        if width % blocks:
            raise Unreadable(f"{where} has {width} coordinates; {cell} needs a multiple of {blocks}")
        if not 0 < cap <= 1 or (cap < 1 and cell != "gru"):
            raise Unreadable(f"{where} has a cap that is not above 0 and at most 1; only gru has one below 1")
        each = width // blocks
        gate = self._map([*seen, *map(before, range(each))], each)
        gates = listing(gate, length=num_gates)(parts["gates"], f"the gates of {where}")
        return CellMove(cell, tuple(gates), cap)

    def _decoder(
        self, data: Json, stream: set[str]
    ) -> tuple[ScoreRows | PointTable | LogitRows, NextLetters]:
        where = "the decoder"
        outputs = self.num_letters + 1
        common: dict[str, Reader] = {"reads": names(MAX_WIDTH, distinct=False), "empty": self._answer}
        fields: dict[str, dict[str, Reader]] = {
            "scores": {"units": anything, "scores": anything, **common},
            "points": {
                "points": listing(anything, most=MAX_WIDTH),
                "answers": listing(self._answer),
                **common,
            },
            "logits": {
                "normaliser": choice("softmax", "sparsemax", "hardmax"),
                "rows": listing(anything, length=outputs),
                **common,
            },
        }
        kind, parts = self._of_kind(data, fields, where, {})
        reads = parts["reads"]
        _require_on(stream, reads, where)
        if kind == "scores":
            units = self._map(reads)(parts["units"], "the units of the decoder")
            scores = self._map([*reads, *map(unit, range(len(units)))], outputs)
            return ScoreRows(units, scores(parts["scores"], "the scores of the decoder")), parts["empty"]
        if kind == "points":
            points = listing(self._vector(len(reads)))(parts["points"], "the points of the decoder")
            if not points or len(points) != len(parts["answers"]):
                raise Unreadable("the decoder has no points, or not as many answers")
            return PointTable(reads, tuple(points), tuple(parts["answers"])), parts["empty"]
        rows = tuple(_weights(row, len(reads)) for row in parts["rows"])
        return LogitRows(reads, parts["normaliser"], rows), parts["empty"]

    def _answer(self, data: Json, what: str) -> NextLetters:
        return self.alphabet.answer(names(self.num_letters + 1)(data, what))

    def _map(self, inputs: Sequence[str], outputs: int | None = None) -> Reader:
        """A reader of affine maps of these inputs."""

        def read(data: Json, what: str) -> Rows:
            check_keys(data, ("inputs", "bias", "rows"), what)
            rows = listing(anything, length=outputs, most=MAX_WIDTH)(data["rows"], what)
            bias = listing(self.field.read, length=len(rows))(data["bias"], f"the bias of {what}")
            if data["inputs"] != len(inputs) or type(data["inputs"]) is not int:
                raise Unreadable(f"{what}: {quoted(data['inputs'])} inputs where {len(inputs)} belong")
            found = []
            for offset, row in zip(bias, rows, strict=True):
                terms = self._entries(row, len(inputs), what)
                columns = [column for column, _ in terms]
                if columns != sorted(columns) or any(coefficient == 0 for _, coefficient in terms):
                    raise Unreadable(f"{what} has columns that do not increase, or an entry that is zero")
                found.append((offset, tuple((inputs[j], c) for j, c in terms)))
            return tuple(found)

        return read

    def _matrix(self, width: int) -> Reader:
        return listing(lambda row, what: self._entries(row, width, what), length=width)

    def _entries(self, data: Json, width: int, what: str) -> tuple[tuple[int, Number], ...]:
        found: dict[int, Number] = {}
        for pair in listing(anything, most=width)(data, what):
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not int or pair[0] in found:
                raise Unreadable(f"{what} has an entry that is not [column, number], or a column twice")
            if not 0 <= pair[0] < width:
                raise Unreadable(f"{what} has the column {pair[0]}, which is not below {width}")
            found[pair[0]] = self.field.read(pair[1], what)
        self._count(len(found))
        return tuple(found.items())

    def _vector(self, length: int) -> Reader:
        given = listing(self.field.read, length=length)

        def read(data: Json, what: str) -> tuple[Number, ...]:
            self._count(length)
            return tuple(given(data, what))

        return read

    def _factor(self, width: int) -> Reader:
        """A reader of factors I - scale·v vᵀ, as (scale, v)."""
        parts = record({"beta": self.field.read, "vector": self._vector(width)})

        def read(data: Json, what: str) -> Factor:
            given = parts(data, what)
            square: Number = 0
            for entry in given["vector"]:
                square = square + entry * entry
            if square == 0:
                raise Unreadable(f"{what} has a factor whose vector has length zero")
            return plain(given["beta"] * self.field.inverse(square)), given["vector"]

        return read

    def _count(self, entries: int) -> None:
        self.entries += entries
        self.field.work.spend(entries)
        if self.entries > MAX_ENTRIES:
            raise Unreadable(f"the network has more than {MAX_ENTRIES:,} entries")


def _require_on(stream: set[str], reads: Sequence[str], where: str) -> None:
    missing = set(reads) - stream
    if missing:
        raise Unreadable(f"{where} reads {quoted(min(missing))}, which is not on the stream")


def _check_kinds(kinds: Sequence[str], holds: Rows, values: Rows, where: str) -> None:
    """Refuses heads that are not what their kinds say."""
    for kind, (bias, terms), (base, written) in zip(kinds, holds, values, strict=True):
        if kind in ("previous", "mean") and (terms or bias != (kind == "mean")):
            raise Unreadable(f"{where} has a {kind} head that holds where it may not")
        if kind == "once" and (bias + base != 1 or terms != tuple((name, -c) for name, c in written)):
            raise Unreadable(f"{where} has a once head that does not hold where its value is 0")


def _weights(data: Json, width: int) -> tuple[tuple[int, Weight], ...]:
    logarithms = listing(entries(read_rational, read_rational))
    pairs = listing(entries(whole(0, width - 1), logarithms), most=width)
    found = pairs(data, "a row of the decoder")
    if len({j for j, _ in found}) != len(found):
        raise Unreadable("the decoder has two weights for one direction")
    if any(ratio <= 0 for _, weight in found for _, ratio in weight):
        raise Unreadable("the decoder has the logarithm of a number that is not positive")
    return tuple((j, tuple(weight)) for j, weight in found)


def _placed(image: Sequence[int], diagonal: Sequence[Number]) -> Matrix:
    """The matrix whose column j has its only entry, diagonal[j], in row image[j]."""
    rows: list[list[tuple[int, Number]]] = [[] for _ in image]
    for j, (i, c) in enumerate(zip(image, diagonal, strict=True)):
        rows[i].append((j, c))
    return tuple(map(tuple, rows))


def factor_product(factors: Iterable[Factor], width: int, work: WorkCount) -> Matrix:
    """Returns the matrix of several factors, the first one applied first."""
    rows: list[dict[int, Number]] = [{i: 1} for i in range(width)]
    for scale, vector in factors:
        support = [(i, v) for i, v in enumerate(vector) if v != 0]
        mixed = combined(support, rows)
        for i, v in support:
            rows[i] = combined([(0, 1), (1, -scale * v)], [rows[i], mixed])
        work.spend(2 * len(support) * len(mixed))
    return tuple(tuple((j, plain(c)) for j, c in sorted(row.items())) for row in rows)


def _joined(matrix: Matrix, writes: Sequence[Row]) -> Rows:
    """The rows of a matrix and writes, as rows over names."""
    return tuple(
        (bias, (*terms, *((before(j), c) for j, c in row if c != 0)))
        for row, (bias, terms) in zip(matrix, writes, strict=True)
    )


def split_rows(rows: Rows) -> tuple[Matrix, Rows]:
    """Returns the matrix by which rows multiply the state before the letter, and the rest of the rows."""
    places = {before(i): i for i in range(len(rows))}
    matrix = tuple(tuple((places[name], c) for name, c in terms if name in places) for _, terms in rows)
    rest = tuple((bias, tuple(term for term in terms if term[0] not in places)) for bias, terms in rows)
    return matrix, rest


def move_maps(move: Move) -> tuple[Rows, ...]:
    """Returns the affine maps of a move: gates and writes, one for each choice, or one for each gate."""
    match move:
        case GatedMove(gates, writes):
            return gates, writes
        case AffineMove(maps):
            return maps
        case CellMove(_, cell_gates):
            return cell_gates


def all_numbers(network: CheckedNetwork) -> Iterator[Number]:
    """Yields every stored number."""
    for letter in network.embedding:
        yield from letter.values()
    decoder = network.decoder
    maps = [(*decoder.units, *decoder.rows)] if isinstance(decoder, ScoreRows) else []
    for layer in network.layers:
        yield from layer.start
        maps += [layer.units, layer.seen_units, tuple(row for _, row in layer.outputs)]
        maps += move_maps(layer.move)
        if isinstance(layer.move, AffineMove):
            maps.append(layer.move.selector or ())
            for scale, vector in (f for part in layer.move.factors or () for f in part):
                yield scale
                yield from vector
    for bias, terms in (row for rows in maps for row in rows):
        yield bias
        yield from (c for _, c in terms)
    if isinstance(decoder, PointTable):
        yield from (c for point in decoder.points for c in point)
    elif isinstance(decoder, LogitRows):
        yield from (c for row in decoder.rows for _, weight in row for pair in weight for c in pair)


def number_size(network: CheckedNetwork) -> int:
    """Returns how many machine words the largest stored number takes, at least 1."""
    return 1 + max(map(num_bits, all_numbers(network)), default=0) // 64
