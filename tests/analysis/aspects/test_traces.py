from __future__ import annotations

import pytest
import torch

from nerode.analysis.aspects.traces import attention_maps, gates, trace_word
from nerode.analysis.probes import ProbeWords
from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.models.lower import network_to_decoder
from tests.analysis.networks import model_of, random_probe, ssm_with, subject_of


def test_a_trace_has_the_states_of_each_letter():
    model, probe = ssm_with(torch.zeros(2, 2)), random_probe(count=2, length=5)
    found = trace_word(subject_of(model), probe, row=1)
    (strip,) = found.strips
    assert found.word == probe.spell(1)
    assert (strip.kind, strip.size) == ("state", 2)
    column = model.layers[0].B.detach()[:, probe.inputs[1]]
    assert torch.tensor(strip.rows) == pytest.approx(column.numpy(), abs=1e-6)


@pytest.mark.parametrize("name", ["lstm", "gru", "gru-reset-first"])
def test_gates_of_cells_explain_the_next_state(name):
    model = model_of(name).double()
    layer, x = model.layers[0], model.inputs_of(0, random_probe(count=2, length=6).inputs)
    found, states = gates(layer, x), layer.trace(x).states
    if name == "lstm":
        # With the forget gate and the written part taken from the equation, c comes out again.
        before = torch.cat([torch.zeros(2, 1, 4), states["c"][:, :-1]], dim=1)
        written = states["c"] - found["forget"] * before
        assert bool((written.abs() <= found["input"] + 1e-9).all())
        torch.testing.assert_close(states["h"], found["output"] * states["c"].tanh())
    else:
        # h lies between the update gate's share of the old state and the candidate, which is at most 1.
        before = torch.cat([torch.zeros(2, 1, 4), states["h"][:, :-1]], dim=1)
        written = states["h"] - found["update"] * before
        assert bool((written.abs() <= 1 - found["update"] + 1e-9).all())
        assert set(found) == {"reset", "update"}


def test_linear_layers_have_their_own_gates():
    probe = random_probe()
    model = model_of("mamba", states=2)
    x = model.inputs_of(0, probe.inputs)
    assert gates(model.layers[0], x)["gate"].shape == (6, 10, 8, 2)
    model = model_of("gated-deltanet")
    assert set(gates(model.layers[0], model.inputs_of(0, probe.inputs))) == {"beta", "decay"}
    model = model_of("elman-tanh")
    assert gates(model.layers[0], model.inputs_of(0, probe.inputs)) == {}


def test_a_module_without_states_is_refused():
    with pytest.raises(InputError, match="which Linear lacks"):
        trace_word(subject_of(torch.nn.Linear(1, 1)), random_probe())


@pytest.mark.parametrize("name", ["transformer", "transformer-nope", "transformer-alibi"])
def test_attention_weights_make_the_output(name):
    model = model_of(name, heads=2).double()
    layer, x = model.layers[0], model.inputs_of(0, random_probe().inputs)
    weights = layer.weights(x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(6, 2, 10, dtype=torch.float64))
    assert not weights.triu(1).any()
    output, after = layer(x)
    read = torch.einsum("bhts,bshd->bthd", weights, after["values"]).flatten(-2)
    torch.testing.assert_close(layer.write(read), output)


def test_maps_of_attention_that_looks_everywhere_alike():
    model = model_of("transformer-nope", heads=1)
    with torch.no_grad():
        model.layers[0].read.weight[:4].zero_()
    found = attention_maps(model, random_probe(length=4))
    assert found is not None
    (head,) = found.heads
    assert head.weights[3] == pytest.approx((0.25,) * 4)
    assert head.distance == pytest.approx((0 + 0.5 + 1 + 1.5) / 4)
    assert head.entropy == pytest.approx((0 + 1 + 1.584963 + 2) / 4, abs=1e-5)
    assert head.first == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert head.previous == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert attention_maps(model_of("gru"), random_probe()) is None


def test_the_head_of_a_register_looks_at_the_latest_write():
    """A decoder with weights that are known: write, hold, write, hold, hold; the mark stands before them."""
    language = find_language("012-star-02-star")
    model = network_to_decoder(compile_language(language, "transformer-alibi"), "transformer-alibi")
    word = torch.tensor([language.alphabet.encode("2012202")])
    probe = ProbeWords(inputs=word, symbols=tuple(language.alphabet))
    (head,) = attention_maps(model, probe).heads
    looks = [max(range(len(row)), key=row.__getitem__) for row in head.weights]
    assert attention_maps(model, probe).word == tuple("⊢2012202")
    assert looks == [0, 0, 2, 3, 3, 3, 6, 6]
    assert all(row[at] == 1 for row, at in zip(head.weights, looks, strict=True))
