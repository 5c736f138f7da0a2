"""HGRN2: a matrix state with forget gates that are bounded from below, and writes tied to them.

f_t = β + (1 - β) σ(W_f x_t),  S_t = diag(f_t) S_{t-1} + (1 - f_t)ᵀ i_t,  i_t = W_i x_t
o_t = silu(W_q x_t) S_t,  y_t = W_o norm(o_t)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind, Norm, Surroundings, make_norm
from nerode.models.parts.heads import require_positive, split_heads
from nerode.models.parts.linear_attention import AttentionInputs, LinearAttention, draw_xavier


@dataclass(frozen=True, slots=True, kw_only=True)
class Hgrn2Settings:
    """Settings of an HGRN2 layer.

    Attributes:
        heads: number of heads.
        keys: forget gates of all heads; None for as many as inputs.
        values: columns of the states of all heads; None for as many as inputs.
        outputs: features that the layer gives; None for as many as inputs.
        lower_bound: β.
        norm: the norm of the readings of all heads together.
        bias: whether queries, gates and inputs have a bias; not published, for compiled weights.
        signed: gates 2f - 1 in [-1,1] instead of f; what is written stays (1 - f)ᵀ i.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    keys: int | None = None
    values: int | None = None
    outputs: int | None = None
    lower_bound: float = 0.0
    norm: Norm = "rms"
    bias: bool = False
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(heads=self.heads, keys=self.keys, values=self.values, outputs=self.outputs)
        if not 0 <= self.lower_bound < 1:
            raise InputError(f"lower_bound is {self.lower_bound}; it has to be at least 0 and below 1")


class Hgrn2(LinearAttention):
    """An HGRN2 layer.

    The paper learns one table of lower bounds for all layers of a model, growing from 0 at the first layer; a
    layer knows nothing of the others here, so its bound is a setting. Maps are drawn by Xavier's rule with
    gain 2^-2.5.

    Implements: [Qin2024]
    """

    def __init__(self, inputs: int, settings: Hgrn2Settings) -> None:
        keys, values = settings.keys or inputs, settings.values or inputs
        outputs = settings.outputs or inputs
        super().__init__(
            inputs,
            outputs,
            heads=settings.heads,
            keys=keys,
            values=values,
            learned_start=settings.learned_start,
        )
        self.settings = settings
        self.query = nn.Linear(inputs, keys, bias=settings.bias)
        self.forget = nn.Linear(inputs, keys, bias=settings.bias)
        self.value = nn.Linear(inputs, values, bias=settings.bias)
        self.norm = make_norm(settings.norm, values)
        self.output = nn.Linear(values, outputs, bias=False)
        draw_xavier(self, gain=2**-2.5)

    def attend(self, x: Float[Tensor, "*axes inputs"]) -> AttentionInputs:
        """Returns queries, writes, inputs and the forget gates f."""
        least = self.settings.lower_bound
        forget = least + (1 - least) * torch.sigmoid(self.forget(x))
        decay = 2 * forget - 1 if self.settings.signed else forget
        query = nn.functional.silu(self.query(x))
        q, k, v, decay = (split_heads(y, self.heads) for y in (query, 1 - forget, self.value(x), decay))
        return AttentionInputs(q=q, k=k, v=v, decay=decay)

    def give(
        self, x: Float[Tensor, "*axes inputs"], reading: Float[Tensor, "*axes heads values"]
    ) -> Float[Tensor, "*axes outputs"]:
        """Returns the normalised readings through the last map."""
        return self.output(self.norm(reading.flatten(-2)))  # type: ignore[no-any-return]


KIND = LayerKind(
    name="hgrn2",
    title="HGRN2",
    settings=Hgrn2Settings,
    build=Hgrn2,
    equation="S = diag(f) S + (1 - f)ᵀ i, f = β + (1 - β) σ(W x)",
    reference=Reference("Qin2024"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=8 / 3),
    variants={"hgrn2-signed": {"signed": True}},
)
