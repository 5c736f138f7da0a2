"""S4: a state space model with a diagonal-plus-low-rank matrix for each feature, beginning as HiPPO-LegS.

    h' = A h + B x,  A = diag(λ) - P P*                  on pairs of conjugates, of which one is kept
    h_t = (2/Δ - A)⁻¹ ((2/Δ + A) h_{t-1} + 2 B x_t)      the bilinear rule
    y_t = 2 Re(C h_t) + D x_t
    output = (W g + b) ∘ sigmoid(V g + c),  g = GELU(y)

With E = 1/(2/Δ - λ), the formula of Woodbury gives (2/Δ - A)⁻¹ = diag(E) - k EP (EP̄)ᵀ where 1/k = 1 + P* EP,
and (2/Δ - A)⁻¹ (2/Δ + A) = 4/Δ (2/Δ - A)⁻¹ - I. So a step, too, is diagonal plus rank one:

    h_t = gate ∘ h_{t-1} - low (high · h_{t-1}) + write x_t

The kept half of h moves by a map that is linear over the reals only, because high · h = 2 Re(Σ high h) joins
a number with its conjugate. The state is therefore given as real and imaginary parts in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from nerode.core import NotCompilable, Reference
from nerode.models.base import DenseTransition, LayerKind, RecurrentLayer, State, Surroundings
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.state_space import (
    Mixing,
    Readout,
    draw_log_steps,
    legendre_normal_form,
    require_even,
    require_steps,
)
from nerode.models.parts.time_invariant import dense_system
from nerode.models.registers import Channel, ChannelWriter, set_pair
from nerode.models.shared_terms import shared
from nerode.models.weight_writer import BlockPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class S4Settings:
    """Settings of an S4 layer.

    Attributes:
        states: N, states of each feature.
        smallest_step: the lower end of the step sizes that the layer begins with.
        largest_step: their upper end.
        skip: whether D x is added.
        activation: whether GELU follows.
        mixing: the map over the features at the end.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int = 64
    smallest_step: float = 1e-3
    largest_step: float = 0.1
    skip: bool = True
    activation: bool = True
    mixing: Mixing = "glu"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_even(self.states)
        require_steps(self.smallest_step, self.largest_step)


