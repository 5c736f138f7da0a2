"""All states of a dense linear recurrence:  h_t = A h_{t-1} + u_t."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

CHUNK = 16
LONG = 128
FEW = 2048
"""Chunks are worth their extra products from `LONG` positions on, if a step has at most `FEW` numbers: then
the loop spends its time on calls and not on arithmetic. Measured by `benchmarks/s4d.py`."""


def dense_states(
    matrix: Float[Tensor, "states states"],
    inputs: Float[Tensor, "batch time states"],
    initial: Float[Tensor, "batch states"],
) -> Float[Tensor, "batch time states"]:
    """Returns h_1 … h_T: by a loop over the positions, or over those of all chunks at once."""
    if inputs.shape[1] < LONG or initial.numel() > FEW:
        return _loop(matrix, inputs, initial)
    return _in_chunks(matrix, inputs, initial)


def _loop(matrix: Tensor, inputs: Tensor, state: Tensor) -> Tensor:
    turned = matrix.T
    states = []
    for position in inputs.unbind(1):
        state = torch.addmm(position, state, turned)
        states.append(state)
    return torch.stack(states, dim=1)


def _in_chunks(matrix: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
    """The states of each chunk from zero, then from chunk to chunk what the state before it adds."""
    batch, time, size = inputs.shape
    powers = matrix.T
    while powers.shape[1] < CHUNK * size:
        powers = torch.cat([powers, powers[:, -size:] @ powers], dim=1)
    if not powers.isfinite().all():
        # A power may overflow where no state does: in float16 that of 2 is enough.
        return _loop(matrix, inputs, initial)
    chunks = pad(inputs, (0, 0, 0, -time % CHUNK)).reshape(-1, CHUNK, size)
    inside = _loop(matrix, chunks, torch.zeros_like(chunks[:, 0]))
    before = [initial]
    for gained in inside[:, -1].reshape(batch, -1, size).unbind(1)[:-1]:
        before.append(torch.addmm(gained, before[-1], powers[:, -size:]))
    carried = torch.stack(before, dim=1).reshape(-1, size) @ powers
    return (inside + carried.view_as(inside)).reshape(batch, -1, size)[:, :time]
