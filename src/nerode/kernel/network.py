"""The kernel's own reading of a network: seven kinds of recurrence in the file, five kinds of move here.

Every value of one position lives in a table from names to numbers: directions of the stream under their own
names, everything inside a layer under names that no direction can have (they begin with a control
character). An affine map is a tuple of rows, each a bias and coefficients by name.

What is verified: every object has exactly its keys; every number, name, list and index is within bounds; maps
have as many inputs and rows as their places need; and every name that is read is on the stream.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.kernel.languages import LetterNames, NextLetters, read_letters
from nerode.kernel.numbers import Field, Number, num_bits, read_rational
from nerode.kernel.reader import check_keys, quoted, read_list, read_names, read_whole
from nerode.kernel.work import Unreadable, WorkCount

Json = Any
FORMAT = "nerode-network"
VERSION = 1

MAX_LAYERS = 10_000
MAX_WIDTH = 1_000_000
MAX_ENTRIES = 50_000_000
"""Entries that all matrices together may have, zeros included where they are stored as products."""

Place = tuple[int, int]
"""A layer and a coordinate of its state, both counting from 0."""

Row = tuple[Number, tuple[tuple[str, Number], ...]]
"""A bias and the coefficients by name."""

Matrix = tuple[tuple[tuple[int, Number], ...], ...]
"""Rows of (column, entry)."""

Factor = tuple[Number, tuple[Number, ...]]
"""(scale, vector) of the matrix I - scale·v vᵀ."""


@dataclass(frozen=True, slots=True)
class GatedMove:
    """Each coordinate is multiplied by its gate, then its write is added."""

    gates: tuple[Row, ...]
    writes: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class FixedMove:
    """One matrix for all letters, then the writes are added."""

    matrix: Matrix
    writes: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A matrix and a shift for each choice; the choice is the letter, or the selector's one row that is 1.

    The factors of a matrix are kept where the file has them: floats see them one after the other.
    """

    matrices: tuple[Matrix, ...]
    shifts: tuple[tuple[Number, ...], ...]
    factors: tuple[tuple[Factor, ...], ...] | None
    selector: tuple[Row, ...] | None = None


@dataclass(frozen=True, slots=True)
class SquashedMove:
    """A nonlinear function ("relu", "clip", "tanh") of rows that also read the state before the letter."""

    activation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class CellMove:
    """An LSTM, GRU or sLSTM cell; the rows of each gate read h of the step before.

    The cap is the largest share of h that a GRU keeps.
    """

    cell: str
    gates: tuple[tuple[Row, ...], ...]
    cap: Fraction = Fraction(1)


Move = GatedMove | FixedMove | ChosenMove | SquashedMove | CellMove


