"""The checker's own strict reading of a network's JSON; nothing here is shared with the compiler."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from nerode.core import Exact, InputError, inverse, read_exact, simplify
from nerode.languages import END, Alphabet, Legal
from nerode.proofs.checker_records import (
    ByLetter,
    Cell,
    CheckedNetwork,
    Decoder,
    Fixed,
    Gated,
    Layer,
    Logits,
    Matrix,
    Moves,
    Points,
    Row,
    Scores,
    Squashed,
    Weight,
    before,
    now,
    seen_unit,
    unit,
)

Json = Any
FORMAT = "nerode-network"
VERSION = 1


def read_network(data: Json) -> CheckedNetwork:
    """Returns the network of JSON values.

    Raises:
        InputError: with the place of the first value that is missing, unknown or of the wrong size.
    """
    try:
        return _read_network(data)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"this is not a network: {type(error).__name__} at {error}") from None


def _read_network(data: Json) -> CheckedNetwork:
    _keys(
        data,
        {"format", "version", "alphabet", "target", "embedding", "layers", "decoder", "origin"},
        "the network",
    )
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise InputError(
            f"this is {data['format']!r} version {data['version']}, not {FORMAT!r} version {VERSION}"
        )
    alphabet = Alphabet(_names(data["alphabet"], "the alphabet"))
    _keys(data["embedding"], {"directions", "vectors"}, "the embedding")
    directions = _names(data["embedding"]["directions"], "the embedding")
    vectors = [_vector(v, len(directions), "an embedding vector") for v in data["embedding"]["vectors"]]
    if len(vectors) != len(alphabet):
        raise InputError(f"there are {len(vectors)} embedding vectors for {len(alphabet)} letters")
    stream = list(directions)
    layers = []
    for number, layer in enumerate(data["layers"], start=1):
        layers.append(_read_layer(layer, stream, len(alphabet), f"layer {number}"))
        stream.extend(name for name, _ in layers[-1].outputs)
        _distinct(stream, f"the stream after layer {number}")
    decoder, empty = _read_decoder(data["decoder"], frozenset(stream), alphabet)
    return CheckedNetwork(
        alphabet=alphabet,
        embedding=tuple(dict(zip(directions, v, strict=True)) for v in vectors),
        layers=tuple(layers),
        decoder=decoder,
        empty=empty,
    )


def _read_layer(data: Json, stream: list[str], num_letters: int, where: str) -> Layer:
    _keys(
        data,
        {"name", "reads", "state", "start", "units", "recurrence", "readout_units", "outputs", "readout"}
        | {"exposes_previous", "complex_state"},
        where,
    )
    reads = _names(data["reads"], where, distinct=False)
    missing = frozenset(reads).difference(stream)
    if missing:
        raise InputError(f"{where} reads {min(missing)!r}, which is not on the stream")
    state = _names(data["state"], where)
    width = len(state)
    flags = (data["exposes_previous"], data["complex_state"])
    if not all(isinstance(flag, bool) for flag in flags):
        raise InputError(f"{where} has flags {flags}; they are true or false")
    units = _map(data["units"], reads, where)
    seen = [*reads, *map(unit, range(len(units)))]
    parts = ("re", "im") if data["complex_state"] else ("",)
    inside = [*reads, *(now(i, part) for part in parts for i in range(width))]
    if data["exposes_previous"]:
        inside += [before(i, part) for part in parts for i in range(width)]
    seen_units = _map(data["readout_units"], inside, where)
    rows = _map(data["readout"], [*inside, *map(seen_unit, range(len(seen_units)))], where)
    outputs = _names(data["outputs"], where)
    if len(outputs) != len(rows):
        raise InputError(f"{where} has {len(outputs)} outputs but {len(rows)} rows for them")
    return Layer(
        name=str(data["name"]),
        reads=reads,
        state=state,
        start=_vector(data["start"], width, f"the start of {where}"),
        units=units,
        moves=_read_moves(data["recurrence"], seen, width, num_letters, where),
        seen_units=seen_units,
        outputs=tuple(zip(outputs, rows, strict=True)),
        complex_state=data["complex_state"],
        exposes_previous=data["exposes_previous"],
    )


def _read_moves(data: Json, seen: list[str], width: int, num_letters: int, where: str) -> Moves:
    kind = data["kind"]
    fields = {
        "diagonal": {"gate", "write"},
        "time-invariant": {"matrix", "write"},
        "letter-matrices": {"matrices", "writes"},
        "householder": {"factors", "writes"},
        "permutation-diagonal": {"images", "diagonals", "writes"},
        "elman": {"activation", "update"},
        "gated-cell": {"cell", "gates"},
    }
    if kind not in fields:
        raise InputError(
            f"{where} has the unknown recurrence {str(kind)[:40]!r}; known are {', '.join(fields)}"
        )
    chosen = {"householder": "selector", "gated-cell": "cap"}.get(kind)
    optional = {chosen} if chosen is not None and chosen in data else set[str]()
    _keys(data, fields[kind] | {"kind"} | optional, where)
    if kind == "diagonal":
        return Gated(_map(data["gate"], seen, where, width), _map(data["write"], seen, where, width))
    if kind == "time-invariant":
        return Fixed(_matrix(data["matrix"], width, where), _map(data["write"], seen, where, width))
    if kind == "elman":
        if data["activation"] not in ("tanh", "relu", "clip"):
            raise InputError(f"{where} has the unknown activation {str(data['activation'])[:40]!r}")
        rows = _map(data["update"], [*seen, *map(before, range(width))], where, width)
        return Squashed(data["activation"], rows)
    if kind == "gated-cell":
        return _read_cell(data, seen, width, where)
    shifts = tuple(_vector(w, width, f"a write of {where}") for w in data["writes"])
    factors = None
    if kind == "letter-matrices":
        matrices = [_matrix(m, width, where) for m in data["matrices"]]
    elif kind == "permutation-diagonal":
        matrices = _placed_diagonals(data["images"], data["diagonals"], width, where)
    else:
        factors = tuple(tuple(_factor(f, width, where) for f in letter) for letter in data["factors"])
        matrices = [_product(letter, width) for letter in factors]
    choices = len(matrices) if optional else num_letters
    if not len(matrices) == len(shifts) == choices:
        raise InputError(
            f"{where} has {len(matrices)} transitions and {len(shifts)} writes; {choices} of each are right"
        )
    selector = _map(data["selector"], seen, where, choices) if optional else None
    return ByLetter(tuple(matrices), shifts, factors, selector)


def _read_cell(data: Json, seen: list[str], width: int, where: str) -> Cell:
    shapes = {"lstm": (4, 2), "gru": (3, 1), "slstm": (4, 3)}
    if data["cell"] not in shapes:
        raise InputError(
            f"{where} has the unknown cell {str(data['cell'])[:40]!r}; known are {', '.join(shapes)}"
        )
    num_gates, blocks = shapes[data["cell"]]
    if len(data["gates"]) != num_gates or width % blocks:
        raise InputError(f"{where}: {data['cell']} has {num_gates} gates and {blocks} blocks of state")
    each = width // blocks
    inputs = [*seen, *map(before, range(each))]
    cap = _rational(data.get("cap", 1), where)
    if not 0 < cap <= 1 or (cap < 1 and data["cell"] != "gru"):
        raise InputError(f"{where} has the cap {cap}; only gru has one, above 0 and at most 1")
    return Cell(data["cell"], tuple(_map(gate, inputs, where, each) for gate in data["gates"]), cap)


def _placed_diagonals(images: Json, diagonals: Json, width: int, where: str) -> list[Matrix]:
    """Column j of a letter's matrix has its only entry in row images[j]."""
    if len(images) != len(diagonals):
        raise InputError(f"{where} has {len(images)} images but {len(diagonals)} diagonals")
    matrices = []
    for image, diagonal in zip(images, diagonals, strict=True):
        amounts = _vector(diagonal, width, f"a diagonal of {where}")
        if len(image) != width or not all(type(i) is int and 0 <= i < width for i in image):
            raise InputError(f"{where} has an image that is not {width} rows below {width}")
        rows: list[list[tuple[int, Exact]]] = [[] for _ in range(width)]
        for j, i in enumerate(image):
            if amounts[j] != 0:
                rows[i].append((j, amounts[j]))
        matrices.append(tuple(map(tuple, rows)))
    return matrices


