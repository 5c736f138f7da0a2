"""Layers whose state is a matrix for each head that decays and takes up one outer product a position.

S_t = diag(a_t) S_{t-1} + k_tᵀ v_t,  o_t = q_t S_t;  a_t is one number for each key, or one for all.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.models.base import DiagonalTransition, SequenceLayer, State, require_features
from nerode.models.kernels.matrix_scan import decay_scan
from nerode.models.parts.heads import require_divisible


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


class LinearAttention(SequenceLayer):
    """A layer with a decaying matrix state; subclasses say what is read and written.

    Args:
        inputs: features that it reads.
        outputs: features that it gives.
        heads: number of heads.
        keys: rows of the states of all heads.
        values: columns of the states of all heads.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    def __init__(
        self, inputs: int, outputs: int, *, heads: int, keys: int, values: int, learned_start: bool
    ) -> None:
        super().__init__(inputs, outputs)
        self.heads = heads
        self.head_shape = (
            heads,
            require_divisible("keys", keys, heads),
            require_divisible("values", values, heads),
        )
        self.start = nn.Parameter(torch.zeros(self.head_shape)) if learned_start else None

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
        if self.start is None:
            return {"S": self.zeros(batch, *self.head_shape)}
        return {"S": self.start.expand(batch, -1, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and S after it."""
        a = self.attend(x)
        matrix = a.decay[..., None] * state["S"] + a.k[..., None] * a.v[..., None, :]
        reading = (a.q[..., None] * matrix).sum(-2)
        return self.give(x, reading), {"S": matrix}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and S after it."""
        require_features(self, x)
        start = (state or self.initial_state(len(x)))["S"]
        a = self.attend(x)
        reading, final = decay_scan(a.q, a.k, a.v, a.decay, start)
        return self.give(x, reading), {"S": final}

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> DiagonalTransition:
        """Returns the decay of each row of S."""
        return DiagonalTransition(state="S", gate=self.attend(x).decay[..., None])


def draw_xavier(module: nn.Module, *, gain: float) -> None:
    """Draws the weights of all linear maps of a module by Xavier's uniform rule; their biases become zero."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight, gain=gain)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
