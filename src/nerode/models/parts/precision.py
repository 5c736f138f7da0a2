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
