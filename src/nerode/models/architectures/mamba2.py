"""Mamba-2: a matrix state for each head, with one number as the gate of a head.

    z, (u, B, C), r = in_proj x
    u, B, C = SiLU(convolution of (u, B, C))
    Δ       = softplus(r + dt_bias)                one number per head
    S_t     = exp(Δ A) S_{t-1} + Bᵀ (Δ u)          A = -exp(A_log), one number per head
    y       = C S_t + D u
    output  = out_proj norm(y ∘ SiLU(z))

B and C are shared by the heads of a group; the norm runs over the channels of a group. The gate exp(Δ A) lies
in [0,1]; with `signed` it is 2 exp(Δ A) - 1, in [-1,1].
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu, softplus

from nerode.core import InputError, Reference, to_float
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_sizes,
)
from nerode.models.exact_gates import ExactGates, GateForm, amount
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.matrix_scan import decay_scan
from nerode.models.parts.linear_attention import split_heads
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back
from nerode.models.parts.state_space import StepSizes
from nerode.models.registers import SCALE, STEP, log_rate, registers_of, set_taps
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, combine, set_rows

_EPSILON = 1e-5
_STRONGEST = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2Settings:
    """Settings of a Mamba-2 layer.

    Attributes:
        channels: width of u; None for twice the inputs.
        head_size: channels of a head; None for the largest divisor of the channels up to 64.
        groups: number of groups of heads that share B and C.
        states: width of B and C.
        convolution: number of positions that the convolution sees; 0 for no convolution.
        convolution_bias: whether the convolution adds a bias.
        activation: whether u, B and C go through SiLU.
        gate: whether the outputs of the recurrence are multiplied by SiLU(z).
        skip: whether D u is added.
        norm: whether the gated outputs are divided by their root mean square.
        bias: whether in_proj and out_proj add a bias.
        steps: the step sizes that the layer begins with.
        signed: whether the gates of the recurrence reach from -1 to 1.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    channels: int | None = None
    head_size: int | None = None
    groups: int = 1
    states: int = 128
    convolution: int = 4
    convolution_bias: bool = True
    activation: bool = True
    gate: bool = True
    skip: bool = True
    norm: bool = True
    bias: bool = False
    steps: StepSizes = field(default_factory=StepSizes)
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_sizes(self, "channels", "head_size", "groups", "states", of="Mamba-2")
        if self.convolution < 0:
            raise InputError(f"the convolution of Mamba-2 sees {self.convolution} positions; give 0 for none")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The inputs of the recurrence at a position, or at each position of a sequence."""

    u: Tensor
    B: Tensor
    C: Tensor
    delta: Tensor
    z: Tensor | None


class Mamba2(RecurrentLayer):
    """A Mamba-2 layer, without the norm and the residual path around it.

    -A is drawn uniformly from 1 to 16, D as 1, and dt_bias so that the step sizes spread evenly on a
    logarithmic scale, all else as torch does.

    Implements: [DaoGu2024]
    """

    undecayed_parameters = ("A_log", "D", "dt_bias")

    def __init__(self, inputs: int, settings: Mamba2Settings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.channels = channels = settings.channels or 2 * inputs
        self.head_size = settings.head_size or _largest_divisor(channels, 64)
        self.heads = heads = _number_of_heads(channels, self.head_size, settings.groups)
        self.convolved = channels + 2 * settings.groups * settings.states
        self.in_proj = Linear(inputs, sum(self._widths()), bias=settings.bias)
        self.convolution = None
        if settings.convolution:
            self.convolution = ShortConvolution(
                self.convolved, settings.convolution, bias=settings.convolution_bias
            )
        self.dt_bias = nn.Parameter(settings.steps.draw(heads))
        self.A_log = nn.Parameter(torch.empty(heads).uniform_(1, _STRONGEST).log())
        self.D = nn.Parameter(torch.ones(heads)) if settings.skip else None
        self.norm_weight = nn.Parameter(torch.ones(channels)) if settings.norm else None
        self.out_proj = Linear(channels, inputs, bias=settings.bias)
        self.start = None
        if settings.learned_start:
            self.start = nn.Parameter(torch.zeros(heads, settings.states, self.head_size))

    def initial_state(self, batch: int) -> State:
        """Returns S₀ (batch, heads, states, head_size) and the empty window of the convolution."""
        S = self.started(batch, self.heads, self.settings.states, self.head_size)
        return {"S": S, **first_window(self.convolution, batch)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and S and the window after it."""
        read, after = self._read(x, state)
        write = read.B[..., :, None] * (read.delta[..., None] * read.u)[..., None, :]
        after["S"] = S = self._gates(read.delta)[..., None, None] * state["S"] + write
        return self._finish((read.C[..., :, None] * S).sum(-2), read), after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and S and the window after it."""
        read, after = self._read(x, state)
        values = read.delta[..., None] * read.u
        y, after["S"] = decay_scan(read.C, read.B, values, self._gates(read.delta), state["S"])
        return self._finish(y, read), after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gates (batch, time, heads, 1, 1)."""
        read, _ = self._read(x, state)
        return DiagonalTransition(state="S", gate=self._gates(read.delta)[..., None, None])

    def _widths(self) -> list[int]:
        return [self.channels if self.settings.gate else 0, self.convolved, self.heads]

    def _split(self, joined: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        z, mixed, r = torch.split(joined, self._widths(), dim=-1)
        return z if self.settings.gate else None, mixed, r

    def _read(self, x: Tensor, state: State) -> tuple[_Read, State]:
        z, mixed, r = self._split(self.in_proj(x))
        mixed, after = look_back(self.convolution, mixed, state)
        return self._select(z, mixed, r), after

    def _select(self, z: Tensor | None, mixed: Tensor, r: Tensor) -> _Read:
        """The parts: u (…, heads, head_size), B and C (…, heads, states), Δ (…, heads)."""
        mixed = silu(mixed) if self.settings.activation else mixed
        groups, states = self.settings.groups, self.settings.states
        u, B, C = torch.split(mixed, [self.channels, groups * states, groups * states], dim=-1)
        return _Read(
            u=split_heads(u, self.heads),
            B=self._for_each_head(B),
            C=self._for_each_head(C),
            delta=softplus(r + self.dt_bias),
            z=z,
        )

    def _for_each_head(self, shared: Tensor) -> Tensor:
        """From (…, groups × states) to (…, heads, states)."""
        groups = split_heads(shared, self.settings.groups)
        return groups.repeat_interleave(self.heads // self.settings.groups, dim=-2)

    def _gates(self, delta: Tensor) -> Tensor:
        """The gates (…, heads)."""
        gates = torch.exp(delta * -self.A_log.exp())
        return 2 * gates - 1 if self.settings.signed else gates

    def _finish(self, y: Tensor, read: _Read) -> Tensor:
        if self.D is not None:
            y = y + self.D[:, None] * read.u
        y = y.flatten(-2)
        y = y if read.z is None else y * silu(read.z)
        if self.norm_weight is not None:
            parts = split_heads(y, self.settings.groups)
            y = rms_norm(parts, parts.shape[-1:], eps=_EPSILON).flatten(-2) * self.norm_weight
        output: Tensor = self.out_proj(y)
        return output


def _largest_divisor(number: int, limit: int) -> int:
    return next(size for size in range(min(number, limit), 0, -1) if number % size == 0)


def _number_of_heads(channels: int, head_size: int, groups: int) -> int:
    heads, rest = divmod(channels, head_size)
    if rest:
        raise InputError(f"{channels} channels of Mamba-2 cannot be cut into heads of {head_size}")
    if heads % groups:
        raise InputError(f"{heads} heads of Mamba-2 cannot be cut into {groups} groups of the same size")
    return heads


_NEVER = -1000
_STORED = STEP * SCALE * SCALE


class Mamba2Writer(WeightWriter):
    """Writes diagonal layers: a head with one channel per register.

    As in Mamba, SiLU acts on 0 and on multiples of 64 without rounding. B, C and the gate SiLU(z) are the
    constant 64, so a register stands in the state times 2¹⁷, beyond the range of float16; the last map
    divides that out. The convolution passes its input on, at once or one letter late, D is 0, and the norm is
    switched off.
    """

    delays = True

    dtypes = ("float64", "float32", "bfloat16")

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a head for each register, and no norm."""
        registers = registers_of(block, self.architecture, tied=False, squashed=True)
        return {
            "channels": max(1, len(registers)),
            "head_size": 1,
            "states": 1,
            "activation": not any(register.counts for register in registers),
            "norm": False,
            "learned_start": True,
        }

    def fill(self, layer: Mamba2, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        assert layer.convolution is not None
        registers = registers_of(block, self.architecture, tied=False, squashed=True)
        n = layer.channels
        set_taps(layer.convolution, registers)
        layer.dt_bias.fill_(_NEVER)
        constant = PlaceForm({ONE: SCALE})
        set_rows(layer.in_proj, [constant] * n)
        set_rows(layer.in_proj, [r.write.scaled(SCALE) for r in registers], first=n)
        set_rows(layer.in_proj, [constant] * 2, first=2 * n)
        for i, register in enumerate(registers):
            if register.moves is not None:
                rise = combine([(register.moves, STEP - _NEVER)])
                set_rows(layer.in_proj, [rise], first=2 * n + 2 + i)
            elif register.gate != 1 or register.counts:
                layer.dt_bias[i] = STEP
            layer.A_log[i] = log_rate(register, self.architecture, signed=layer.settings.signed)
            layer.learned_start[i] = _STORED * to_float(register.start)
            layer.out_proj.weight[register.place, i] = register.sign / (_STORED * SCALE * SCALE)


_LARGE = 2.0**12


class ExactMamba2(ExactGates):
    """Mamba-2 with exact gates, one for each head: folded, A is -1 and the state has the scale of Δ.

    A gate sees one letter, so that a gate that is to see two needs a layer before it. In a stack windows add
    up, and with them float states; two letters are enough there.
    """

    layer: Mamba2
    form = GateForm(settings={"states": 4, "head_size": 2, "learned_start": True}, stacked={"convolution": 2})

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        z, mixed, r = layer._split(layer.in_proj(x))
        mixed, after = look_back(layer.convolution, mixed, state)
        on, scores = self.decide(r + layer.dt_bias)
        read = replace(layer._select(z, mixed, r), delta=amount(scores))
        values = torch.zeros_like(read.u) if self.signed else read.delta[..., None] * read.u
        y, after["S"] = decay_scan(read.C, read.B, values, self.keep(on), state["S"])
        # Folded, the readings are larger by the scale, so that the epsilon of their norm does not count.
        factor = 1.0 if layer.norm_weight is None else _LARGE
        return layer._finish(factor * y, replace(read, u=factor * read.u)), after

    def score_rows(self, layer: Mamba2) -> tuple[Tensor, Tensor]:
        """Returns the rows of in_proj that make the steps."""
        return layer.in_proj.weight[-layer.heads :], layer.dt_bias

    def fold_scale(self, layer: Mamba2, scale: float) -> None:
        """Lets the state be larger by the scale, and with it all that is read beside it.

        B goes through SiLU, so that it cannot be divided. The norm of the readings undoes the factor up to
        its epsilon; without a norm the last map does.
        """
        if self.signed:
            raise InputError("exact gates are not for Mamba-2 with signs; take mamba-signed")
        layer.A_log.zero_()
        for part in (layer.start, layer.D):
            if part is not None:
                part.mul_(scale)
        if layer.norm_weight is None:
            layer.out_proj.weight.div_(scale)


KIND = LayerKind(
    name="mamba-2",
    title="Mamba-2",
    settings=Mamba2Settings,
    build=Mamba2,
    equation="S = exp(Δ A) S + Bᵀ (Δ u), one gate a head",
    reference=Reference("DaoGu2024"),
    surroundings=Surroundings(norm="rms", residual=True),
    variants={"mamba-2-signed": {"signed": True}},
    writer=Mamba2Writer,
    written=("mamba-2-signed",),
    gates={"two": ExactMamba2},
)
