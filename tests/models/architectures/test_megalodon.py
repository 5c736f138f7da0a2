"""Megalodon put together from its equations, one position after the other, from the whole past each time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, silu

from nerode.core import InputError
from nerode.models.architectures.megalodon import Megalodon, MegalodonSettings
from nerode.models.parts.relative_positions import rotate
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
