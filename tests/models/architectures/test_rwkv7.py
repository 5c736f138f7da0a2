"""RWKV-7: the paper's recurrence by another formula, its initial weights and its switches."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.architectures.rwkv7 import Rwkv7, Rwkv7Settings, published_rank

BARE: dict[str, Any] = {
    "token_shift": False,
    "decays": False,
    "output_norm": "none",
    "output_gate": False,
    "bonus": False,
}


def drawn(settings: Rwkv7Settings, inputs: int = 6) -> Rwkv7:
    """A layer in which no weight is zero."""
    torch.manual_seed(0)
    layer = Rwkv7(inputs, settings).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


def by_the_paper(layer: Rwkv7, x: Tensor) -> Tensor:
    """One sequence (time, inputs), head by head, with the published state: values by keys."""
    heads, width = layer.heads, layer.width
    before = torch.cat([torch.zeros(1, x.shape[1], dtype=x.dtype), x[:-1]])
    assert layer.mix is not None and layer.decay is not None and layer.gate is not None  # noqa: PT018
    assert layer.bonus is not None and layer.norm.weight is not None and layer.norm.bias is not None  # noqa: PT018
    x_r, x_w, x_k, x_v, x_a, x_g = (x + (before - x) * mix for mix in layer.mix)
    r, k, v = x_r @ layer.query.weight.T, x_k @ layer.key.weight.T, x_v @ layer.value.weight.T
    d = layer.decay.up.bias + torch.tanh(x_w @ layer.decay.down.weight.T) @ layer.decay.up.weight.T
    w = torch.exp(-torch.exp(-nn.functional.softplus(-d) - 0.5))
    a = torch.sigmoid(layer.rate.up.bias + x_a @ layer.rate.down.weight.T @ layer.rate.up.weight.T)
    g = torch.sigmoid(x_g @ layer.gate.down.weight.T) @ layer.gate.up.weight.T
    kappa = k * layer.removal
    k = k * (1 - layer.replacement) + k * a * layer.replacement
    outputs = torch.zeros_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        S = torch.zeros(width, width, dtype=x.dtype)
        for t in range(len(x)):
            unit = kappa[t, part] / kappa[t, part].norm()
            S = S @ (torch.diag(w[t, part]) - torch.outer(unit, a[t, part] * unit))
            S = S + torch.outer(v[t, part], k[t, part])
            read = S @ r[t, part]
            centred = read - read.mean()
            normed = centred / torch.sqrt(centred.square().mean() + width * 1e-5)
            normed = normed * layer.norm.weight[part] + layer.norm.bias[part]
            present = (r[t, part] * layer.bonus[head] * k[t, part]).sum()
            outputs[t, part] = g[t, part] * (normed + present * v[t, part])
    return outputs @ layer.output.weight.T


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_the_layer_is_the_published_recurrence(heads: int) -> None:
    layer = drawn(Rwkv7Settings(heads=heads, decay_rank=2, rate_rank=3, gate_rank=4))
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    with torch.no_grad():
        found, _ = layer(x)
        wanted = torch.stack([by_the_paper(layer, row) for row in x])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


def test_gates_lie_in_their_ranges() -> None:
    layer = drawn(Rwkv7Settings(heads=2))
    moves = layer.transition(10 * torch.randn(4, 50, 6, dtype=torch.float64))
    assert moves is not None
    values = moves.eigenvalues()
    assert values.imag.abs().max() < 1e-9
    assert values.real.min() >= math.exp(-math.exp(-0.5)) - 1
    assert values.real.max() <= 1


def test_a_reset_and_a_write_compiled_into_a_bare_layer_are_exact() -> None:
    """One-hot removal keys with a = 1 clear a row, which the token then fills."""
    layer = Rwkv7(4, Rwkv7Settings(heads=1, learned_start=True, **BARE))
    with torch.no_grad():
        layer.key.weight.copy_(torch.eye(4))
        layer.removal.fill_(1.0)
        layer.rate.up.bias.fill_(1000.0)
        layer.value.weight.copy_(torch.diag(torch.tensor([1.0, 2.0, 3.0, 4.0])))
        assert layer.start is not None
        layer.start.fill_(7.0)
        _, state = layer(torch.eye(4)[[0, 2, 0]][None])
    assert state["S"][0, 0].tolist() == [[1, 0, 0, 0], [7] * 4, [0, 0, 3, 0], [7] * 4]


def test_weights_are_drawn_as_published() -> None:
    torch.manual_seed(0)
    layer = Rwkv7(64, Rwkv7Settings(heads=2, layer=1, layers=4))
    assert layer.mix is not None and layer.decay is not None and layer.bonus is not None  # noqa: PT018
    assert layer.output.weight.abs().max() == 0
    assert layer.decay.down.weight.abs().max() == 0
    assert 0.04 / 8 < layer.key.weight.abs().max() <= 0.05 / 8
    assert 0.4 / 8 < layer.query.weight.abs().max() <= 0.5 / 8
    # Channel 16 of 64, layer 1 of 4: 1 - (16/64)^(0.7 · 3/4) for the keys.
    assert layer.mix[2, 16].item() == pytest.approx(1 - 0.25 ** (0.7 * 0.75), rel=1e-6)
    zigzag = (16 - 15.5) / 15.5
    slow = -6 + 6 * (16 / 63) ** (1 + (1 / 3) ** 0.3) + 0.5 + 2.5 * zigzag * abs(zigzag)
    assert layer.decay.up.bias[16].item() == pytest.approx(slow, rel=1e-5)
    assert layer.norm.weight is not None
    assert layer.norm.weight[0].item() == pytest.approx(0.5**0.7)
    identity = layer.decay.up.weight.T @ layer.decay.up.weight
    torch.testing.assert_close(identity, 0.01 * torch.eye(32), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("width", "decay", "gate"), [(768, 64, 128), (2048, 96, 256), (2560, 96, 320)])
def test_ranks_grow_with_the_width(width: int, decay: int, gate: int) -> None:
    assert published_rank(1.8 * width**0.5, width) == decay
    assert published_rank(0.6 * width**0.8, width) == gate
    assert published_rank(1.8 * width**0.5, 8) == 8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"decay_rank": 0}, "decay_rank is 0"),
        ({"rate_rank": -1}, "rate_rank is -1"),
        ({"gate_rank": 0}, "gate_rank is 0"),
        ({"layer": 2, "layers": 2}, "layer is 2 of 2"),
        ({"layer": -1}, "layer is -1 of 1"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rwkv7Settings(**wrong)  # type: ignore[arg-type]


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(InputError, match="6 inputs cannot be shared by 4 heads"):
        Rwkv7(6, Rwkv7Settings())
