"""Networks, languages and certificates as JSON values, for the tests of the kernel."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

from nerode import kernel
from nerode.compiler import compile_language
from nerode.languages import describe_language, resolve_language
from nerode.network import network_to_json

Json = Any


def plain(data: Json) -> Json:
    """The values as they come out of a file."""
    return json.loads(json.dumps(data))


@functools.cache
def _compiled(name: str, to: str) -> tuple[Json, Json]:
    language = resolve_language(name)
    return plain(network_to_json(compile_language(language, to))), plain(describe_language(language))


def compiled(name: str, to: str) -> tuple[Json, Json]:
    """A fresh copy of network and language."""
    return copy.deepcopy(_compiled(name, to))


def sealed(network: Json, language: Json, method: str, description: Json, **options: Any) -> Json:
    """The certificate of one proof, which has to succeed."""
    proof = kernel.prove(network, language, method, description, **options)
    assert proof.failure is None, proof.failure
    return plain(kernel.certificate_to_json(kernel.seal(network, language, [proof])))


def rebound(network: Json, language: Json, certificate: Json) -> Json:
    """The certificate with the hashes of other files, as somebody who forges one writes them."""
    return {
        **certificate,
        "network": kernel.content_hash(network),
        "language": kernel.content_hash(language["definition"]),
    }


def affine(inputs: int, rows: list[list[list[Json]]], bias: list[Json]) -> Json:
    """An affine map of a network."""
    return {"inputs": inputs, "rows": rows, "bias": bias}


def latch(write: Json = 6, keep: Json = 3) -> Json:
    """One tanh coordinate that `s` sets, `r` resets and `n` leaves: h = tanh(keep·h ± write)."""
    layer = {
        "name": "latch",
        "reads": ["set", "reset"],
        "state": ["h"],
        "start": [-1],
        "units": affine(2, [], []),
        "recurrence": {
            "kind": "elman",
            "activation": "tanh",
            "update": affine(3, [[[0, write], [1, f"-{write}"], [2, keep]]], [0]),
        },
        "readout_units": affine(3, [], []),
        "outputs": ["h"],
        "readout": affine(3, [[[2, 1]]], [0]),
        "exposes_previous": False,
        "complex_state": False,
    }
    decoder = {
        "kind": "scores",
        "reads": ["h"],
        "units": affine(1, [], []),
        "scores": affine(1, [[], [], [], [[0, 1]]], [1, 1, 1, "1/2"]),
        "empty": ["s", "r", "n"],
    }
    return {
        "format": "nerode-network",
        "version": 1,
        "alphabet": ["s", "r", "n"],
        "target": "elman-tanh",
        "embedding": {"directions": ["set", "reset"], "vectors": [[1, 0], [0, 1], [0, 0]]},
        "layers": [layer],
        "decoder": decoder,
        "origin": {},
    }


def clipped_latch() -> Json:
    """The same as h = clip(2·h ± 4 - 1/2), which intervals around 0 and 1 are closed under."""
    network = latch(4, 2)
    layer = network["layers"][0]
    layer["start"] = [0]
    layer["recurrence"]["activation"] = "clip"
    layer["recurrence"]["update"]["bias"] = ["-1/2"]
    network["decoder"]["scores"]["bias"][-1] = 0
    return network


LATCH_LANGUAGE = {
    "format": "nerode-language",
    "version": 1,
    "name": "latch",
    "convention": "words whose last s or r is s",
    "family": "regular",
    "parameters": {},
    "definition": {
        "form": "dfa",
        "alphabet": ["s", "r", "n"],
        "start": 0,
        "accepting": [1],
        "transitions": [[1, 0, 0], [1, 0, 1]],
    },
}

LATCH_BOXES = {
    "task": "predict",
    "noise": "1/100",
    "layers": [[[1, [["-11/10", "-9/10"], ["9/10", "11/10"]]]]],
}
LATCH_NODES = {
    "task": "predict",
    "noise": "1/100",
    "letters": 0,
    "boxes": [[[["-11/10", "-9/10"]]], [[["9/10", "11/10"]]]],
}
LATCH_INTERVALS = {"task": "predict", "intervals": {"1:h": [[0, "1/8"], ["7/8", 1]]}}
