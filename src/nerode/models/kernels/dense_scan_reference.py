"""The recurrence with dense matrices as a plain loop, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor


def dense_scan(matrices: Tensor, writes: Tensor | None, initial: Tensor) -> Tensor:
    """Returns all H_t of H_t = A_t H_{t-1} + B_t.

    Args:
        matrices: A, (batch, time, blocks, n, n).
        writes: B, (batch, time, blocks, n, m), or None for zero.
        initial: H_0, (batch, blocks, n, m).
    """
    state, states = initial, []
    for t, matrix in enumerate(matrices.unbind(dim=1)):
        state = matrix @ state
        state = state if writes is None else state + writes[:, t]
        states.append(state)
    return torch.stack(states, dim=1)
