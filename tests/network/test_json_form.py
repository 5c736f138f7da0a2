"""Networks on disk: files of the first release read, write and hash as they did when they were written."""

from __future__ import annotations

import pytest

from nerode.compiler.pipeline import compile_language
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.network import network_from_json, network_hash, network_to_json
from nerode.network.affine import Affine, StateNames
from nerode.network.cells import GatedCell, Squashed
from nerode.network.choices import ByChoice
from nerode.network.json_form import describe_network
from tests.compiler.agreement import build
from tests.compiler.requests import build_named


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
            with pytest.raises(InputError, match=f"not a network: '{part}' is missing"):
                network_from_json(network(less))


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="unknown recurrence 'mystery'"):
        network_from_json(network({"kind": "mystery"}))


FLIP_FLOP = """\
flip-flop for mamba
  layers        2, of width 3, 2
  parameters    {parameters} numbers that are not zero
  construction  flip-flop-predictor (Sarrof et al. 2024)
  route         layer 1 holds the instruction, layer 2 the written bit; only for prefixes of valid words

Layer 1, instruction: diagonal, width 3, shows the state before the letter
  h[w] ← [x=w]
  h[r] ← [x=r]
  h[i] ← [x=i]
  [after w] = h'[w]

Layer 2, bit: diagonal, width 2
  u1 = relu([x=0] + [after w] - 1)
  u2 = relu([x=1] + [after w] - 1)
  h[stored 0] ← (1 - u1 - u2)·h[stored 0] + u1
  h[stored 1] ← (1 - u1 - u2)·h[stored 1] + u2
  [stored 0] = h[stored 0]
  [stored 1] = h[stored 1]

Decoder: legal where the score is above 1/2 ($ is the end)
  at the start: w $
  u1 = relu([x=r] + [stored 0] - 1)
  u2 = relu([x=r] + [stored 1] - 1)
  w = [x=0] + [x=1]
  r = [x=0] + [x=1]
  i = [x=0] + [x=1]
  0 = [x=w] + [x=i] + u1
  1 = [x=w] + [x=i] + u2
  $ = [x=0] + [x=1]"""


def test_a_network_can_be_read():
    network = build_named("flip-flop-predictor", "flip-flop", "mamba")
    assert describe_network(network) == FLIP_FLOP.format(parameters=network.num_parameters)


def lines(name, target):
    return describe_network(compile_language(find_language(name), target)).splitlines()


def test_fixed_matrices_are_grids():
    text = describe_network(build_named("window", "last-but-3", "ssm"))
    assert "  h ← A h + write, A =" in text.splitlines()
    assert "    x-1=a      1      .      .      ." in text.splitlines()
    assert "  write x-0=a = [x=a]" in text.splitlines()


def test_an_embedding_that_is_not_one_hot_is_shown():
    found = lines("dyck-2-3", "gla")
    place = found.index("Embedding")
    assert found[place + 1 : place + 5] == [
        "  ( = [open]",
        "  ) = [close]",
        "  [ = [open] + [kind.0]",
        "  ] = [close] + [kind.0]",
    ]
    assert "  h[depth] ← h[depth] + [open] - [close]" in found


def test_fixed_diagonal_gates_are_written_coordinate_by_coordinate():
    found = describe_network(build_named("window-parts-time-invariant", "tomita-4", "s4d")).splitlines()
    assert "  h[dead] ← h[dead] + u1" in found


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("s3", "householder", "h ← product of I - β v vᵀ/(vᵀ v), the first factor first"),
        ("s3", "permutation-diagonal", "on (23): h[h2] → h[h3], h[h3] → h[h2]"),
        ("tomita-3", "dense", "on 0: h ← A h, A ="),
        ("z3", "diagonal-complex", "start: h = (1)"),
        ("aaaa-star", "s4d", "[re turn] = re h[turn]"),
    ],
)
def test_other_recurrences(name, target, expected):
    assert expected in [line.strip() for line in lines(name, target)]


def test_nearest_points_are_listed_with_their_answers():
    found = lines("parity", "diagonal-signed")
    place = found.index("Decoder: the answer of the nearest point")
    assert found[place + 2 :] == ["  reads [sign]", "  (1): 0 1 $", "  (-1): 0 1"]


def test_a_large_network_stays_short():
    text = describe_network(compile_language(find_language("dyck-8-10"), "gla"))
    assert len(text.splitlines()) < 200
    assert "… and " in text
    assert max(map(len, text.splitlines())) < 300


def written(recurrence, state, inputs):
    return recurrence.lines(
        StateNames(state=state, inputs=inputs, marked_inputs=[f"[{x}]" for x in inputs], letters=["a"])
    )


def test_an_elman_layer_reads_its_own_state():
    update = Affine(num_inputs=3, bias=(0, -1), rows=(((0, 1), (1, 1)), ((2, -2),)))
    assert written(Squashed(activation="clip", update=update), ["p", "q"], ["a"]) == [
        "h[p] = clip([a] + h'[p])",
        "h[q] = clip(-2·h'[q] - 1)",
    ]


def test_gates_of_a_cell_are_named():
    gate = Affine(num_inputs=2, bias=(3,), rows=(((1, -1),),))
    assert written(GatedCell(cell="gru", gates=(gate, gate, gate)), ["p"], ["a"])[1:] == [
        "reset p = 3 - h'[p]",
        "update p = 3 - h'[p]",
        "candidate p = 3 - h'[p]",
    ]


def test_a_shift_that_drops_is_described():
    recurrence = ByChoice.from_images(images=((1, 0),), diagonals=((1, 0),), writes=((1, 0),))
    assert written(recurrence, ["p", "q"], []) == ["on a: h[p] → h[q], h[q] dropped + (1, 0)"]


def test_the_start_of_a_register_is_shown():
    network = build("parity-sign", find_language("parity"), "diagonal-signed")
    assert "  start: h = (1)" in describe_network(network).splitlines()


@pytest.mark.parametrize(("key", "value"), [("functions", ["sign"]), ("quotients", True)])
def test_signs_powers_and_quotients_of_older_files_are_refused(key, value):
    data = network_to_json(compile_language(find_language("parity"), "diagonal-signed"))
    data["layers"][0][key] = value
    with pytest.raises(InputError, match="no longer"):
        network_from_json(data)