@dataclass(frozen=True, slots=True)
class CheckedLayer:
    """One layer, with its rows by name."""

    reads: tuple[str, ...]
    state: tuple[str, ...]
    start: tuple[Number, ...]
    units: tuple[Row, ...]
    move: Move
    seen_units: tuple[Row, ...]
    outputs: tuple[tuple[str, Row], ...]
    complex_state: bool
    exposes_previous: bool


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """A letter is legal where its score is above 1/2; the last row is the end."""

    units: tuple[Row, ...]
    rows: tuple[Row, ...]


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
        field: the field of all numbers.
    """

    alphabet: LetterNames
    embedding: tuple[dict[str, Number], ...]
    layers: tuple[CheckedLayer, ...]
    decoder: ScoreRows | PointTable | LogitRows
    empty: NextLetters
    field: Field


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


def read_network(data: Json, work: WorkCount) -> CheckedNetwork:
    """Returns the network of JSON values.

    Raises:
        Unreadable: with the first thing that is missing, unknown, too large or of the wrong size.
    """
    keys = ("format", "version", "alphabet", "target", "embedding", "layers", "decoder", "origin")
    check_keys(data, keys, "a network")
    if data["format"] != FORMAT or data["version"] != VERSION or type(data["version"]) is not int:
        raise Unreadable(
            f"this is {quoted(data['format'])} version {quoted(data['version'])}, "
            f"not {FORMAT!r} version {VERSION}"
        )
    texts = _texts([data["embedding"], data["layers"], data["decoder"]])
    return _NetworkReader(Field.around(texts, work), read_letters(data["alphabet"])).read(data)


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

    def __init__(self, field: Field, alphabet: LetterNames) -> None:
        self.field = field
        self.alphabet = alphabet
        self.entries = 0

    def read(self, data: Json) -> CheckedNetwork:
        check_keys(data["embedding"], ("directions", "vectors"), "the embedding")
        directions = read_names(data["embedding"]["directions"], "the embedding's directions", most=MAX_WIDTH)
        vectors = read_list(data["embedding"]["vectors"], "the embedding", length=len(self.alphabet.symbols))
        self._count(len(vectors) * len(directions))
        embedding = tuple(
            dict(zip(directions, self._vector(v, len(directions), "an embedding vector"), strict=True))
            for v in vectors
        )
        stream = set(directions)
        layers = []
        for number, part in enumerate(read_list(data["layers"], "the layers", most=MAX_LAYERS), start=1):
            layer = self._layer(part, stream, f"layer {number}")
            for name, _ in layer.outputs:
                if name in stream:
                    raise Unreadable(
                        f"layer {number} puts out {quoted(name)}, which is on the stream already"
                    )
                stream.add(name)
            layers.append(layer)
        decoder, empty = self._decoder(data["decoder"], stream)
        return CheckedNetwork(self.alphabet, embedding, tuple(layers), decoder, empty, self.field)

    def _layer(self, data: Json, stream: set[str], where: str) -> CheckedLayer:
        keys = ("name", "reads", "state", "start", "units", "recurrence", "readout_units", "outputs")
        check_keys(data, (*keys, "readout", "exposes_previous", "complex_state"), where)
        reads = self._reads(data["reads"], stream, where)
        state = read_names(data["state"], f"the state of {where}", most=MAX_WIDTH)
        is_complex, shows_old = data["complex_state"], data["exposes_previous"]
        if type(is_complex) is not bool or type(shows_old) is not bool:
            raise Unreadable(f"complex_state and exposes_previous of {where} must be true or false")
        width = len(state)
        units = self._map(data["units"], reads, where)
        seen = [*reads, *map(unit, range(len(units)))]
        parts = ("re", "im") if is_complex else ("",)
        inside = [*reads, *(now(i, part) for part in parts for i in range(width))]
        if shows_old:
            inside += [before(i, part) for part in parts for i in range(width)]
        seen_units = self._map(data["readout_units"], inside, where)
        outputs = read_names(data["outputs"], f"the outputs of {where}", most=MAX_WIDTH)
        readout = [*inside, *map(seen_unit, range(len(seen_units)))]
        rows = self._map(data["readout"], readout, where, len(outputs))
        return CheckedLayer(
            reads=reads,
            state=state,
            start=self._vector(data["start"], width, f"the start of {where}"),
            units=units,
            move=self._move(data["recurrence"], seen, width, where),
            seen_units=seen_units,
            outputs=tuple(zip(outputs, rows, strict=True)),
            complex_state=is_complex,
            exposes_previous=shows_old,
        )

    def _move(self, data: Json, seen: list[str], width: int, where: str) -> Move:
        kind = data.get("kind") if isinstance(data, dict) else None
        fields = {
            "diagonal": ("gate", "write"),
            "time-invariant": ("matrix", "write"),
            "letter-matrices": ("matrices", "writes"),
            "householder": ("factors", "writes"),
            "permutation-diagonal": ("images", "diagonals", "writes"),
            "elman": ("activation", "update"),
            "gated-cell": ("cell", "gates"),
        }
        if not isinstance(kind, str) or kind not in fields:
            raise Unreadable(
                f"{where} has the unknown recurrence {quoted(kind)}; known are {', '.join(fields)}"
            )
        optional = {"householder": ("selector",), "gated-cell": ("cap",)}.get(kind, ())
        check_keys(data, ("kind", *fields[kind]), f"the recurrence of {where}", optional)
        match kind:
            case "diagonal":
                gates, writes = (self._map(data[key], seen, where, width) for key in ("gate", "write"))
                return GatedMove(gates, writes)
            case "time-invariant":
                writes = self._map(data["write"], seen, where, width)
                return FixedMove(self._matrix(data["matrix"], width, where), writes)
            case "elman":
                if data["activation"] not in ("tanh", "relu", "clip"):
                    raise Unreadable(f"{where} has the unknown activation {quoted(data['activation'])}")
                rows = self._map(data["update"], [*seen, *map(before, range(width))], where, width)
                return SquashedMove(data["activation"], rows)
            case "gated-cell":
                return self._cell(data, seen, width, where)
        return self._chosen(data, seen, width, where)

    def _chosen(self, data: Json, seen: list[str], width: int, where: str) -> ChosenMove:
        has_selector = "selector" in data
        writes = read_list(data["writes"], f"the writes of {where}")
        count = len(writes) if has_selector else len(self.alphabet.symbols)
        read_list(writes, f"the writes of {where}", length=count)
        self._count(count * width)
        factors = None
        match data["kind"]:
            case "letter-matrices":
                given = read_list(data["matrices"], f"the matrices of {where}", length=count)
                matrices = [self._matrix(m, width, where) for m in given]
            case "permutation-diagonal":
                images = read_list(data["images"], f"the images of {where}", length=count)
                diagonals = read_list(data["diagonals"], f"the diagonals of {where}", length=count)
                pairs = zip(images, diagonals, strict=True)
                matrices = [self._placed(image, diagonal, width, where) for image, diagonal in pairs]
            case _:
                given = read_list(data["factors"], f"the factors of {where}", length=count)
                factors = tuple(
                    tuple(self._factor(f, width, where) for f in read_list(part, f"the factors of {where}"))
                    for part in given
                )
                matrices = [self._product(part, width) for part in factors]
        return ChosenMove(
            matrices=tuple(matrices),
            shifts=tuple(self._vector(w, width, f"a write of {where}") for w in writes),
            factors=factors,
            selector=self._map(data["selector"], seen, where, count) if has_selector else None,
        )

    def _cell(self, data: Json, seen: list[str], width: int, where: str) -> CellMove:
        shapes = {"lstm": (4, 2), "gru": (3, 1), "slstm": (4, 3)}
        cell = data["cell"]
        if not isinstance(cell, str) or cell not in shapes:
            raise Unreadable(f"{where} has the unknown cell {quoted(cell)}; known are {', '.join(shapes)}")
        num_gates, blocks = shapes[cell]
        gates = read_list(data["gates"], f"the gates of {where}", length=num_gates)
        if width % blocks:
            raise Unreadable(f"{where} has {width} coordinates; {cell} needs a multiple of {blocks}")
        each = width // blocks
        inputs = [*seen, *map(before, range(each))]
        cap = read_rational(data.get("cap", 1), f"the cap of {where}")
        if not 0 < cap <= 1 or (cap < 1 and cell != "gru"):
            raise Unreadable(f"{where} has a cap that is not above 0 and at most 1; only gru has one below 1")
        return CellMove(cell, tuple(self._map(gate, inputs, where, each) for gate in gates), cap)

    def _placed(self, image: Json, diagonal: Json, width: int, where: str) -> Matrix:
        """The matrix whose column j has its only entry, diagonal[j], in row image[j]."""
        amounts = self._vector(diagonal, width, f"a diagonal of {where}")
        rows: list[list[tuple[int, Number]]] = [[] for _ in range(width)]
        for j, i in enumerate(read_list(image, f"an image of {where}", length=width)):
            row = rows[read_whole(i, f"an image of {where}", 0, width - 1)]
            if amounts[j] != 0:
                row.append((j, amounts[j]))
        return tuple(map(tuple, rows))

    def _factor(self, data: Json, width: int, where: str) -> Factor:
        """A factor I - scale·v vᵀ as (scale, v)."""
        check_keys(data, ("beta", "vector"), f"a factor of {where}")
        self._count(width)
        vector = self._vector(data["vector"], width, f"a factor of {where}")
        square: Number = 0
        for entry in vector:
            square = square + entry * entry
        if square == 0:
            raise Unreadable(f"{where} has a factor whose vector has length zero")
        return _plain(self.field.read(data["beta"]) * self.field.inverse(square)), vector

    def _product(self, factors: Iterable[Factor], width: int) -> Matrix:
        """The matrix of several factors, the first one applied first."""
        rows: list[dict[int, Number]] = [{i: 1} for i in range(width)]
        for scale, vector in factors:
            support = [(i, v) for i, v in enumerate(vector) if v != 0]
            mixed: dict[int, Number] = {}
            for i, v in support:
                for j, m in rows[i].items():
                    mixed[j] = mixed.get(j, 0) + v * m
            for i, v in support:
                amount = scale * v
                for j, m in mixed.items():
                    rows[i][j] = rows[i].get(j, 0) - amount * m
            self.field.work.spend(2 * len(support) * len(mixed))
        return tuple(tuple((j, _plain(m)) for j, m in sorted(row.items()) if m != 0) for row in rows)

    def _decoder(
        self, data: Json, stream: set[str]
    ) -> tuple[ScoreRows | PointTable | LogitRows, NextLetters]:
        where = "the decoder"
        kind = data.get("kind") if isinstance(data, dict) else None
        fields = {
            "scores": ("units", "scores"),
            "points": ("points", "answers"),
            "logits": ("normaliser", "rows"),
        }
        if not isinstance(kind, str) or kind not in fields:
            raise Unreadable(f"unknown decoder {quoted(kind)}; known are {', '.join(fields)}")
        check_keys(data, (*fields[kind], "kind", "reads", "empty"), where)
        reads = self._reads(data["reads"], stream, where)
        empty = self._answer(data["empty"])
        outputs = len(self.alphabet.symbols) + 1
        if kind == "scores":
            units = self._map(data["units"], reads, where)
            rows = self._map(data["scores"], [*reads, *map(unit, range(len(units)))], where, outputs)
            return ScoreRows(units, rows), empty
        if kind == "points":
            given = read_list(data["points"], "the points of the decoder", most=MAX_WIDTH)
            answers = read_list(data["answers"], "the answers of the decoder", length=len(given))
            self._count(len(given) * len(reads))
            points = tuple(self._vector(p, len(reads), "a point of the decoder") for p in given)
            if not points:
                raise Unreadable("the decoder has no points")
            return PointTable(reads, points, tuple(map(self._answer, answers))), empty
        if data["normaliser"] not in ("softmax", "sparsemax", "hardmax"):
            raise Unreadable(f"the decoder has the unknown normaliser {quoted(data['normaliser'])}")
        given = read_list(data["rows"], "the rows of the decoder", length=outputs)
        return LogitRows(reads, data["normaliser"], tuple(_weights(row, len(reads)) for row in given)), empty

    def _answer(self, data: Json) -> NextLetters:
        names = read_names(data, "an answer of the decoder", most=len(self.alphabet.symbols) + 1)
        return self.alphabet.answer(names)

    def _reads(self, data: Json, stream: set[str], where: str) -> tuple[str, ...]:
        reads = read_names(data, f"what {where} reads", most=MAX_WIDTH, distinct=False)
        missing = set(reads) - stream
        if missing:
            raise Unreadable(f"{where} reads {quoted(min(missing))}, which is not on the stream")
        return reads

    def _map(
        self, data: Json, names: Sequence[str], where: str, outputs: int | None = None
    ) -> tuple[Row, ...]:
        check_keys(data, ("inputs", "bias", "rows"), f"a map of {where}")
        rows = read_list(data["rows"], f"a map of {where}", length=outputs, most=MAX_WIDTH)
        bias = read_list(data["bias"], f"the bias of a map of {where}", length=len(rows))
        if data["inputs"] != len(names) or type(data["inputs"]) is not int:
            raise Unreadable(
                f"a map of {where} has {quoted(data['inputs'])} inputs where {len(names)} belong"
            )
        found = []
        for offset, row in zip(bias, rows, strict=True):
            entries = self._entries(row, len(names), where)
            columns = [column for column, _ in entries]
            if columns != sorted(columns) or any(coefficient == 0 for _, coefficient in entries):
                raise Unreadable(
                    f"a row of {where} has columns that do not increase, or an entry that is zero"
                )
            found.append((self.field.read(offset), tuple((names[j], c) for j, c in entries)))
        return tuple(found)

    def _matrix(self, data: Json, width: int, where: str) -> Matrix:
        rows = read_list(data, f"a matrix of {where}", length=width)
        return tuple(self._entries(row, width, where) for row in rows)

    def _entries(self, data: Json, width: int, where: str) -> tuple[tuple[int, Number], ...]:
        found: dict[int, Number] = {}
        for pair in read_list(data, f"a row of {where}", most=width):
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not int or pair[0] in found:
                raise Unreadable(
                    f"a row of {where} has an entry that is not [column, number], or a column twice"
                )
            if not 0 <= pair[0] < width:
                raise Unreadable(f"a row of {where} has the column {pair[0]}, which is not below {width}")
            found[pair[0]] = self.field.read(pair[1])
        self._count(len(found))
        return tuple(found.items())

    def _vector(self, data: Json, length: int, what: str) -> tuple[Number, ...]:
        return tuple([self.field.read(v, what) for v in read_list(data, what, length=length)])

    def _count(self, entries: int) -> None:
        self.entries += entries
        self.field.work.spend(entries)
        if self.entries > MAX_ENTRIES:
            raise Unreadable(f"the network has more than {MAX_ENTRIES:,} entries")


def _weights(data: Json, width: int) -> tuple[tuple[int, Weight], ...]:
    what = "a weight of the decoder"
    found: dict[int, Weight] = {}
    for entry in read_list(data, "a row of the decoder", most=width):
        j, pairs = read_list(entry, what, length=2)
        if read_whole(j, "a direction of the decoder", 0, width - 1) in found:
            raise Unreadable("the decoder has two weights for one direction")
        weight = []
        for pair in read_list(pairs, what):
            scale, ratio = (read_rational(v, what) for v in read_list(pair, what, length=2))
            if ratio <= 0:
                raise Unreadable("the decoder has the logarithm of a number that is not positive")
            weight.append((scale, ratio))
        found[j] = tuple(weight)
    return tuple(found.items())


def _plain(value: Number) -> Number:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def read_place(name: str, network: CheckedNetwork) -> Place:
    """Returns the coordinate that is written "layer:name".

    Raises:
        Unreadable: if there is none.
    """
    number, _, coordinate = str(name).partition(":")
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        raise Unreadable(f"the coordinate {quoted(name)} is not written layer:name")
    layer = int(number) - 1
    if not 0 <= layer < len(network.layers) or coordinate not in network.layers[layer].state:
        raise Unreadable(f"there is no coordinate {quoted(name)}")
    return layer, network.layers[layer].state.index(coordinate)


def all_rows(network: CheckedNetwork) -> Iterator[Row]:
    """Yields every row of every affine map."""
    for layer in network.layers:
        yield from layer.units
        yield from layer.seen_units
        yield from (row for _, row in layer.outputs)
        match layer.move:
            case GatedMove(gates, writes):
                yield from (*gates, *writes)
            case FixedMove(_, writes):
                yield from writes
            case ChosenMove(selector=selector):
                yield from selector or ()
            case SquashedMove(_, rows):
                yield from rows
            case CellMove(_, cell_gates):
                yield from (row for gate in cell_gates for row in gate)
    if isinstance(network.decoder, ScoreRows):
        yield from (*network.decoder.units, *network.decoder.rows)


def all_numbers(network: CheckedNetwork) -> Iterator[Number]:
    """Yields every stored number."""
    for letter in network.embedding:
        yield from letter.values()
    for bias, terms in all_rows(network):
        yield bias
        yield from (c for _, c in terms)
    for layer in network.layers:
        yield from layer.start
        match layer.move:
            case FixedMove(matrix):
                yield from (c for row in matrix for _, c in row)
            case ChosenMove() as move:
                yield from (c for matrix in move.matrices for row in matrix for _, c in row)
                yield from (c for shift in move.shifts for c in shift)
                for scale, vector in (f for choice in move.factors or () for f in choice):
                    yield scale
                    yield from vector
    if isinstance(network.decoder, PointTable):
        yield from (c for point in network.decoder.points for c in point)
    elif isinstance(network.decoder, LogitRows):
        yield from (c for row in network.decoder.rows for _, weight in row for pair in weight for c in pair)


def number_size(network: CheckedNetwork) -> int:
    """Returns how many machine words the largest stored number takes, at least 1."""
    return 1 + max(map(num_bits, all_numbers(network)), default=0) // 64
