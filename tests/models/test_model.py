"""Whole models: parts that are optional, inputs that are refused, states by name."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from nerode.conformance import CHECKS, ModelUnderTest
from nerode.core import InputError, UnknownName
from nerode.models.base import Surroundings
from nerode.models.config import ModelConfig
from nerode.models.model import build_model, finish_model, sine_positions, zero_model
from nerode.models.zoo import LayerConfig

TWO = (LayerConfig(name="elman-tanh"), LayerConfig(name="elman-relu"))
AROUND = [
    Surroundings(),
    Surroundings(norm="layer", residual=True, feed_forward="gelu", expansion=2),
    Surroundings(norm="rms", position="post", residual=True, feed_forward="swiglu", expansion=1.5),
    Surroundings(norm="rms", feed_forward="relu"),
    Surroundings(residual=True, feed_forward="geglu"),
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("around", AROUND, ids=lambda a: f"{a.norm}-{a.position}-{a.feed_forward}")
def test_models_with_letters(around, check):
    config = ModelConfig(
        layers=TWO, outputs=3, letters=5, width=8, surroundings=around, final_norm=around.norm
    )
    CHECKS[check](ModelUnderTest(build=lambda: build_model(config), letters=5, longest=64))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("head", ["linear", "relu", "none"])
def test_models_with_features_and_positions(head, check):
    config = ModelConfig(
        layers=TWO, outputs=6, features=3, width=6, positions="sine", head=head, head_width=4
    )
    CHECKS[check](ModelUnderTest(build=lambda: build_model(config), features=3, longest=64))


def test_without_a_width_letters_are_one_hot():
    model = build_model(ModelConfig(layers=TWO[:1], outputs=2, letters=3), seed=0)
    assert model.embedding is None
    letters = torch.tensor([[2, 0]])
    stream = torch.eye(3)[letters]
    h, _ = model.layers[0](stream)
    assert torch.equal(model(letters)[0], model.head(h))
    assert torch.equal(model.inputs_of(0, letters), stream)


def test_parameters_are_counted_by_hand():
    model = build_model(ModelConfig(layers=TWO[:1], outputs=2, letters=3, width=4))
    assert model.num_parameters == 3 * 4 + (4 * 4 + 4 + 4 * 4) + (4 * 2 + 2)
    assert model.state_size == 4


def test_a_seed_gives_the_same_weights_and_leaves_the_random_state():
    config = ModelConfig(layers=TWO, outputs=2, letters=3, width=4)
    torch.manual_seed(11)
    before = torch.random.get_rng_state()
    one, two, other = (build_model(config, seed=s) for s in (3, 3, 4))
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(one.layers[0].recurrent, two.layers[0].recurrent)
    assert not torch.equal(one.layers[0].recurrent, other.layers[0].recurrent)


def test_sine_positions_by_the_formula():
    found = sine_positions(torch.tensor([0, 1, 17]), 6)
    for row, place in enumerate((0, 1, 17)):
        for i in range(3):
            angle = place / 10_000 ** (2 * i / 6)
            assert found[row, 2 * i].item() == pytest.approx(math.sin(angle))
            assert found[row, 2 * i + 1].item() == pytest.approx(math.cos(angle))


def test_traces_name_the_layer():
    # In float64 two orders of a few dozen sums of numbers below 10 differ by less than 1e-12.
    model = build_model(ModelConfig(layers=TWO, outputs=2, letters=3, width=4), seed=0).double()
    letters = torch.randint(0, 3, (2, 5))
    trace = model.trace(letters)
    outputs, state = model(letters)
    assert torch.allclose(trace.outputs, outputs, rtol=0, atol=1e-12)
    assert {name: tuple(v.shape) for name, v in trace.states.items()} == {"0.h": (2, 5, 4), "1.h": (2, 5, 4)}
    assert torch.allclose(trace.states["1.h"][:, -1], state["1.h"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.zeros(2, 0, dtype=torch.int64), "not empty"),
        (torch.zeros(3, dtype=torch.int64), r"it reads \(batch, time\)"),
        (torch.zeros(2, 3), "whole numbers"),
        (torch.tensor([[0, 3]]), "the letter 3 is out of range; the model reads 0 to 2"),
        (torch.tensor([[0, -1]]), "the letter -1 is out of range"),
    ],
)
def test_letters_that_cannot_be_read(given, message):
    model = build_model(ModelConfig(layers=TWO, outputs=2, letters=3, width=4))
    with pytest.raises(InputError, match=message):
        model(given)


@pytest.mark.parametrize("width", [4, None])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.zeros(0, dtype=torch.int64), "not empty"),
        (torch.zeros(2, 1, dtype=torch.int64), r"it reads \(batch,\)"),
        (torch.zeros(2), "whole numbers"),
        (torch.tensor([0, 3]), "the letter 3 is out of range; the model reads 0 to 2"),
        (torch.tensor([0, -1]), "the letter -1 is out of range"),
    ],
)
def test_one_letter_that_cannot_be_read(width, given, message):
    model = build_model(ModelConfig(layers=TWO, outputs=2, letters=3, width=width))
    with pytest.raises(InputError, match=message):
        model.step(given, model.initial_state(2))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_letters_of_every_type_of_whole_numbers(dtype):
    model = build_model(ModelConfig(layers=TWO, outputs=2, letters=3, width=4), seed=0)
    letters = torch.tensor([[0, 2, 1]])
    assert torch.equal(model(letters.to(dtype))[0], model(letters)[0])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda state: state.pop("1.h"), r"'1\.h' of the state is missing"),
        (lambda state: state.update({"2.h": state["1.h"]}), r"'2\.h' of the state is not one of this model"),
        (lambda state: state.update({"1.h": state["1.h"][:1]}), r"'1\.h' .* batch of 1; 2 were given"),
    ],
)
def test_a_state_that_does_not_fit(spoil, message):
    model = build_model(ModelConfig(layers=TWO, outputs=2, letters=3, width=4))
    state = model.initial_state(2)
    spoil(state)
    letters = torch.tensor([[0, 1], [2, 0]])
    with pytest.raises(InputError, match=message):
        model(letters, state)
    with pytest.raises(InputError, match=message):
        model.step(letters[:, 0], state)


def test_features_that_cannot_be_read():
    model = build_model(ModelConfig(layers=TWO, outputs=2, features=3, width=4))
    with pytest.raises(InputError, match=r"it reads \(batch, 3\)"):
        model.step(torch.zeros(1, 4), model.initial_state(1))
    with pytest.raises(InputError, match=r"float64; .* torch\.float32"):
        model(torch.zeros(1, 2, 3).double())
    with pytest.raises(InputError, match=r"\(batch, time, 3\)"):
        model(torch.zeros(1, 2, 4))
    with pytest.raises(InputError, match="floating"):
        model(torch.zeros(1, 2, 3, dtype=torch.int64))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": ()}, "has no layers"),
        ({"letters": None}, "either the number of letters or"),
        ({"features": 3}, "either the number of letters or"),
        ({"outputs": 0}, "outputs is 0"),
        ({"head": "relu"}, "needs head_width"),
        ({"surroundings": (None,)}, "1 surroundings are given for 2 layers"),
    ],
)
def test_configs_that_make_no_sense(settings, message):
    good = {"layers": TWO, "outputs": 2, "letters": 3}
    with pytest.raises(InputError, match=message):
        ModelConfig(**{**good, **settings})


def test_parts_that_do_not_fit():
    with pytest.raises(InputError, match="residual path needs as many outputs"):
        build_model(
            ModelConfig(
                layers=(LayerConfig(name="elman-tanh", settings={"hidden": 7}),),
                outputs=2,
                letters=3,
                surroundings=Surroundings(residual=True),
            )
        )
    with pytest.raises(InputError, match="without a head the model gives 3 scores"):
        build_model(ModelConfig(layers=TWO, outputs=2, letters=3, head="none"))
    with pytest.raises(UnknownName, match="did you mean elman-tanh"):
        build_model(ModelConfig(layers=(LayerConfig(name="elman-tan"),), outputs=2, letters=3))
    with pytest.raises(UnknownName, match="did you mean hidden"):
        build_model(
            ModelConfig(layers=(LayerConfig(name="elman-tanh", settings={"hiden": 7}),), outputs=2, letters=3)
        )
    with pytest.raises(InputError, match="dropout is 1"):
        Surroundings(dropout=1.0)
    with pytest.raises(InputError, match="expansion"):
        Surroundings(expansion=0)


def test_weights_beyond_the_largest_number_of_a_type_are_refused():
    model = zero_model(ModelConfig(layers=(LayerConfig(name="lstm"),), letters=2, outputs=2, width=2))
    with torch.no_grad():
        model.embedding.weight[0, 0] = 70_000
    assert not any(p.requires_grad for p in finish_model(copy.deepcopy(model), torch.bfloat16).parameters())
    with pytest.raises(InputError, match=r"embedding\.weight is beyond the largest float16"):
        finish_model(model, torch.float16)
