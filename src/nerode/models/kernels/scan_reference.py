"""The diagonal recurrence as a plain loop, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor


def diagonal_scan(gate: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
    """Returns the states h_t = a_t h_{t-1} + b_t for t = 1 … T, one after the other.

    Args:
        gate: a, (batch, time, …) or, the same at each step, (…).
        inputs: b, (batch, time, …).
        initial: h_0, (batch, …).
    """
    gates = gate.unbind(dim=1) if gate.ndim == inputs.ndim else [gate] * inputs.shape[1]
    state = initial
    states = []
    for a, b in zip(gates, inputs.unbind(dim=1), strict=True):
        state = a * state + b
        states.append(state)
    return torch.stack(states, dim=1)
