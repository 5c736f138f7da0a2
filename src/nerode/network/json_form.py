"""A network as JSON, and as plain text. docs/reference/files.md has the layout of the JSON.

In the weights `[name]` is a direction of the stream, `h[name]` a coordinate of the state after the letter,
`h'[name]` the same before the letter, and u1, u2, … and v1, v2, … are the ReLU units before and after the
recurrence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from nerode.core import Exact, InputError, Reference, read_exact, simplify, write_exact
from nerode.languages import END, Alphabet, Legal
from nerode.network import attention, cells, choices, moves
from nerode.network.affine import Affine, Factor, Row, StateNames, shorten, write_map, write_row, write_vector
from nerode.network.moves import Kind, Recurrence
from nerode.network.record import (
    Decoder,
    Embedding,
    Layer,
    LogitDecoder,
    Network,
    Origin,
    PointDecoder,
    ScoreDecoder,
)

NETWORK_FORMAT = "nerode-network"
VERSION = 1

Json = Any


def network_to_json(network: Network) -> dict[str, Json]:
    """Returns the network as JSON-ready values."""
    return {
        "format": NETWORK_FORMAT,
        "version": VERSION,
        "alphabet": list(network.alphabet),
        "target": network.target,
        "embedding": {
            "directions": list(network.embedding.directions),
            "vectors": [_numbers(v) for v in network.embedding.vectors],
        },
        "layers": [_layer_to_json(layer) for layer in network.layers],
        "decoder": _decoder_to_json(network.decoder, network.alphabet),
        "origin": {
            "language": network.origin.language,
            "language_hash": network.origin.language_hash,
            "construction": network.origin.construction,
            "route": network.origin.route,
            "reference": {"key": network.origin.reference.key, "place": network.origin.reference.place},
            **({"weights": network.origin.weights} if network.origin.weights else {}),
        },
    }


def network_from_json(data: Json) -> Network:
    """Returns the network of JSON values.

    Raises:
        InputError: if the values do not have the form that `network_to_json` writes.
    """
    try:
        if data["format"] != NETWORK_FORMAT or data["version"] != VERSION:
            raise InputError(
                f"this is {data['format']!r} version {data['version']}, "
                f"not {NETWORK_FORMAT!r} version {VERSION}"
            )
        alphabet = Alphabet(tuple(data["alphabet"]))
        origin = data["origin"]
        return Network(
            alphabet=alphabet,
            target=data["target"],
            embedding=Embedding(
                directions=tuple(data["embedding"]["directions"]),
                vectors=tuple(_vector(v) for v in data["embedding"]["vectors"]),
            ),
            layers=tuple(_layer_from_json(layer) for layer in data["layers"]),
            decoder=_decoder_from_json(data["decoder"], alphabet),
            origin=Origin(
                language=origin["language"],
                language_hash=origin["language_hash"],
                construction=origin["construction"],
                route=origin["route"],
                reference=Reference(origin["reference"]["key"], origin["reference"]["place"]),
                weights=str(origin.get("weights", "")),
            ),
        )
    except KeyError as error:
        raise InputError(f"this is not a network: {error} is missing") from None
    except (TypeError, IndexError, AttributeError) as error:
        raise InputError(f"this is not a network: a part has another form ({error})") from None


def network_text(network: Network) -> str:
    """Returns the canonical text of a network, one line for each part."""
    data = network_to_json(network)
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def network_hash(network: Network) -> str:
    """Returns the SHA-256 of the canonical text."""
    return hashlib.sha256(network_text(network).encode()).hexdigest()


def _numbers(values: tuple[Exact, ...]) -> list[str | int]:
    return [_number(v) for v in values]


def _number(value: Exact) -> str | int:
    value = simplify(value)
    return value if isinstance(value, int) else write_exact(value)


def _vector(values: Json) -> tuple[Exact, ...]:
    return tuple(read_exact(v) for v in values)


def _row_to_json(row: Row) -> list[list[int | str]]:
    return [[j, _number(c)] for j, c in row]


def _row_from_json(row: Json) -> Row:
    return tuple((int(j), read_exact(c)) for j, c in row)


def _affine_to_json(affine: Affine) -> dict[str, Json]:
    return {
        "inputs": affine.num_inputs,
        "bias": _numbers(affine.bias),
        "rows": [_row_to_json(row) for row in affine.rows],
    }


def _affine_from_json(data: Json) -> Affine:
    return Affine(
        num_inputs=data["inputs"],
        bias=_vector(data["bias"]),
        rows=tuple(_row_from_json(row) for row in data["rows"]),
    )


def _layer_to_json(layer: Layer) -> dict[str, Json]:
    return {
        "name": layer.name,
        "reads": list(layer.reads),
        "state": list(layer.state),
        "start": _numbers(layer.start),
        "units": _affine_to_json(layer.units),
        "recurrence": _recurrence_to_json(layer.recurrence),
        "readout_units": _affine_to_json(layer.readout_units),
        "outputs": list(layer.outputs),
        "readout": _affine_to_json(layer.readout),
        "exposes_previous": layer.exposes_previous,
        "complex_state": layer.complex_state,
    }


def _layer_from_json(data: Json) -> Layer:
    if data.keys() & {"functions", "quotients"}:
        raise InputError(
            f"layer {data['name']} has signs, powers or quotients of states, which networks no longer have; "
            "compile the language again"
        )
    return Layer(
        name=data["name"],
        reads=tuple(data["reads"]),
        state=tuple(data["state"]),
        start=_vector(data["start"]),
        units=_affine_from_json(data["units"]),
        recurrence=_recurrence_from_json(data["recurrence"]),
        readout_units=_affine_from_json(data["readout_units"]),
        outputs=tuple(data["outputs"]),
        readout=_affine_from_json(data["readout"]),
        exposes_previous=data["exposes_previous"],
        complex_state=data["complex_state"],
    )


def _recurrence_to_json(recurrence: Recurrence) -> dict[str, Json]:
    return {"kind": recurrence.kind, **{name: _part(value) for name, value in recurrence.fields().items()}}


def _part(value: Json) -> Json:
    """A part of a recurrence: a map, a factor, a text, a number, or a sequence of such parts."""
    match value:
        case Affine():
            return _affine_to_json(value)
        case Factor():
            return {"beta": _number(value.beta), "vector": _numbers(value.vector)}
        case tuple():
            return [_part(v) for v in value]
        case str():
            return value
    return _number(value)


def _recurrence_from_json(data: Json) -> Recurrence:
    kind = data["kind"]
    if kind not in _KINDS:
        raise InputError(f"unknown recurrence {kind!r}")
    make, names, optional = _KINDS[kind]
    present = [*names, *(name for name in optional if name in data)]
    return make(**{name: _PARTS[name](data[name]) for name in present})


def _decoder_to_json(decoder: Decoder, alphabet: Alphabet) -> dict[str, Json]:
    data: dict[str, Json] = {
        "kind": decoder.kind,
        "reads": list(decoder.reads),
        "empty": decoder.empty.names(alphabet),
    }
    match decoder:
        case ScoreDecoder():
            data |= {"units": _affine_to_json(decoder.units), "scores": _affine_to_json(decoder.scores)}
        case PointDecoder():
            data |= {
                "points": [_numbers(p) for p in decoder.points],
                "answers": [answer.names(alphabet) for answer in decoder.answers],
            }
        case LogitDecoder():
            data |= {
                "normaliser": decoder.normaliser,
                "rows": [
                    [[j, [[str(scale), str(ratio)] for scale, ratio in weight]] for j, weight in row]
                    for row in decoder.rows
                ],
            }
    return data


def _decoder_from_json(data: Json, alphabet: Alphabet) -> Decoder:
    reads = tuple(data["reads"])
    empty = _legal(data["empty"], alphabet)
    match data["kind"]:
        case "scores":
            return ScoreDecoder(
                reads=reads,
                units=_affine_from_json(data["units"]),
                scores=_affine_from_json(data["scores"]),
                empty=empty,
            )
        case "points":
            return PointDecoder(
                reads=reads,
                points=tuple(_vector(p) for p in data["points"]),
                answers=tuple(_legal(names, alphabet) for names in data["answers"]),
                empty=empty,
            )
        case "logits":
            return LogitDecoder(
                reads=reads,
                normaliser=data["normaliser"],
                rows=tuple(
                    tuple(
                        (int(j), tuple((_fraction(s), _fraction(r)) for s, r in weight)) for j, weight in row
                    )
                    for row in data["rows"]
                ),
                empty=empty,
            )
        case other:
            raise InputError(f"unknown decoder {other!r}")


def _fraction(text: Json) -> Fraction:
    value = read_exact(text)
    if not isinstance(value, int | Fraction):
        raise InputError(f"{text!r} is not a rational number")
    return Fraction(value)


def _legal(names: Json, alphabet: Alphabet) -> Legal:
    return Legal(frozenset(alphabet.index(n) for n in names if n != END), END in names)


def _rows(data: Json) -> tuple[Row, ...]:
    return tuple(map(_row_from_json, data))


def _product(data: Json) -> tuple[Factor, ...]:
    return tuple(Factor(beta=read_exact(f["beta"]), vector=_vector(f["vector"])) for f in data)


def _each(read: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return lambda data: tuple(map(read, data))


_PARTS: dict[str, Callable[[Json], Json]] = {
    "gate": _affine_from_json,
    "heads": tuple,
    "hold": _affine_from_json,
    "values": _affine_from_json,
    "write": _affine_from_json,
    "matrix": _rows,
    "matrices": _each(_rows),
    "factors": _each(_product),
    "images": _each(_each(int)),
    "diagonals": _each(_vector),
    "writes": _each(_vector),
    "activation": lambda text: text,
    "update": _affine_from_json,
    "cell": lambda text: text,
    "gates": _each(_affine_from_json),
    "selector": _affine_from_json,
    "cap": read_exact,
}
"""How each part of a recurrence is read."""

_KINDS: dict[str, Kind] = {**moves.KINDS, **choices.KINDS, **cells.KINDS, **attention.KINDS}


_MOST_NAMES = 20
"""Names in one list."""


def describe_network(network: Network) -> str:
    """Returns layers, widths, parameters, the route and the weights, line by line."""
    widths = ", ".join(str(layer.width) for layer in network.layers) or "none"
    lines = [
        f"{network.origin.language} for {network.target}",
        f"  layers        {network.depth}, of width {widths}",
        f"  parameters    {network.num_parameters:,} numbers that are not zero",
        f"  construction  {network.origin.construction} ({network.origin.reference})",
        f"  route         {network.origin.route}",
    ]
    for headline, part in network_parts(network):
        lines += ["", headline, *_indent(part)]
    return "\n".join(lines)


def network_parts(network: Network) -> list[tuple[str, list[str]]]:
    """Returns the embedding (where it says something), the layers and the decoder: a headline, and lines."""
    parts = [] if _is_one_hot(network) else [("Embedding", _embedding(network))]
    for number, layer in enumerate(network.layers, start=1):
        parts.append((_headline(number, layer), _layer(layer, network.alphabet)))
    return [*parts, _decoder(network.decoder, network.alphabet)]


def _is_one_hot(network: Network) -> bool:
    return network.embedding.directions == tuple(f"x={symbol}" for symbol in network.alphabet)


def _embedding(network: Network) -> list[str]:
    names = _stream(network.embedding.directions)
    lines = []
    for symbol, vector in zip(network.alphabet, network.embedding.vectors, strict=True):
        row = tuple((j, value) for j, value in enumerate(vector) if value != 0)
        lines.append(f"{symbol} = {write_row(row, 0, names)}")
    return shorten(lines)


def _headline(number: int, layer: Layer) -> str:
    shown = ", shows the state before the letter" if layer.exposes_previous else ""
    size = f"width {layer.width}" + (" (complex)" if layer.complex_state else "")
    return f"Layer {number}, {layer.name}: {layer.recurrence.kind}, {size}{shown}"


def _layer(layer: Layer, alphabet: Alphabet) -> list[str]:
    reads = _stream(layer.reads)
    units = _numbered("u", layer.units.num_outputs)
    lines = [f"start: h = {write_vector(layer.start)}"] if any(v != 0 for v in layer.start) else []
    lines += write_map(layer.units, units, reads, around="relu")
    names = StateNames(
        state=layer.state,
        inputs=[*layer.reads, *units],
        marked_inputs=[*reads, *units],
        letters=alphabet.symbols,
    )
    lines += layer.recurrence.lines(names)
    inside = [*reads, *_state(layer)]
    readout_units = _numbered("v", layer.readout_units.num_outputs)
    lines += write_map(layer.readout_units, readout_units, inside, around="relu")
    return lines + write_map(layer.readout, _stream(layer.outputs), [*inside, *readout_units])


def _state(layer: Layer) -> list[str]:
    """The state as the readout sees it."""
    found = []
    for mark in ("", "'") if layer.exposes_previous else ("",):
        names = [f"h{mark}[{name}]" for name in layer.state]
        found += [f"re {n}" for n in names] + [f"im {n}" for n in names] if layer.complex_state else names
    return found


def _decoder(decoder: Decoder, alphabet: Alphabet) -> tuple[str, list[str]]:
    outputs = [*alphabet, END]
    reads = _stream(decoder.reads)
    first = f"at the start: {_listed(decoder.empty.names(alphabet))}"
    match decoder:
        case ScoreDecoder():
            units = _numbered("u", decoder.units.num_outputs)
            lines = write_map(decoder.units, units, reads, around="relu")
            lines += write_map(decoder.scores, outputs, [*reads, *units])
            title = f"Decoder: legal where the score is above 1/2 ({END} is the end)"
            return title, [first, *lines]
        case PointDecoder():
            lines = [f"reads {_listed(reads)}"]
            for point, answer in zip(decoder.points, decoder.answers, strict=True):
                lines.append(f"{write_vector(point)}: {_listed(answer.names(alphabet))}")
            return "Decoder: the answer of the nearest point", [first, *shorten(lines)]
        case LogitDecoder():
            size = f"{decoder.num_entries:,} weights from {len(reads):,} neurons to {len(outputs):,} outputs"
            return f"Decoder: {decoder.normaliser}, {size}", [first]


def _listed(names: Sequence[str]) -> str:
    shown = names if len(names) <= _MOST_NAMES else [*names[:_MOST_NAMES], f"… ({len(names)})"]
    return " ".join(shown) or "nothing"


def _stream(names: Sequence[str]) -> list[str]:
    return [f"[{name}]" for name in names]


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(1, count + 1)]


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
