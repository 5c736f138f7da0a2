"""The delta rule with a short convolution before it and a norm after it: what its architectures share.

    q, k, v = silu(convolution(W x)),  β = σ(W x),  α = exp(-e^a softplus(W x + b))
    S ← α S,  then S ← S - β k̂ (k̂ᵀ S) + β k̂ vᵀ for each key of the token,  k̂ = k / |k|
    o = q̂ᵀ S / √keys,  y = W (norm(o) ∘ silu(W x))

The unit key of a swap, (1, -1)/√2, has no exact floating form. So the factor is computed from the key as it
is, I - (β/|k|²) k kᵀ, after a scaling by a power of two: a swap of two whole numbers is then exact in every
format. Everything around the rule can be switched off, for networks whose weights are not learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import HouseholderTransition, RecurrentLayer, State, Surroundings, require_sizes
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.matrix_scan import delta_scan
from nerode.models.kernels.norms import ScaledNorm
from nerode.models.parts.precision import widened
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back


class DecayGate(nn.Module):
    """α = exp(-e^a softplus(W x + b)), one a and one b for each head.

    e^a is drawn uniformly from [1, 16], softplus(b) log-uniformly from [0.001, 0.1], as in Mamba-2. (Gated
    DeltaNet's own code draws e^a from [0, 16], where a has no lower bound.)

    Implements: [DaoGu2024]
    """

    def __init__(self, inputs: int, heads: int) -> None:
        super().__init__()
        self.read = Linear(inputs, heads, bias=False)
        self.log_rate = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        step = torch.exp(torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)))
        self.bias = nn.Parameter(step + torch.log(-torch.expm1(-step)))

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch heads"]:
        """Returns α of each position."""
        step = nn.functional.softplus(self.read(x) + self.bias)
        return torch.exp(-self.log_rate.exp() * step)


SHORTEST_KEY = 1e-3
"""Keys shorter than this fade: the published 1e-6 under the root."""

AROUND = Surroundings(norm="rms", residual=True, feed_forward="swiglu", expansion=8 / 3)
"""What the architectures of this family were published with around the layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSettings:
    """Settings that all layers with the delta rule have.

    Attributes:
        heads: number of states side by side.
        key_width: rows of each state, the size of a key; None for inputs / heads.
        value_width: columns of each state, the size of a value; None for inputs / heads.
        signed: whether β is 2σ instead of σ, so that the eigenvalue 1 - β lies in [-1, 1].
        convolution: positions that the short convolution sees; 0 for none.
        activation: what is applied to queries, keys and values.
        key_norm: whether keys are divided by their length.
        query_norm: whether queries are divided by their length.
        scale: factor of what is read; None for 1/√key_width.
        output_norm: the norm of what each head reads.
        output_gate: whether that is multiplied by silu(W x).
        bias: whether the maps to queries, keys, values and β have a bias.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    key_width: int | None = None
    value_width: int | None = None
    signed: bool = False
    convolution: int = 4
    activation: Literal["silu", "none"] = "silu"
    key_norm: Literal["l2", "none"] = "l2"
    query_norm: Literal["l2", "none"] = "l2"
    scale: float | None = None
    output_norm: Literal["rms", "none"] = "rms"
    output_gate: bool = False
    bias: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_sizes(self, "heads", "key_width", "value_width")
        if self.convolution < 0:
            raise InputError(f"convolution is {self.convolution}; it has to be 0 (none) or more positions")

    def width_of_head(self, inputs: int, given: int | None) -> int:
        """Returns a width that is given, or the share of one head of the inputs."""
        if given is not None:
            return given
        if inputs % self.heads:
            raise InputError(
                f"{self.heads} heads do not divide {inputs} inputs; choose another number of heads, "
                "or give key_width and value_width"
            )
        return inputs // self.heads


class DeltaInputs(NamedTuple):
    """Keys, values, strengths and decay of a token; an axis of time may stand before the axes named here."""

    q: Float[Tensor, "*batch heads keys"]
    k: Float[Tensor, "*batch factors heads keys"]
    v: Float[Tensor, "*batch factors heads values"]
    beta: Float[Tensor, "*batch factors heads"]
    decay: Float[Tensor, "*batch heads"] | None


class DeltaRule(RecurrentLayer):
    """A layer with the delta rule; `factors` keys per token, and a decay of the state if asked for.

    Weights are drawn from N(0, 0.8/n), n the number of inputs of the map: that is the published deviation of
    0.02 at the published width of 2,048, and gives features of the same size at any other. Convolutions are
    drawn as torch does.
    """

    def __init__(
        self, inputs: int, settings: DeltaSettings, *, factors: int = 1, decays: bool = False
    ) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.factors = factors
        self.heads = heads = settings.heads
        self.keys = settings.width_of_head(inputs, settings.key_width)
        self.values = settings.width_of_head(inputs, settings.value_width)
        self.scale = self.keys**-0.5 if settings.scale is None else settings.scale
        self.sizes = [heads * self.keys, factors * heads * self.keys, factors * heads * self.values]
        self.query, self.key, self.value = (Linear(inputs, n, bias=settings.bias) for n in self.sizes)
        self.beta = Linear(inputs, factors * heads, bias=settings.bias)
        self.decay = DecayGate(inputs, heads) if decays else None
        size = settings.convolution
        self.convolution = ShortConvolution(sum(self.sizes), size, bias=False) if size else None
        self.norm = ScaledNorm(self.values, eps=1e-5) if settings.output_norm == "rms" else nn.Identity()
        read = heads * self.values
        self.gate = Linear(inputs, read, bias=False) if settings.output_gate else None
        self.output = Linear(read, inputs, bias=False)
        self.start: nn.Parameter | None = None
        if settings.learned_start:
            self.start = nn.Parameter(torch.zeros(heads, self.keys, self.values))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=(0.8 / module.in_features) ** 0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def initial_state(self, batch: int) -> State:
        """Returns S, and the window of the convolution."""
        S = self.started(batch, self.heads, self.keys, self.values)
        return {"S": S, **first_window(self.convolution, batch)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        (q, k, v, beta, decay), after = self._attend(x, state)
        S = state["S"] if decay is None else decay[..., None, None] * state["S"]
        for i in range(self.factors):
            key = k[:, i, :, :, None]
            found = (key * S).sum(-2)
            S = S + key * (beta[:, i, :, None] * (v[:, i] - found))[..., None, :]
        return self._read(x, (q[..., None] * S).sum(-2)), {"S": S, **after}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        signals, after = self._attend(x, state)
        readings, S = delta_scan(*signals, state["S"])
        return self._read(x, readings), {"S": S, **after}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> HouseholderTransition:
        """Returns the decay and the factors of each position, with unit keys unless that is switched off."""
        signals, _ = self._attend(x, state)
        k, beta = signals.k, signals.beta
        if self.settings.key_norm == "l2":
            squares = k.square().sum(-1)
            k, beta = k / squares.clamp_min(0.125).sqrt()[..., None], beta * squares.clamp_min(0.125)
        decay = None if signals.decay is None else signals.decay[..., None]
        return HouseholderTransition(state="S", vectors=k, betas=beta, decay=decay)

    def _attend(self, x: Tensor, state: State) -> tuple[DeltaInputs, State]:
        """The signals of a position or sequence, and the part of the state after it that is not S."""
        mixed, after = look_back(self.convolution, self._project(x), state)
        return self._signals(x, mixed), after

    def _project(self, x: Tensor) -> Tensor:
        return torch.cat([self.query(x), self.key(x), self.value(x)], dim=-1)

    def _signals(self, x: Tensor, mixed: Tensor) -> DeltaInputs:
        if self.settings.activation == "silu":
            mixed = nn.functional.silu(mixed)
        q, k, v = torch.split_with_sizes(mixed, self.sizes, dim=-1)
        axes = x.shape[:-1]
        q = q.reshape(*axes, self.heads, self.keys)
        k = k.reshape(*axes, self.factors, self.heads, self.keys)
        v = v.reshape(*axes, self.factors, self.heads, self.values)
        beta = self.beta(x).sigmoid().reshape(*axes, self.factors, self.heads)
        beta = 2 * beta if self.settings.signed else beta
        q = self.scaled(q)
        if self.settings.key_norm == "l2":
            k, v, beta = without_lengths(k, v, beta)
        return DeltaInputs(q, k, v, beta, None if self.decay is None else self.decay(x))

    def scaled(self, q: Tensor) -> Tensor:
        """Returns queries divided by their length, unless that is switched off, and scaled."""
        if self.settings.query_norm == "l2":
            q = nn.functional.normalize(q, dim=-1, eps=SHORTEST_KEY)
        return self.scale * q

    def _read(self, x: Tensor, readings: Tensor) -> Tensor:
        y = self.norm(readings).flatten(-2)
        if self.gate is not None:
            y = y * nn.functional.silu(self.gate(x))
        return self.output(y)  # type: ignore[no-any-return]


def without_lengths(
    k: Float[Tensor, "*axes keys"], v: Float[Tensor, "*axes values"], beta: Float[Tensor, "*axes"]
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns k', v' and β' with β' k' k'ᵀ = β k̂ k̂ᵀ and β' k' v'ᵀ = β k̂ vᵀ, where k̂ = k / |k|.

    k' is k times a power of two, between 1/2 and 1 in length, and β' = β / |k'|²: for keys like (1, 0) and
    (1, -1) nothing has to be rounded. Keys shorter than `SHORTEST_KEY` fade instead of being blown up.
    """
    wide = widened(k)
    square = wide.square().sum(-1)
    with torch.no_grad():
        length = square.sqrt().clamp_min(SHORTEST_KEY)
        power = length.frexp().mantissa / length
    square = (power * power * square).clamp_min(0.125)
    parts = power[..., None] * wide, widened(v) * square.sqrt()[..., None], widened(beta) / square
    return parts[0].to(k.dtype), parts[1].to(k.dtype), parts[2].to(k.dtype)
