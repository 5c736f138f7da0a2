"""Recurrences with a matrix state as plain loops, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor


def decay_scan(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, initial: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, where S_t = decay_t ∘ S_{t-1} + k_t^T v_t.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads) for one number a head, (batch, time, heads, keys) for one a row of S.
        initial: (batch, heads, keys, values).
    """
    rows = decay[..., None, None] if decay.ndim == 3 else decay[..., None]
    state = initial
    readings = []
    for q_t, k_t, v_t, row in zip(*(x.unbind(dim=1) for x in (q, k, v, rows)), strict=True):
        state = row * state + k_t[..., None] * v_t[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state


def delta_scan(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, decay: Tensor | None, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state of the delta rule.

    Each token scales the state by its decay, then makes n writes S ← (I − β k k^T) S + β k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, n, heads, keys).
        v: (batch, time, n, heads, values).
        beta: (batch, time, n, heads).
        decay: (batch, time, heads), or None for 1.
        initial: (batch, heads, keys, values).
    """
    decays = [None] * q.shape[1] if decay is None else decay[..., None, None].unbind(dim=1)
    state = initial
    readings = []
    for q_t, k_t, v_t, beta_t, decay_t in zip(
        *(x.unbind(dim=1) for x in (q, k, v, beta)), decays, strict=True
    ):
        state = state if decay_t is None else decay_t * state
        for key, value, strength in zip(*(x.unbind(dim=1) for x in (k_t, v_t, beta_t)), strict=True):
            found = (key[..., None] * state).sum(dim=-2)
            correction = strength[..., None] * (value - found)
            state = state + key[..., None] * correction[:, :, None, :]
        readings.append((q_t[..., None] * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state


def erase_scan(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, lookup: Tensor, erase: Tensor, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the readings o_t = q_t S_t and the last state, S_t = decay ∘ S − erase (lookup^T S) + k v^T.

    Args:
        q: (batch, time, heads, keys).
        k: (batch, time, heads, keys).
        v: (batch, time, heads, values).
        decay: (batch, time, heads, keys).
        lookup: (batch, time, heads, keys).
        erase: (batch, time, heads, keys).
        initial: (batch, heads, keys, values).
    """
    columns = [x[..., None].unbind(dim=1) for x in (q, k, decay, lookup, erase)]
    state = initial
    readings = []
    for q_t, k_t, decay_t, lookup_t, erase_t, v_t in zip(*columns, v.unbind(dim=1), strict=True):
        found = (lookup_t * state).sum(dim=-2, keepdim=True)
        state = decay_t * state - erase_t * found + k_t * v_t[:, :, None, :]
        readings.append((q_t * state).sum(dim=-2))
    return torch.stack(readings, dim=1), state
