"""Positions inside attention: rotations of queries and keys (RoPE) and a penalty for distance (ALiBi)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def rotate(
    x: Float[Tensor, "batch time heads size"], first: int, base: float
) -> Float[Tensor, "batch time heads size"]:
    """Returns features whose neighbouring pairs are turned by an angle that grows with the position.

    Pair number i at position p is turned by p / base^(2i / size). The product of a query and a key turned
    like this depends on the distance of their positions only.

    Args:
        x: queries or keys; the last axis has an even size.
        first: the position of the first of them.
        base: how slowly the slowest pair turns.

    Implements: [Su2024]
    """
    time, size = x.shape[1], x.shape[3]
    # The angles are large at far positions: in float64 their sines keep all the digits of x.
    places = torch.arange(first, first + time, dtype=torch.float64, device=x.device)
    speeds = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device=x.device) / size)
    return turn_pairs(x, (places[:, None] * speeds)[:, None, :])


def turn_pairs(x: Float[Tensor, "... size"], angles: Float[Tensor, "... pairs"]) -> Tensor:
    """Returns features whose neighbouring pairs are turned by these angles, each pair by its own."""
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)
    return turned.flatten(-2)


def alibi_slopes(heads: int) -> Float[Tensor, " heads"]:
    """Returns how much each head takes off a score for each position of distance.

    For a power of two, 2^(-8/heads), 2^(-16/heads), …; otherwise the slopes of the power of two below, and
    every second slope of the power of two above for the heads that are left.

    Implements: [Press2022]
    """
    below = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (i + 1) / below) for i in range(below)]
    slopes += [2.0 ** (-4 * (2 * i + 1) / below) for i in range(heads - below)]
    return torch.tensor(slopes, dtype=torch.float64)
