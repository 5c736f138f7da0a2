"""A network as plain text: its size, why it looks like this, and its weights as far as they can be read.

In the weights `[name]` is a direction of the stream, `h[name]` a coordinate of the state after the letter,
`h'[name]` the same before the letter, and u1, u2, … and v1, v2, … are the ReLU units before and after the
recurrence.
"""

from __future__ import annotations

from collections.abc import Sequence

from nerode.languages import END, Alphabet
from nerode.network.decoders import Decoder, LogitDecoder, PointDecoder, ScoreDecoder
from nerode.network.record import Layer, Network
from nerode.network.writing import StateNames, shorten, write_map, write_row, write_vector

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
