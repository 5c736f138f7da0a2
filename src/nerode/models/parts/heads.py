"""Features in heads: cutting them apart, and a norm of each head by itself."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from nerode.core import InputError

HeadNormKind = Literal["none", "layer", "rms"]


def require_divisible(what: str, width: int, heads: int) -> int:
    """Returns how many of `width` features each head has, or raises InputError."""
    if heads < 1:
        raise InputError(f"heads is {heads}; it has to be 1 or more")
    if width < 1 or width % heads:
        raise InputError(
            f"{width} {what} cannot be shared by {heads} heads; give a positive multiple of {heads}, "
            "or another number of heads"
        )
    return width // heads


def require_positive(**sizes: float | None) -> None:
    """Raises InputError for a setting that is given and not positive."""
    for name, size in sizes.items():
        if size is not None and not size > 0:
            raise InputError(f"{name} is {size}; it has to be positive")


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Returns features (…, width) as (…, heads, width / heads)."""
    return x.reshape(*x.shape[:-1], heads, -1)


class HeadNorm(nn.Module):
    """A norm of each head by itself: features (…, heads, size) to (…, heads * size).

    Args:
        heads: number of heads.
        width: number of features of all heads.
        kind: "layer" takes off the mean and divides by the deviation, "rms" divides by the root of the mean
            square, "none" does neither.
        eps: added to the mean square.
        weight: whether each feature is then scaled by a trained number, 1 at first.
        bias: whether a trained number, 0 at first, is added.
    """

    def __init__(
        self,
        heads: int,
        width: int,
        kind: HeadNormKind,
        *,
        eps: float = 1e-5,
        weight: bool = True,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.kind, self.eps = kind, eps
        self.size = require_divisible("features", width, heads)
        trained = kind != "none"
        self.weight = nn.Parameter(torch.ones(width)) if weight and trained else None
        self.bias = nn.Parameter(torch.zeros(width)) if bias and trained else None

    def forward(self, x: Tensor) -> Tensor:
        """Returns the normalised features of all heads side by side."""
        if self.kind == "layer":
            x = nn.functional.layer_norm(x, (self.size,), eps=self.eps)
        elif self.kind == "rms":
            x = nn.functional.rms_norm(x, (self.size,), eps=self.eps)
        y = x.flatten(-2)
        if self.weight is not None:
            y = y * self.weight
        return y if self.bias is None else y + self.bias


class BlockLinear(nn.Module):
    """A linear map that mixes features only within blocks of neighbours.

    Args:
        width: number of features, before and after.
        block: features in a block; it divides the width.
    """

    def __init__(self, width: int, block: int) -> None:
        super().__init__()
        if block < 1 or width % block:
            raise InputError(
                f"{width} features cannot be cut into blocks of {block}; give a divisor of {width}"
            )
        self.weight = nn.Parameter(torch.empty(width // block, block, block))
        nn.init.normal_(self.weight, std=(2 / (5 * block)) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the image of features (…, width)."""
        blocks = x.reshape(*x.shape[:-1], *self.weight.shape[::2])
        return torch.einsum("...ni,noi->...no", blocks, self.weight).flatten(-2)
