"""The step loop of the non-saturating recurrent unit, fast on the CPU."""

from __future__ import annotations

from torch import Tensor

from nerode.models.kernels import nru_reference
from nerode.models.kernels.nru_reference import Heads


def nru(
    inputs: Tensor,
    weight: Tensor,
    head_weight: Tensor,
    head_bias: Tensor,
    initial: tuple[Tensor, Tensor],
    heads: Heads,
) -> tuple[Tensor, Tensor]:
    """Returns the states h_t and the memories m_t."""
    return nru_reference.nru(inputs, weight, head_weight, head_bias, initial, heads)