class S4(RecurrentLayer):
    """An S4 layer, without the norm and the residual path around it.

    λ, P and B begin as those of HiPPO-LegS, the step sizes are drawn evenly on a logarithmic scale, C from a
    complex and D from a real normal distribution. Trained is C itself: the published layer trains C (I - Aᴸ)
    for the length L of its sequences, which spares it a power of A and ties it to that length.

    Implements: [GuGoelRe2022]
    """

    slow_parameters = ("log_step", "log_decay", "frequency", "P", "B")

    def __init__(self, inputs: int, settings: S4Settings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        half = settings.states // 2
        rate, low_rank, write, _ = legendre_normal_form(settings.states)
        self.log_step = nn.Parameter(draw_log_steps(inputs, settings.smallest_step, settings.largest_step))
        self.log_decay = nn.Parameter(torch.full((inputs, half), math.log(0.5)))
        self.frequency = nn.Parameter(rate.imag.to(self.log_decay).repeat(inputs, 1))
        self.P = nn.Parameter(torch.view_as_real(low_rank).to(self.log_decay).repeat(inputs, 1, 1))
        self.B = nn.Parameter(torch.view_as_real(write).to(self.log_decay).repeat(inputs, 1, 1))
        self.C = nn.Parameter(torch.randn(inputs, half, 2) * 0.5**0.5)
        self.D = nn.Parameter(torch.randn(inputs)) if settings.skip else None
        self.readout = Readout(inputs, inputs, activation=settings.activation, mixing=settings.mixing)
        self.start = nn.Parameter(torch.zeros(inputs, 2 * half)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀; in float32 at least."""
        start = self.zeros(self.inputs, self.settings.states) if self.start is None else self.start
        return {"h": widened(start).expand(batch, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        gate, low, high, write = self._discrete()
        h = as_complex(torch.unflatten(state["h"], -1, (-1, 2)))
        h = gate * h - low * _joined(high, h) + write * widened(x)[..., None]
        y = _joined(as_complex(self.C), h)[..., 0]
        return self.readout.finish(y, x, self.D), {"h": torch.view_as_real(h).flatten(-2)}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        start = state["h"]
        y, h = dense_system(widened(x), *shared(S4._in_steps, self), start)
        return self.readout.finish(y[..., 0], x, self.D), {"h": h}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns the matrix of each feature, the same at each position."""
        matrix = _matrix(*self._discrete()[:-1])
        return DenseTransition(state="h", matrix=matrix.expand(*x.shape[:2], -1, -1, -1))

    def _in_steps(self) -> tuple[Tensor, Tensor, Tensor]:
        """Matrix, write and read of a step, real."""
        *matrix, write = self._discrete()
        read = _as_row(as_complex(self.C))
        return _matrix(*matrix), torch.view_as_real(write).flatten(1), read[:, None]

    def _discrete(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Gate, low, high and write of a step, each (inputs, half)."""
        rate = torch.complex(-widened(self.log_decay).exp(), widened(self.frequency))
        P, B = as_complex(self.P), as_complex(self.B)
        double = 2 * (-widened(self.log_step)).exp()[:, None]
        inverse = (double - rate).reciprocal()
        low, high = inverse * P, inverse * P.conj()
        low = low / (1 + _joined(P.conj(), low))
        write = 2 * (inverse * B - low * _joined(high, B))
        return (double + rate) * inverse, 2 * double * low, high, write


def _joined(row: Tensor, h: Tensor) -> Tensor:
    """The sum Σ row h over all numbers and their conjugates."""
    return 2 * (row * h).sum(-1, keepdim=True).real


def _as_row(row: Complex[Tensor, "inputs half"]) -> Float[Tensor, "inputs states"]:
    """The factors of the real and imaginary parts of h in `_joined`."""
    return torch.view_as_real(2 * row.conj().resolve_conj()).flatten(1)


def _matrix(gate: Tensor, low: Tensor, high: Tensor) -> Float[Tensor, "inputs states states"]:
    """The matrix of a step without input, on real and imaginary parts in turn."""
    turns = torch.stack([gate.real, -gate.imag, gate.imag, gate.real], dim=-1)
    turns = torch.unflatten(turns, -1, (2, 2))
    half = gate.shape[1]
    blocks = torch.eye(half, dtype=turns.dtype, device=turns.device)[:, None, :, None] * turns[:, :, :, None]
    falls = torch.view_as_real(low).flatten(1)[:, :, None] * _as_row(high)[:, None]
    return blocks.reshape(falls.shape) - falls


class S4Writer(ChannelWriter):
    """Writes channels without a low-rank term, P = 0, with steps of size 1.

    The bilinear rule makes the gate (2 + λ)/(2 - λ) of a rate λ, so that λ = 2 (g - 1)/(g + 1); there is none
    for -1. A modulus of exactly 1 comes from a decay of exp(-1000) = 0. D is 0, and GELU is left out.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one complex state per channel and a linear map after them."""
        return {"states": 2, "activation": False, "mixing": "linear", "learned_start": True}

    def set_channel(self, layer: S4, channel: Channel) -> None:
        """Sets one channel."""
        assert isinstance(layer.readout.mixing, nn.Linear)
        gate, number = channel.gate, channel.number
        if gate == -1:
            raise NotCompilable(self.architecture, ["a gate is -1, which the bilinear rule has no rate for"])
        rate = 2 * (gate - 1) / (gate + 1)
        layer.log_decay[number] = -1000.0 if abs(gate) == 1 else math.log(-rate.real)
        layer.frequency[number] = rate.imag
        set_pair(layer.B[number, 0], channel.write * (2 - rate) / 2)
        set_pair(layer.C[number, 0], channel.read)
        set_pair(layer.learned_start[number], channel.start)
        layer.readout.mixing.weight[channel.shown, number] = 1


KIND = LayerKind(
    name="s4",
    title="S4",
    settings=S4Settings,
    build=S4,
    equation="h = (2/Δ - A)⁻¹ ((2/Δ + A) h + 2 B x), A = diag(λ) - P P*, fixed",
    reference=Reference("GuGoelRe2022"),
    surroundings=Surroundings(norm="layer", position="post", residual=True),
    writer=S4Writer,
)
