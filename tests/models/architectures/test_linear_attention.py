"""Gated linear attention and HGRN2 against sums over all pairs of positions, and what is special to them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nerode.core import InputError
from nerode.models.architectures.gla import Gla, GlaSettings
from nerode.models.architectures.hgrn2 import Hgrn2, Hgrn2Settings
from nerode.models.zoo import find_kind
from tests.models.architectures.peers import features
from tests.models.architectures.weights import shaken


def readings(q: Tensor, k: Tensor, v: Tensor, gate: Tensor, heads: int) -> Tensor:
    """Σ_{s ≤ t} (q_t ∘ gate_{s+1} ∘ … ∘ gate_t) · k_s v_s, one product after the other."""
    q, k, v, gate = (x.unflatten(-1, (heads, -1)) for x in (q, k, v, gate))
    rows = []
    for t in range(q.shape[1]):
        total = torch.zeros_like(v[:, 0])
        for s in range(t + 1):
            weight = gate[:, s + 1 : t + 1].prod(dim=1)
            total = total + (q[:, t] * weight * k[:, s]).sum(-1, keepdim=True) * v[:, s]
        rows.append(total)
    return torch.stack(rows, dim=1)


@pytest.mark.parametrize("signed", [False, True])
def test_gla_is_its_sum_over_pairs(signed: bool) -> None:
    layer = shaken(
        Gla(6, GlaSettings(heads=2, keys=4, values=8, gate_rank=3, temperature=2.0, signed=signed))
    )
    x = features(2, 9, 6)
    alpha = torch.sigmoid(x @ layer.gate_down.weight.T @ layer.gate_up.weight.T + layer.gate_up.bias).sqrt()
    gate = 2 * alpha - 1 if signed else alpha
    q, k, v = (x @ part.weight.T for part in (layer.query, layer.key, layer.value))
    o = readings(q / math.sqrt(2), k, v, gate, heads=2)
    o = o / (o.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    assert layer.output_gate is not None
    assert layer.norm.weight is not None
    r = x @ layer.output_gate.weight.T + layer.output_gate.bias
    expected = (r * torch.sigmoid(r) * o.flatten(-2) * layer.norm.weight) @ layer.output.weight.T
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("signed", [False, True])
def test_hgrn2_is_its_sum_over_pairs(signed: bool) -> None:
    settings = Hgrn2Settings(heads=2, keys=4, values=8, lower_bound=0.25, norm="layer", signed=signed)
    layer = shaken(Hgrn2(6, settings))
    x = features(2, 9, 6)
    forget = 0.25 + 0.75 * torch.sigmoid(x @ layer.forget.weight.T)
    q = functional.silu(x @ layer.query.weight.T)
    gate = 2 * forget - 1 if signed else forget
    o = readings(q, 1 - forget, x @ layer.value.weight.T, gate, heads=2).flatten(-2)
    weight, bias = layer.norm.parameters()
    o = functional.layer_norm(o, (8,), weight, bias)
    torch.testing.assert_close(layer(x)[0], o @ layer.output.weight.T, rtol=1e-10, atol=1e-10)


def test_gates_of_hgrn2_stay_above_their_bound() -> None:
    layer = Hgrn2(4, Hgrn2Settings(heads=2, lower_bound=0.4)).double()
    gates = layer.transition(100 * features(3, 20, 4)).eigenvalues().detach()
    assert 0.4 <= float(gates.min()) < 0.41
    assert float(gates.max()) <= 1


def test_signed_gates_reach_both_ends() -> None:
    for layer in (Gla(4, GlaSettings(heads=2, signed=True)), Hgrn2(4, Hgrn2Settings(heads=2, signed=True))):
        gates = layer.double().transition(1e5 * features(3, 20, 4)).eigenvalues().detach()
        assert -1 <= float(gates.min()) < -0.99
        assert 0.99 < float(gates.max()) <= 1


def test_gla_begins_near_one() -> None:
    torch.manual_seed(0)
    layer = Gla(64, GlaSettings())
    gates = layer.transition(torch.zeros(1, 1, 64)).eigenvalues()
    torch.testing.assert_close(gates, torch.full_like(gates, 0.5 ** (1 / 16)))
    bound = 2**-2.5 * math.sqrt(6 / (64 + 32))
    assert layer.query.weight.shape == (32, 64)
    assert layer.value.weight.shape == (64, 64)
    assert 0.95 * bound < float(layer.query.weight.detach().abs().max()) <= bound


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_bare_gla_is_a_register_and_a_counter(dtype: torch.dtype) -> None:
    """One head for each: gate 1 holds, gate 0 forgets, k v is written; saturated logits do it exactly."""
    settings = GlaSettings(heads=2, keys=2, values=2, gate_rank=3, norm="none", output_gate=False, bias=True)
    layer = Gla(3, settings).to(dtype)
    hold, forget = 2.0**9, -(2.0**15)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.gate_down.weight.copy_(torch.eye(3))
        # Letters: write +1 into both; hold; forget the first.
        layer.gate_up.weight.copy_(torch.tensor([[hold, hold, forget], [hold, hold, hold]]))
        layer.key.weight.copy_(torch.tensor([[1.0, 0, 0], [1, 0, 0]]))
        layer.value.bias.fill_(1)
        layer.query.bias.fill_(1)
        layer.output.weight.copy_(torch.eye(3, 2))
    word = [0, 0, 1, 0, 2, 1, 0, 1, 1]
    x = functional.one_hot(torch.tensor([word]), 3).to(dtype)
    y, _ = layer(x)
    assert y[0, :, 0].tolist() == [1, 2, 2, 3, 0, 0, 1, 1, 1]
    assert y[0, :, 1].tolist() == [1, 2, 2, 3, 3, 3, 4, 4, 4]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_bare_hgrn2_is_a_register(dtype: torch.dtype) -> None:
    layer = Hgrn2(3, Hgrn2Settings(heads=1, keys=1, values=1, outputs=1, norm="none", bias=True)).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        # Letters: set, reset, hold. silu(64) is 64 in every format.
        layer.forget.weight.copy_(torch.tensor([[-1000.0, -1000.0, 1000.0]]))
        layer.value.weight.copy_(torch.tensor([[1.0, -1.0, 0.0]]))
        layer.query.bias.fill_(64)
        layer.output.weight.fill_(1 / 64)
    x = functional.one_hot(torch.tensor([[2, 0, 2, 2, 1, 2, 0, 0, 1]]), 3).to(dtype)
    y, _ = layer(x)
    assert y[0, :, 0].tolist() == [0, 1, 1, 1, -1, -1, 1, 1, -1]


def test_a_learned_start_is_where_runs_begin() -> None:
    for layer in (
        Gla(4, GlaSettings(heads=2, keys=2, values=6, learned_start=True)),
        Hgrn2(4, Hgrn2Settings(heads=2, keys=2, values=6, learned_start=True)),
    ):
        shaken(layer)
        x = features(3, 5, 4)
        state = layer.initial_state(3)
        assert layer.start is not None
        assert torch.equal(state["S"][2], layer.start)
        torch.testing.assert_close(layer(x)[0], layer(x, state)[0], rtol=0, atol=0)
        layer(x)[0].sum().backward()
        assert layer.start.grad is not None
        assert bool(layer.start.grad.abs().sum() > 0)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"keys": -2}, "keys is -2"),
        ({"gate_rank": 0}, "gate_rank is 0"),
        ({"temperature": 0.0}, "temperature is 0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"keys": 6}, "6 keys cannot be shared by 4 heads"),
        ({"values": 6}, "6 values cannot be shared by 4 heads"),
    ],
)
def test_gla_refuses(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        Gla(8, GlaSettings(**settings))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"lower_bound": 1.0}, "lower_bound is 1.0"),
        ({"lower_bound": -0.1}, "lower_bound is -0.1"),
        ({"outputs": 0}, "outputs is 0"),
        ({"values": 6}, "6 values cannot be shared by 4 heads"),
    ],
)
def test_hgrn2_refuses(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        Hgrn2(8, Hgrn2Settings(**settings))


def test_the_table_has_the_signed_forms() -> None:
    for name in ("gla", "hgrn2"):
        assert find_kind(name).variants[f"{name}-signed"] == {"signed": True}
