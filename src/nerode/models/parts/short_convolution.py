"""A causal convolution over a few positions, each channel by itself, with its window as the state."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError


class ShortConvolution(nn.Module):
    """y_t = Σ_j w_j x_{t-size+1+j} + b for each channel; positions before the start count as zero.

    The window that `step` and `forward` take and give holds the last size - 1 inputs, the oldest first.

    Args:
        channels: number of channels.
        size: number of positions that an output looks at, itself included.
        bias: whether there is a b.
    """

    def __init__(self, channels: int, size: int, *, bias: bool = True) -> None:
        super().__init__()
        if size < 1:
            raise InputError(f"a convolution over {size} positions was asked for; it needs 1 or more")
        self.channels, self.size = channels, size
        self.weight = nn.Parameter(torch.empty(channels, size))
        self.bias = nn.Parameter(torch.empty(channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights as torch does for a convolution with one input channel a group."""
        bound = self.size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def initial_window(self, batch: int) -> Float[Tensor, "batch window channels"]:
        """Returns the window before the first position."""
        return self.weight.new_zeros(batch, self.size - 1, self.channels)

    def step(
        self, x: Float[Tensor, "batch channels"], window: Float[Tensor, "batch window channels"]
    ) -> tuple[Float[Tensor, "batch channels"], Float[Tensor, "batch window channels"]]:
        """Returns the output of one position and the window after it."""
        seen = torch.cat([window, x[:, None]], dim=1)
        y = (seen * self.weight.T).sum(1)
        return (y if self.bias is None else y + self.bias), seen[:, 1:]

    def forward(
        self, x: Float[Tensor, "batch time channels"], window: Float[Tensor, "batch window channels"]
    ) -> tuple[Float[Tensor, "batch time channels"], Float[Tensor, "batch window channels"]]:
        """Returns the outputs of a sequence and the window after it."""
        seen = torch.cat([window, x], dim=1)
        length = x.shape[1]
        # A sum of shifted products: on a CPU faster than torch's grouped convolution, forward and backward.
        y = seen[:, :length] * self.weight[:, 0]
        for j in range(1, self.size):
            y = torch.addcmul(y, seen[:, j : j + length], self.weight[:, j])
        return (y if self.bias is None else y + self.bias), seen[:, length:]
