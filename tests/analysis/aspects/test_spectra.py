from __future__ import annotations

import math

import pytest
import torch

from nerode.analysis.aspects.spectra import (
    derivative_maps,
    layer_spectrum,
    linear_maps,
    nilpotency,
    spectra,
    step_maps,
)
from nerode.models import all_kinds
from nerode.records import analysis_json
from tests.analysis.networks import model_of, random_probe, ssm_with


def test_one_matrix_has_the_eigenvalues_and_norms_of_its_powers():
    angle = 0.3
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = torch.block_diag(1.1 * turn, torch.tensor([[0.5]]))
    found = layer_spectrum(ssm_with(matrix), 0, random_probe())
    assert found is not None
    assert found.source == "one matrix"
    assert found.linear
    (spectrum,) = found.spectra
    assert (spectrum.counted, spectrum.outside, spectrum.on) == (3, 2, 0)
    assert spectrum.radius == pytest.approx(1.1, rel=1e-6)
    assert sorted(round(b, 4) for _, b in spectrum.eigenvalues) == sorted(
        [round(1.1 * math.sin(angle), 4), -round(1.1 * math.sin(angle), 4), 0.0]
    )
    assert [p.largest for p in found.products[:3]] == pytest.approx([1.1, 1.1**2, 1.1**3], rel=1e-5)
    assert found.rate == spectrum.radius
    assert found.nilpotent is None


def test_a_shift_is_nilpotent_though_its_norm_is_one():
    shift = torch.diag(torch.ones(3), diagonal=-1)
    found = layer_spectrum(ssm_with(shift), 0, random_probe())
    assert found is not None
    assert found.nilpotent == 4
    assert [p.largest for p in found.products[:5]] == pytest.approx([1, 1, 1, 0, 0], abs=1e-7)


def test_nilpotency_is_exact():
    nearly = torch.diag(torch.ones(3), diagonal=-1)
    nearly[0, 3] = 1e-30
    assert nilpotency(nearly) is None
    assert nilpotency(torch.zeros(2, 2)) == 1
    assert nilpotency(torch.zeros(3)) == 1
    assert nilpotency(torch.tensor([0.0, 0.1])) is None


def test_on_the_circle_is_counted_apart_from_outside():
    found = layer_spectrum(ssm_with(torch.diag(torch.tensor([1.0, -1.0, 0.9, 1.2]))), 0, random_probe())
    assert found is not None
    (spectrum,) = found.spectra
    assert (spectrum.outside, spectrum.on) == (1, 2)


def test_gates_by_letter_and_by_position():
    by_letter = layer_spectrum(model_of("mingru"), 0, random_probe())
    assert by_letter is not None
    assert by_letter.source == "one for each letter"
    assert {s.label for s in by_letter.spectra} == {"a", "b", "c"}
    assert all(s.counted == 4 for s in by_letter.spectra)
    by_position = layer_spectrum(model_of("mamba", states=2), 0, random_probe())
    assert by_position is not None
    assert by_position.source == "sample"


@pytest.mark.parametrize("name", ["mingru", "mamba", "deltanet", "ssm", "gru", "lstm", "elman-tanh"])
def test_maps_are_the_derivative_of_a_step(name):
    """What a linear layer says of itself is what its derivative says, but for windows of past inputs."""
    settings = {"mamba": {"convolution": 0, "states": 2}, "deltanet": {"convolution": 0}}.get(name, {})
    model = model_of(name, **settings).double()
    layer = model.layers[0]
    x = model.inputs_of(0, random_probe(count=2, length=3).inputs)
    derived = derivative_maps(layer, x)
    assert derived is not None
    said = linear_maps(layer, x)
    if said is not None:
        torch.testing.assert_close(
            derived.eigenvalues().abs().sort(-1).values.amax(-1),
            said.eigenvalues().abs().sort(-1).values.amax(-1),
            atol=1e-6,
            rtol=1e-6,
        )
        torch.testing.assert_close(derived.product_norms(), said.product_norms(), atol=1e-7, rtol=1e-6)
        return
    # Finite differences along one direction of the state.
    state = layer.initial_state(2)
    _, first = layer.step(x[:, 0], state)
    names = list(state)
    moved = {n: v + (1e-6 if n == names[0] else 0) * torch.ones_like(v) for n, v in first.items()}
    plain, other = layer.step(x[:, 1], first)[1], layer.step(x[:, 1], moved)[1]
    difference = torch.cat([(other[n] - plain[n]).flatten(1) for n in names], dim=1) / 1e-6
    width = state[names[0]][0].numel()
    expected = derived.values[:, 1, 0, :, :width].sum(-1)
    torch.testing.assert_close(difference, expected, atol=1e-5, rtol=1e-4)


def test_a_relu_network_without_inputs_is_iterated():
    model = model_of("elman-relu", hidden=2)
    with torch.no_grad():
        model.layers[0].recurrent.copy_(torch.diag(torch.tensor([0.5, 0.5])))
    found = layer_spectrum(model, 0, random_probe())
    assert found is not None
    assert found.stretch is not None
    assert not found.linear
    assert found.stretch.bound == pytest.approx(0.5)
    assert found.stretch.sampled <= 0.5 + 1e-6
    assert found.stretch.free[:3] == pytest.approx([0.5, 0.25, 0.125])
    assert found.stretch.weights is not None
    assert found.stretch.weights.radius == pytest.approx(0.5)


def test_attention_has_no_transition():
    assert spectra(model_of("transformer", heads=1), random_probe()) == ()
    assert step_maps(model_of("transformer", heads=1), 0, random_probe().inputs) is None


@pytest.mark.parametrize("name", sorted(all_kinds()))
def test_every_architecture_can_be_looked_at(name):
    model = model_of(name, width=16)
    for found in spectra(model, random_probe(count=2, length=5)):
        text = analysis_json(found)
        assert text["spectra"]
        assert text["products"][-1]["n"] >= 5
