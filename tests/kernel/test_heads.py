"""The kernel on heads of attention: networks that are proved, and planted errors that are refused."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from nerode import kernel
from nerode.compiler import compile_language
from nerode.kernel import Unreadable
from nerode.languages import describe_language
from nerode.languages.bestiary import find_language
from nerode.network import network_to_json
from nerode.proofs import certify


@pytest.fixture(scope="module")
def case():
    language = find_language("tomita-4")
    return network_to_json(compile_language(language, "transformer-hard")), describe_language(language)


def prove(network, language):
    return kernel.prove(network, language, "joint-closure", {"task": "predict"})


def layers_of(network, kind):
    return [x for x in network["layers"] if kind in x["recurrence"]["heads"]]


def test_a_cascade_of_heads_is_proved_in_exact_arithmetic_only(case):
    proof = prove(*case)
    assert proof.failure is None
    assert [(c.scope, c.dtype) for c in proof.claims] == [(kernel.EXACT, None)]


def test_an_inverted_hold_is_refused(case):
    network = copy.deepcopy(case[0])
    held = next(x for x in layers_of(network, "last") if any(x["recurrence"]["hold"]["rows"]))["recurrence"]
    hold = held["hold"]
    hold["bias"] = [1 - b for b in hold["bias"]]
    hold["rows"] = [[[j, -c] for j, c in row] for row in hold["rows"]]
    assert prove(network, case[1]).failure is not None


def test_a_head_that_half_holds_is_refused(case):
    network = copy.deepcopy(case[0])
    for layer in layers_of(network, "last"):
        hold = layer["recurrence"]["hold"]
        hold["bias"] = ["1/2"] * len(hold["bias"])
        hold["rows"] = [[] for _ in hold["rows"]]
    assert "neither 0 nor 1" in prove(network, case[1]).failure.what


def test_a_head_that_writes_where_it_holds_is_refused(case):
    network = copy.deepcopy(case[0])
    for layer in layers_of(network, "last"):
        part = layer["recurrence"]
        width = len(part["heads"])
        part["hold"] |= {"bias": [1] * width, "rows": [[] for _ in range(width)]}
        part["values"] |= {"bias": [1] * width, "rows": [[] for _ in range(width)]}
    assert "where it holds" in prove(network, case[1]).failure.what


@pytest.mark.parametrize(("kind", "bias"), [("mean", 0), ("previous", 1), ("newest", 0), (7, 0)])
def test_a_head_of_another_kind_is_not_read(case, kind, bias):
    network = copy.deepcopy(case[0])
    part = layers_of(network, "previous")[0]["recurrence"]
    part["heads"] = [kind] * len(part["heads"])
    part["hold"]["bias"] = [bias] * len(part["heads"])
    with pytest.raises(Unreadable, match="head"):
        prove(network, case[1])


def test_a_wrong_start_is_refused(case):
    network = copy.deepcopy(case[0])
    layer = layers_of(network, "last")[-1]
    layer["start"] = [1 - v for v in layer["start"]]
    assert prove(network, case[1]).failure is not None


def test_old_labels_that_are_new_ones_are_refused(case):
    """A previous head that passes on what was written at the letter itself."""
    network = copy.deepcopy(case[0])
    for layer in layers_of(network, "previous"):
        width, reads = len(layer["state"]), len(layer["reads"])
        layer["readout"]["rows"] = [
            [[j - width if j >= reads + width else j, c] for j, c in row] for row in layer["readout"]["rows"]
        ]
    assert prove(network, case[1]).failure is not None


@pytest.mark.parametrize("name", ["majority", "dyck-1", "shuffle-2"])
def test_heads_that_count_are_proved_in_exact_arithmetic(name):
    language = find_language(name)
    found = certify(compile_language(language, "transformer-nope"), language)
    assert [(c.scope, c.dtype) for c in found.claims] == [(kernel.EXACT, None)]


def test_a_counter_that_counts_otherwise_is_refused():
    language = find_language("dyck-1")
    network = compile_language(language, "transformer-nope")
    layer = network.layers[0]
    values = layer.recurrence.values
    doubled = replace(
        values, rows=tuple(tuple((j, 2 * c if c > 0 else c) for j, c in row) for row in values.rows)
    )
    wrong = replace(layer, recurrence=replace(layer.recurrence, values=doubled))
    found = certify(replace(network, layers=(wrong, *network.layers[1:])), language)
    assert not isinstance(found, kernel.Certificate)
