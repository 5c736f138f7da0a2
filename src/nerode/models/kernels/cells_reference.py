"""The nonlinear cells as plain steps and loops, on any device and in any precision."""

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


def gru_step(inputs: Tensor, weight: Tensor, bias: Tensor, state: Tensor, cap: float = 1.0) -> Tensor:
    """Returns h = (1 − z) n + z h, n = tanh(x_n + r (W_n h + b)), with r and z/cap sigmoids of x + W h."""
    x_reset, x_update, x_new = inputs.chunk(3, dim=-1)
    h_reset, h_update, h_new = (state @ weight.T).chunk(3, dim=-1)
    reset, update = torch.sigmoid(x_reset + h_reset), torch.sigmoid(x_update + h_update)
    new = torch.tanh(x_new + reset * (h_new + bias))
    return new + (update if cap == 1 else cap * update) * (state - new)


def gru(inputs: Tensor, weight: Tensor, bias: Tensor, initial: Tensor, cap: float = 1.0) -> Tensor:
    """Returns the states of a GRU whose reset gate acts after the product."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = gru_step(x, weight, bias, state, cap)
        states.append(state)
    return torch.stack(states, dim=1)


def reset_first_step(inputs: Tensor, weight: Tensor, state: Tensor, cap: float = 1.0) -> Tensor:
    """Returns h = (1 − z) n + z h, n = tanh(x_n + W_n (r h)), with r and z/cap sigmoids of x + W h."""
    x_reset, x_update, x_new = inputs.chunk(3, dim=-1)
    w_reset, w_update, w_new = weight.chunk(3)
    reset, update = torch.sigmoid(x_reset + state @ w_reset.T), torch.sigmoid(x_update + state @ w_update.T)
    new = torch.tanh(x_new + (reset * state) @ w_new.T)
    return new + (update if cap == 1 else cap * update) * (state - new)


def gru_reset_first(inputs: Tensor, weight: Tensor, initial: Tensor, cap: float = 1.0) -> Tensor:
    """Returns the states of a GRU whose reset gate acts before the product."""
    state = initial
    states = []
    for x in inputs.unbind(dim=1):
        state = reset_first_step(x, weight, state, cap)
        states.append(state)
    return torch.stack(states, dim=1)


def lstm_step(inputs: Tensor, weight: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Returns h = o tanh(c) and c = f c + i g."""
    i, f, g, o = (inputs + state @ weight.T).chunk(4, dim=-1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def lstm(inputs: Tensor, weight: Tensor, initial: Tensor, initial_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the states h_t and the cells c_t."""
    state, cell = initial, initial_cell
    states, cells = [], []
    for x in inputs.unbind(dim=1):
        state, cell = lstm_step(x, weight, state, cell)
        states.append(state)
        cells.append(cell)
    return torch.stack(states, dim=1), torch.stack(cells, dim=1)
