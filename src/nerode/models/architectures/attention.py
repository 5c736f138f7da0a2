"""Causal attention with many heads: the layer of transformer decoders.

    q, k, v = heads of W_q x, W_k x, W_v x
    y_t     = Σ_{s ≤ t} softmax_s(q_t · k_s / √size + bias(t - s)) v_s
    output  = W_o y

The state is the cache of all keys and values so far, so it grows with the sequence. Positions enter by
rotating q and k ("rope"), by a bias that falls with the distance ("alibi"), or not at all ("nope"); vectors
added to the embedding are `positions` of a ModelConfig.

Scores, their exponentials and the sums over positions are computed in float32 or wider, whatever the type of
the weights. `step` divides last: the sum of exp(score - greatest) · value by that of exp(score - greatest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import (
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_features,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.parts.attention import alibi_slopes, fused_attention, rotate
from nerode.models.parts.linear_attention import require_divisible, split_heads
from nerode.models.parts.precision import widened

QUERIES_AT_ONCE = 512
"""Bounds the memory for scores: this many rows of them at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSettings:
    """Settings of an attention layer.

    Attributes:
        heads: number of heads.
        size: features of each head; None for inputs / heads, which must then be a whole number.
        positions: how positions enter the scores.
        base: of the rotations: the slowest pair turns once in about 2π base positions.
        slopes: with "alibi", what each head takes off a score per position of distance, 0 or more; None for
            the published ones.
        bias: whether the four linear maps add a bias.
    """

    heads: int = 4
    size: int | None = None
    positions: Literal["rope", "alibi", "nope"] = "rope"
    base: float = 10_000.0
    slopes: tuple[float, ...] | None = None
    bias: bool = True

    def __post_init__(self) -> None:
        require_positive(self, "heads", "size", "base")
        if self.positions == "rope" and self.size is not None and self.size % 2:
            raise InputError(_odd(self.size))
        if self.slopes is None:
            return
        if self.positions != "alibi" or len(self.slopes) != self.heads or min(self.slopes) < 0:
            raise InputError(
                f"slopes {self.slopes} were given for {self.heads} heads with positions {self.positions!r}; "
                'give one slope of 0 or more per head, with positions "alibi"'
            )


def _odd(size: int) -> str:
    return (
        f"a head has {size} features; rotations turn pairs of them, so the number has to be even "
        '(or set positions to "alibi" or "nope")'
    )


