"""Weighted means of all values so far, whose weights decay at a fixed rate: the time mixing of RWKV-4.

o_t = (Σ_{s<t} e^{-(t-1-s) w + k_s} v_s + e^{u + k_t} v_t) / (the same with 1 for v)

Numerator and denominator are kept divided by e^{m_t}, m_t = max(m_{t-1} - w, k_t), for e^k has no upper
bound.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.precision import stabilisers

Sums = tuple[Tensor, ...]
"""Numerator, denominator and m, each (batch, channels)."""


def weighted_means(
    rate: Float[Tensor, " channels"],
    bonus: Float[Tensor, " channels"],
    k: Float[Tensor, "batch time channels"],
    v: Float[Tensor, "batch time channels"],
    before: Sums,
) -> tuple[Float[Tensor, "batch time channels"], Sums]:
    """Returns the means at all positions and the sums after them.

    Args:
        rate: w.
        bonus: u.
        k: the logarithms of the weights.
        v: the values.
        before: the sums before the first position.
    """
    keep, earlier, m = decaying_gates(rate, k, before[2])
    write = torch.exp(k - m)
    start = torch.stack(before[:2], dim=1)
    written = torch.stack([write * v, write], dim=2)
    sums, final = diagonal_scan(keep[:, :, None].expand_as(written), written, start)
    top, bottom = torch.cat([start[:, None], sums[:, :-1]], dim=1).unbind(2)
    return mean_with_present(top, bottom, earlier, bonus + k, v), (final[:, 0], final[:, 1], m[:, -1])


def decaying_gates(
    rate: Float[Tensor, " channels"],
    k: Float[Tensor, "batch time channels"],
    start: Float[Tensor, "batch channels"],
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gates e^{m_{t-1} - w - m_t} of a sequence, and m before and after each position."""
    earlier, m = stabilisers(k, (-rate).expand_as(k), start)
    return torch.exp(earlier - rate - m), earlier, m


def mean_with_present(top: Tensor, bottom: Tensor, m: Tensor, present: Tensor, v: Tensor) -> Tensor:
    """Returns the mean over the past, whose sums are given, and the present, whose weight is e^present."""
    highest = torch.maximum(m, present)
    past, now = torch.exp(m - highest), torch.exp(present - highest)
    return (past * top + now * v) / (past * bottom + now)
