"""Megalodon put together from its equations, one position after the other, from the whole past each time."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, silu

from nerode.core import InputError
from nerode.models.architectures.megalodon import (
    ComplexMovingAverage,
    Megalodon,
    MegalodonSettings,
    TimestepNorm,
)
from nerode.models.parts.attention import rotate
from tests.models.architectures.peers import features


def layer(width: int, **settings: Any) -> Megalodon:
    torch.manual_seed(0)
    made = Megalodon(width, MegalodonSettings(**settings)).double().requires_grad_(False)
    for weight in made.parameters():
        weight.add_(0.1 * torch.randn_like(weight))
    return made


def root_mean_square(x: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def written_out(made: Megalodon, x: Tensor) -> Tensor:
    """The outputs of one sequence (time, width)."""
    time, width = x.shape
    chunk, heads = made.settings.chunk, made.settings.heads
    normed = torch.stack(
        [(x[t] - x[: t + 1].mean()) / (x[: t + 1].var(unbiased=False) + 1e-5).sqrt() for t in range(time)]
    )
    normed = normed * made.norm.weight + made.norm.bias
    system = made.average.discrete()
    ages = torch.arange(time)
    kernel = ((system.read * system.write)[..., None] * system.gate[..., None] ** ages).sum(1).real
    average = torch.stack([(kernel[:, : t + 1].flip(1).T * normed[: t + 1]).sum(0) for t in range(time)])
    mixed = root_mean_square(average + made.skip * normed) * made.average_norm.weight
    z = root_mean_square(made.to_shared(mixed).reshape(time, heads, -1)).reshape(time, -1)
    scale = (made.query_key_scale + 1) / made.head_size**0.5
    q, k = ((z * scale[i] + made.query_key_bias[i]).reshape(1, time, heads, -1) for i in range(2))
    q, k = (rotate(p, 0, 10_000.0)[0] for p in (q, k))  # only differences of places matter
    v = silu(made.to_values(normed)).reshape(time, heads, -1)
    read = torch.zeros_like(v)
    for t in range(time):
        own = slice(t - t % chunk, t + 1)
        for head in range(heads):
            weights = (k[own, head] @ q[t, head]).softmax(0)
            read[t, head] = weights @ v[own, head]
    y = made.direct(mixed) + made.out(silu(made.to_gate(mixed)) * read.reshape(time, -1))
    part = made.feed_forward
    if part is None:
        return y
    n = layer_norm(x + y, (width,), part.norm.weight, part.norm.bias, 1e-5)
    hidden = silu(part.up(n))
    return part.down(hidden if part.gate is None else hidden * part.gate(n))


@pytest.mark.parametrize(
    "settings",
    [
        {"chunk": 6, "states": 3},
        {"chunk": 6, "heads": 2, "shared": 8, "values": 6, "feed_forward": "none"},
        {"chunk": 40, "feed_forward": "swiglu", "expansion": 1.5},
    ],
)
def test_the_equations(settings: dict[str, Any]) -> None:
    made = layer(8, **settings)
    x = features(1, 20, 8)
    torch.testing.assert_close(made(x)[0][0], written_out(made, x[0]), rtol=1e-8, atol=1e-8)


def test_the_moving_average_reaches_across_chunks() -> None:
    made = layer(8, chunk=4)
    x, other = features(1, 12, 8), features(1, 12, 8, seed=2)
    changed = torch.cat([other[:, :1], x[:, 1:]], dim=1)
    assert not torch.allclose(made(x)[0][:, -1], made(changed)[0][:, -1])


def test_widths() -> None:
    made = layer(64)
    assert made.to_shared.out_features == 16
    assert made.to_values.out_features == 128
    assert made.feed_forward is not None
    assert made.feed_forward.up.out_features == 160


def test_matrices_begin_with_their_variance() -> None:
    torch.manual_seed(0)
    made = Megalodon(128, MegalodonSettings()).requires_grad_(False)
    for module, columns in ((made.to_values, 128), (made.out, 256)):
        assert abs(float(module.weight.var()) * 3 * columns - 1) < 0.05
    assert not made.direct.bias.any()
    assert made.skip.abs().max() <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states"),
        ({"heads": 0}, "heads"),
        ({"chunk": 0}, "chunk"),
        ({"expansion": 0.0}, "expansion"),
        ({"rotation_base": -1.0}, "rotation_base"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MegalodonSettings(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm_groups": 3}, "groups"),
        ({"norm_groups": 8}, "groups"),
        ({"shared": 3}, "even"),
        ({"heads": 2, "shared": 3}, "shared"),
        ({"heads": 2, "values": 5}, "values"),
    ],
)
def test_sizes_that_do_not_fit(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Megalodon(8, MegalodonSettings(**settings))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_gate_write_and_read() -> None:
    torch.manual_seed(0)
    average = ComplexMovingAverage(3, 4).double()
    torch.nn.init.normal_(average.gamma)
    average.requires_grad_(False)
    system = average.discrete()
    for channel in range(3):
        for n in range(4):
            alpha, delta = (sigmoid(float(w[channel, n])) for w in (average.alpha, average.delta))
            angle = (n + 1) * 2 * math.pi / 4 * sigmoid(float(average.theta[channel]))
            gate = (1 - alpha * delta) * cmath.exp(1j * angle)
            gamma = complex(*average.gamma[channel, n].tolist()) / 2
            assert cmath.isclose(complex(system.gate[channel, n]), gate, rel_tol=1e-12)
            assert cmath.isclose(complex(system.write[channel, n]), alpha, rel_tol=1e-12)
            assert cmath.isclose(complex(system.read[channel, n]), gamma, rel_tol=1e-12)


def test_it_begins_with_angles_on_a_logarithmic_scale_and_a_real_reading() -> None:
    torch.manual_seed(0)
    average = ComplexMovingAverage(64, 16).requires_grad_(False)
    shares = torch.sort(average.theta.sigmoid()).values
    wanted = torch.exp(-torch.arange(64, 0, -1) * math.log(64) / 64)
    torch.testing.assert_close(shares, wanted, rtol=1e-4, atol=1e-5)
    assert not average.gamma[..., 1].any()
    assert abs(float(average.gamma[..., 0].std()) - 1) < 0.1
    assert abs(float(average.alpha.std()) - 0.2) < 0.02


def norm(groups: int = 2) -> TimestepNorm:
    torch.manual_seed(0)
    made = TimestepNorm(6, groups).double()
    torch.nn.init.normal_(made.weight)
    torch.nn.init.normal_(made.bias)
    return made


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_mean_and_variance_of_the_past(offset: float) -> None:
    layer = norm()
    x = torch.randn(2, 9, 6, dtype=torch.float64) + offset
    y, count, mean, variance = layer(x, *layer.initial_state(2))
    assert count.tolist() == [9, 9]
    for t in range(9):
        for group in range(2):
            part = slice(3 * group, 3 * group + 3)
            past = x[:, : t + 1, part].reshape(2, -1).numpy()
            scaled = (x[:, t, part].numpy() - past.mean(1)[:, None]) / np.sqrt(past.var(1) + 1e-5)[:, None]
            wanted = scaled * layer.weight[part].detach().numpy() + layer.bias[part].detach().numpy()
            np.testing.assert_allclose(y[:, t, part].detach(), wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mean[:, 1], x[:, :, 3:].reshape(2, -1).mean(1), rtol=1e-12)
    np.testing.assert_allclose(variance[:, 1], past.var(1), rtol=1e-8)


def test_rows_of_a_batch_may_have_seen_different_numbers_of_positions() -> None:
    layer = norm(1)
    x = torch.randn(1, 7, 6, dtype=torch.float64)
    whole = layer(x, *layer.initial_state(1))[0]
    states = [layer(x[:, :k], *layer.initial_state(1))[1:] for k in (2, 4)]
    joined = [torch.cat(parts) for parts in zip(*states, strict=True)]
    y = layer(torch.cat([x[:, 2:5], x[:, 4:7]]), *joined)[0]
    torch.testing.assert_close(y, torch.cat([whole[:, 2:5], whole[:, 4:7]]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("groups", [0, 4, 6])
def test_groups_have_two_features_or_more(groups: int) -> None:
    with pytest.raises(InputError, match="groups"):
        TimestepNorm(6, groups)
