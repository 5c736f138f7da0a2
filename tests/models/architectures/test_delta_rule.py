"""The delta-rule family: its equations by another formula, its switches, and exact compiled weights."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.architectures.deltanet import (
    DeltaNet,
    DeltaNetSettings,
    DeltaProduct,
    DeltaProductSettings,
    GatedDeltaNet,
    GatedDeltaNetSettings,
)
from nerode.models.parts.delta_rule import DeltaRule, without_lengths

FORMATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
BARE: dict[str, Any] = {
    "convolution": 0,
    "activation": "none",
    "query_norm": "none",
    "scale": 1.0,
    "output_norm": "none",
    "output_gate": False,
}


def by_matrices(layer: DeltaRule, x: Tensor) -> Tensor:
    """The published equations, with matrices and unit keys, for one sequence (time, inputs)."""
    heads, keys, values, n = layer.heads, layer.keys, layer.values, layer.factors
    streams = [linear(x) for linear in (layer.query, layer.key, layer.value)]
    if layer.convolution is not None:
        weights = layer.convolution.weight.split([s.shape[1] for s in streams])
        streams = [causal(s, w) for s, w in zip(streams, weights, strict=True)]
    q, k, v = (nn.functional.silu(s) for s in streams)
    beta = torch.sigmoid(layer.beta(x)) * (2 if layer.settings.signed else 1)
    outputs = []
    states = [torch.zeros(keys, values, dtype=x.dtype) for _ in range(heads)]
    for t in range(len(x)):
        readings = []
        for head in range(heads):
            if layer.decay is not None:
                rate = layer.decay.log_rate[head].exp()
                step = torch.log1p(torch.exp(layer.decay.read(x[t])[head] + layer.decay.bias[head]))
                states[head] = torch.exp(-rate * step) * states[head]
            for i in range(n):
                key = k[t].reshape(n, heads, keys)[i, head]
                key = key / key.norm()
                strength = beta[t].reshape(n, heads)[i, head]
                value = v[t].reshape(n, heads, values)[i, head]
                factor = torch.eye(keys, dtype=x.dtype) - strength * torch.outer(key, key)
                states[head] = factor @ states[head] + strength * torch.outer(key, value)
            query = q[t].reshape(heads, keys)[head]
            reading = query / query.norm() @ states[head] / keys**0.5
            readings.append(reading / torch.sqrt(reading.square().mean() + 1e-5) * layer.norm.weight)
        y = torch.cat(readings)
        if layer.gate is not None:
            gate = layer.gate(x[t])
            y = y * gate * torch.sigmoid(gate)
        outputs.append(layer.output.weight @ y)
    return torch.stack(outputs)


def causal(x: Tensor, weight: Tensor) -> Tensor:
    """A convolution by torch's own, one group a channel."""
    padded = nn.functional.pad(x.T[None], (weight.shape[1] - 1, 0))
    return nn.functional.conv1d(padded, weight[:, None], groups=len(weight))[0].T


LAYERS = [
    (DeltaNet, DeltaNetSettings(heads=2)),
    (DeltaNet, DeltaNetSettings(heads=3, signed=True, key_width=5, value_width=2, convolution=2)),
    (GatedDeltaNet, GatedDeltaNetSettings(heads=2)),
    (GatedDeltaNet, GatedDeltaNetSettings(heads=1, signed=True, convolution=0)),
    (DeltaProduct, DeltaProductSettings(heads=2)),
    (DeltaProduct, DeltaProductSettings(heads=3, key_width=3, value_width=4, factors=3, signed=True)),
    (DeltaProduct, DeltaProductSettings(heads=2, factors=4, signed=True, gated=True)),
]


@pytest.mark.parametrize(("build", "settings"), LAYERS)
def test_the_layer_is_the_published_product_of_matrices(build: Any, settings: Any) -> None:
    torch.manual_seed(0)
    layer = build(6, settings).double()
    x = torch.randn(2, 9, 6, dtype=torch.float64)
    with torch.no_grad():
        nn.init.normal_(layer.norm.weight)
        found, _ = layer(x)
        wanted = torch.stack([by_matrices(layer, row) for row in x])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


def test_a_write_replaces_what_its_key_retrieves() -> None:
    """β = 1 and one-hot keys: a table of the last value under each key."""
    layer = DeltaNet(4, DeltaNetSettings(heads=1, key_width=4, value_width=4, **BARE)).double()
    table = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]], dtype=torch.float64)
    with torch.no_grad():
        layer.beta.weight.fill_(1000.0)
        for linear in (layer.query, layer.key, layer.output):
            linear.weight.copy_(torch.eye(4))
        layer.value.weight.copy_(torch.cat([table.T, -table.T], dim=1))
        word = torch.eye(4, dtype=torch.float64)[[0, 1, 0, 1, 3]][None]
        outputs, state = layer(word)
    assert torch.equal(outputs[0], torch.cat([table, table, -table[1:]]))
    assert torch.equal(state["S"][0, 0, [0, 1, 3]], outputs[0, 2:])


@pytest.mark.parametrize("dtype", FORMATS)
def test_swaps_compiled_into_deltanet_are_exact(dtype: torch.dtype) -> None:
    """All transpositions of five points as letters, keys e_i - e_j through the published normalisation."""
    pairs = list(itertools.combinations(range(5), 2))
    settings = DeltaNetSettings(heads=1, key_width=5, value_width=1, signed=True, learned_start=True, **BARE)
    layer = DeltaNet(len(pairs), settings).to(dtype)
    with torch.no_grad():
        for letter, (i, j) in enumerate(pairs):
            layer.key.weight[:, letter] = torch.eye(5)[i] - torch.eye(5)[j]
        layer.beta.weight.fill_(1000.0)
        layer.value.weight.zero_()
        layer.start.copy_(torch.arange(1.0, 6)[None, :, None])  # type: ignore[union-attr]
        word = torch.randint(0, len(pairs), (500,), generator=torch.Generator().manual_seed(3))
        points = [1, 2, 3, 4, 5]
        for letter in word.tolist():
            i, j = pairs[letter]
            points[i], points[j] = points[j], points[i]
        _, state = layer(nn.functional.one_hot(word, len(pairs)).to(dtype)[None])
    assert state["S"].flatten().tolist() == points


