"""Attention and the mLSTM, forward and backward: the time of peers as multiples of ours."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from benchmarks._rows import show
from benchmarks.cells import module_step
from nerode.models import LayerConfig
from nerode.models.architectures.attention import Attention, AttentionSettings
from nerode.models.parts.attention import alibi_slopes
from nerode.training.environment import keep_freed_memory

WIDTH, HEADS = 64, 4


class TorchAttention(nn.Module):
    """Linear maps around torch's fused attention, causal or with the bias of the slopes."""

    def __init__(self, bias: Tensor | None) -> None:
        super().__init__()
        self.read, self.write = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        parts = self.read(x).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        y = scaled_dot_product_attention(q, k, v, attn_mask=self.bias, is_causal=self.bias is None)
        scores: Tensor = self.write(y.transpose(1, 2).flatten(-2))
        return scores


def attention_layer(positions: str) -> Attention:
    """Returns our layer, of the size of the table."""
    return Attention(WIDTH, AttentionSettings(heads=HEADS, positions=positions))  # type: ignore[arg-type]


def attention(batch: int, length: int) -> None:
    x = torch.randn(batch, length, WIDTH)
    places = torch.arange(length)
    distances = (places - places[:, None]).float()
    slopes = alibi_slopes(HEADS).float()[:, None, None] * distances
    biases = {"nope": None, "alibi": slopes.masked_fill(distances > 0, -torch.inf)[None]}
    for positions, bias in biases.items():
        works = {
            "nerode": module_step(attention_layer(positions), x),
            "torch's fused attention": module_step(TorchAttention(bias), x),
        }
        name = "causal attention" if bias is None else "attention with slopes"
        show(f"{name} d {WIDTH} heads {HEADS} B {batch} T {length}", works)


def mlstm(batch: int, length: int) -> None:
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig

    package = mLSTMLayer(mLSTMLayerConfig(embedding_dim=WIDTH, num_heads=HEADS, context_length=length))
    package.reset_parameters()
    kind, settings = LayerConfig(name="mlstm").resolve()
    x = torch.randn(batch, length, WIDTH)
    works = {"nerode": module_step(kind.build(WIDTH, settings), x), "xlstm package": module_step(package, x)}
    show(f"mlstm layer d {WIDTH} heads {HEADS} B {batch} T {length}", works, repeats=3)


def main() -> None:
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        torch.set_num_threads(1)
        keep_freed_memory()
        print("one thread; medians of processor time")
        attention(64, 128)
        attention(16, 512)
        mlstm(64, 128)
        mlstm(16, 512)
    finally:
        torch.set_num_threads(threads)
