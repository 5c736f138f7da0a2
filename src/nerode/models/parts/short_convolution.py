"""Mixing with earlier positions: a short causal convolution, and the token shift of RWKV.

The published initial values grow with the depth of the layer, so the settings of these layers say how deep
they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import State


class ShortConvolution(nn.Module):
    """y_t = Σ_j w_j x_{t-size+1+j} + b for each channel; positions before the start count as zero.

    The window that `step` and `forward` take and give holds the last size - 1 inputs, the oldest first.

    Args:
        channels: number of channels.
        size: number of positions that an output reads, itself included.
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
        return convolved(seen, self.weight, self.bias), seen[:, x.shape[1] :]


def convolved(
    seen: Float[Tensor, "batch padded channels"],
    weight: Float[Tensor, "channels size"],
    bias: Float[Tensor, " channels"] | None = None,
) -> Float[Tensor, "batch time channels"]:
    """Returns y_t = Σ_j w_j seen_{t+j} + b: as many positions fewer than `seen` as the window is before one.

    A sum of shifted products is faster on a CPU than torch's grouped convolution, forward and backward.
    """
    size = weight.shape[1]
    length = seen.shape[1] - size + 1
    y = seen[:, :length] * weight[:, 0]
    for j in range(1, size):
        y = torch.addcmul(y, seen[:, j : j + length], weight[:, j])
    return y if bias is None else y + bias


def first_window(convolution: ShortConvolution | None, batch: int) -> State:
    """Returns the part of a state that a convolution keeps, before the first position; none without one."""
    return {} if convolution is None else {"window": convolution.initial_window(batch)}


def look_back(convolution: ShortConvolution | None, x: Tensor, state: State) -> tuple[Tensor, State]:
    """Returns features mixed with those before them, and the window after them.

    Args:
        convolution: None to leave the features as they are.
        x: those of one position (batch, channels), or of a sequence (batch, time, channels).
        state: the state before them.
    """
    if convolution is None:
        return x, {}
    y, window = (convolution.step if x.ndim == 2 else convolution)(x, state["window"])
    return y, {"window": window}


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """The place of a layer in its model.

    Attributes:
        layer: its number, from 0.
        num_layers: how many there are.
    """

    layer: int = 0
    num_layers: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.layer < self.num_layers:
            raise InputError(
                f"layer is {self.layer}, num_layers {self.num_layers}; "
                "layers are numbered from 0 and below num_layers"
            )

    @property
    def rising(self) -> float:
        """From 0 at the first layer to 1 at the last."""
        return self.layer / max(1, self.num_layers - 1)

    @property
    def falling(self) -> float:
        """From 1 at the first layer towards 0."""
        return 1 - self.layer / self.num_layers


def before(
    x: Float[Tensor, "batch time features"], last: Float[Tensor, "batch features"]
) -> Float[Tensor, "batch time features"]:
    """Returns the features of the position before each position; `last` comes before the first."""
    return torch.cat([last[:, None], x[:, :-1]], dim=1)


def ramp(size: int) -> Float[Tensor, " size"]:
    """Returns i / size for i = 0 … size - 1."""
    return torch.arange(size, dtype=torch.float64) / size


def full_ramp(size: int) -> Float[Tensor, " size"]:
    """Returns i / (size - 1) for i = 0 … size - 1; 0 for a single one."""
    return torch.arange(size, dtype=torch.float64) / max(1, size - 1)


def zigzag(size: int) -> Float[Tensor, " size"]:
    """Returns 0, 1, -1, again and again."""
    return (torch.arange(size, dtype=torch.float64) + 1) % 3 - 1