class Attention(RecurrentLayer):
    """Causal attention, without the norms, the residual path and the feed-forward part around it.

    Weights are drawn as torch's own attention draws them: W_q, W_k, W_v as one matrix by Glorot's uniform
    rule, W_o uniformly from ±1/√features, biases zero.

    Implements: [Vaswani2017]
    Implements: [Kazemnejad2023] for "nope"
    """

    grows = True

    def __init__(self, inputs: int, settings: AttentionSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.heads = settings.heads
        self.size = settings.size or require_divisible("features", inputs, settings.heads)
        if settings.positions == "rope" and self.size % 2:
            raise InputError(_odd(self.size))
        self.read = Linear(inputs, 3 * self.heads * self.size, bias=settings.bias)
        self.write = Linear(self.heads * self.size, inputs, bias=settings.bias)
        nn.init.xavier_uniform_(self.read.weight)
        if settings.bias:
            nn.init.zeros_(self.read.bias)
            nn.init.zeros_(self.write.bias)

    def initial_state(self, batch: int) -> State:
        """Returns the empty cache: keys and values (batch, positions so far, heads, size)."""
        empty = self.zeros(batch, 0, self.heads, self.size)
        return {"keys": empty, "values": empty}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the cache with its key and value."""
        q, after = self._extend(x[:, None], state)
        keys, values = widened(after["keys"]), widened(after["values"])
        scores = torch.einsum("bhd,bshd->bhs", widened(q)[:, 0], keys) / self.size**0.5
        bias = self._bias(keys.shape[1] - 1, keys.shape[1], scores)
        scores = scores if bias is None else scores + bias[:, 0]
        weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        y = torch.einsum("bhs,bshd->bhd", weights, values) / weights.sum(dim=-1)[..., None]
        output: Tensor = self.write(y.flatten(-2).to(x.dtype))
        return output, after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the cache after it."""
        q, after = self._extend(x, state)
        read = (q, after["keys"], after["values"])
        q, keys, values = (widened(tensor).transpose(1, 2) for tensor in read)
        before = keys.shape[2] - x.shape[1]
        parts = []
        for first in range(0, x.shape[1], QUERIES_AT_ONCE):
            part = q[:, :, first : first + QUERIES_AT_ONCE]
            seen = before + first + part.shape[2]
            # Torch skips what is later by itself where queries and keys begin together.
            causal = seen == part.shape[2] and self.settings.positions != "alibi"
            mask = None if causal else self._mask(before + first, seen, part)
            parts.append(
                fused_attention(part, keys[:, :, :seen], values[:, :, :seen], mask, is_causal=causal)
            )
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
        output: Tensor = self.write(joined.transpose(1, 2).flatten(-2).to(x.dtype))
        return output, after

    def weights(self, x: Float[Tensor, "batch time inputs"]) -> Float[Tensor, "batch heads time time"]:
        """Returns the attention weights of each position, from the start of a sequence."""
        require_features(self, x)
        q, after = self._extend(x, self.initial_state(len(x)))
        scores = torch.einsum("bthd,bshd->bhts", widened(q), widened(after["keys"])) / self.size**0.5
        bias = self._bias(0, x.shape[1], scores)
        later = torch.ones(scores.shape[2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores if bias is None else scores + bias
        weights: Tensor = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
        return weights.to(x.dtype)

    def _extend(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The queries of some positions, and the cache with their keys and values."""
        q, k, v = (split_heads(part, self.heads) for part in self.read(x).chunk(3, dim=-1))
        if self.settings.positions == "rope":
            first = state["keys"].shape[1]
            q, k = rotate(q, first, self.settings.base), rotate(k, first, self.settings.base)
        if state["keys"].shape[1]:
            k, v = torch.cat([state["keys"], k], dim=1), torch.cat([state["values"], v], dim=1)
        return q, {"keys": k, "values": v}

    def _bias(self, first: int, last: int, like: Tensor) -> Tensor | None:
        """The bias of the scores of the positions from first to last (heads, queries, keys)."""
        if self.settings.positions != "alibi":
            return None
        places = torch.arange(last, device=like.device)
        distances = (places - places[first:, None]).to(like.dtype)
        given = self.settings.slopes
        slopes = alibi_slopes(self.heads) if given is None else torch.tensor(given, dtype=torch.float64)
        return slopes.to(distances)[:, None, None] * distances

    def _mask(self, first: int, last: int, like: Tensor) -> Tensor:
        """The same bias with -∞ for later positions; without a bias, which positions may be seen."""
        places = torch.arange(last, device=like.device)
        seen = places[first:, None] >= places
        bias = self._bias(first, last, like)
        # With an axis for the batch: without it torch takes a path that is three times slower.
        return seen if bias is None else bias.masked_fill(~seen, -torch.inf)[None]


# Norms stand before the parts, as in all decoders since about 2019 [Xiong2020]; the first transformer had
# them after the sums, which `surroundings` of a ModelConfig can ask for. Dropout is left to the training.
KIND = LayerKind(
    name="transformer",
    title="Transformer (rotary positions)",
    settings=AttentionSettings,
    build=Attention,
    equation="y = Σ_{s ≤ t} softmax(q_t · k_s / √d) v_s",
    reference=Reference("Vaswani2017"),
    surroundings=Surroundings(norm="layer", residual=True, feed_forward="relu"),
    variants={
        "transformer-nope": {"positions": "nope"},
        "transformer-alibi": {"positions": "alibi"},
        "transformer-periodic": {"positions": "alibi"},
    },
)
