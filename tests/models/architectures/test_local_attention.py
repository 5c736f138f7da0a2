"""Local attention against RecurrentGemma's with the same weights, and what is special to it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaAttention

from nerode.core import InputError
from nerode.models.architectures.local_attention import LocalAttention, LocalAttentionSettings
from nerode.models.config import ModelConfig
from nerode.models.model import build_model
from nerode.models.zoo import LayerConfig
from tests.models.architectures.peers import assert_same_pair, features
from tests.peers.comparison import Pair, give_weights, keep_float64, match_weights


def layer(width: int, dtype: torch.dtype = torch.float64, **settings: Any) -> LocalAttention:
    torch.manual_seed(0)
    return LocalAttention(width, LocalAttentionSettings(**settings)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("window", [1, 3, 80])
def test_it_is_the_attention_of_recurrent_gemma(window: int, dtype: torch.dtype) -> None:
    config = transformers.RecurrentGemmaConfig(
        hidden_size=24,
        num_attention_heads=3,
        num_key_value_heads=1,
        attention_window_size=window,
        num_hidden_layers=3,
        vocab_size=2,
        attn_implementation="eager",
    )
    ours = layer(24, dtype, heads=3, window=window)
    peer = RecurrentGemmaAttention(config, layer_idx=2).to(dtype)
    matches = match_weights(ours, peer)
    give_weights(matches)
    if dtype == torch.float64:
        peer.rotary_emb.inv_freq = 10_000.0 ** (-torch.arange(2, dtype=torch.float64) / 2)
    places = torch.arange(150)
    distances = places[:, None] - places
    hidden = (distances < 0) | (distances >= window)
    mask = torch.zeros(150, 150, dtype=dtype).masked_fill(hidden, -torch.inf)

    def run_peer(x: Tensor) -> Tensor:
        return peer(x, places[None], mask)[0]  # type: ignore[no-any-return]

    pair = Pair(ours=ours, theirs=run_peer, matches=matches, inputs=24)
    with keep_float64() if dtype == torch.float64 else contextlib.nullcontext():
        assert_same_pair(pair, dtype, length=150)


def test_only_the_window_counts() -> None:
    made = layer(6, window=4)
    x = features(1, 40, 6)
    with torch.no_grad():
        alone, _ = made(x[:, 30:])
        whole, state = made(x)
    torch.testing.assert_close(whole[:, 33:], alone[:, 3:], rtol=1e-12, atol=1e-12)
    assert (whole[:, 30:33] - alone[:, :3]).abs().min() > 1e-4
    assert state["seen"].tolist() == [3]
    assert made.state_size == 2 * 3 * 6


def test_without_rotation_the_order_in_the_window_does_not_count() -> None:
    x = features(1, 5, 6)
    turned = torch.cat([x[:, :4].flip(1), x[:, 4:]], dim=1)
    with torch.no_grad():
        for rotary, same in ((0.0, True), (1.0, False)):
            made = layer(6, window=5, rotary=rotary)
            gap = (made(x)[0][:, 4] - made(turned)[0][:, 4]).abs().max()
            assert (gap < 1e-12) == same


def test_griffin_mixes_it_with_recurrent_blocks() -> None:
    names = ("griffin", "griffin", "local-attention")
    config = ModelConfig(layers=tuple(LayerConfig(name=n) for n in names), letters=3, width=12, outputs=3)
    model = build_model(config, seed=0).double()
    word = torch.randint(3, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole, _ = model(word)
        state, scores = model.initial_state(2), []
        for letter in word.unbind(1):
            score, state = model.step(letter, state)
            scores.append(score)
    torch.testing.assert_close(whole, torch.stack(scores, dim=1), rtol=1e-10, atol=1e-10)


def test_heads_are_as_published() -> None:
    assert (LocalAttention(256, LocalAttentionSettings()).heads, layer(12).heads) == (2, 1)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InputError, match="window is 0"):
        LocalAttentionSettings(window=0)
    with pytest.raises(InputError, match=r"1\.5"):
        LocalAttentionSettings(rotary=1.5)
    with pytest.raises(InputError, match="heads"):
        layer(6, heads=4)
