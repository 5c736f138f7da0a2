"""The token shift of RWKV: each feature of a position mixed with that of the position before it.

The published initial values grow with the depth of the layer, so the settings of these layers say how deep
they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.core import InputError


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
