"""Numbers in the middle of a layer that 16 bits are too coarse for."""

from __future__ import annotations

import torch
from jaxtyping import Complex, Float
from torch import Tensor

_COARSE = (torch.bfloat16, torch.float16)


def widened(tensor: Float[Tensor, " ..."]) -> Float[Tensor, " ..."]:
    """Returns 16-bit floats as float32, and others as they are."""
    return tensor.float() if tensor.dtype in _COARSE else tensor


def as_complex(pairs: Float[Tensor, "... 2"]) -> Complex[Tensor, " ..."]:
    """Returns pairs of real and imaginary parts as complex numbers; there are none of 16 bits a part.

    Complex weights are kept as such pairs, because torch drops the imaginary part of a complex weight when
    a model is converted to a real type.
    """
    return torch.view_as_complex(widened(pairs).contiguous())


def stabilisers(
    log_input: Float[Tensor, "batch time ..."],
    log_forget: Float[Tensor, "batch time ..."],
    start: Float[Tensor, "batch ..."],
) -> tuple[Float[Tensor, "batch time ..."], Float[Tensor, "batch time ..."]]:
    """Returns m before and after each position, m_t = max(log f_t + m_{t-1}, ĩ_t).

    m_t less the sum of all log f up to t is a running maximum. The sums grow with the sequence, so they are
    taken in float64.
    """
    total = torch.cumsum(log_forget.double(), dim=1)
    candidates = torch.cat([start[:, None].double(), log_input.double() - total], dim=1)
    highest = torch.cummax(candidates, dim=1).values[:, 1:]
    m = (total + highest).to(log_input.dtype)
    return torch.cat([start[:, None], m[:, :-1]], dim=1), m