def _factor(data: Json, width: int, where: str) -> tuple[Exact, tuple[Exact, ...]]:
    """A factor I - scale·v vᵀ as (scale, v)."""
    _keys(data, {"beta", "vector"}, f"a factor of {where}")
    vector = _vector(data["vector"], width, f"a factor of {where}")
    square: Exact = 0
    for entry in vector:
        square = square + entry * entry
    if square == 0:
        raise InputError(f"{where} has a factor whose vector has length zero")
    return simplify(read_exact(data["beta"]) * inverse(square)), vector


def _product(factors: Iterable[tuple[Exact, tuple[Exact, ...]]], width: int) -> Matrix:
    """The matrix of several factors, the first one applied first."""
    rows: list[dict[int, Exact]] = [{i: 1} for i in range(width)]
    for scale, vector in factors:
        support = [(i, v) for i, v in enumerate(vector) if v != 0]
        mixed: dict[int, Exact] = {}
        for i, v in support:
            for j, m in rows[i].items():
                mixed[j] = mixed.get(j, 0) + v * m
        for i, v in support:
            for j, m in mixed.items():
                rows[i][j] = rows[i].get(j, 0) - scale * v * m
    return tuple(tuple((j, simplify(m)) for j, m in sorted(row.items()) if m != 0) for row in rows)


