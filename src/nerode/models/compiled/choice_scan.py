"""All states of h_t = A(c_t) h_{t-1} + b_t, where each position chooses one of a few matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from nerode.models.kernels.scan import dense_scan

WIDEST = 256
"""Above this width a matrix for each position costs more than it saves."""

_PLACES = 1 << 22
"""Places of the matrices of all positions that are laid out at once."""


def choice_scan(matrices: Tensor, choices: Tensor, writes: Tensor, start: Tensor) -> Tensor:
    """Returns the states (batch, time, n).

    Args:
        matrices: A, (choices, n, n).
        choices: c, (batch, time).
        writes: b, (batch, time, n).
        start: h_0, (batch, n).
    """
    width = start.shape[1]
    chunk = max(1, _PLACES // (len(start) * width * width))
    state, blocks = start[:, None, :, None], []
    for chosen, added in zip(choices.split(chunk, dim=1), writes.split(chunk, dim=1), strict=True):  # type: ignore[no-untyped-call]
        states = dense_scan(matrices[chosen][:, :, None], added[:, :, None, :, None], state)
        state = states[:, -1]
        blocks.append(states[:, :, 0, :, 0])
    return torch.cat(blocks, dim=1)
