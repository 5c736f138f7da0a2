"""Megalodon: a complex moving average, then attention inside chunks, then a gate.

    n  = norm of x over all positions so far                  (timestep norm)
    m  = RMSNorm(CEMA(n) + ω ∘ n)
    z  = W_z m + b_z, the s features of each head divided by their root mean square
    q  = (1 + g₁) ∘ z / √s + b₁,  k = (1 + g₂) ∘ z / √s + b₂
    v  = SiLU(W_v n + b_v),  r = SiLU(W_r m + b_r)
    a  = attention of q, k, v inside chunks, with rotations by place
    y  = W_h m + b_h + U (r ∘ a)
    output = feed-forward(LayerNorm(x + y))                   to which the block adds x

The last line is the paper's residual path over two hops: the feed-forward part reads x + y, but it is x that
is added to what it gives. Without a feed-forward part the output is y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

from nerode.core import InputError, Reference
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.norms import CentredNorm, ScaledNorm
from nerode.models.parts.attention import attend, attend_step
from nerode.models.parts.linear_attention import require_divisible, split_heads
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.state_space import DiscreteSystem
from nerode.models.shared_terms import shared


class ComplexMovingAverage(nn.Module):
    """h_t = (1 - α δ) e^{iθ} ∘ h_{t-1} + α x_t, y_t = Re(Σ γ h_t) / √states: several for each channel.

    α, δ in [0,1] for each state, θ_n = n · 2π ω / states with one ω in [0,1] for each channel. α and δ begin
    near ½, γ is drawn real from a normal distribution, and the ω spread evenly on a logarithmic scale from 1
    to 1/channels, in random order.

    Implements: [Ma2024]

    Args:
        channels: number of channels, 2 or more.
        states: complex states of each.
    """

    def __init__(self, channels: int, states: int) -> None:
        super().__init__()
        self.states = states
        self.alpha = nn.Parameter(torch.randn(channels, states) * 0.2)
        self.delta = nn.Parameter(torch.randn(channels, states) * 0.2)
        places = torch.randperm(channels) + 1.0
        self.theta = nn.Parameter(torch.logit(torch.exp(-places * math.log(channels) / channels)))
        gamma = torch.randn(channels, states, 2)
        gamma[..., 1] = 0
        self.gamma = nn.Parameter(gamma)

    def discrete(self) -> DiscreteSystem:
        """Returns the recurrence, in float32 or float64."""
        gate, write, read = shared(ComplexMovingAverage._in_steps, self)
        return DiscreteSystem(gate=gate, write=write, read=read)

    def _in_steps(self) -> tuple[Tensor, Tensor, Tensor]:
        alpha, delta = widened(self.alpha).sigmoid(), widened(self.delta).sigmoid()
        numbers = torch.arange(1, self.states + 1, dtype=alpha.dtype, device=alpha.device)
        angle = widened(self.theta).sigmoid()[:, None] * (numbers * (2 * math.pi / self.states))
        size = 1 - alpha * delta
        gate = torch.complex(size * angle.cos(), size * angle.sin())
        read = as_complex(self.gamma) * self.states**-0.5
        return gate, alpha.to(gate.dtype), read

    def initial_state(self, batch: int) -> Tensor:
        """Returns h₀, complex, zero."""
        return torch.zeros_like(as_complex(self.gamma)).expand(batch, -1, -1)


class TimestepNorm(nn.Module):
    """y_t = w ∘ (x_t - μ_t) / √(σ²_t + ε) + b, with μ_t and σ²_t over a group's features at positions 1 … t.

    A causal norm that is carried on: count, mean and variance are the state. They are in float32 at least.

    Implements: [Ma2024]

    Args:
        width: number of features.
        groups: number of groups that they are cut into, of two features or more.
        eps: ε.
    """

    def __init__(self, width: int, groups: int, eps: float = 1e-5) -> None:
        super().__init__()
        if groups < 1 or width % groups or width // groups < 2:
            raise InputError(
                f"{width} features cannot be cut into {groups} groups for a norm over time; "
                "give a number that divides them into groups of two or more"
            )
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns count, mean and variance before the first position."""
        nothing = widened(self.weight.new_zeros(batch, self.groups))
        return torch.zeros(batch, dtype=torch.int64, device=nothing.device), nothing, nothing

    def step(
        self,
        x: Float[Tensor, "batch width"],
        count: Int[Tensor, " batch"],
        mean: Float[Tensor, "batch groups"],
        variance: Float[Tensor, "batch groups"],
    ) -> tuple[Float[Tensor, "batch width"], Tensor, Tensor, Tensor]:
        """Returns the features of one position, and count, mean and variance with it."""
        now, spread = self._moments(x)
        count = count + 1
        share = 1 / count[:, None].to(mean.dtype)
        moved = now - mean
        after = mean + share * moved
        # The variances of the past and of this position, and that between the two means.
        variance = (1 - share) * variance + share * spread + share * (1 - share) * moved.square()
        return self._normalise(x, after, variance), count, after, variance

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        count: Int[Tensor, " batch"],
        mean: Float[Tensor, "batch groups"],
        variance: Float[Tensor, "batch groups"],
    ) -> tuple[Float[Tensor, "batch time width"], Tensor, Tensor, Tensor]:
        """Returns the features of a sequence, and count, mean and variance after it."""
        now, spread = self._moments(x)
        past = count[:, None].to(mean.dtype)
        # Sums of squares are taken around a value near the mean, so that little is lost when they are
        # subtracted. The result does not depend on that value, so no gradient flows through it.
        near = torch.where(past > 0, mean, now[:, 0]).detach()
        numbers = torch.arange(1, x.shape[1] + 1, dtype=mean.dtype, device=x.device)
        total = (past + numbers)[..., None]
        first = (now - near[:, None]).cumsum(1) + (past * (mean - near))[:, None]
        second = (spread + (now - near[:, None]).square()).cumsum(1)
        second = second + (past * (variance + (mean - near).square()))[:, None]
        means = near[:, None] + first / total
        variances = second / total - (first / total).square()
        return (
            self._normalise(x, means, variances),
            count + x.shape[1],
            means[:, -1],
            variances[:, -1],
        )

    def _moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each group at each position by itself."""
        grouped = torch.unflatten(widened(x), -1, (self.groups, -1))
        return grouped.mean(-1), grouped.var(-1, unbiased=False)

    def _normalise(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        grouped = torch.unflatten(widened(x), -1, (self.groups, -1))
        normed = (grouped - mean[..., None]) * (variance + self.eps).rsqrt()[..., None]
        return self.weight * normed.flatten(-2).to(x.dtype) + self.bias


@dataclass(frozen=True, slots=True, kw_only=True)
class MegalodonSettings:
    """Settings of a Megalodon layer.

    Attributes:
        states: complex states of each feature in the moving average.
        heads: heads of the attention.
        shared: width of z, from which queries and keys are made; None for about a quarter of the inputs.
        values: width of the values; None for twice the inputs.
        chunk: positions of a chunk. The published models have 2048; the state holds a chunk of keys and
            values, so the default is smaller.
        norm_groups: groups of features that are normalised together over time.
        rotation_base: base of the rotations of queries and keys.
        feed_forward: the feed-forward part: SiLU, SwiGLU or none.
        expansion: its hidden width as a multiple of the inputs.
    """

    states: int = 16
    heads: int = 1
    shared: int | None = None
    values: int | None = None
    chunk: int = 128
    norm_groups: int = 1
    rotation_base: float = 10_000.0
    feed_forward: Literal["silu", "swiglu", "none"] = "silu"
    expansion: float = 2.5

    def __post_init__(self) -> None:
        require_positive(
            self, "states", "heads", "shared", "values", "chunk", "norm_groups", "rotation_base", "expansion"
        )


class Megalodon(RecurrentLayer):
    """A Megalodon block, without the residual path around it.

    The matrices are drawn from normal distributions of variance 1/(3 columns), biases are zero, ω is drawn
    from a normal distribution of deviation ¼ cut off at ±1.

    Implements: [Ma2024]
    """

    def __init__(self, inputs: int, settings: MegalodonSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        heads = settings.heads
        shared = settings.shared or max(2 * heads, inputs // 4 // (2 * heads) * (2 * heads))
        values = require_divisible("values", settings.values or 2 * inputs, heads) * heads
        self.head_size = require_divisible("shared features", shared, heads)
        if self.head_size % 2:
            raise InputError(
                f"a head has {self.head_size} of the {shared} shared features; rotations need an even number"
            )
        self.norm = TimestepNorm(inputs, settings.norm_groups)
        self.average = ComplexMovingAverage(inputs, settings.states)
        self.skip = nn.Parameter(nn.init.trunc_normal_(torch.empty(inputs), std=0.25, a=-1.0, b=1.0))
        self.average_norm = ScaledNorm(inputs, eps=1e-5)
        self.to_shared, self.to_values = Linear(inputs, shared), Linear(inputs, values)
        self.to_gate, self.direct = Linear(inputs, values), Linear(inputs, inputs)
        self.out = Linear(values, inputs, bias=False)
        self.query_key_scale = nn.Parameter(torch.zeros(2, shared))
        self.query_key_bias = nn.Parameter(torch.zeros(2, shared))
        self.feed_forward = _FeedForward(inputs, settings) if settings.feed_forward != "none" else None
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=(3 * module.in_features) ** -0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def initial_state(self, batch: int) -> State:
        """Returns a zero moving average, no positions in the norm and an empty chunk."""
        count, mean, variance = self.norm.initial_state(batch)
        shape = (batch, self.settings.chunk, self.settings.heads)
        return {
            "h": self.average.initial_state(batch),
            "count": count,
            "mean": mean,
            "variance": variance,
            "keys": self.zeros(*shape, self.head_size),
            "values": self.zeros(*shape, self.to_values.out_features // self.settings.heads),
        }

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        normed, *moments = self.norm.step(x, state["count"], state["mean"], state["variance"])
        average, h = self.average.discrete().step(widened(normed), state["h"])
        mixed, q, k, v = self._project(normed, average)
        kept = state["keys"], state["values"]
        read, kept = attend_step(q, k, v, kept, state["count"], self.settings.rotation_base)
        return self._finish(x, mixed, read), _state(h, moments, kept)

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the state after the sequence."""
        normed, *moments = self.norm(x, state["count"], state["mean"], state["variance"])
        average, h = self.average.discrete().run(widened(normed), state["h"])
        mixed, q, k, v = self._project(normed, average)
        kept = state["keys"], state["values"]
        read, kept = attend(q, k, v, kept, state["count"], self.settings.rotation_base)
        return self._finish(x, mixed, read), _state(h, moments, kept)

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gate of the moving average, the same at each position."""
        gate = self.average.discrete().gate
        return DiagonalTransition(state="h", gate=gate.expand(*x.shape[:2], -1, -1))

    def _project(self, normed: Tensor, average: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The features after the moving average, queries, keys and values."""
        mixed = self.average_norm(average.to(normed.dtype) + self.skip * normed)
        z = split_heads(self.to_shared(mixed), self.settings.heads)
        z = rms_norm(z, (self.head_size,), eps=1e-5).flatten(-2)
        scale = (1 + self.query_key_scale) * self.head_size**-0.5
        q, k = (split_heads(z * scale[i] + self.query_key_bias[i], self.settings.heads) for i in range(2))
        return mixed, q, k, split_heads(silu(self.to_values(normed)), self.settings.heads)

    def _finish(self, x: Tensor, mixed: Tensor, read: Tensor) -> Tensor:
        y: Tensor = self.direct(mixed) + self.out(silu(self.to_gate(mixed)) * read.flatten(-2))
        return y if self.feed_forward is None else self.feed_forward(x + y)


