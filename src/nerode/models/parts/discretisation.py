"""From continuous time to steps: h' = λ h + B x becomes h_t = gate h_{t-1} + write x_t."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from nerode.core import InputError

Discretisation = Literal["zoh", "bilinear"]


def draw_log_steps(count: int, smallest: float, largest: float) -> Float[Tensor, " count"]:
    """Returns logarithms of step sizes, drawn evenly between those of two positive numbers."""
    low, high = math.log(smallest), math.log(largest)
    return low + (high - low) * torch.rand(count)


def require_steps(smallest: float, largest: float) -> None:
    """Raises InputError unless the step sizes are a range of positive numbers."""
    if not 0 < smallest <= largest < math.inf:
        raise InputError(
            f"the step sizes go from {smallest} to {largest}; give two positive numbers in order"
        )


def discretise(
    rate: Complex[Tensor, "channels states"], step: Float[Tensor, " channels"], method: Discretisation
) -> tuple[Complex[Tensor, "channels states"], Complex[Tensor, "channels states"]]:
    """Returns the gate and the factor of B of each λ ("rate") for steps of these sizes.

    "zoh" is exact for inputs that stay constant between steps; "bilinear" is the trapezoidal rule.
    """
    turned = rate * step[:, None]
    if method == "bilinear":
        below = (1 - turned / 2).reciprocal()
        return (1 + turned / 2) * below, below * step[:, None]
    still = turned == 0
    # (e^z - 1)/z is 1 at z = 0, where neither the quotient nor its derivative can be computed as written.
    quotient = torch.expm1(turned) / torch.where(still, torch.ones_like(turned), turned)
    return turned.exp(), torch.where(still, 1 + turned / 2, quotient) * step[:, None]


def bilinear_matrix(
    matrix: Float[Tensor, "states states"],
    write: Float[Tensor, " states"],
    step: Float[Tensor, " channels"],
) -> tuple[Float[Tensor, "channels states states"], Float[Tensor, "channels states"]]:
    """Returns (I - Δ/2 A)⁻¹ (I + Δ/2 A) and (I - Δ/2 A)⁻¹ Δ B for each step size Δ."""
    half = step[:, None, None] / 2 * matrix
    one = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    right = torch.cat([one + half, step[:, None, None] * write[None, :, None]], dim=2)
    solved = torch.linalg.solve(one - half, right)
    return solved[..., :-1], solved[..., -1]
