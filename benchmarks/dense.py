"""Recurrences with a matrix for each position against a loop of products, and attention against torch's."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks._rows import Work, show
from benchmarks.kernels import training
from nerode.models.architectures import Attention
from nerode.models.architectures.attention import AttentionSettings
from nerode.models.kernels.scan import dense_scan, dense_scan_reference

SHAPES = (
    ("A5 blocks SO(3)", (64, 40, 8, 3, 3), torch.float32, False),
    ("Z60 blocks SO(2)", (64, 128, 4, 2, 2), torch.float32, False),
    ("blocks SO(8)", (64, 40, 4, 8, 8), torch.float32, False),
    ("IDS4 n 16", (64, 40, 1, 16, 1), torch.float32, True),
    ("IDS4 n 64", (32, 64, 1, 64, 1), torch.float32, True),
    ("IDS4 n 128", (8, 64, 1, 128, 1), torch.float32, True),
    ("PD-SSM n 32", (64, 40, 1, 32, 1), torch.complex64, True),
)


def scan(title: str, sizes: tuple[int, int, int, int, int], dtype: torch.dtype, *, writes: bool) -> None:
    batch, time, blocks, n, m = sizes
    matrices = torch.randn(batch, time, blocks, n, n, dtype=dtype) / n**0.5
    start = torch.randn(batch, blocks, n, m, dtype=dtype)
    written = (torch.randn(batch, time, blocks, n, m, dtype=dtype),) if writes else ()
    works: dict[str, Work] = {}
    for name, function in (("nerode", dense_scan), ("loop", dense_scan_reference)):

        def run(a: Tensor, h: Tensor, b: Tensor | None = None, function: object = function) -> Tensor:
            return function(a, b, h)  # type: ignore[operator,no-any-return]

        works[name] = training(run, matrices, start, *written)
    show(f"{title} B {batch} T {time}", works)


def attention(batch: int, time: int, width: int, heads: int) -> None:
    x = torch.randn(batch, time, width)
    ours = Attention(width, AttentionSettings(heads=heads, positions="nope"))
    theirs = nn.MultiheadAttention(width, heads, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(time)
    works: dict[str, Work] = {
        "nerode": training(lambda x: ours(x)[0], x),
        "torch": training(
            lambda x: theirs(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0], x
        ),
    }
    for positions in ("rope", "alibi"):
        layer = Attention(width, AttentionSettings(heads=heads, positions=positions))  # type: ignore[arg-type]
        works[f"nerode {positions}"] = training(lambda x, layer=layer: layer(x)[0], x)
    show(f"attention B {batch} T {time} d {width} heads {heads}", works)


def main() -> None:
    """Prints the ratios, one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for title, sizes, dtype, writes in SHAPES:
            scan(title, sizes, dtype, writes=writes)
        attention(16, 128, 64, 4)
        attention(4, 1024, 64, 4)
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()