class _FeedForward(nn.Module):
    """W₂ SiLU(W₁ n), or W₂ (SiLU(W₁ n) ∘ W₃ n), n = LayerNorm(x); without biases."""

    def __init__(self, width: int, settings: MegalodonSettings) -> None:
        super().__init__()
        hidden = max(1, round(settings.expansion * width))
        self.norm = CentredNorm(width, eps=1e-5)
        self.up = Linear(width, hidden, bias=False)
        self.gate = Linear(width, hidden, bias=False) if settings.feed_forward == "swiglu" else None
        self.down = Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the features of each position."""
        x = self.norm(x)
        hidden = silu(self.up(x))
        return self.down(hidden if self.gate is None else hidden * self.gate(x))  # type: ignore[no-any-return]


def _state(h: Tensor, moments: list[Tensor], kept: tuple[Tensor, Tensor]) -> State:
    count, mean, variance = moments
    return {"h": h, "count": count, "mean": mean, "variance": variance, "keys": kept[0], "values": kept[1]}


KIND = LayerKind(
    name="megalodon",
    title="Megalodon (CEMA)",
    settings=MegalodonSettings,
    build=Megalodon,
    equation="h = (1 - αδ) e^{iθ} ∘ h + α x, then attention in chunks",
    reference=Reference("Ma2024"),
    surroundings=Surroundings(residual=True),
)
