"""Griffin's recurrent block: the RG-LRU behind a short convolution, beside a GeLU branch.

    g, u   = linear_y x, linear_x x
    u      = convolution of u
    r, i   = σ(W_a u + b_a), σ(W_x u + b_x)            block-diagonal matrices
    a      = exp(-8 r softplus(Λ))
    h_t    = a ∘ h_{t-1} + √(1 - a²) ∘ (i ∘ u)
    output = linear_out (h_t ∘ GeLU(g))

The gate a lies in [0,1]. With `signed` the gate is 2a - 1, in [-1,1], and the square root takes that gate.
Hawk stacks these blocks alone; Griffin has a block of local attention after every two of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu, softplus

from nerode.core import Exact, InputError, Reference, to_float
from nerode.models.base import DiagonalTransition, LayerKind, RecurrentLayer, State, Surroundings
from nerode.models.exact_gates import ExactGates
from nerode.models.kernels.linear import Linear, linear
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.native.calls import apply
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back
from nerode.models.registers import SATURATED, SCALE, distinct_moves, registers_of, set_taps, share_of
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, set_rows

_SHARPNESS = 8.0
_SLOWEST, _FASTEST = 0.999, 0.9
_STEEPEST = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GriffinSettings:
    """Settings of a recurrent block of Griffin.

    Attributes:
        channels: width of the recurrence; None for 4/3 of the inputs, rounded up to a multiple of the blocks.
        blocks: number of blocks on the diagonals of W_a and W_x.
        convolution: number of positions that the convolution sees; 0 for no convolution.
        gate: whether the state is multiplied by GeLU(g).
        signed: whether the gates of the recurrence reach from -1 to 1.
        open_start: whether the first position is written without the square root, as in the authors' code.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    channels: int | None = None
    blocks: int = 1
    convolution: int = 4
    gate: bool = True
    signed: bool = False
    open_start: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        if self.open_start and self.learned_start:
            raise InputError("Griffin forgets its start with open_start; learned_start has no effect then")
        if self.blocks < 1:
            raise InputError(f"the gates of Griffin have {self.blocks} blocks; give 1 or more")
        if self.channels is not None and (self.channels < 1 or self.channels % self.blocks):
            raise InputError(
                f"Griffin has {self.channels} channels and gates of {self.blocks} blocks; "
                "give a positive multiple of the blocks"
            )
        if self.convolution < 0:
            raise InputError(f"the convolution of Griffin sees {self.convolution} positions; give 0 for none")


