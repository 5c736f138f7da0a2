"""Mamba against the peers' layers with the same weights, and what is special to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models.architectures.mamba import Mamba, MambaSettings
from nerode.models.base import count_numbers
from nerode.models.parts.state_space import StepSizes
from tests.models.architectures.peers import assert_same_as_peer, features


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> Mamba:
    torch.manual_seed(0)
    return Mamba(width, MambaSettings(**settings)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["mambapy", "mambapy-sequential", "transformers-mamba"])
def test_it_is_the_layer_of_the_peers(name: str, dtype: torch.dtype) -> None:
    assert_same_as_peer(name, dtype)


def test_it_begins_as_published() -> None:
    made = layer(64)
    assert torch.equal(made.A_log.exp().round(), torch.arange(1, 17).double().expand(128, 16))
    assert made.D is not None
    assert torch.equal(made.D, torch.ones(128).double())
    steps = nn.functional.softplus(made.dt_proj.bias).log10()
    assert -3.001 < steps.min() < -2.9
    assert -1.1 < steps.max() < -0.999
    assert abs(steps.mean() + 2) < 0.15
    assert 0.4 < made.dt_proj.weight.abs().max() <= 0.5
    assert (made.rank, made.in_proj.bias, made.x_proj.bias) == (4, None, None)


def test_step_sizes_have_a_floor() -> None:
    biases = StepSizes(smallest=1e-6, largest=1e-3, floor=1e-4).draw(1000)
    steps = nn.functional.softplus(biases.double())
    assert (steps > 0.99e-4).all()
    assert 500 < (steps < 1.01e-4).sum() < 800


def test_each_part_can_be_left_out() -> None:
    d, c, n, r = 6, 12, 16, 1
    core = c * (r + 2 * n) + (r * c + c) + c * n + c * d
    parts = {"convolution": 4 * c + c, "gate": d * c, "skip": c}
    assert count_numbers(layer(d).parameters()) == core + d * c + sum(parts.values())
    bare = layer(d, convolution=0, gate=False, skip=False, activation=False)
    assert count_numbers(bare.parameters()) == core + d * c
    assert bare.state_size == c * n
    assert layer(d).state_size == c * n + 3 * c
    for name, size in parts.items():
        without = layer(d, **{name: 0 if name == "convolution" else False})
        assert count_numbers(without.parameters()) == core + d * c + sum(parts.values()) - size


def test_the_bare_layer_is_the_recurrence() -> None:
    made = layer(3, channels=2, states=2, rank=1, convolution=0, gate=False, skip=False, activation=False)
    x = features(1, 4, 3)
    h = torch.zeros(2, 2, dtype=torch.float64)
    outputs = []
    for t in range(4):
        u = made.in_proj.weight @ x[0, t]
        r, b1, b2, c1, c2 = (made.x_proj.weight @ u).unbind()
        delta = torch.log1p(torch.exp(made.dt_proj.weight[:, 0] * r + made.dt_proj.bias))
        for i in range(2):
            for j, b in enumerate((b1, b2)):
                h = h.clone()
                h[i, j] = torch.exp(-delta[i] * torch.exp(made.A_log[i, j])) * h[i, j] + delta[i] * b * u[i]
        outputs.append(made.out_proj.weight @ (h @ torch.stack([c1, c2])))
    torch.testing.assert_close(made(x)[0][0], torch.stack(outputs), rtol=1e-12, atol=1e-12)


def hand_set(signed: bool, dtype: torch.dtype) -> Mamba:
    """One number as the state; feature 0 is always 1, features 1 and 2 drive the step size.

    Feature 1 makes Δ about 0 and feature 2 makes it 200; B is 0, and C reads the state where feature 0 is.
    """
    made = layer(
        3,
        dtype,
        channels=2,
        states=1,
        rank=1,
        convolution=0,
        activation=False,
        gate=False,
        skip=False,
        signed=signed,
        learned_start=True,
    )
    with torch.no_grad():
        made.in_proj.weight.copy_(torch.tensor([[1.0, 0, 0], [0, 0, 1]]))
        made.x_proj.weight.copy_(torch.tensor([[0.0, 1], [0, 0], [1, 0]]))
        made.dt_proj.weight.fill_(245.0)
        made.dt_proj.bias.fill_(-45.0)
        made.start.fill_(1.0)  # type: ignore[union-attr]
        made.A_log.zero_()
        made.out_proj.weight.copy_(torch.tensor([[1.0, 0], [0, 0], [0, 0]]))
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_signed_gate_counts_modulo_two(dtype: torch.dtype) -> None:
    bits = torch.randint(2, (2, 5000), generator=torch.Generator().manual_seed(0)).to(dtype)
    x = torch.stack([torch.ones_like(bits), 1 - bits, bits], dim=2)
    with torch.no_grad():
        y, _ = hand_set(True, dtype)(x)
    assert torch.equal(y[:, :, 0], 1 - 2 * (bits.cumsum(1) % 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_saturated_gate_holds_and_forgets_exactly(dtype: torch.dtype) -> None:
    x = torch.tensor([[1.0, 1, 0]] * 1000 + [[1.0, 0, 1]], dtype=dtype)[None]
    with torch.no_grad():
        y, _ = hand_set(False, dtype)(x)
    assert (y[0, :1000, 0] == 1).all()
    assert abs(float(y[0, 1000, 0])) < 1e-80


@pytest.mark.parametrize(
    "wrong", [{"channels": 0}, {"states": 0}, {"rank": -1}, {"convolution": -1}], ids=lambda w: next(iter(w))
)
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="Mamba"):
        MambaSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"smallest": 0.0}, {"smallest": 1.0}, {"floor": 0.0}])
def test_impossible_step_sizes_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="step sizes"):
        StepSizes(**wrong)


def test_features_of_another_width_are_refused() -> None:
    with pytest.raises(InputError, match=r"\(batch, time, 6\)"):
        layer(6)(torch.zeros(1, 2, 5))
