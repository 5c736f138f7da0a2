"""RWKV-7: a decay for each row, and what one key finds is taken away along another.

x^r, x^w, x^k, x^v, x^a, x^g = x + (x_before - x) ∘ μ
r = R x^r,  k = K x^k,  v = V x^v
w = exp(-e^{-1/2} σ(w₀ + W₂ tanh(W₁ x^w))),  a = σ(a₀ + A₂ A₁ x^a),  g = G₂ σ(G₁ x^g)
κ̂ = (k ∘ ξ) / |k ∘ ξ|,  k̃ = k ∘ (1 + (a - 1) ∘ α)
S = (diag(w) - (a ∘ κ̂) κ̂ᵀ) S + k̃ vᵀ          (rows are keys: the transpose of the published state)
y = O (g ∘ (norm(rᵀ S) + (Σ r ∘ ρ ∘ k̃) v))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError, Reference, to_float
from nerode.models.base import (
    DenseTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.matrix_scan import erase_scan
from nerode.models.parts.linear_attention import HeadNorm, require_divisible, split_heads
from nerode.models.parts.short_convolution import before
from nerode.models.registers import distinct_moves, log_odds, registers_of, share_of
from nerode.models.weight_writer import BlockPlan, PlaceForm, WeightWriter, set_rows

FASTEST = math.exp(-0.5)
"""The rate of the fastest decay: w lies between exp(-0.607) = 0.545 and 1."""

SHIFTED = ("r", "w", "k", "v", "a", "g")
"""What is read from a mixture of its own, in the order of the rows of μ."""

SHIFT_POWERS = (0.2, 0.9, 0.7, 0.7, 0.9, 0.2)
"""The shape of μ at first, for each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rwkv7Settings:
    """Settings of an RWKV-7 layer.

    Attributes:
        heads: number of states side by side; it divides the inputs.
        decay_rank: rank of W₁; None as published, but at most the inputs; likewise for the next two.
        rate_rank: rank of A₁.
        gate_rank: rank of G₁.
        token_shift: whether each token also sees the one before it; otherwise μ is 0.
        decays: whether there is a decay; otherwise w is 1.
        key_norm: whether removal keys are divided by their length.
        output_norm: the norm of what each head reads.
        output_gate: whether there is a g.
        bonus: whether the present token is read once more, with ρ.
        layer: number of this layer, from 0, on which the draw of the weights depends.
        layers: how many layers the model has.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    heads: int = 4
    decay_rank: int | None = None
    rate_rank: int | None = None
    gate_rank: int | None = None
    token_shift: bool = True
    decays: bool = True
    key_norm: Literal["l2", "none"] = "l2"
    output_norm: Literal["layer", "none"] = "layer"
    output_gate: bool = True
    bonus: bool = True
    layer: int = 0
    layers: int = 1
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "heads", "decay_rank", "rate_rank", "gate_rank")
        if not 0 <= self.layer < self.layers:
            raise InputError(
                f"layer is {self.layer} of {self.layers} layers; it has to be 0 or more and below"
            )


class LowRank(nn.Module):
    """b + W₂ f(W₁ x); W₁ is zero and W₂ a tenth of an orthogonal matrix at first."""

    def __init__(self, inputs: int, rank: int, activation: nn.Module, *, bias: bool) -> None:
        super().__init__()
        self.down = Linear(inputs, rank, bias=False)
        self.activation = activation
        self.up = Linear(rank, inputs, bias=bias)
        nn.init.zeros_(self.down.weight)
        nn.init.orthogonal_(self.up.weight, gain=0.1)

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch inputs"]:
        """Returns the image of each position."""
        return self.up(self.activation(self.down(x)))  # type: ignore[no-any-return]


class Rwkv7Inputs(NamedTuple):
    """The arguments of the scan in order, each (…, heads, width of a head)."""

    r: Tensor
    k: Tensor
    v: Tensor
    w: Tensor
    lookup: Tensor
    erase: Tensor


class Rwkv7(RecurrentLayer):
    """An RWKV-7 layer (time mixing), with the weights drawn as in the authors' training code.

    Left out: the values of the first layer, which later layers mix into theirs, because a layer reads nothing
    but the one below it. The channel mixing is the feed-forward part around the layer: without its token
    shift, and with relu for its square.

    Implements: [Peng2025Rwkv7]
    """

    def __init__(self, inputs: int, settings: Rwkv7Settings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.heads = settings.heads
        self.width = require_divisible("inputs", inputs, settings.heads)
        self.mix = nn.Parameter(torch.empty(6, inputs)) if settings.token_shift else None
        self.query, self.key, self.value, self.output = (Linear(inputs, inputs, bias=False) for _ in range(4))
        small = published_rank(1.8 * inputs**0.5, inputs)
        self.decay: LowRank | None = None
        if settings.decays:
            self.decay = LowRank(inputs, settings.decay_rank or small, nn.Tanh(), bias=True)
        self.rate = LowRank(inputs, settings.rate_rank or small, nn.Identity(), bias=True)
        self.gate: LowRank | None = None
        if settings.output_gate:
            rank = settings.gate_rank or published_rank(0.6 * inputs**0.8, inputs)
            self.gate = LowRank(inputs, rank, nn.Sigmoid(), bias=False)
        self.removal = nn.Parameter(torch.empty(inputs))
        self.replacement = nn.Parameter(torch.full((inputs,), 1.02))
        self.bonus = nn.Parameter(torch.full((self.heads, self.width), -0.04)) if settings.bonus else None
        self.norm = HeadNorm(self.heads, inputs, settings.output_norm, eps=1e-5 * self.width, bias=True)
        self.start: nn.Parameter | None = None
        if settings.learned_start:
            self.start = nn.Parameter(torch.zeros(self.heads, self.width, self.width))
        self._draw()

    @torch.no_grad()
    def _draw(self) -> None:
        layer, layers, inputs = self.settings.layer, self.settings.layers, self.inputs
        place = torch.arange(inputs) / max(1, inputs - 1)
        line = place - 0.5
        zigzag = 2 * (torch.arange(inputs) % self.width) / max(1, self.width - 1) - 1
        zigzag = zigzag * zigzag.abs()
        if self.mix is not None:
            powers = torch.tensor(SHIFT_POWERS)[:, None] * (1 - layer / layers)
            self.mix.copy_(1 - (torch.arange(inputs) / inputs) ** powers)
        if self.decay is not None:
            depth = layer / max(1, layers - 1)
            self.decay.up.bias.copy_(-5.5 + 6 * place ** (1 + depth**0.3) + 2.5 * zigzag)
        self.rate.up.bias.copy_(-0.19 + 0.3 * zigzag + 0.4 * line)
        self.removal.copy_(0.71 - 0.1 * line)
        if self.norm.weight is not None:
            nn.init.constant_(self.norm.weight, ((layer + 1) / layers) ** 0.7)
        for linear, size in ((self.query, 0.5), (self.key, 0.05), (self.value, 0.5), (self.output, 0.0)):
            nn.init.uniform_(linear.weight, -size * inputs**-0.5, size * inputs**-0.5)

    def initial_state(self, batch: int) -> State:
        """Returns S, and the token before the first, which is zero."""
        state = {"S": self.started(batch, self.heads, self.width, self.width)}
        if self.mix is not None:
            state["before"] = self.zeros(batch, self.inputs)
        return state

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        signals, gate = self._signals(x, state.get("before"))
        r, k, v, w, lookup, erase = (s[..., None] for s in signals)
        S = state["S"]
        found = (lookup * S).sum(-2, keepdim=True)
        S = w * S - erase * found + k * v.mT
        after = {"S": S} if self.mix is None else {"S": S, "before": x}
        return self._read((r * S).sum(-2), signals, gate), after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        signals, gate = self._sequence(x, state)
        readings, S = erase_scan(*signals, state["S"])
        after = {"S": S} if self.mix is None else {"S": S, "before": x[:, -1]}
        return self._read(readings, signals, gate), after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns diag(w) - (a ∘ κ̂) κ̂ᵀ of each position."""
        signals, _ = self._sequence(x, state)
        taken = signals.erase[..., None] * signals.lookup[..., None, :]
        return DenseTransition(state="S", matrix=torch.diag_embed(signals.w) - taken, columns=True)

    def _sequence(self, x: Tensor, state: State) -> tuple[Rwkv7Inputs, Tensor | None]:
        return self._signals(x, None if self.mix is None else before(x, state["before"]))

    def _signals(self, x: Tensor, last: Tensor | None) -> tuple[Rwkv7Inputs, Tensor | None]:
        """The arguments of the scan, and the gate of the output."""
        x_r, x_w, x_k, x_v, x_a, x_g = [x] * 6
        if self.mix is not None and last is not None:
            mixed = x[..., None, :] + (last - x)[..., None, :] * self.mix
            x_r, x_w, x_k, x_v, x_a, x_g = mixed.unbind(-2)
        r, k, v = self.query(x_r), self.key(x_k), self.value(x_v)
        w = torch.ones_like(k) if self.decay is None else torch.exp(-FASTEST * self.decay(x_w).sigmoid())
        rate = self.rate(x_a).sigmoid()
        lookup = split_heads(k * self.removal, self.heads)
        if self.settings.key_norm == "l2":
            lookup = nn.functional.normalize(lookup, dim=-1, eps=1e-6)
        erase = split_heads(rate, self.heads) * lookup
        k = k * (1 + (rate - 1) * self.replacement)
        gate = None if self.gate is None else self.gate(x_g)
        r, k, v, w = (split_heads(s, self.heads) for s in (r, k, v, w))
        return Rwkv7Inputs(r, k, v, w, lookup, erase), gate

    def _read(self, readings: Tensor, signals: Rwkv7Inputs, gate: Tensor | None) -> Tensor:
        y = self.norm(readings)
        if self.bonus is not None:
            present = (signals.r * self.bonus * signals.k).sum(-1, keepdim=True)
            y = y + (present * signals.v).flatten(-2)
        return self.output(y if gate is None else y * gate)  # type: ignore[no-any-return]


