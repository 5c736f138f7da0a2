"""Attention against torch's own, and what its positions promise."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nerode.core import InputError
from nerode.models.architectures.attention import QUERIES_AT_ONCE, Attention, AttentionSettings
from nerode.models.base import Surroundings
from nerode.models.model import LayerBlock
from nerode.models.parts.attention import alibi_slopes, rotate
from nerode.models.zoo import LayerConfig


def layer(width: int = 12, *, seed: int = 0, **settings: object) -> Attention:
    torch.manual_seed(seed)
    return Attention(width, AttentionSettings(**settings)).double().requires_grad_(False)  # type: ignore[arg-type]


def features(batch: int, time: int, width: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(batch, time, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_without_positions_it_is_the_attention_of_torch(bias: bool) -> None:
    ours = layer(heads=3, positions="nope", bias=bias)
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.read.weight)
        theirs.out_proj.weight.copy_(ours.write.weight)
        if bias:
            for mine in (ours.read.bias, ours.write.bias):
                nn.init.normal_(mine)
            theirs.in_proj_bias.copy_(ours.read.bias)
            theirs.out_proj.bias.copy_(ours.write.bias)
    x = features(2, 9, 12)
    later = torch.ones(9, 9, dtype=torch.bool).triu(1)
    wanted, _ = theirs(x, x, x, attn_mask=later, need_weights=False)
    torch.testing.assert_close(ours(x)[0], wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_block_is_the_transformer_layer_of_torch(norm_first: bool) -> None:
    """Attention in its surroundings: norms before or after, residual paths, feed-forward part."""
    around = Surroundings(
        norm="layer",
        position="pre" if norm_first else "post",
        residual=True,
        feed_forward="relu",
        expansion=2.5,
    )
    ours = LayerBlock(layer(heads=3, positions="nope"), around).double()
    theirs = nn.TransformerEncoderLayer(
        12, 3, 30, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    ).eval()
    attention = ours.layer
    assert isinstance(attention, Attention)
    assert ours.feed_forward is not None
    with torch.no_grad():
        for parameter in theirs.parameters():
            nn.init.normal_(parameter, std=0.3)
        attention.read.weight.copy_(theirs.self_attn.in_proj_weight)
        attention.read.bias.copy_(theirs.self_attn.in_proj_bias)
        for mine, other in (
            (attention.write, theirs.self_attn.out_proj),
            (ours.feed_forward.up, theirs.linear1),
            (ours.feed_forward.down, theirs.linear2),
            (ours.norm, theirs.norm1),
            (ours.second_norm, theirs.norm2),
        ):
            mine.load_state_dict(other.state_dict())
        x = features(2, 9, 12)
        later = torch.ones(9, 9, dtype=torch.bool).triu(1)
        torch.testing.assert_close(ours(x)[0], theirs(x, src_mask=later), rtol=1e-10, atol=1e-10)


def test_weights_are_drawn_as_torch_draws_them() -> None:
    ours = layer(64, heads=4)
    bound = (6 / (4 * 64)) ** 0.5
    assert 0.95 * bound < float(ours.read.weight.abs().max()) <= bound
    assert 0.95 / 8 < float(ours.write.weight.abs().max()) <= 1 / 8
    assert not ours.read.bias.any()
    assert not ours.write.bias.any()


def test_a_rotation_is_a_product_of_complex_numbers() -> None:
    x = features(1, 5, 6).reshape(1, 5, 1, 6)
    numbers = torch.view_as_complex(x.reshape(1, 5, 1, 3, 2))
    places = torch.arange(7.0, 12.0, dtype=torch.float64)
    turns = torch.exp(1j * places[:, None] * 100.0 ** (-torch.arange(3.0, dtype=torch.float64) / 3))
    wanted = torch.view_as_real(numbers * turns[None, :, None]).flatten(-2)
    torch.testing.assert_close(rotate(x, 7, 100.0), wanted, rtol=1e-12, atol=1e-12)


def test_rotated_scores_depend_on_the_distance_only() -> None:
    q, k = features(1, 1, 8).reshape(1, 1, 1, 8), features(1, 1, 8, seed=2).reshape(1, 1, 1, 8)
    near = (rotate(q, 5, 1e4) * rotate(k, 2, 1e4)).sum()
    far = (rotate(q, 100_005, 1e4) * rotate(k, 100_002, 1e4)).sum()
    torch.testing.assert_close(near, far, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12, 16])
def test_slopes_are_those_of_bloom(heads: int) -> None:
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    biases = bloom.build_alibi_tensor(torch.ones(1, 2), heads, torch.float64)
    torch.testing.assert_close(alibi_slopes(heads), biases[:, 0, 1], rtol=1e-6, atol=0)


def test_alibi_weights_fall_with_the_distance() -> None:
    """With zero queries only the bias is left: weights fall by e^-slope a position, nearest first."""
    ours = layer(4, heads=2, size=1, positions="alibi", bias=False)
    with torch.no_grad():
        ours.read.weight[:4] = 0
        ours.read.weight[4:] = torch.eye(2, 4)
        ours.write.weight.copy_(torch.eye(4, 2))
    x = torch.eye(4, dtype=torch.float64)[:1].expand(1, 3, 4).clone()
    x[0, 0, 0] = 2.0
    slope = float(alibi_slopes(2)[0])
    weights = torch.tensor([-2 * slope, -slope, 0.0], dtype=torch.float64).softmax(0)
    wanted = weights @ torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64)
    assert float(ours(x)[0][0, 2, 0]) == pytest.approx(float(wanted), abs=1e-12)


def test_without_positions_the_order_of_the_past_does_not_matter() -> None:
    x = features(1, 6, 12)
    swapped = x[:, [3, 1, 0, 2, 4, 5]]
    for positions, same in (("nope", True), ("rope", False), ("alibi", False)):
        ours = layer(heads=3, positions=positions)
        gap = (ours(x)[0][:, -1] - ours(swapped)[0][:, -1]).abs().max()
        assert (float(gap) < 1e-12) == same, positions


@pytest.mark.parametrize("name", ["transformer", "transformer-nope", "transformer-alibi"])
def test_queries_in_parts_are_the_loop_of_steps(name: str) -> None:
    kind, settings = LayerConfig(name=name, settings={"heads": 2}).resolve()
    torch.manual_seed(0)
    ours = kind.build(4, settings).double()
    x = features(1, QUERIES_AT_ONCE + 9, 4)
    with torch.no_grad():
        _, cache = ours(x[:, :5])
        whole, _ = ours(x[:, 5:], cache)
        state = cache
        for place in range(5, x.shape[1]):
            last, state = ours.step(x[:, place], state)
    torch.testing.assert_close(whole[:, -1], last, rtol=1e-10, atol=1e-10)


def test_the_state_grows() -> None:
    ours = layer(heads=3)
    assert ours.grows
    assert ours.state_size is None
    assert ours.initial_state(2)["keys"].shape == (2, 0, 3, 4)
    assert ours(features(2, 7, 12))[1]["values"].shape == (2, 7, 3, 4)
    assert ours.trace(features(2, 7, 12)).states == {}


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="heads is 0"):
        AttentionSettings(heads=0)
    with pytest.raises(InputError, match="even"):
        AttentionSettings(size=3)
    with pytest.raises(InputError, match="12 features cannot be shared by 5 heads"):
        layer(heads=5)
    with pytest.raises(InputError, match="even"):
        layer(heads=4)
    layer(heads=4, positions="nope")