class BlockAffine(nn.Module):
    """A linear map with a block-diagonal matrix: each block of features is mapped to itself.

    Weights are normal with the variance 1 / (size of a block), biases zero.
    """

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        size = width // blocks
        self.weight = nn.Parameter(torch.empty(blocks, size, size).normal_(std=size**-0.5))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Returns W x + b."""
        if len(self.weight) == 1:
            return linear(x, self.weight[0], self.bias)
        parts = x.reshape(-1, len(self.weight), self.weight.shape[2]).transpose(0, 1)
        mapped = (parts @ self.weight.transpose(1, 2)).transpose(0, 1)
        return mapped.reshape(x.shape) + self.bias


class Griffin(RecurrentLayer):
    """A recurrent block of Griffin, without the norm, the residual path and the feed-forward part around it.

    Λ is drawn so that exp(-8 softplus(Λ)) is uniform between 0.9 and 0.999, as the paper has it (the
    authors' code spreads exp(-softplus(Λ)) over that range), the linear maps with the variance
    1 / (number of inputs) and zero biases, the convolution as torch does. As in the authors' code, a falls
    as Λ grows, GeLU is its approximation by tanh, and the slope of the square root is bounded; unlike there,
    the first position is no exception to the square root unless `open_start` is set.

    Implements: [De2024]
    """

    def __init__(self, inputs: int, settings: GriffinSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        blocks = settings.blocks
        self.channels = channels = settings.channels or -(-4 * inputs // (3 * blocks)) * blocks
        self.linear_y = Linear(inputs, channels) if settings.gate else None
        self.linear_x = Linear(inputs, channels)
        self.convolution = ShortConvolution(channels, settings.convolution) if settings.convolution else None
        self.recurrence_gate = BlockAffine(channels, blocks)
        self.input_gate = BlockAffine(channels, blocks)
        self.decay = nn.Parameter(torch.empty(channels))
        self.linear_out = Linear(channels, inputs)
        self.start = nn.Parameter(torch.zeros(channels)) if settings.learned_start else None
        self._draw()

    @torch.no_grad()
    def _draw(self) -> None:
        slowest = torch.empty(self.channels).uniform_(_FASTEST, _SLOWEST)
        # The inverse of softplus at -log(gate) / 8.
        self.decay.copy_(torch.log(torch.expm1(-slowest.log() / _SHARPNESS)))
        for part in (self.linear_y, self.linear_x, self.linear_out):
            if part is not None:
                nn.init.normal_(part.weight, std=part.in_features**-0.5)
                nn.init.zeros_(part.bias)

    def initial_state(self, batch: int) -> State:
        """Returns h₀ (batch, channels) and the empty window of the convolution."""
        state = {"h": self.started(batch, self.channels), **first_window(self.convolution, batch)}
        if self.settings.open_start:
            state["seen"] = self.zeros(batch, dtype=torch.int64)
        return state

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and h and the window after it."""
        u, after = look_back(self.convolution, self.linear_x(x), state)
        gate, write = (part[:, 0] for part in self._recurrence(u[:, None], state, after))
        after["h"] = h = gate * state["h"] + write
        return self._finish(x, h), after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and h and the window after it."""
        gate, write, after = self._read(x, state)
        h, after["h"] = diagonal_scan(gate, write, state["h"])
        return self._finish(x, h), after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gates (batch, time, channels)."""
        return DiagonalTransition(state="h", gate=self._read(x, state)[0])

    def _read(self, x: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        u, after = look_back(self.convolution, self.linear_x(x), state)
        return *self._recurrence(u, state, after), after

    def _recurrence(self, u: Tensor, state: State, after: State) -> tuple[Tensor, Tensor]:
        """The gates and what is written at each position; `after` notes that there was one."""
        log_gate = -_SHARPNESS * torch.sigmoid(self.recurrence_gate(u)) * softplus(self.decay)
        gate = log_gate.exp()
        if self.settings.signed:
            gate = 2 * gate - 1
        # From the rounded gate: where it holds exactly, nothing is written.
        scale: Tensor = apply(_BoundedSquareRoot, 1 - gate * gate)
        if self.settings.open_start:
            places = state["seen"][:, None] + torch.arange(u.shape[1], device=u.device)
            scale = torch.where((places == 0)[..., None], 1.0, scale)
            after["seen"] = torch.ones_like(state["seen"])
        return gate, scale * torch.sigmoid(self.input_gate(u)) * u

    def _finish(self, x: Tensor, h: Tensor) -> Tensor:
        if self.linear_y is not None:
            h = h * gelu(self.linear_y(x), approximate="tanh")
        output: Tensor = self.linear_out(h)
        return output


class _BoundedSquareRoot(torch.autograd.Function):
    """The square root with a bounded slope: at a gate of exactly 1 the true one is infinite."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        root: Tensor = x.sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        root: Tensor = ctx.saved_tensors[0]
        return gradient / (2 * root).clamp(min=1 / _STEEPEST)


_SHARPNESS = 8
_DECAY_OF_ZERO = 128.0
"""exp(-8 · 128) is 0 in every type."""


class GriffinWriter(WeightWriter):
    """Writes diagonal layers: r = σ(±1000) is exactly 1 or 0, and so a holds exactly or fades.

    One channel carries each register and one each signal that says when registers move; the matrix W_a takes
    the signals to the registers. What is written is tied to the gate by √(1 - a²), which the input divides
    out; counters are not carried. The convolution passes its input on, at once or one letter late, the input
    gate is 1, and the branch GeLU is the constant 64, which the last map divides out.
    """

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the published settings but for the sizes and a learned start."""
        registers = registers_of(block, self.architecture)
        channels = max(1, len(registers) + len(distinct_moves(registers)))
        return {"channels": channels, "learned_start": True}

    def fill(self, layer: Griffin, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert layer.convolution is not None
        assert layer.linear_y is not None
        registers = registers_of(block, self.architecture)
        signals, n = distinct_moves(registers), len(registers)
        signed = layer.settings.signed
        set_rows(layer.linear_x, [r.write.scaled(_undo(r.gate)) for r in registers])
        set_rows(layer.linear_x, signals, first=n)
        set_rows(layer.linear_y, [PlaceForm({ONE: SCALE})] * n)
        set_taps(layer.convolution, registers)
        layer.input_gate.bias.fill_(SATURATED)
        layer.recurrence_gate.bias.fill_(-SATURATED)
        for i, register in enumerate(registers):
            if register.moves is None:
                layer.recurrence_gate.bias[i] = SATURATED
            else:
                layer.recurrence_gate.weight[0, i, n + signals.index(register.moves)] = 2 * SATURATED
            layer.decay[i] = self._decay(register.gate, signed=signed)
            layer.learned_start[i] = to_float(register.start)
            layer.linear_out.weight[register.place, i] = 1 / SCALE

    def _decay(self, gate: Exact, *, signed: bool) -> float:
        """Λ, at which r = 1 gives a gate."""
        share = share_of(gate, self.architecture, signed=signed)
        if share == 1:
            return -float(SATURATED)
        return _DECAY_OF_ZERO if share == 0 else math.log(math.expm1(-math.log(share) / _SHARPNESS))


def _undo(gate: Exact) -> Exact:
    """The inverse of the factor √(1 - a²); where that is 0 nothing is written."""
    value = to_float(gate)
    return 0 if abs(value) >= 1 else Fraction(1 / math.sqrt(1 - value * value))


class ExactGriffin(ExactGates):
    """Griffin with exact gates: the score is that of r; folded, Λ is 16, so that a is exp(-128) or 1."""

    layer: Griffin

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        u, after = look_back(layer.convolution, layer.linear_x(x), state)
        on, _ = self.decide(layer.recurrence_gate(u))
        h, after["h"] = self.scan(on, on * torch.sigmoid(layer.input_gate(u)) * u, state["h"])
        return layer._finish(x, h), after

    def score_rows(self, layer: Griffin) -> tuple[Tensor, Tensor]:
        """Returns the map to r; it has one block."""
        if len(layer.recurrence_gate.weight) != 1:
            raise InputError("exact gates are for Griffin with one block; set blocks = 1")
        return layer.recurrence_gate.weight[0], layer.recurrence_gate.bias

    def fold_scale(self, layer: Griffin, scale: float) -> None:
        """Makes a decided gate 0."""
        layer.decay.fill_(_EXACT_DECAY)


_EXACT_DECAY = 16.0
"""exp(-8 · 16) is 0 in float32."""


KIND = LayerKind(
    name="griffin",
    title="Griffin (RG-LRU)",
    settings=GriffinSettings,
    build=Griffin,
    equation="h = a ∘ h + √(1-a²) ∘ (i ∘ u)",
    reference=Reference("De2024"),
    surroundings=Surroundings(norm="rms", residual=True, feed_forward="geglu", expansion=3.0),
    variants={"hawk": {}, "griffin-signed": {"signed": True}},
    writer=GriffinWriter,
    written=("griffin-signed",),
    gates={"two": ExactGriffin},
)
