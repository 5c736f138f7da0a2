"""The sLSTM cell as a plain loop, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor

Cell = tuple[Tensor, Tensor, Tensor, Tensor]
"""h, c, n and m, each (batch, hidden)."""


def slstm_step(inputs: Tensor, weight: Tensor, state: Cell, *, exponential_forget: bool) -> Cell:
    """Returns the state after one position.

    Args:
        inputs: what the gates i, f, z, o read, without the state: (batch, 4 * hidden).
        weight: what each head adds, (heads, 4 * hidden / heads, hidden / heads), gates in the same order.
        state: the state before it.
        exponential_forget: whether the forget gate is exp(f) instead of sigmoid(f).
    """
    h, c, n, m = state
    heads, _, size = weight.shape
    own = torch.einsum("bhd,hod->bho", h.reshape(-1, heads, size), weight)
    # From (head, gate, place) to (gate, head, place).
    own = own.reshape(-1, heads, 4, size).transpose(1, 2).flatten(1)
    i, f, z, o = (inputs + own).chunk(4, dim=-1)
    kept = m + (f if exponential_forget else torch.nn.functional.logsigmoid(f))
    # Nothing is kept where nothing has been written: then m is free, and i keeps n away from 0.
    after = torch.where(n == 0, i, torch.maximum(i, kept))
    write, keep = torch.exp(i - after), torch.exp((kept - after).clamp(max=0))
    c = keep * c + write * torch.tanh(z)
    n = keep * n + write
    return torch.sigmoid(o) * c / n, c, n, after


def slstm(inputs: Tensor, weight: Tensor, initial: Cell, *, exponential_forget: bool) -> Cell:
    """Returns h, c, n and m after each position, (batch, time, hidden) each."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = slstm_step(x, weight, state, exponential_forget=exponential_forget)
        states.append(state)
    h, c, n, m = (torch.stack(values, dim=1) for values in zip(*states, strict=True))
    return h, c, n, m