def published_rank(size: float, inputs: int) -> int:
    """Returns a rank rounded to a multiple of 32, at least 32 as published, but no more than the inputs."""
    return min(inputs, max(32, 32 * round(size / 32)))


_SURE = 1000.0
"""σ(1000) is 1 and σ(-1000) is 0."""


class Rwkv7Writer(WeightWriter):
    """Writes diagonal layers: a head of one key and one value per place of the stream.

    The removal key of such a head is 1, and nothing decays, so that S = (1 - a) S + v: a = σ(-1000) = 0
    holds. What is written does not depend on a (α = 0), so counters are carried too. The token before is the
    value where a block remembers. The norm of the readings is switched off, and ρ is 0.
    """

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each place of the stream and no norm."""
        registers = registers_of(block, self.architecture, tied=False)
        rank = max(1, len(distinct_moves(registers)))
        return {
            "heads": width,
            "decay_rank": 1,
            "rate_rank": rank,
            "gate_rank": 1,
            "token_shift": any(register.late for register in registers),
            "output_norm": "none",
            "learned_start": True,
        }

    def fill(self, layer: Rwkv7, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert layer.decay is not None
        assert layer.gate is not None
        registers = registers_of(block, self.architecture, tied=False)
        signals = distinct_moves(registers)
        if layer.mix is not None:
            layer.mix[SHIFTED.index("v")] = 1
        ones = [PlaceForm({}, 1)] * layer.inputs
        set_rows(layer.query, ones)
        set_rows(layer.key, ones)
        layer.removal.fill_(1)
        layer.decay.up.bias.fill_(-_SURE)
        set_rows(layer.gate.down, [PlaceForm({}, int(_SURE))])
        layer.gate.up.weight.fill_(1)
        set_rows(layer.rate.down, signals)
        for register in registers:
            i, share = register.place, share_of(register.gate, self.architecture)
            rate = log_odds(1 - share, share, _SURE)
            layer.rate.up.bias[i] = rate if register.moves is None else -_SURE
            if register.moves is not None:
                layer.rate.up.weight[i, signals.index(register.moves)] = rate + _SURE
            set_rows(layer.value, [register.write], first=i)
            layer.learned_start[i, 0, 0] = to_float(register.start)
            layer.output.weight[i, i] = 1


KIND = LayerKind(
    name="rwkv-7",
    title="RWKV-7",
    settings=Rwkv7Settings,
    build=Rwkv7,
    equation="S = S (diag(w) - κᵀ(a ∘ κ)) + vᵀ k",
    reference=Reference("Peng2025Rwkv7"),
    surroundings=Surroundings(norm="layer", residual=True, feed_forward="relu", expansion=4.0),
    writer=Rwkv7Writer,
)
