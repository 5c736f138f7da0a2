"""The network of a language for a target, as the page draws it, and what is proved of it."""

from __future__ import annotations

import functools
import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from nerode.compiler import Options, compile_language
from nerode.core import Exact, NotCompilable, to_complex, to_mapping
from nerode.explorer.matrices import layer_matrices
from nerode.explorer.orders import LanguageText, NetworkOrder, read_language, request_budget
from nerode.languages import Alphabet
from nerode.network import (
    CELL_GATES,
    Layer,
    LogitDecoder,
    Network,
    PointDecoder,
    ScoreDecoder,
    describe_network,
)
from nerode.proofs import Certificate, Refutation, Unproved, write_folder
from nerode.study import prove_network, summarise
from nerode.verdict import find_architecture

_MOST_EMBEDDED = 10_000
"""Numbers of an embedding that are sent to the page."""


@functools.lru_cache(maxsize=8)
def make_network(language: LanguageText, target: str) -> Network:
    """Returns the network, or raises NotCompilable with all reasons."""
    options = Options(budget=request_budget())
    return compile_language(read_language(language), target, options)


def draw(order: NetworkOrder) -> dict[str, Any]:
    """Returns the network in parts, or the reasons why there is none under "refused"."""
    row = find_architecture(order.target)
    head = {"target": row.name, "title": row.title, "update": row.update}
    try:
        network = make_network(order.language, order.target)
    except NotCompilable as refusal:
        return {**head, "refused": list(refusal.reasons)}
    return {
        **head,
        "construction": network.origin.construction,
        "route": network.origin.route,
        "reference": str(network.origin.reference),
        "states": network.state_size,
        "parameters": network.num_parameters,
        "directions": list(network.embedding.directions),
        "embedding": _embedding(network),
        "layers": [_layer(layer, network.alphabet) for layer in network.layers],
        "decoder": _decoder(network),
        "text": describe_network(network),
    }


def prove(order: NetworkOrder) -> dict[str, Any]:
    """Returns what is proved of the network, in a few words each."""
    network = make_network(order.language, order.target)
    found = prove_network(network, read_language(order.language), request_budget())
    match found:
        case Certificate():
            return {"proved": True, "claims": summarise(found.claims)}
        case Refutation():
            return {"proved": False, "claims": [], "reason": f"wrong after {' '.join(found.word) or 'ε'}"}
        case Unproved():
            return {"proved": False, "claims": [], "reason": f"no proof found: {found.reason}"}


def pack(order: NetworkOrder) -> bytes:
    """Returns the folder that `nerode compile -o` writes, as a zip file."""
    network, language = make_network(order.language, order.target), read_language(order.language)
    found = prove_network(network, language, request_budget())
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="nerode-explore-") as place:
        folder = Path(place)
        write_folder(folder, network, language, found if isinstance(found, Certificate) else None)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"{network.target}/{path.name}")
    return packed.getvalue()


def _embedding(network: Network) -> list[list[float | list[float]]]:
    """The embedding vector of each letter; empty for a large vocabulary, whose vectors nobody reads."""
    vectors = network.embedding.vectors
    if len(vectors) * len(network.embedding.directions) > _MOST_EMBEDDED:
        return []
    return [[number_to_json(v) for v in vector] for vector in vectors]


def _layer(layer: Layer, alphabet: Alphabet) -> dict[str, Any]:
    parts = layer.recurrence.fields()
    cell = parts.get("cell", "")
    return {
        "name": layer.name,
        "kind": layer.recurrence.kind,
        "cell": cell,
        "activation": parts.get("activation", ""),
        "gates": list(CELL_GATES[cell]) if cell else [],
        "reads": list(layer.reads),
        "state": list(layer.state),
        "outputs": list(layer.outputs),
        "complex": layer.complex_state,
        "exposes_previous": layer.exposes_previous,
        "start": [number_to_json(v) for v in layer.start],
        "matrices": [to_mapping(matrix) for matrix in layer_matrices(layer, alphabet)],
    }


def _decoder(network: Network) -> dict[str, Any]:
    match network.decoder:
        case ScoreDecoder():
            what = "a letter is legal where its score is above 1/2"
        case PointDecoder():
            what = "the answer of the nearest point"
        case LogitDecoder():
            what = f"{network.decoder.normaliser} over the letters and the end"
    return {"kind": network.decoder.kind, "what": what, "reads": list(network.decoder.reads)}


def number_to_json(value: Exact) -> float | list[float]:
    """Returns a number as a float, or as its two parts if it is not real."""
    found = to_complex(value)
    return found.real if found.imag == 0 else [found.real, found.imag]
