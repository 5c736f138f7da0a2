"""Mamba-2 against transformers' layer with the same weights, and what is special to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.architectures.mamba2 import Mamba2, Mamba2Settings
from nerode.models.base import count_numbers
from tests.models.architectures.peers import assert_same_as_peer, features


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> Mamba2:
    torch.manual_seed(0)
    made = Mamba2(width, Mamba2Settings(**settings)).to(dtype)
    with torch.no_grad():
        for parameter in (made.D, made.norm_weight):
            if parameter is not None:
                parameter.copy_(features(*parameter.shape, dtype=dtype))
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_layer_of_transformers(dtype: torch.dtype) -> None:
    assert_same_as_peer("transformers-mamba-2", dtype)


def test_it_begins_as_published() -> None:
    torch.manual_seed(0)
    made = Mamba2(256, Mamba2Settings(head_size=1))
    strengths = made.A_log.exp()
    assert 1 <= strengths.min() < 1.3
    assert 15.7 < strengths.max() <= 16.001
    assert abs(strengths.mean() - 8.5) < 0.8
    steps = nn.functional.softplus(made.dt_bias).log10()
    assert -3.001 < steps.min() < -2.9
    assert -1.1 < steps.max() < -0.999
    assert made.D is not None
    assert made.norm_weight is not None
    assert (made.D == 1).all()
    assert (made.norm_weight == 1).all()


def test_heads_are_as_published_where_they_fit() -> None:
    assert (Mamba2(64, Mamba2Settings()).heads, Mamba2(64, Mamba2Settings()).head_size) == (2, 64)
    assert (Mamba2(6, Mamba2Settings()).heads, Mamba2(50, Mamba2Settings()).head_size) == (1, 50)


def half(whole: Mamba2, number: int) -> Mamba2:
    """The layer that has only the heads of one of the two groups."""
    made = layer(6, channels=8, head_size=2, states=3)
    rows = torch.arange(16), 16 + torch.arange(16), 32 + torch.arange(12), 44 + torch.arange(8)
    z, u, bc, r = rows
    taken = torch.cat([part.view(-1, 2, len(part) // 2)[:, number].flatten() for part in (z, u)])
    b, c = bc.view(2, 2, 3)[:, number]
    taken = torch.cat([taken, b, c, r.view(2, 4)[number]])
    convolved = taken[8:22] - 16
    channels, heads = slice(8 * number, 8 * number + 8), slice(4 * number, 4 * number + 4)
    weights = whole.state_dict()
    made.load_state_dict(
        {
            "in_proj.weight": weights["in_proj.weight"][taken],
            "convolution.weight": weights["convolution.weight"][convolved],
            "convolution.bias": weights["convolution.bias"][convolved],
            "norm_weight": weights["norm_weight"][channels],
            "out_proj.weight": weights["out_proj.weight"][:, channels],
            **{name: weights[name][heads] for name in ("A_log", "D", "dt_bias")},
        }
    )
    return made


def test_groups_do_not_see_each_other() -> None:
    whole = layer(6, channels=16, head_size=2, states=3, groups=2)
    x = features(2, 9, 6)
    parts: list[Tensor] = [half(whole, number)(x)[0] for number in (0, 1)]
    torch.testing.assert_close(whole(x)[0], parts[0] + parts[1], rtol=1e-11, atol=1e-11)


def test_each_part_can_be_left_out() -> None:
    d, c, n = 6, 12, 128
    mixed = c + 2 * n
    core = d * (mixed + 1) + 2 + c * d
    parts = {"convolution": 5 * mixed, "gate": d * c, "skip": 1, "norm": c}
    full = core + sum(parts.values())
    assert count_numbers(layer(d).parameters()) == full
    for name, size in parts.items():
        without = layer(d, **{name: 0 if name == "convolution" else False})
        assert count_numbers(without.parameters()) == full - size
        assert torch.isfinite(without(features(1, 3, d))[0]).all()
    assert layer(d).state_size == c * n + 3 * mixed
    assert layer(d, convolution=0).state_size == c * n


def test_without_norm_and_gate_it_is_linear_attention_with_decay() -> None:
    made = layer(
        4, channels=4, head_size=2, states=3, convolution=0, activation=False, gate=False, norm=False
    )
    x = features(1, 5, 4)
    u, B, C, r = (x[0] @ made.in_proj.weight.T).split([4, 3, 3, 2], dim=-1)
    delta = torch.log1p(torch.exp(r + made.dt_bias))
    outputs = []
    for t in range(5):
        total = made.D.repeat_interleave(2) * u[t]  # type: ignore[union-attr]
        for s in range(t + 1):
            decay = torch.exp(-made.A_log.exp() * delta[s + 1 : t + 1].sum(0))
            total = total + (C[t] @ B[s]) * (decay * delta[s]).repeat_interleave(2) * u[s]
        outputs.append(made.out_proj.weight @ total)
    torch.testing.assert_close(made(x)[0][0], torch.stack(outputs), rtol=1e-11, atol=1e-11)


def test_signed_gates_are_twice_the_gates_minus_one() -> None:
    x = features(2, 5, 6)
    plain, signed = layer(6).transition(x).gate, layer(6, signed=True).transition(x).gate
    torch.testing.assert_close(signed, 2 * plain - 1)
    assert plain.shape == (2, 5, 1, 1, 1)


@pytest.mark.parametrize("wrong", [{"channels": 0}, {"head_size": 0}, {"groups": 0}, {"states": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="1 or more"):
        Mamba2Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positions"):
        Mamba2Settings(convolution=-1)


@pytest.mark.parametrize("wrong", [{"head_size": 5}, {"head_size": 4, "groups": 2}])
def test_heads_and_groups_have_to_fit(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="cannot be cut"):
        layer(6, **wrong)
