"""The nonlinear cells as plain loops, on any device and in any precision."""

from __future__ import annotations

import torch
from torch import Tensor


def elman(inputs: Tensor, weight: Tensor, initial: Tensor, activation: str) -> Tensor:
    """Returns the states h_t = f(x_t + W h_{t-1}), f = tanh or relu."""
    apply = torch.tanh if activation == "tanh" else torch.relu
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = apply(x + state @ weight.T)
        states.append(state)
    return torch.stack(states, dim=1)


def gru(inputs: Tensor, weight: Tensor, bias: Tensor, initial: Tensor) -> Tensor:
    """Returns the states h_t = (1 − z) n + z h_{t-1}, n = tanh(x_n + r (W_n h_{t-1} + b))."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        x_reset, x_update, x_new = x.chunk(3, dim=-1)
        h_reset, h_update, h_new = (state @ weight.T).chunk(3, dim=-1)
        reset, update = torch.sigmoid(x_reset + h_reset), torch.sigmoid(x_update + h_update)
        new = torch.tanh(x_new + reset * (h_new + bias))
        state = new + update * (state - new)
        states.append(state)
    return torch.stack(states, dim=1)


def lstm(inputs: Tensor, weight: Tensor, initial: Tensor, initial_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the states h_t = o tanh(c_t) and the cells c_t = f c_{t-1} + i g."""
    state, cell = initial, initial_cell
    states, cells = [], []
    for x in inputs.unbind(dim=1):
        i, f, g, o = (x + state @ weight.T).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        state = torch.sigmoid(o) * torch.tanh(cell)
        states.append(state)
        cells.append(cell)
    return torch.stack(states, dim=1), torch.stack(cells, dim=1)
