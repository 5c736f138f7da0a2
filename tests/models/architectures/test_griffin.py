"""Griffin's recurrent block against RecurrentGemma's with the same weights, and what is special to it."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRecurrentBlock

from nerode.core.errors import InputError
from nerode.models.architectures.griffin import BlockLinear, Griffin, GriffinSettings
from nerode.models.base import count_numbers
from nerode.models.zoo import find_member
from tests.models.architectures.peers import assert_same_with_gradients, features


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> Griffin:
    torch.manual_seed(0)
    return Griffin(width, GriffinSettings(**settings)).to(dtype)


def pairs_of_weights(ours: Griffin, peer: nn.Module) -> list[tuple[Tensor, Tensor]]:
    names = {
        "convolution.weight": "conv_1d.weight",
        "convolution.bias": "conv_1d.bias",
        "decay": "rg_lru.recurrent_param",
        "recurrence_gate.weight": "rg_lru.recurrent_gate_weight",
        "recurrence_gate.bias": "rg_lru.recurrent_gate_bias",
        "input_gate.weight": "rg_lru.input_gate_weight",
        "input_gate.bias": "rg_lru.input_gate_bias",
    }
    theirs = dict(peer.named_parameters())
    pairs = [(weight, theirs[names.get(name, name)]) for name, weight in ours.named_parameters()]
    assert len(pairs) == len(theirs) == 13
    return pairs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_block_of_recurrent_gemma(dtype: torch.dtype) -> None:
    config = transformers.RecurrentGemmaConfig(
        hidden_size=8, lru_width=12, num_attention_heads=3, num_hidden_layers=1, vocab_size=2
    )
    ours = layer(8, dtype, channels=12, blocks=3)
    peer = RecurrentGemmaRecurrentBlock(config, layer_idx=0).to(dtype)
    scan = functools.partial(peer.rg_lru._rnn_scan, acc_dtype=dtype)
    peer.rg_lru._rnn_scan = scan
    with torch.no_grad():
        for mine, other in pairs_of_weights(ours, peer):
            mine.add_(0.1 * features(*mine.shape, dtype=dtype))
            # The peer multiplies its gate matrices from the right.
            turned = mine.transpose(1, 2) if mine.ndim == 3 and mine.shape[1] == mine.shape[2] else mine
            other.copy_(turned.reshape(other.shape))

    def run_peer(x: Tensor) -> Tensor:
        # At a position 0 the peer would leave out the square root.
        positions = 1 + torch.arange(x.shape[1]).expand(x.shape[:2])
        peer.rg_lru.recurrent_states = None
        return peer(x, positions, None, use_cache=False)[0]  # type: ignore[no-any-return]

    compared = [(a, b) for a, b in pairs_of_weights(ours, peer) if b.ndim != 3 or b.shape[1] == 1]
    assert len(compared) == 11
    x = features(2, 15, 8, dtype=dtype)
    assert_same_with_gradients(lambda x: ours(x)[0], run_peer, x, compared)


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
    (a, _), (gate, write) = plain._recurrence(u), signed._recurrence(u)
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
    linear = BlockLinear(6, 3).double()
    with torch.no_grad():
        linear.bias.copy_(features(6))
    x = features(2, 5, 6)
    expected = x @ torch.block_diag(*linear.weight).T + linear.bias
    torch.testing.assert_close(linear(x), expected)


def test_hawk_is_griffin_without_attention() -> None:
    assert find_member("hawk").kind is find_member("griffin").kind
    assert find_member("griffin-signed").settings == {"signed": True}


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
