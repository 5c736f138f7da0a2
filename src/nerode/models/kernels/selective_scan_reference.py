"""The selective scan as a plain loop, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor


def selective_scan(
    x: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor,
    initial: Tensor,
    *,
    signed: bool = False,
) -> tuple[Tensor, Tensor]:
    """Returns the outputs y_t = C_t h_t + D x_t and the last state, h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t.

    Args:
        x: (batch, time, channels).
        delta: Δ, (batch, time, channels).
        A: (channels, states).
        B: (batch, time, states), shared by the channels.
        C: (batch, time, states).
        D: (channels).
        initial: (batch, channels, states).
        signed: whether the gate is 2 exp(Δ_t A) - 1.
    """
    state = initial
    outputs = []
    for x_t, delta_t, B_t, C_t in zip(*(row.unbind(dim=1) for row in (x, delta, B, C)), strict=True):
        step = delta_t[:, :, None]
        gate = torch.exp(step * A)
        gate = 2 * gate - 1 if signed else gate
        state = gate * state + step * B_t[:, None, :] * x_t[:, :, None]
        outputs.append((state * C_t[:, None, :]).sum(dim=-1) + D * x_t)
    return torch.stack(outputs, dim=1), state