@pytest.mark.parametrize("dtype", FORMATS)
def test_permutations_and_resets_compiled_into_gated_deltaproduct_are_exact(dtype: torch.dtype) -> None:
    """A cycle of three as two swaps, a letter that does nothing, and one that resets."""
    settings = DeltaProductSettings(
        heads=1, key_width=3, value_width=1, factors=2, gated=True, signed=True, learned_start=True, **BARE
    )
    layer = DeltaProduct(3, settings).to(dtype)
    cycle, stay, reset = range(3)
    with torch.no_grad():
        keys, values = layer.key.weight.zero_().view(2, 3, 3), layer.value.weight.zero_().view(2, 3)
        keys[0, :, cycle] = torch.tensor([1.0, -1.0, 0.0])
        keys[1, :, cycle] = torch.tensor([1.0, 0.0, -1.0])
        keys[0, :, reset] = torch.tensor([0.0, 1.0, 0.0])
        values[0, reset] = 1.0
        strengths = layer.beta.weight.fill_(-1000.0)
        strengths[:, cycle] = 1000.0
        strengths[0, reset] = 0.0
        assert layer.decay is not None
        assert layer.start is not None
        layer.decay.read.weight.fill_(-3000.0)[:, reset] = 3000.0
        layer.decay.log_rate.zero_()
        layer.decay.bias.zero_()
        layer.start.copy_(torch.tensor([[[1.0], [0.0], [0.0]]]))
        layer.query.weight.copy_(torch.tensor([[0.0], [1.0], [2.0]]).expand(3, 3))
        layer.output.weight.copy_(torch.tensor([[1.0], [0.0], [0.0]]))
        word = torch.randint(0, 3, (400,), generator=torch.Generator().manual_seed(5))
        outputs, _ = layer(nn.functional.one_hot(word, 3).to(dtype)[None])
    point, seen = 0, []
    for letter in word.tolist():
        point = {cycle: [1, 2, 0][point], stay: point, reset: 1}[letter]
        seen.append(point)
    assert outputs[0, :, 0].tolist() == seen


@pytest.mark.parametrize("dtype", FORMATS)
def test_lengths_of_keys_do_not_matter(dtype: torch.dtype) -> None:
    source = torch.Generator().manual_seed(0)
    k, v = torch.randn(2, 4, 3, 5, generator=source).to(dtype)
    beta = torch.rand(4, 3, generator=source).to(dtype)
    k_new, v_new, beta_new = without_lengths(k, v, beta)
    again = without_lengths(8 * k, v, beta)
    assert all(torch.equal(a, b) for a, b in zip((k_new, v_new, beta_new), again, strict=True))
    lengths = k_new.double().norm(dim=-1)
    assert lengths.min() > 0.49
    assert lengths.max() < 1.01
    unit = nn.functional.normalize(k.double(), dim=-1)
    slack = 20 * torch.finfo(dtype).eps
    for left, left_new in ((unit, k_new), (v.double(), v_new)):
        wanted = beta.double()[..., None, None] * unit[..., None] * left[..., None, :]
        found = (
            beta_new.double()[..., None, None] * k_new.double()[..., None] * left_new.double()[..., None, :]
        )
        torch.testing.assert_close(found, wanted, rtol=slack, atol=slack)


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_key_of_zeros_writes_nothing(dtype: torch.dtype) -> None:
    k = torch.zeros(1, 3, dtype=dtype, requires_grad=True)
    found = without_lengths(k, torch.ones(1, 2, dtype=dtype), torch.ones(1, dtype=dtype))
    assert torch.equal(found[0], torch.zeros(1, 3, dtype=dtype))
    assert all(torch.isfinite(part).all() for part in found)
    (gradient,) = torch.autograd.grad(found[0].float().sum() + found[2].float().sum(), k)
    assert torch.isfinite(gradient.float()).all()


def test_the_transition_has_unit_keys_and_the_published_strengths() -> None:
    torch.manual_seed(1)
    layer = DeltaProduct(6, DeltaProductSettings(heads=2, factors=3, signed=True)).double()
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    moves = layer.transition(x)
    torch.testing.assert_close(moves.vectors.norm(dim=-1), torch.ones(2, 4, 3, 2, dtype=torch.float64))
    strengths = 2 * layer.beta(x).sigmoid().view(2, 4, 3, 2)
    torch.testing.assert_close(moves.betas, strengths)


def test_the_decay_begins_as_in_mamba_2() -> None:
    torch.manual_seed(0)
    gate = GatedDeltaNet(256, GatedDeltaNetSettings(heads=256)).decay
    assert gate is not None
    rates, steps = gate.log_rate.exp(), nn.functional.softplus(gate.bias)
    assert 1 <= rates.min() < 2
    assert 15 < rates.max() <= 16.001
    assert 0.00099 < steps.min() < 0.0015
    assert 0.07 < steps.max() < 0.1001


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"key_width": 0}, "key_width is 0"),
        ({"value_width": -1}, "value_width is -1"),
        ({"convolution": -1}, "convolution is -1"),
        ({"factors": 0}, "factors is 0"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DeltaProductSettings(**wrong)  # type: ignore[arg-type]


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(InputError, match="4 heads do not divide 6 inputs"):
        DeltaNet(6, DeltaNetSettings())
