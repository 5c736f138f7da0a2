"""Networks on disk: files of the first release read, write and hash as they did when they were written."""

from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.network import network_from_json, network_hash, network_to_json


def affine(inputs, bias, rows):
    return {"inputs": inputs, "bias": bias, "rows": rows}


WRITE = affine(2, [0, "1/2"], [[[0, 1]], []])
GATES = [affine(4, [k, 0], [[[0, k], [2, 1]], [[3, 5]]]) for k in (1, 2, 3)]

RECURRENCES = {
    "diagonal": {
        "kind": "diagonal",
        "gate": affine(2, [1, 0], [[[1, -1]], [[0, "-1/3"]]]),
        "write": WRITE,
    },
    "time-invariant": {
        "kind": "time-invariant",
        "matrix": [[[1, 1]], [[0, -1], [1, "1/2"]]],
        "write": WRITE,
    },
    "letter-matrices": {
        "kind": "letter-matrices",
        "matrices": [[[[1, 1]], [[0, 1]]], [[], [[0, 2], [1, "-2/5"]]]],
        "writes": [[0, 0], [1, "3/7"]],
    },
    "householder": {
        "kind": "householder",
        "factors": [[{"beta": 2, "vector": [1, -1]}], []],
        "writes": [[0, 0], [0, 1]],
    },
    "householder by a selector": {
        "kind": "householder",
        "factors": [[{"beta": 1, "vector": [0, 3]}, {"beta": 2, "vector": [1, "1/2"]}], [], []],
        "writes": [[0, 0], [0, 1], [0, 0]],
        "selector": affine(2, [0, 0, 1], [[[0, 1]], [], [[0, -1]]]),
    },
    "permutation-diagonal": {
        "kind": "permutation-diagonal",
        "images": [[1, 0], [0, 0]],
        "diagonals": [[1, -1], [1, 0]],
        "writes": [[0, 0], ["1/2", 0]],
    },
    "elman": {
        "kind": "elman",
        "activation": "clip",
        "update": affine(4, [0, 1], [[[0, 1], [2, -1]], [[3, 2]]]),
    },
    "lstm": {
        "kind": "gated-cell",
        "cell": "lstm",
        "gates": [affine(3, [k], [[[0, k], [2, 1]]]) for k in (1, 2, 3, 4)],
    },
    "gru": {"kind": "gated-cell", "cell": "gru", "gates": GATES},
    "capped gru": {"kind": "gated-cell", "cell": "gru", "gates": GATES, "cap": "3/4"},
}

HASHES = {
    "diagonal": "8f18985f21a0d63c1e3eb37f68d35b49990536247d2af779d55e7580f6188786",
    "time-invariant": "52cdfcb23bfc7890fdeba819b468062851c4d6cb36a0a045a2f1ab68fae99940",
    "letter-matrices": "f1180b739b9f8cc412a196723af9d544cdd23cff3e4372502f49057687d6b2f2",
    "householder": "4dc107f62a9e825d2dd3d09e5874c327bce19c58d180379c06f6ca8516d7afa7",
    "householder by a selector": "a61f3e302b638c853330578be27e0efce4b8e57be0e3a9f52c9e61471fa3082f",
    "permutation-diagonal": "30041d75f435b40fd40c9d425a4474bf14425db9d49333d4bdd65a85bdb17d1c",
    "elman": "bad9feffef6f443eb642b3a7ab953f22c9a139e1b56f431013c1649ba89349f6",
    "lstm": "332b483f5ec4dc9a57261ee8905dd1410fec5540e4363ee9ffab98b525645408",
    "gru": "b0fd2045b10c75570415463f88a8d8ac516fff97e14f0046b54351630ee2cf70",
    "capped gru": "c5bc26f33c59a4d15e6b49c0e96a9a4ed9c57a8048fabbeb4999362ce6794241",
}
"""Computed by the release that had one record for each kind."""


def network(recurrence):
    return {
        "format": "nerode-network",
        "version": 1,
        "alphabet": ["a", "b"],
        "target": "test",
        "embedding": {"directions": ["x=a", "x=b"], "vectors": [[1, 0], [0, 1]]},
        "layers": [
            {
                "name": "layer",
                "reads": ["x=a", "x=b"],
                "state": ["p", "q"],
                "start": [0, "1/2"],
                "units": affine(2, [], []),
                "recurrence": recurrence,
                "readout_units": affine(4, [-1], [[[0, 1], [2, 1]]]),
                "outputs": ["out"],
                "readout": affine(5, [0], [[[3, 1], [4, 2]]]),
                "exposes_previous": False,
                "complex_state": False,
            }
        ],
        "decoder": {
            "kind": "scores",
            "reads": ["out"],
            "empty": ["a"],
            "units": affine(1, [], []),
            "scores": affine(1, [0, 0, 1], [[[0, 1]], [], [[0, -1]]]),
        },
        "origin": {
            "language": "l",
            "language_hash": "h",
            "construction": "c",
            "route": "r",
            "reference": {"key": "Elman1990", "place": ""},
        },
    }


@pytest.mark.parametrize("name", RECURRENCES)
def test_old_files_keep_their_text_and_their_hash(name):
    data = network(RECURRENCES[name])
    found = network_from_json(data)
    assert network_to_json(found) == data
    assert network_hash(found) == HASHES[name]


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_missing_part_is_named(name):
    for part in RECURRENCES[name]:
        if part not in ("selector", "cap"):
            less = {key: value for key, value in RECURRENCES[name].items() if key != part}
            with pytest.raises(InputError, match=f"not a network: KeyError at '{part}'"):
                network_from_json(network(less))


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="unknown recurrence 'mystery'"):
        network_from_json(network({"kind": "mystery"}))
