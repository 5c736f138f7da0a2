"""The step sizes Δ = softplus(bias + …) that a state space model begins with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSizes:
    """A range of step sizes, drawn evenly on a logarithmic scale.

    Attributes:
        smallest: the lower end of the range.
        largest: its upper end.
        floor: smaller step sizes are raised to this.
    """

    smallest: float = 1e-3
    largest: float = 0.1
    floor: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.largest < math.inf:
            raise InputError(
                f"the step sizes go from {self.smallest} to {self.largest}; "
                "give two positive numbers, the smaller one first"
            )
        if not 0 < self.floor < math.inf:
            raise InputError(f"the floor of the step sizes is {self.floor}; it has to be positive")

    def draw(self, count: int) -> Float[Tensor, " count"]:
        """Returns biases b whose softplus is a drawn step size.

        Implements: [GuDao2023]
        """
        low, high = math.log(self.smallest), math.log(self.largest)
        steps = torch.exp(low + torch.rand(count) * (high - low)).clamp(min=self.floor)
        # The inverse of softplus, log(e^Δ - 1), without cancellation for small Δ.
        return steps + torch.log(-torch.expm1(-steps))
