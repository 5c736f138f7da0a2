"""Griffin's recurrent block against RecurrentGemma's with the same weights, and what is special to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models.architectures.griffin import BlockAffine, Griffin, GriffinSettings
from nerode.models.base import count_numbers
from nerode.models.zoo import find_kind
from tests.models.architectures.peers import assert_same_as_peer, features


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> Griffin:
    torch.manual_seed(0)
    return Griffin(width, GriffinSettings(**settings)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_block_of_recurrent_gemma(dtype: torch.dtype) -> None:
    assert_same_as_peer("transformers-recurrent-gemma", dtype)


def test_it_begins_as_published() -> None:
    made = layer(300)
    assert made.channels == 400
    slowest = torch.exp(-8 * nn.functional.softplus(made.decay))
    assert 0.9 <= slowest.min() < 0.902
    assert 0.997 < slowest.max() <= 0.9991
    assert abs(slowest.mean() - 0.9495) < 0.01
    for linear in (made.linear_x, made.linear_y, made.linear_out):
        assert linear is not None
        assert abs(linear.weight.std() * linear.in_features**0.5 - 1) < 0.05
        assert not linear.bias.any()


def test_the_recurrence_by_hand() -> None:
    made = layer(3, channels=2, convolution=0, gate=False)
    x = features(1, 6, 3)
    u = x[0] @ made.linear_x.weight.T
    h = torch.zeros(2, dtype=torch.float64)
    outputs = []
    for t in range(6):
        r = 1 / (1 + torch.exp(-made.recurrence_gate.weight[0] @ u[t]))
        i = 1 / (1 + torch.exp(-made.input_gate.weight[0] @ u[t]))
        a = (1 / (1 + torch.exp(made.decay))) ** (8 * r)
        h = a * h + torch.sqrt(1 - a**2) * i * u[t]
        outputs.append(made.linear_out.weight @ h)
    torch.testing.assert_close(made(x)[0][0], torch.stack(outputs), rtol=1e-11, atol=1e-11)


def test_a_signed_gate_keeps_the_sum_of_squares() -> None:
    plain, signed = layer(6), layer(6, signed=True)
    u = features(4, 8)
    (a, _), (gate, write) = plain._recurrence(u, {}, {}), signed._recurrence(u, {}, {})
    torch.testing.assert_close(gate, 2 * a - 1)
    scale = write / (torch.sigmoid(signed.input_gate(u)) * u)
    torch.testing.assert_close(gate**2 + scale**2, torch.ones_like(gate))


@pytest.mark.parametrize("signed", [False, True])
def test_a_gate_of_exactly_one_holds_and_has_gradients(signed: bool) -> None:
    made = layer(2, torch.float32, convolution=0, signed=signed, learned_start=True)
    with torch.no_grad():
        made.recurrence_gate.bias.fill_(-30.0)
        made.start.fill_(0.5)  # type: ignore[union-attr]
    y, state = made(features(1, 1000, 2, dtype=torch.float32))
    assert (state["h"] == 0.5).all()
    y.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in made.parameters() if p.grad is not None)


def test_a_block_diagonal_map_is_the_big_matrix() -> None:
    linear = BlockAffine(6, 3).double()
    with torch.no_grad():
        linear.bias.copy_(features(6))
    x = features(2, 5, 6)
    expected = x @ torch.block_diag(*linear.weight).T + linear.bias
    torch.testing.assert_close(linear(x), expected)


def test_hawk_is_griffin_without_attention() -> None:
    assert find_kind("hawk") is find_kind("griffin")
    assert find_kind("griffin-signed").variants["griffin-signed"] == {"signed": True}


def test_each_part_can_be_left_out() -> None:
    d, c = 6, 8
    core = (d * c + c) + 2 * (c * c + c) + c + (c * d + d)
    assert count_numbers(layer(d).parameters()) == core + 5 * c + d * c + c
    assert count_numbers(layer(d, gate=False).parameters()) == core + 5 * c
    assert count_numbers(layer(d, convolution=0).parameters()) == core + d * c + c
    assert (layer(d).state_size, layer(d, convolution=0).state_size) == (4 * c, c)
    assert layer(7, blocks=4).channels == 12


@pytest.mark.parametrize("wrong", [{"blocks": 0}, {"channels": 0}, {"channels": 6, "blocks": 4}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="blocks"):
        GriffinSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positions"):
        GriffinSettings(convolution=-1)
