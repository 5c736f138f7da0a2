"""The decay of Mamba-2 as a module: one number in [0, 1] for each head and position."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class DecayGate(nn.Module):
    """α = exp(-e^a softplus(W x + b)), one a and one b for each head.

    e^a is drawn uniformly from [1, 16], softplus(b) log-uniformly from [0.001, 0.1], as in Mamba-2. (Gated
    DeltaNet's own code draws e^a from [0, 16], where a has no lower bound.)

    Implements: [DaoGu2024]
    """

    def __init__(self, inputs: int, heads: int) -> None:
        super().__init__()
        self.read = nn.Linear(inputs, heads, bias=False)
        self.log_rate = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        step = torch.exp(torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)))
        self.bias = nn.Parameter(step + torch.log(-torch.expm1(-step)))

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch heads"]:
        """Returns α of each position."""
        step = nn.functional.softplus(self.read(x) + self.bias)
        return torch.exp(-self.log_rate.exp() * step)
