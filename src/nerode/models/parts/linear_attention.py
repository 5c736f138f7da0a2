"""Features in heads: cutting them apart, a norm of each; matrix states with one outer product per position.

S_t = diag(a_t) S_{t-1} + k_tᵀ v_t,  o_t = q_t S_t;  a_t is one number for each key, or one for all.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import DiagonalTransition, RecurrentLayer, State
from nerode.models.kernels.matrix_scan import decay_scan

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionInputs:
    """Queries, keys, values and decays of positions; the leading axes are those of their features.

    Attributes:
        q: what is read, (…, heads, keys).
        k: where it is written, (…, heads, keys).
        v: what is written, (…, heads, values).
        decay: what the state is multiplied by, (…, heads, keys).
    """

    q: Tensor
    k: Tensor
    v: Tensor
    decay: Tensor


class LinearAttention(RecurrentLayer):
    """A layer with a decaying matrix state; subclasses say what is read and written.

    Args:
        inputs: features that it reads.
        settings: with heads, outputs and learned_start.
        keys: rows of the states of all heads.
        values: columns of the states of all heads.
    """

    def __init__(self, inputs: int, settings: Any, *, keys: int, values: int) -> None:
        super().__init__(inputs, settings.outputs or inputs)
        self.settings = settings
        self.heads = heads = settings.heads
        self.head_shape = (
            heads,
            require_divisible("keys", keys, heads),
            require_divisible("values", values, heads),
        )
        self.start = nn.Parameter(torch.zeros(self.head_shape)) if settings.learned_start else None

    @abstractmethod
    def attend(self, x: Float[Tensor, "*axes inputs"]) -> AttentionInputs:
        """Returns what positions with these features read and write."""

    @abstractmethod
    def give(
        self, x: Float[Tensor, "*axes inputs"], reading: Float[Tensor, "*axes heads values"]
    ) -> Float[Tensor, "*axes outputs"]:
        """Returns the outputs of positions with these features and readings."""

    def initial_state(self, batch: int) -> State:
        """Returns S₀."""
        return {"S": self.started(batch, *self.head_shape)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and S after it."""
        a = self.attend(x)
        matrix = a.decay[..., None] * state["S"] + a.k[..., None] * a.v[..., None, :]
        reading = (a.q[..., None] * matrix).sum(-2)
        return self.give(x, reading), {"S": matrix}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and S after it."""
        start = state["S"]
        a = self.attend(x)
        reading, final = decay_scan(a.q, a.k, a.v, a.decay, start)
        return self.give(x, reading), {"S": final}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the decay of each row of S."""
        return DiagonalTransition(state="S", gate=self.attend(x).decay[..., None])


def draw_xavier(module: nn.Module, *, gain: float) -> None:
    """Draws the weights of all linear maps of a module by Xavier's uniform rule; their biases become zero."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight, gain=gain)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
