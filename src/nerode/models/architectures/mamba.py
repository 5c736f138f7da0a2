"""Mamba: a selective state space model (S6) between a short convolution and a gate.

    u, z    = in_proj x
    u       = SiLU(convolution of u)
    r, B, C = x_proj u
    Δ       = softplus(dt_proj r)
    h_t     = exp(Δ A) ∘ h_{t-1} + Δ B u        A = -exp(A_log), one row of h for each channel of u
    y       = C h_t + D u
    output  = out_proj (y ∘ SiLU(z))

The gate exp(Δ A) lies in [0,1]; with `signed` it is 2 exp(Δ A) - 1, in [-1,1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu, softplus

from nerode.core import InputError, Reference, to_float
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    LinearReading,
    RecurrentLayer,
    State,
    Surroundings,
    require_sizes,
)
from nerode.models.exact_gates import ExactGates, GateForm, ThreeValuedGates, amount, straight
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.scan import diagonal_scan, selective_scan
from nerode.models.parts.short_convolution import ShortConvolution, first_window, look_back
from nerode.models.parts.state_space import StepSizes
from nerode.models.registers import SCALE, STEP, distinct_moves, log_rate, registers_of, set_taps
from nerode.models.weight_writer import ONE, BlockPlan, PlaceForm, WeightWriter, set_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MambaSettings:
    """Settings of a Mamba layer.

    Attributes:
        channels: width of u; None for twice the inputs.
        states: numbers in the state of each channel.
        rank: width of r, from which the step sizes are made; None for a sixteenth of the inputs, rounded up.
        convolution: number of positions that the convolution sees; 0 for no convolution.
        convolution_bias: whether the convolution adds a bias.
        activation: whether u goes through SiLU.
        gate: whether the outputs of the recurrence are multiplied by SiLU(z).
        skip: whether D u is added.
        bias: whether in_proj and out_proj add a bias.
        steps: the step sizes that the layer begins with.
        signed: whether the gates of the recurrence reach from -1 to 1.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
        inner_norm: what the norms of r, B and C add to a mean square, which Falcon-Mamba has; 0 for none.
    """

    channels: int | None = None
    states: int = 16
    rank: int | None = None
    convolution: int = 4
    convolution_bias: bool = True
    activation: bool = True
    gate: bool = True
    skip: bool = True
    bias: bool = False
    steps: StepSizes = field(default_factory=StepSizes)
    signed: bool = False
    learned_start: bool = False
    inner_norm: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self, "channels", "states", "rank", of="Mamba")
        if self.convolution < 0:
            raise InputError(f"the convolution of Mamba sees {self.convolution} positions; give 0 for none")
        if not 0 <= self.inner_norm < 1:
            raise InputError(f"inner_norm is {self.inner_norm}; it is 0, or between 0 and 1")


class Mamba(RecurrentLayer):
    """A Mamba layer, without the norm and the residual path around it.

    A is drawn as -1 … -states in each channel, D as 1, dt_proj uniformly from ±1/√rank with a bias that
    spreads the step sizes evenly on a logarithmic scale, all else as torch does.

    Implements: [GuDao2023]
    Implements: [Grazzi2025] for `signed`
    """

    undecayed_parameters = ("A_log", "D", "dt_proj.bias")

    def __init__(self, inputs: int, settings: MambaSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.channels = channels = settings.channels or 2 * inputs
        self.rank = settings.rank or math.ceil(inputs / 16)
        self.in_proj = Linear(inputs, 2 * channels if settings.gate else channels, bias=settings.bias)
        self.convolution = None
        if settings.convolution:
            self.convolution = ShortConvolution(
                channels, settings.convolution, bias=settings.convolution_bias
            )
        self.x_proj = Linear(channels, self.rank + 2 * settings.states, bias=False)
        self.dt_proj = Linear(self.rank, channels)
        self.A_log = nn.Parameter(torch.empty(channels, settings.states))
        self.D = nn.Parameter(torch.ones(channels)) if settings.skip else None
        self.out_proj = Linear(channels, inputs, bias=settings.bias)
        self.start = nn.Parameter(torch.zeros(channels, settings.states)) if settings.learned_start else None
        self._draw()

    @torch.no_grad()
    def _draw(self) -> None:
        numbers = torch.arange(1, self.settings.states + 1, dtype=self.A_log.dtype)
        self.A_log.copy_(numbers.log().expand_as(self.A_log))
        nn.init.uniform_(self.dt_proj.weight, -(self.rank**-0.5), self.rank**-0.5)
        self.dt_proj.bias.copy_(self.settings.steps.draw(self.channels))

    def initial_state(self, batch: int) -> State:
        """Returns h₀ (batch, channels, states) and the empty window of the convolution."""
        h = self.started(batch, self.channels, self.settings.states)
        return {"h": h, **first_window(self.convolution, batch)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and h and the window after it."""
        u, z, after = self._read(x, state)
        delta, B, C = self._select(u)
        write = delta[:, :, None] * B[:, None, :] * u[:, :, None]
        after["h"] = h = self._gates(delta) * state["h"] + write
        return self._finish(self._show(h, C, u), z), after

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and h and the window after it."""
        u, z, after = self._read(x, state)
        delta, B, C = self._select(u)
        A = -self.A_log.exp()
        y, after["h"] = selective_scan(u, delta, A, B, C, self.D, state["h"], signed=self.settings.signed)
        return self._finish(y, z), after

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gates (batch, time, channels, states)."""
        u, _, _ = self._read(x, state)
        return DiagonalTransition(state="h", gate=self._gates(self._select(u)[0]))

    def reading(self, x: Float[Tensor, "batch inputs"], state: State) -> LinearReading:
        """Returns how the output of one position reads h; u, C and z are computed as `step` does."""
        u, z, _ = self._read(x, state)
        _, _, C = self._select(u)
        gate = torch.ones_like(u).double() if z is None else silu(z).double()
        largest = gate.abs().clamp_min(1)
        out = self.out_proj.weight.double() * gate[:, None, :]
        behind = self.out_proj.weight.double().abs() * largest[:, None, :]
        C = C.double()
        skip = torch.zeros_like(u).double() if self.D is None else (self.D * u).double()
        terms = out * skip[:, None, :]
        bias = torch.zeros(1) if self.out_proj.bias is None else self.out_proj.bias
        # One product and one sum per state, then the skip, the gate and the products of the output.
        operations = (2 + C.abs()).sum(-1) + 4
        return LinearReading(
            state="h",
            weight=out[..., None] * C[:, None, None, :],
            added=terms.sum(-1) + bias.double(),
            size=terms.abs().sum(-1) + bias.double().abs(),
            roundings=self.settings.states + self.channels + 4,
            underflow=operations[:, None] * behind.sum(-1) + 2 * self.channels + 2,
            inner=largest[..., None] * C.abs()[:, None, :],
            bound=(largest * skip.abs()).sum(-1),
        )

    def _read(self, x: Tensor, state: State) -> tuple[Tensor, Tensor | None, State]:
        """The inputs of the recurrence, the gate of its outputs, and the window, for one position or many."""
        u, z = self._branches(x)
        u, after = look_back(self.convolution, u, state)
        return silu(u) if self.settings.activation else u, z, after

    def _branches(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        both: Tensor = self.in_proj(x)
        if not self.settings.gate:
            return both, None
        u, z = both.chunk(2, dim=-1)
        return u, z

    def _select(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Δ (…, channels), B and C (…, states)."""
        states = self.settings.states
        r, B, C = self.x_proj(u).split([self.rank, states, states], dim=-1)
        if self.settings.inner_norm:
            r, B, C = (rms_norm(part, part.shape[-1:], eps=self.settings.inner_norm) for part in (r, B, C))
        return softplus(self.dt_proj(r)), B, C

    def _gates(self, delta: Tensor) -> Tensor:
        """The gates (…, channels, states)."""
        gates = torch.exp(delta[..., None] * -self.A_log.exp())
        return 2 * gates - 1 if self.settings.signed else gates

    def _show(self, h: Tensor, C: Tensor, u: Tensor) -> Tensor:
        """The readings C h + D u (…, channels)."""
        y = (h * C[..., None, :]).sum(-1)
        return y if self.D is None else y + self.D * u

    def _finish(self, y: Tensor, z: Tensor | None) -> Tensor:
        output: Tensor = self.out_proj(y if z is None else y * silu(z))
        return output


_NEVER = -1000.0
"""softplus of this is 0 in every type."""


class MambaWriter(WeightWriter):
    """Writes diagonal layers: registers in Mamba, held by a step of size 0 and moved by one of size 32.

    In floats softplus(-1000) = 0, softplus(32) = 32 and SiLU(64) = 64 without rounding. One channel carries
    each register, one each signal that says when registers move, and one the constant from which B and C are
    made. Every part of the published layer is there: the convolution passes its input on, at once or one
    letter late, SiLU acts on 0 and on multiples of 64, D is 0, and the gate SiLU(z) is the constant 64, which
    the last map divides out. A counter moves at every letter, at a rate so small that the gate is 1 in every
    type; since SiLU does not pass negative numbers on, a layer with counters goes without it.
    """

    delays = True

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the published settings but for the sizes and a learned start."""
        registers = registers_of(block, self.architecture, tied=False, squashed=True)
        signals = len(distinct_moves(registers))
        return {
            "channels": len(registers) + signals + 1,
            "states": 1,
            "rank": max(1, signals),
            "activation": not any(register.counts for register in registers),
            "learned_start": True,
        }

    def fill(self, layer: Mamba, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        registers = registers_of(block, self.architecture, tied=False, squashed=True)
        signals = distinct_moves(registers)
        n, rank = len(registers), layer.rank
        constant = n + len(signals)
        set_rows(layer.in_proj, [r.write.scaled(SCALE) for r in registers])
        set_rows(layer.in_proj, [s.scaled(SCALE) for s in signals], first=n)
        set_rows(layer.in_proj, [PlaceForm({ONE: SCALE})] * (1 + layer.channels), first=constant)
        assert layer.convolution is not None
        set_taps(layer.convolution, registers)
        for number in range(len(signals)):
            layer.x_proj.weight[number, n + number] = 1 / SCALE
        layer.x_proj.weight[rank, constant] = 1 / (STEP * SCALE * SCALE)
        layer.x_proj.weight[rank + 1, constant] = 1 / SCALE
        layer.dt_proj.bias.fill_(_NEVER)
        for i, register in enumerate(registers):
            if register.moves is None:
                held = register.gate == 1 and not register.counts
                layer.dt_proj.bias[i] = _NEVER if held else STEP
            else:
                layer.dt_proj.weight[i, signals.index(register.moves)] = STEP - _NEVER
            layer.A_log[i] = log_rate(register, self.architecture, signed=layer.settings.signed)
            layer.learned_start[i] = to_float(register.start)
            layer.out_proj.weight[register.place, i] = register.sign / SCALE


class ExactMamba(ExactGates):
    """Mamba with exact gates: the score is the input of softplus, and a write has the size of the score.

    Folded, softplus(s q) is s q or 0, A is -1 and B is divided by s, so that the gate exp(-s q) is 0 or 1 and
    what is written is q B u. With signs the gate is 1 or -1, and nothing is written.
    """

    layer: Mamba
    form = GateForm(settings={"states": 4, "rank": 16, "learned_start": True}, stacked={"convolution": 3})

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        u, z, after = layer._read(x, state)
        states = layer.settings.states
        r, B, C = layer.x_proj(u).split([layer.rank, states, states], dim=-1)
        on, scores = self.decide(layer.dt_proj(r))
        write = amount(scores)[..., None] * B[:, :, None] * u[..., None]
        h, after["h"] = self.scan(on[..., None], write, state["h"])
        return layer._finish(layer._show(h, C, u), z), after

    def score_rows(self, layer: Mamba) -> tuple[Tensor, Tensor]:
        """Returns dt_proj."""
        if layer.settings.inner_norm:
            raise InputError("exact gates are for Mamba without norms of r, B and C; inner_norm has to be 0")
        return layer.dt_proj.weight, layer.dt_proj.bias

    def fold_scale(self, layer: Mamba, scale: float) -> None:
        """Divides B by the scale; it is 0 with signs."""
        rows = layer.x_proj.weight[layer.rank : layer.rank + layer.settings.states]
        rows.mul_(0.0 if self.signed else 1 / scale)
        layer.A_log.zero_()


_SMALLEST = 2.0**-149
"""The smallest float32 above 0."""

_SMALL_INPUT, _LARGE_READING = 2.0**-60, 2.0**60
"""Factors of what is written to a rounded memory, and of what reads it."""

_FEW_STEPS = 1.3
"""Writes of more steps than this cost something, so that most are -1, 0 or 1 steps."""


class RoundedMemory(ExactGates):
    """Mamba with exact gates, whose first channels have a memory of few values, and the others none.

    Float states multiply: a channel that is written holds as many values as there are histories behind what
    it reads, and the next layer reads them all. Here writes are rounded to multiples of a step.

    A plain Mamba rounds so by gradual underflow: all float32 numbers are multiples of 2⁻¹⁴⁹, so a write that
    is scaled to a few of these units is rounded to one of them, half to even, and C scales it back. Scales
    are powers of two and round nothing else. The input of a channel with memory is scaled, too, and SiLU
    halves numbers so small; hence these channels are trained without SiLU. The others have it.
    """

    form = ExactMamba.form

    step: ClassVar[float] = 0.5
    """Writes are multiples of this."""

    remembering: ClassVar[int] = 16
    """Channels with memory."""

    layer: Mamba

    def __init__(self, layer: nn.Module, *, signed: bool) -> None:
        super().__init__(layer, signed=signed)
        self.owns = torch.arange(len(self.live)) < self.remembering
        self.live = self.owns.clone()
        self.idle = torch.full_like(self.idle, -1.0)
        self.written = torch.zeros(0)

    def score_rows(self, layer: nn.Module) -> tuple[Tensor, Tensor]:
        """Returns dt_proj."""
        if not isinstance(layer, Mamba) or self.signed or not self._fits(layer):
            raise InputError(
                "rounded memory is for Mamba without signs, with activation, skip, learned_start, a "
                f"convolution with a bias and more than {self.remembering} channels"
            )
        return layer.dt_proj.weight, layer.dt_proj.bias

    def _fits(self, layer: Mamba) -> bool:
        found = layer.settings
        parts = found.activation, found.skip, found.learned_start, found.convolution, found.convolution_bias
        return all(parts) and not found.inner_norm and layer.channels > self.remembering

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        u, z = layer._branches(x)
        u, after = look_back(layer.convolution, u, state)
        u = torch.where(self.owns, u, silu(u))
        states = layer.settings.states
        r, B, C = layer.x_proj(u).split([layer.rank, states, states], dim=-1)
        on, scores = self.decide(layer.dt_proj(r))
        self._inputs = x.detach()
        self.written = (amount(scores) * self.owns)[..., None] * B[:, :, None] * u[..., None]
        start = self._round(state["h"]) * self.owns[:, None]
        h, after["h"] = self.scan(on[..., None], self._round(self.written), start)
        return layer._finish(layer._show(h, C, u), z), after

    def _round(self, values: Tensor) -> Tensor:
        return straight(torch.round(values / self.step) * self.step, values)

    def excess(self) -> Tensor:
        """Returns by how much the last writes were of more than one step, in the mean."""
        return torch.relu(self.written.abs() / self.step - _FEW_STEPS)[..., self.live, :].mean()

    @torch.no_grad()
    def spread(self) -> None:
        """Spreads the scores, and then scales B so that writes have a deviation of 1."""
        super().spread()
        self(self._inputs)
        written = self.written[..., self.live, :]
        rows = self.layer.x_proj.weight[self.layer.rank :][: self.layer.settings.states]
        rows.div_(written[written != 0].std().clamp_min(1e-4))

    def fold_scale(self, layer: Any, scale: float) -> None:
        """Scales writes to multiples of the smallest float32, and what is read from memory back."""
        own, rank, states = self.owns, layer.rank, layer.settings.states
        unit = _SMALLEST / self.step
        layer.convolution.weight[own] *= 2 * _SMALL_INPUT
        layer.convolution.bias[own] *= 2 * _SMALL_INPUT
        layer.x_proj.weight[:, own] /= _SMALL_INPUT
        layer.x_proj.weight[rank : rank + states] *= unit / _SMALL_INPUT / scale
        layer.x_proj.weight[rank + states :] *= _LARGE_READING
        layer.D[own] *= unit * _LARGE_READING / _SMALL_INPUT
        layer.out_proj.weight[:, own] /= unit * _LARGE_READING
        start = torch.round(layer.start / self.step) * _SMALLEST
        layer.start.copy_(start * own[:, None])
        layer.A_log.zero_()


class ThreeValuedMamba(ThreeValuedGates):
    """Mamba [-1,1] with gates 0, 1 and -1: u decides about resets, the step size about flips.

    Folded, softplus(0) = ln 2 gives the gate 2 exp(-ln 2) - 1 = 0, and ln 2 B u is written.
    """

    layer: Mamba
    form = GateForm(settings={"states": 4, "rank": 32, "convolution": 2, "learned_start": True})

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence."""
        layer = self.layer
        resets, z = layer._branches(x)
        assert layer.convolution is not None
        resets, window = layer.convolution(resets, state["window"])
        u, states = amount(resets), layer.settings.states
        r, B, C = layer.x_proj(u).split([layer.rank, states, states], dim=-1)
        self._inputs = x.detach()
        reset, gate = self.decide_three(resets, layer.dt_proj(r))
        write = (math.log(2) * reset * u)[..., None] * B[:, :, None]
        h, last = diagonal_scan(gate[..., None].expand_as(write), write, state["h"])
        return layer._finish(layer._show(h, C, u), z), {"h": last, "window": window}

    def score_rows(self, layer: Mamba) -> tuple[Tensor, Tensor]:
        """Returns dt_proj."""
        found = layer.settings
        fits = (
            found.signed
            and found.activation
            and found.learned_start
            and found.convolution_bias
            and not found.inner_norm
        )
        if not fits or layer.convolution is None:
            raise InputError(
                "gates of three values are for Mamba with signed, activation, learned_start and a "
                "convolution with a bias"
            )
        return layer.dt_proj.weight, layer.dt_proj.bias

    def shift_resets(self, mean: Tensor, factor: Tensor) -> None:
        """Changes the convolution."""
        convolution = self.layer.convolution
        assert convolution is not None
        assert convolution.bias is not None
        convolution.weight.mul_(factor[:, None])
        convolution.bias.sub_(mean).mul_(factor)

    @torch.no_grad()
    def fold(self, layer: Mamba) -> None:
        """Writes the decided gates into a plain layer with the same weights."""
        assert layer.convolution is not None
        assert layer.convolution.bias is not None
        scale = self.reset_scale()
        layer.convolution.weight.mul_(scale)
        layer.convolution.bias.mul_(scale)
        layer.x_proj.weight.div_(scale)
        layer.x_proj.weight[layer.rank : layer.rank + layer.settings.states].div_(scale)
        if layer.D is not None:
            layer.D.div_(scale)
        layer.A_log.zero_()
        u = layer._read(self._inputs, layer.initial_state(len(self._inputs)))[0]
        self.solve_gates(layer.dt_proj, layer.x_proj(u)[..., : layer.rank])


KIND = LayerKind(
    name="mamba",
    title="Mamba",
    settings=MambaSettings,
    build=Mamba,
    equation="h = exp(Δ A) ∘ h + Δ B u",
    reference=Reference("GuDao2023"),
    surroundings=Surroundings(norm="rms", residual=True),
    variants={"mamba-signed": {"signed": True}},
    writer=MambaWriter,
    written=("mamba-signed",),
    gates={"two": ExactMamba, "three": ThreeValuedMamba, "rounded": RoundedMemory},
)
