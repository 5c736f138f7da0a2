"""Local attention: each position attends to the last few, with one head of keys and values for all queries.

    q, k, v = q_proj x, k_proj x, v_proj x
    y_t     = Σ_s softmax_s(qᵀ_t R(s - t) k_s / √size) v_s        t - window < s ≤ t, for each head of q
    output  = o_proj y

R rotates pairs of features by an angle that grows with the distance, the rotary positions. Distances are all
that counts, so the state needs no position: it holds the keys and values of the last window - 1 positions,
the oldest first, and how many of them are there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import LayerKind, RecurrentLayer, State, Surroundings, require_positive
from nerode.models.kernels.linear import Linear
from nerode.models.parts.linear_attention import require_divisible, split_heads
from nerode.models.parts.precision import widened

_HEAD_SIZE = 128
_SLOWEST_TURN = 10_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAttentionSettings:
    """Settings of a layer of local attention.

    Attributes:
        heads: number of heads of queries; None for one for every 128 inputs, and at least one.
        window: number of positions that a position attends to, itself included.
        rotary: the share of the features of a head that is rotated; 0 for no positions at all.
    """

    heads: int | None = None
    window: int = 1024
    rotary: float = 0.5

    def __post_init__(self) -> None:
        require_positive(self, "heads", "window")
        if not 0 <= self.rotary <= 1:
            raise InputError(f"the rotated share of the features is {self.rotary}; give 0 to 1")


class LocalAttention(RecurrentLayer):
    """A layer of local attention, without the norm, the residual path and the feed-forward part around it.

    All matrices are drawn normally with the variance 1 / (number of inputs). The rotated share of one half is
    that of the authors' code; the paper does not give one.

    Implements: [De2024]
    Implements: [Shazeer2019]
    Implements: [Su2024]
    """

    def __init__(self, inputs: int, settings: LocalAttentionSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.heads = settings.heads or max(1, inputs // _HEAD_SIZE)
        self.size = require_divisible("inputs", inputs, self.heads)
        self.rotated = int(self.size * settings.rotary) // 2 * 2
        self.q_proj = Linear(inputs, inputs, bias=False)
        self.k_proj = Linear(inputs, self.size, bias=False)
        self.v_proj = Linear(inputs, self.size, bias=False)
        self.o_proj = Linear(inputs, inputs)
        for linear in (self.q_proj, self.k_proj, self.v_proj, self.o_proj):
            nn.init.normal_(linear.weight, std=inputs**-0.5)
        nn.init.zeros_(self.o_proj.bias)

    def initial_state(self, batch: int) -> State:
        """Returns an empty window: keys and values (batch, window - 1, size), and how many there are."""
        past = self.settings.window - 1
        return {
            "keys": self.zeros(batch, past, self.size),
            "values": self.zeros(batch, past, self.size),
            "seen": self.zeros(batch, dtype=torch.int64),
        }

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the window after it."""
        queries = split_heads(self.q_proj(x), self.heads)
        keys = torch.cat([state["keys"], self.k_proj(x)[:, None]], dim=1)
        values = torch.cat([state["values"], self.v_proj(x)[:, None]], dim=1)
        distances = torch.arange(self.settings.window - 1, -1, -1, device=x.device)
        scores = queries @ self._rotate(keys, -distances).transpose(1, 2) / math.sqrt(self.size)
        absent = distances > state["seen"][:, None]
        weights = _softmax(scores.masked_fill(absent[:, None], -math.inf))
        output: Tensor = self.o_proj((weights @ values).flatten(1))
        return output, self._after(keys, values, state["seen"], 1)

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the window after it.

        Queries are taken a block at a time, so that memory grows with the window and not with the length.
        """
        time, past = x.shape[1], self.settings.window - 1
        queries = split_heads(self.q_proj(x), self.heads)
        keys = torch.cat([state["keys"], self.k_proj(x)], dim=1)
        values = torch.cat([state["values"], self.v_proj(x)], dim=1)
        block = max(64, min(self.settings.window, 512))
        parts = []
        for first in range(0, time, block):
            last = min(first + block, time)
            near = slice(first, last + past)
            parts.append(
                self._attend(queries[:, first:last], keys[:, near], values[:, near], state["seen"] + first)
            )
        output: Tensor = self.o_proj(torch.cat(parts, dim=1))
        return output, self._after(keys, values, state["seen"], time)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
        """The outputs of a block; the first window - 1 keys lie before it, and `seen` of them are there."""
        batch, time = queries.shape[:2]
        past = self.settings.window - 1
        places = torch.arange(keys.shape[1], device=keys.device)
        here = places[past:]
        queries = self._rotate(queries.transpose(1, 2), here).reshape(batch, self.heads * time, self.size)
        scores = queries @ self._rotate(keys, places).transpose(1, 2) / math.sqrt(self.size)
        distances = here[:, None] - places
        outside = (distances < 0) | (distances > past)
        hidden = outside | (places < past - seen[:, None, None])
        scores = scores.view(batch, self.heads, time, -1).masked_fill(hidden[:, None], -math.inf)
        weights = _softmax(scores).view(batch, self.heads * time, -1)
        read = (weights @ values).view(batch, self.heads, time, self.size)
        return read.transpose(1, 2).flatten(2)

    def _rotate(self, x: Tensor, places: Tensor) -> Tensor:
        """Features (…, places, size), the first `rotated` of them turned in the planes (i, i + half)."""
        if not self.rotated:
            return x
        half = self.rotated // 2
        turns = torch.arange(half, device=x.device, dtype=torch.float64) / half
        angles = places[:, None] * _SLOWEST_TURN**-turns
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
        return torch.cat([a * cosines - b * sines, b * cosines + a * sines, rest], dim=-1)

    def _after(self, keys: Tensor, values: Tensor, seen: Tensor, time: int) -> State:
        past = self.settings.window - 1
        first = keys.shape[1] - past
        return {
            "keys": keys[:, first:],
            "values": values[:, first:],
            "seen": (seen + time).clamp(max=past),
        }


def _softmax(scores: Tensor) -> Tensor:
    return torch.softmax(widened(scores), dim=-1).to(scores.dtype)


KIND = LayerKind(
    name="local-attention",
    title="Local attention of Griffin",
    settings=LocalAttentionSettings,
    build=LocalAttention,
    equation="y = softmax over the last `window` positions of q·k, times v",
    reference=Reference("De2024"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="geglu", expansion=3.0),
)