def _read_decoder(data: Json, stream: frozenset[str], alphabet: Alphabet) -> tuple[Decoder, Legal]:
    where = "the decoder"
    fields = {
        "scores": {"units", "scores"},
        "points": {"points", "answers"},
        "logits": {"normaliser", "rows"},
    }
    kind = data["kind"]
    if kind not in fields:
        raise InputError(f"unknown decoder {str(kind)[:40]!r}; known are {', '.join(fields)}")
    _keys(data, fields[kind] | {"kind", "reads", "empty"}, where)
    reads = _names(data["reads"], where, distinct=False)
    missing = frozenset(reads) - stream
    if missing:
        raise InputError(f"{where} reads {min(missing)!r}, which is not on the stream")
    empty = _legal(data["empty"], alphabet)
    outputs = len(alphabet) + 1
    if kind == "scores":
        units = _map(data["units"], reads, where)
        rows = _map(data["scores"], [*reads, *map(unit, range(len(units)))], where, outputs)
        return Scores(units, rows), empty
    if kind == "points":
        points = tuple(_vector(p, len(reads), "a point of the decoder") for p in data["points"])
        answers = tuple(_legal(names, alphabet) for names in data["answers"])
        if not points or len(points) != len(answers):
            raise InputError(f"{where} has {len(points)} points and {len(answers)} answers")
        return Points(reads, points, answers), empty
    if data["normaliser"] not in ("softmax", "sparsemax", "hardmax") or len(data["rows"]) != outputs:
        raise InputError(f"{where} has no known normaliser, or not one row for each letter and {END}")
    weights = tuple(_weights(row, len(reads), where) for row in data["rows"])
    return Logits(reads, data["normaliser"], weights), empty


def _weights(row: Json, width: int, where: str) -> tuple[tuple[int, Weight], ...]:
    found = []
    for j, pairs in row:
        if type(j) is not int or not 0 <= j < width:
            raise InputError(f"{where} has a weight for direction {str(j)[:40]} of {width}")
        weight = tuple((_rational(scale, where), _rational(ratio, where)) for scale, ratio in pairs)
        if any(ratio <= 0 for _, ratio in weight):
            raise InputError(f"{where} has the logarithm of a number that is not positive")
        found.append((j, weight))
    if len({j for j, _ in found}) != len(found):
        raise InputError(f"{where} has two weights for one direction")
    return tuple(found)


def _rational(text: Json, where: str) -> Fraction:
    value = read_exact(text)
    if not isinstance(value, int | Fraction):
        raise InputError(f"{where} has the weight {str(text)[:40]}, not a rational number")
    return Fraction(value)


def _legal(names: Json, alphabet: Alphabet) -> Legal:
    if not isinstance(names, list) or len(set(names)) != len(names):
        raise InputError("an answer of the decoder is not a list of different symbols")
    return Legal(frozenset(alphabet.index(n) for n in names if n != END), END in names)


def _map(data: Json, inputs: Iterable[str], where: str, outputs: int | None = None) -> tuple[Row, ...]:
    names = list(inputs)
    _keys(data, {"inputs", "bias", "rows"}, f"a map of {where}")
    rows = data["rows"]
    if data["inputs"] != len(names) or len(data["bias"]) != len(rows) or outputs not in (None, len(rows)):
        wanted = "any number of" if outputs is None else str(outputs)
        raise InputError(
            f"a map of {where} has {data['inputs']} inputs, {len(rows)} rows and {len(data['bias'])} biases; "
            f"{len(names)} inputs and {wanted} rows are right"
        )
    found = []
    for bias, row in zip(data["bias"], rows, strict=True):
        entries = _entries(row, len(names), where)
        columns = [column for column, _ in entries]
        if columns != sorted(columns) or any(coefficient == 0 for _, coefficient in entries):
            raise InputError(f"a row of {where} has columns that do not increase, or an entry that is zero")
        found.append((read_exact(bias), tuple((names[j], c) for j, c in entries)))
    return tuple(found)


def _matrix(data: Json, width: int, where: str) -> Matrix:
    if not isinstance(data, list) or len(data) != width:
        raise InputError(f"a matrix of {where} does not have {width} rows")
    return tuple(_entries(row, width, where) for row in data)


def _entries(row: Json, width: int, where: str) -> tuple[tuple[int, Exact], ...]:
    found = {}
    for column, coefficient in row:
        if type(column) is not int or not 0 <= column < width or column in found:
            raise InputError(f"a row of {where} has a column twice or not below {width}")
        found[column] = read_exact(coefficient)
    return tuple(found.items())


def _vector(data: Json, length: int, what: str) -> tuple[Exact, ...]:
    if not isinstance(data, list) or len(data) != length:
        raise InputError(f"{what} does not have {length} entries")
    return tuple(map(read_exact, data))


def _names(data: Json, where: str, *, distinct: bool = True) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(n, str) and n.isprintable() for n in data):
        raise InputError(f"the names of {where} are not a list of printable texts")
    if distinct:
        _distinct(data, where)
    return tuple(data)


def _distinct(names: list[str], where: str) -> None:
    if len(set(names)) != len(names):
        raise InputError(f"two names of {where} are the same")


def _keys(data: Json, wanted: set[str], what: str) -> None:
    if not isinstance(data, dict) or data.keys() != wanted:
        found = sorted(map(str, data)) if isinstance(data, dict) else str(data)[:40]
        raise InputError(
            f"{what} has {str(found)[:200]} where the keys {', '.join(sorted(wanted))} are right"
        )
