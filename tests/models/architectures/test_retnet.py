"""RetNet against its published sum over pairs of positions, and what is special to it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

from nerode.core import InputError
from nerode.models.architectures.retnet import RetNet, RetNetSettings
from tests.models.architectures.peers import features
from tests.models.architectures.weights import shaken


@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
def test_it_is_its_sum_over_pairs(norm: Any) -> None:
    """In complex numbers: ⟨R(tθ) q, R(sθ) k⟩ is the real part of conj(q) k e^{-i(t-s)θ}."""
    layer = shaken(RetNet(6, RetNetSettings(heads=2, keys=8, values=6, norm=norm)))
    x = features(2, 11, 6)
    q, k = (
        torch.view_as_complex((x @ part.weight.T).reshape(2, 11, 2, 2, 2))
        for part in (layer.query, layer.key)
    )
    v = (x @ layer.value.weight.T).reshape(2, 11, 2, 3)
    theta = torch.tensor([1.0, 1 / 10_000], dtype=torch.float64)
    o = torch.zeros(2, 11, 2, 3, dtype=torch.float64)
    for head, gamma in enumerate((1 - 1 / 32, 1 - 1 / 64)):
        for t in range(11):
            for s in range(t + 1):
                pairs = q[:, t, head].conj() * k[:, s, head] * torch.exp(-1j * (t - s) * theta)
                o[:, t, head] += gamma ** (t - s) * pairs.sum(-1).real[:, None] / math.sqrt(4) * v[:, s, head]
    if norm == "layer":
        o = o - o.mean(-1, keepdim=True)
    if norm != "none":
        o = o / (o.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    expected = (functional.silu(x @ layer.gate.weight.T) * o.flatten(-2)) @ layer.output.weight.T
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-10, atol=1e-10)


def test_eigenvalues_are_fixed_and_inside_the_unit_disk() -> None:
    layer = RetNet(8, RetNetSettings(heads=2, keys=8)).double()
    values = layer.transition(features(1, 3, 8)).eigenvalues()
    assert values.shape == (1, 3, 2, 2, 2)
    for head, gamma in enumerate((1 - 1 / 32, 1 - 1 / 64)):
        wanted = gamma * torch.exp(1j * torch.tensor([-1.0, 1.0], dtype=torch.float64))
        for time in range(3):
            found = values[0, time, head, 0]
            torch.testing.assert_close(found[found.imag.argsort()], wanted)


def test_float32_holds_its_angles_over_long_sequences() -> None:
    """The state after many positions depends on the last few hundred: as if it had begun there."""
    torch.manual_seed(0)
    layer = RetNet(4, RetNetSettings(heads=1, keys=2))
    x = features(1, 100_400, 4, dtype=torch.float32)
    with torch.no_grad():
        whole, _ = layer(x)
        late, _ = layer(x[:, -1_400:])
    torch.testing.assert_close(whole[:, -400:], late[:, -400:], rtol=1e-4, atol=1e-4)


def test_it_begins_as_published() -> None:
    torch.manual_seed(0)
    layer = RetNet(64, RetNetSettings())
    assert layer.value.weight.shape == (128, 64)
    for part, gain in ((layer.query, 2**-2.5), (layer.gate, 2**-2.5), (layer.output, 1.0)):
        bound = gain * math.sqrt(6 / sum(part.weight.shape))
        assert 0.98 * bound < float(part.weight.detach().abs().max()) <= bound
    assert sum(p.numel() for p in layer.parameters()) == 8 * 64 * 64
    assert layer.state_size == 64 * 128 // 4


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"keys": 12}, "a head has 3 keys"),
        ({"keys": 6}, "6 keys cannot be shared by 4 heads"),
        ({"values": 0}, "values is 0"),
    ],
)
def test_it_refuses(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        RetNet(8, RetNetSettings(**settings))
