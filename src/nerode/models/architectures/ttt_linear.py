"""TTT-Linear: the state is a linear model that each token trains by a step of gradient descent.

    f(x) = x + norm(x W + b),  loss of a token ½|f(k) - v|²,  its rate η = base σ(u·x + c) / width
    gradients of a mini-batch are all taken at its first W; at its i-th token W_i = W - τ_i Σ_{j≤i} η_j ∇_j,
    τ_i = max(0, 1/i + learned), and the last W_i is the first W of the next mini-batch
    y = O norm(f_i(q));  q and k are turned by their place in the mini-batch

The state has W with b as its last row, so that keys have a last entry 1. Without the inner norm and with
mini-batches of one token this is the delta rule, W ← W - τ η k (kᵀ W - (v - k)ᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference
from nerode.models.base import (
    HouseholderTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.norms import CentredNorm
from nerode.models.parts.attention import turn_pairs
from nerode.models.parts.linear_attention import require_divisible, split_heads
from nerode.models.parts.short_convolution import ShortConvolution, first_window


@dataclass(frozen=True, slots=True, kw_only=True)
class TttSettings:
    """Settings of a TTT-Linear layer.

    Attributes:
        heads: number of inner models side by side; it divides the inputs.
        mini_batch: tokens whose gradients are taken at the same W.
        base_rate: factor of all learning rates.
        inner_norm: whether the inner model ends with a layer norm.
        rotary: whether queries and keys are turned by their place in the mini-batch.
        convolution: positions of the convolutions that give queries and keys from one map, as with the
            Mamba backbone; 0 for two maps without convolutions.
        output_norm: whether there is a layer norm before the last map.
        output_gate: whether that is multiplied by gelu(W x), as with the Mamba backbone.
    """

    heads: int = 4
    mini_batch: int = 16
    base_rate: float = 1.0
    inner_norm: bool = True
    rotary: bool = True
    convolution: int = 0
    output_norm: bool = True
    output_gate: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "mini_batch", "base_rate")
        if self.convolution < 0:
            raise InputError(f"convolution is {self.convolution}; it has to be 0 (none) or more positions")


class TttInputs(NamedTuple):
    """The inputs of the inner models: (batch, heads, time, …), queries and keys with a last entry 1."""

    q: Tensor
    k: Tensor
    target: Tensor
    rate: Tensor


class TttLinear(RecurrentLayer):
    """A TTT-Linear layer.

    Maps are drawn from N(0, 0.8/n), n their inputs: the published deviation of 0.02 at a width of 2,048. The
    first W and u are drawn from N(0, 0.02²), the other inner weights are 0, the norms 1 and 0.

    Implements: [SunTtt2024]
    """

    def __init__(self, inputs: int, settings: TttSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.heads, self.mini_batch = settings.heads, settings.mini_batch
        self.width = require_divisible("inputs", inputs, settings.heads)
        if settings.rotary and self.width % 2:
            raise InputError(
                f"a head of {self.width} features cannot be turned in pairs; choose another number of heads, "
                "or rotary=false"
            )
        self.query = Linear(inputs, inputs, bias=False)
        self.convolution: ShortConvolution | None = None
        self.key: nn.Linear | None = None
        if settings.convolution:
            self.convolution = ShortConvolution(2 * inputs, settings.convolution)
        else:
            self.key = Linear(inputs, inputs, bias=False)
        self.value = Linear(inputs, inputs, bias=False)
        self.gate = Linear(inputs, inputs, bias=False) if settings.output_gate else None
        self.norm = CentredNorm(inputs, eps=1e-6) if settings.output_norm else nn.Identity()
        self.output = Linear(inputs, inputs, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=(0.8 / inputs) ** 0.5)
        self.rate = Linear(inputs, self.heads)
        nn.init.normal_(self.rate.weight, std=0.02)
        nn.init.zeros_(self.rate.bias)
        self.token_scale = nn.Parameter(torch.zeros(self.mini_batch))
        self.start = nn.Parameter(torch.zeros(self.heads, self.width + 1, self.width))
        nn.init.normal_(self.start.data[:, :-1], std=0.02)
        self.inner_weight: nn.Parameter | None = None
        self.inner_bias: nn.Parameter | None = None
        if settings.inner_norm:
            self.inner_weight = nn.Parameter(torch.ones(self.heads, 1, self.width))
            self.inner_bias = nn.Parameter(torch.zeros(self.heads, 1, self.width))

    def initial_state(self, batch: int) -> State:
        """Returns W; for longer mini-batches the sum of gradients and the place; the convolution's window."""
        state = {"W": self.learned_start.expand(batch, -1, -1, -1)}
        if self.mini_batch > 1:
            state["gradient"] = torch.zeros_like(state["W"])
            state["place"] = self.zeros(batch, dtype=torch.int64)
        return state | first_window(self.convolution, batch)

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        place = state["place"] if self.mini_batch > 1 else torch.zeros_like(x[:, 0], dtype=torch.int64)
        q, k, v, after = self._project(x[:, None], state)
        q, k, target, rate = self._signals(x[:, None], (q, k, v), place[:, None])
        W = state["W"]
        gradient = k.mT @ (rate * self._loss_gradient(k @ W, target))
        if self.mini_batch > 1:
            gradient = state["gradient"] + gradient
        now = W - self._scales()[place][:, None, None, None] * gradient
        y = self._read(x[:, None], q[..., :-1] + self._inner(q @ now))[:, 0]
        if self.mini_batch == 1:
            return y, {"W": now, **after}
        last = (place == self.mini_batch - 1)[:, None, None, None]
        after["W"] = torch.where(last, now, W)
        after["gradient"] = torch.where(last, torch.zeros_like(gradient), gradient)
        after["place"] = (place + 1) % self.mini_batch
        return y, after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it, one mini-batch after the other."""
        first = 0
        if self.mini_batch > 1:
            low, high = (int(place) for place in state["place"].aminmax())
            if low != high:
                return self.reference(x, state)
            first = low
        *projected, after = self._project(x, state)
        places = (first + torch.arange(x.shape[1], device=x.device)) % self.mini_batch
        signals = self._signals(x, tuple(projected), places)
        W, gradient = state["W"], state.get("gradient", torch.zeros_like(state["W"]))
        lengths = parts_of_mini_batches(first, x.shape[1], self.mini_batch)
        readings = []
        for part in zip(*(torch.split_with_sizes(s, lengths, dim=2) for s in signals), strict=True):
            reading, W, gradient = self._mini_batch_part(TttInputs(*part), W, gradient, first)
            readings.append(reading)
            first = (first + reading.shape[2]) % self.mini_batch
        after["W"] = W
        if self.mini_batch > 1:
            after["gradient"] = gradient
            after["place"] = torch.full_like(state["place"], first)
        return self._read(x, torch.cat(readings, dim=2)), after

    def transition_from(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> HouseholderTransition | None:
        """Returns the factor of each position if there is no inner norm and a mini-batch is one token."""
        if self.settings.inner_norm or self.mini_batch > 1:
            return None
        *projected, _ = self._project(x, state)
        places = torch.zeros(x.shape[1], dtype=torch.long, device=x.device)
        signals = self._signals(x, tuple(projected), places)
        vectors = signals.k.transpose(1, 2)[:, :, None]
        betas = (self._scales() * signals.rate)[..., 0].transpose(1, 2)[:, :, None]
        return HouseholderTransition(state="W", vectors=vectors, betas=betas)

    def _mini_batch_part(
        self, part: TttInputs, W: Tensor, gradient: Tensor, place: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The readings of tokens within one mini-batch from a place on, and W and the sum after them."""
        q, k, target, rate = part
        scales = self._scales()[place : place + q.shape[2], None]
        steps = rate * self._loss_gradient(k @ W, target)
        inner = q @ W - scales * (q @ gradient + torch.tril(q @ k.mT) @ steps)
        gradient = gradient + k.mT @ steps
        if place + q.shape[2] == self.mini_batch:
            W, gradient = W - scales[-1] * gradient, torch.zeros_like(gradient)
        return q[..., :-1] + self._inner(inner), W, gradient

    def _scales(self) -> Tensor:
        """τ of each place in a mini-batch."""
        counts = torch.arange(1, self.mini_batch + 1, device=self.token_scale.device)
        return (1 / counts.to(self.token_scale.dtype) + self.token_scale).clamp_min(0)

    def _project(self, x: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor, State]:
        """Queries, keys and values before they are turned, and the window after them."""
        after: State = {}
        q = self.query(x)
        if self.convolution is not None:
            mixed, after["window"] = self.convolution(torch.cat([q, q], dim=-1), state["window"])
            q, k = mixed.chunk(2, dim=-1)
        else:
            assert self.key is not None
            k = self.key(x)
        return q, k, self.value(x), after

    def _signals(self, x: Tensor, projected: tuple[Tensor, ...], places: Tensor) -> TttInputs:
        q, k, v = (split_heads(s, self.heads).transpose(1, 2) for s in projected)
        if self.settings.rotary:
            q, k = turned(q, places), turned(k, places)
        rate = self.settings.base_rate / self.width * self.rate(x).sigmoid()
        one = torch.ones_like(q[..., :1])
        return TttInputs(
            torch.cat([q, one], dim=-1),
            torch.cat([k, one], dim=-1),
            v - k,
            rate.transpose(1, 2)[..., None],
        )

    def _inner(self, z: Tensor) -> Tensor:
        """The norm of the inner model."""
        if self.inner_weight is None or self.inner_bias is None:
            return z
        return nn.functional.layer_norm(z, (self.width,), eps=1e-6) * self.inner_weight + self.inner_bias

    def _loss_gradient(self, z: Tensor, target: Tensor) -> Tensor:
        """The gradient of ½|norm(z) - target|² with respect to z."""
        if self.inner_weight is None or self.inner_bias is None:
            return z - target
        deviation = (z.var(-1, keepdim=True, unbiased=False) + 1e-6).sqrt()
        unit = (z - z.mean(-1, keepdim=True)) / deviation
        slope = (unit * self.inner_weight + self.inner_bias - target) * self.inner_weight
        along = unit * (slope * unit).mean(-1, keepdim=True)
        return (slope - slope.mean(-1, keepdim=True) - along) / deviation

    def _read(self, x: Tensor, readings: Tensor) -> Tensor:
        """The output from what the inner models give, (batch, heads, time, width)."""
        y = self.norm(readings.transpose(1, 2).flatten(-2))
        if self.gate is not None:
            y = y * nn.functional.gelu(self.gate(x), approximate="tanh")
        return self.output(y)  # type: ignore[no-any-return]


def parts_of_mini_batches(first: int, time: int, size: int) -> list[int]:
    """Returns how many tokens of a sequence fall into each mini-batch, when it begins at place `first`."""
    begun = min(time, size - first)
    whole, rest = divmod(time - begun, size)
    return [begun, *[size] * whole, *([rest] if rest else [])]


def turned(x: Float[Tensor, "batch heads time width"], places: Tensor) -> Tensor:
    """Returns each pair of neighbours turned by its place times 10000^(-2i/width), i the number of the pair.

    Places are (time) or (batch, time).

    Implements: [Su2024]
    """
    width = x.shape[-1]
    speeds = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64, device=x.device) / width)
    angles = places[..., None] * speeds
    return turn_pairs(x, angles if places.ndim == 1 else angles[:, None])


KIND = LayerKind(
    name="ttt-linear",
    title="TTT-Linear",
    settings=TttSettings,
    build=TttLinear,
    equation="W = W - η ∇ ½|f(k; W) - v|², f(x) = x + norm(x W)",
    reference=Reference("SunTtt2024"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=8 / 3),
)
