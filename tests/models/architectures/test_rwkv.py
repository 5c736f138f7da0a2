"""RWKV-4 against transformers' layers with the same weights; RWKV-6 against its sum over pairs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import transformers
from torch.nn import functional
from transformers.models.rwkv import modeling_rwkv

from nerode.core import InputError
from nerode.models.architectures.rwkv4 import Rwkv4, Rwkv4Settings, RwkvChannelMix, RwkvChannelMixSettings
from nerode.models.architectures.rwkv6 import MIXTURES, Rwkv6, Rwkv6Settings
from nerode.models.libraries.places import RWKV_CHANNEL_MIX
from nerode.models.parts.short_convolution import Depth
from tests.models.architectures.peers import assert_same_as_peer, assert_same_pair, features
from tests.models.architectures.weights import shaken
from tests.peers.comparison import Pair, give_weights
from tests.peers.libraries import match_places

CONFIG = transformers.RwkvConfig(
    hidden_size=8, attention_hidden_size=12, intermediate_size=20, num_hidden_layers=3
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_time_mixing_is_that_of_transformers(dtype: torch.dtype) -> None:
    assert_same_as_peer("transformers-rwkv", dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_channel_mixing_is_that_of_transformers(dtype: torch.dtype) -> None:
    ours = shaken(RwkvChannelMix(8, RwkvChannelMixSettings(expansion=2.5))).to(dtype)
    peer = modeling_rwkv.RwkvFeedForward(CONFIG, layer_id=1).to(dtype)
    matches = match_places(ours, peer, RWKV_CHANNEL_MIX)
    give_weights(matches)
    assert_same_pair(Pair(ours=ours, theirs=peer, matches=matches, inputs=8), dtype)


def test_rwkv4_begins_as_in_transformers() -> None:
    model = transformers.RwkvModel(CONFIG)
    for number, block in enumerate(model.blocks):
        depth = Depth(layer=number, num_layers=3)
        time, channel = (
            Rwkv4(8, Rwkv4Settings(width=12, depth=depth)),
            RwkvChannelMix(8, RwkvChannelMixSettings(depth=depth)),
        )
        theirs = block.attention
        for mine, other in (
            (time.decay, theirs.time_decay),
            (time.mix[0], theirs.time_mix_receptance),
            (time.mix[1], theirs.time_mix_key),
            (time.mix[2], theirs.time_mix_value),
            (channel.mix[0], block.feed_forward.time_mix_receptance),
            (channel.mix[1], block.feed_forward.time_mix_key),
        ):
            torch.testing.assert_close(mine, other.flatten())
        # transformers starts its bonus at 1 everywhere; the authors' code as here.
        bonus = [math.log(0.3) + (0.0, 0.5, -0.5)[n % 3] for n in range(12)]
        assert time.bonus.tolist() == pytest.approx(bonus)


def test_rwkv4_is_a_mean_even_where_exponentials_overflow() -> None:
    layer = Rwkv4(1, Rwkv4Settings())
    with torch.no_grad():
        layer.mix.fill_(1)
        for part, weight in (
            (layer.receptance, 0.0),
            (layer.key, 1000.0),
            (layer.value, 1.0),
            (layer.output, 2.0),
        ):
            part.weight.fill_(weight)
    x = torch.tensor([[[-1.0], [-2.0], [3.0], [1.0]]])
    y, state = layer(x)
    # The largest key takes it all.
    assert y.flatten().tolist() == [-1, -1, 3, 3]
    assert all(bool(torch.isfinite(value).all()) for value in state.values())


@pytest.mark.parametrize("signed", [False, True])
def test_rwkv6_is_its_sum_over_pairs(signed: bool) -> None:
    settings = Rwkv6Settings(heads=2, width=8, mix_rank=3, decay_rank=2, signed=signed)
    layer = shaken(Rwkv6(6, settings))
    x = features(2, 9, 6)
    change = functional.pad(x, (0, 0, 1, 0))[:, :-1] - x
    base = x + change * layer.mix_base
    mixed = {
        name: x + change * (layer.mix[i] + torch.tanh(base @ layer.mix_down[:, i]) @ layer.mix_up[i])
        for i, name in enumerate(MIXTURES)
    }
    w = torch.exp(-torch.exp(layer.decay + torch.tanh(mixed["decay"] @ layer.decay_down) @ layer.decay_up))
    w = 2 * w - 1 if signed else w
    r, k, v, w = (
        y.unflatten(-1, (2, 4))
        for y in (
            mixed["receptance"] @ layer.receptance.weight.T,
            mixed["key"] @ layer.key.weight.T,
            mixed["value"] @ layer.value.weight.T,
            w,
        )
    )
    o = torch.zeros_like(v)
    for t in range(9):
        for s in range(t + 1):
            weight = layer.bonus if s == t else w[:, s + 1 : t].prod(dim=1)
            o[:, t] += (r[:, t] * weight * k[:, s]).sum(-1, keepdim=True) * v[:, s]
    o = functional.group_norm(o.reshape(18, 8), 2, layer.norm.weight, layer.norm.bias, eps=64e-5)
    gate = functional.silu(mixed["gate"] @ layer.gate.weight.T)
    expected = (gate * o.reshape(2, 9, 8)) @ layer.output.weight.T
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-10, atol=1e-10)
    by_steps, _ = layer.reference(x)
    torch.testing.assert_close(by_steps, expected, rtol=1e-10, atol=1e-10)


def test_gates_of_rwkv6_read_the_position_before() -> None:
    layer = shaken(Rwkv6(6, Rwkv6Settings(heads=2)))
    x = features(1, 3, 6)
    changed = x.clone()
    changed[:, 0] += 1
    gates, others = layer.transition(x).gate[0], layer.transition(changed).gate[0]
    assert not torch.allclose(gates[1], others[1])
    assert torch.equal(gates[2], others[2])


@pytest.mark.parametrize(("layer", "rising"), [(0, 0.0), (1, 0.5), (2, 1.0)])
def test_rwkv6_begins_as_published(layer: int, rising: float) -> None:
    torch.manual_seed(0)
    made = Rwkv6(4, Rwkv6Settings(heads=2, width=6, depth=Depth(layer=layer, num_layers=3)))
    falling = 1 - layer / 3
    for i in range(4):
        slow, fast = 1 - (i / 4) ** falling, 1 - (i / 4) ** (falling / 2)
        rows = dict(zip(MIXTURES, made.mix[:, i].tolist(), strict=True))
        assert rows == pytest.approx(
            {"decay": slow, "key": slow, "value": slow - 0.3 * rising, "receptance": fast, "gate": fast}
        )
    for n in range(6):
        assert float(made.decay.detach()[n]) == pytest.approx(-6 + 5 * (n / 5) ** (0.7 + 1.3 * rising))
        bonus = rising * (1 - n / 5) + (0.0, 0.1, -0.1)[n % 3]
        assert float(made.bonus.detach().flatten()[n]) == pytest.approx(bonus, abs=1e-6)
    assert not made.mix_down.any()
    assert not made.decay_down.any()
    square = made.key.weight.T @ made.key.weight
    torch.testing.assert_close(square, 0.01 * (6 / 4) * torch.eye(4))


def test_one_layer_and_one_channel_are_no_special_case() -> None:
    depth = Depth()
    assert (depth.rising, depth.falling) == (0, 1)
    y, _ = Rwkv6(1, Rwkv6Settings(heads=1))(torch.ones(1, 3, 1))
    assert bool(torch.isfinite(y).all())
    y, _ = Rwkv4(1, Rwkv4Settings())(torch.ones(1, 3, 1))
    assert bool(torch.isfinite(y).all())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Depth(layer=3, num_layers=3), "layer is 3, num_layers 3"),
        (lambda: Depth(layer=-1), "layer is -1"),
        (lambda: Rwkv4Settings(width=0), "width is 0"),
        (lambda: RwkvChannelMixSettings(expansion=-1.0), "expansion is -1"),
        (lambda: Rwkv6Settings(mix_rank=0), "mix_rank is 0"),
        (lambda: Rwkv6(6, Rwkv6Settings(heads=4)), "6 keys cannot be shared by 4 heads"),
        (lambda: Rwkv4Settings(width=math.nan), "width is nan"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        make()
