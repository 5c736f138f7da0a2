"""Heads of attention in the record: their rules, their file, their text, one step in several numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.models.network_module.model import load_model
from nerode.network import (
    Affine,
    AttentionHeads,
    Interpreter,
    describe_network,
    network_from_json,
    network_hash,
    network_to_json,
)


def row(bias, *terms):
    return Affine(num_inputs=2, bias=(bias,), rows=(tuple(terms),))


@pytest.mark.parametrize(
    ("kind", "hold", "values", "message"),
    [
        ("newest", row(0), row(0), "unknown head"),
        ("previous", row(1), row(0), "hold 0 everywhere"),
        ("mean", row(1, (0, -1)), row(0), "hold 1 everywhere"),
        ("once", row(1), row(0, (0, 1)), "hold where its value is 0"),
        ("last", Affine(num_inputs=2, bias=(0, 0), rows=((), ())), row(0), "hold"),
    ],
)
def test_a_head_that_is_not_what_its_kind_says_is_refused(kind, hold, values, message):
    with pytest.raises(InputError, match=message):
        AttentionHeads(heads=(kind,), hold=hold, values=values).check(width=1, num_inputs=2)


@pytest.fixture(scope="module")
def network():
    return compile_language(find_language("flip-flop"), "transformer-hard")


def test_the_file_gives_the_network_back(network):
    again = network_from_json(network_to_json(network))
    assert again == network
    assert network_hash(again) == network_hash(network)
    assert again.attends


def test_the_text_says_what_heads_look_for(network):
    text = describe_network(network)
    assert "at the latest position without" in text
    assert "shown one position later" in text


def test_the_streaming_form_runs_in_exact_numbers_and_in_torch(network):
    word = network.alphabet.encode("w0i1r0w1i0i1r1r0w0")
    exact = [answer.legal.end for answer in Interpreter(network).run(word)[1:]]
    model = load_model(network)
    scores, _ = model(torch.tensor([list(word)]))
    assert model.legal(scores)[0, :, -1].tolist() == exact
    assert len(set(exact)) == 2


def test_heads_compare_by_value(network):
    layer = next(x for x in network.layers if "last" in x.recurrence.heads)
    assert replace(layer.recurrence, heads=layer.recurrence.heads) == layer.recurrence
