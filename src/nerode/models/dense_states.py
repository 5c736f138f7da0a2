"""All states of a dense linear recurrence:  h_t = A h_{t-1} + u_t."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

BLOCK = 32
"""Positions that are done at once."""


def dense_states(
    matrix: Float[Tensor, "states states"],
    inputs: Float[Tensor, "batch time states"],
    initial: Float[Tensor, "batch states"],
) -> Float[Tensor, "batch time states"]:
    """Returns h_1 … h_T, block by block.

    Inside a block each state is first its own input, then that of two positions, of four, and so on: log₂ of
    the block's length products of large matrices instead of as many small ones as there are positions.
    """
    length = inputs.shape[1]
    powers = [matrix.T]
    while 2 ** len(powers) < min(BLOCK, length):
        powers.append(powers[-1] @ powers[-1])
    blocks = []
    for block in torch.split(inputs, BLOCK, dim=1):
        first = block[:, :1] + (initial @ powers[0])[:, None]
        states = torch.cat([first, block[:, 1:]], dim=1)
        for bit, power in enumerate(powers):
            shift = 2**bit
            if shift < states.shape[1]:
                later = states[:, shift:] + states[:, :-shift] @ power
                states = torch.cat([states[:, :shift], later], dim=1)
        initial = states[:, -1]
        blocks.append(states)
    return torch.cat(blocks, dim=1)
