"""LRU: one complex diagonal recurrence with dense maps in and out, then GELU and a gated linear map.

λ = exp(-exp(ν) + i exp(θ))
h_t = λ ∘ h_{t-1} + exp(γ) ∘ B x_t
y_t = Re(C h_t) + D ∘ x_t
output = (W g + b) ∘ sigmoid(V g + c),  g = GELU(y)
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from nerode.core import InputError, Reference, to_complex
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_sizes,
)
from nerode.models.kernels.linear import linear
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.state_space import Mixing, Readout
from nerode.models.registers import fixed_gates, log_decay
from nerode.models.weight_writer import ONE, BlockPlan, FixedPlan, GatedPlan, WeightWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class LruSettings:
    """Settings of an LRU layer.

    Attributes:
        states: number of complex states; None for as many as inputs.
        inner_radius: the λ begin in a ring around 0; this is where it begins.
        outer_radius: where it ends.
        largest_angle: the angles of the λ begin between 0 and this.
        normalisation: whether γ is there; it begins at log √(1 - |λ|²), so that states begin of size 1.
        skip: whether D ∘ x is added.
        activation: whether GELU follows.
        mixing: the map over the features at the end.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int | None = None
    inner_radius: float = 0.0
    outer_radius: float = 1.0
    largest_angle: float = 6.28
    normalisation: bool = True
    skip: bool = True
    activation: bool = True
    mixing: Mixing = "glu"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_sizes(self, "states", of="LRU")
        if not 0 <= self.inner_radius < self.outer_radius <= 1:
            raise InputError(
                f"the ring goes from {self.inner_radius} to {self.outer_radius}; "
                "give two numbers from 0 to 1 in order"
            )
        if not 0 < self.largest_angle < math.inf:
            raise InputError(f"the largest angle is {self.largest_angle}; it has to be positive")


class Lru(RecurrentLayer):
    """An LRU layer, without the norm and the residual path around it.

    The λ are drawn evenly over the area of the ring; B and C from complex normal distributions with entries
    of variance 1/inputs and 2/states, D from a normal distribution.

    Implements: [Orvieto2023]
    """

    slow_parameters = ("log_decay", "log_angle", "log_scale", "B")

    def __init__(self, inputs: int, settings: LruSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        states = settings.states or inputs
        inner, outer = settings.inner_radius, settings.outer_radius
        # From (0, 1] and not [0, 1): with a ring that begins at 0 the radius 0 has no logarithm.
        squares = (1 - torch.rand(states)) * (outer**2 - inner**2) + inner**2
        # A radius of exactly 1 has no logarithm of its own logarithm.
        squares = squares.clamp(max=1 - torch.finfo(squares.dtype).eps)
        self.log_decay = nn.Parameter(torch.log(-0.5 * squares.log()))
        self.log_angle = nn.Parameter(torch.log(settings.largest_angle * (1 - torch.rand(states))))
        self.log_scale: nn.Parameter | None = None
        if settings.normalisation:
            self.log_scale = nn.Parameter(0.5 * torch.log1p(-squares))
        self.B = nn.Parameter(torch.randn(states, inputs, 2) * (2 * inputs) ** -0.5)
        self.C = nn.Parameter(torch.randn(inputs, states, 2) * states**-0.5)
        self.D = nn.Parameter(torch.randn(inputs)) if settings.skip else None
        self.readout = Readout(inputs, inputs, activation=settings.activation, mixing=settings.mixing)
        self.start = nn.Parameter(torch.zeros(states, 2)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀, complex; in float32 at least."""
        pairs = self.zeros(len(self.log_decay), 2) if self.start is None else self.start
        return {"h": as_complex(pairs).expand(batch, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        h = self._gate() * state["h"] + self._drive(x)
        return self._finish(h, x), {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        start = state["h"]
        h, last = diagonal_scan(self._gate(), self._drive(x), start)
        return self._finish(h, x), {"h": last}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns λ, the same at each position."""
        return DiagonalTransition(state="h", gate=self._gate().expand(*x.shape[:2], -1))

    def _gate(self) -> Complex[Tensor, " states"]:
        angle = widened(self.log_angle).exp()
        return torch.complex(-widened(self.log_decay).exp(), angle).exp()

    def _drive(self, x: Float[Tensor, "... inputs"]) -> Complex[Tensor, "... states"]:
        # Real products: x is real, and B as pairs is a matrix with twice the rows.
        driven = linear(widened(x), widened(self.B).transpose(1, 2).flatten(0, 1))
        drive = torch.view_as_complex(torch.unflatten(driven, -1, (-1, 2)))
        return drive if self.log_scale is None else widened(self.log_scale).exp() * drive

    def _finish(self, h: Complex[Tensor, "... states"], x: Float[Tensor, "... inputs"]) -> Tensor:
        # Re(C h) is a real product of the pairs of h with those of conj(C).
        signs = torch.tensor([1.0, -1.0], dtype=h.real.dtype, device=h.device)
        y = linear(torch.view_as_real(h).flatten(-2), (widened(self.C) * signs).flatten(1))
        return self.readout.finish(y, x, self.D)


_NONE = -1000.0
"""exp(-1000) is 0: the angle of a real gate."""


class LruWriter(WeightWriter):
    """Writes diagonal layers with fixed gates: B writes, and C shows the real and the imaginary parts.

    γ is exp(0) = 1, D is 0, and GELU and the gated map are left out. A modulus of exactly 1 comes from a
    decay of exp(-1000) = 0.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns a state for each coordinate, and nothing after them."""
        states = 1 if block.layer is None else block.layer.width
        return {"states": states, "activation": False, "mixing": "none", "learned_start": True}

    def fill(self, layer: Lru, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        layer.log_angle.fill_(_NONE)
        if block.layer is None:
            return
        move = block.layer.move
        gates = fixed_gates(block, self.architecture)
        assert isinstance(move, FixedPlan | GatedPlan)
        for i, (gate, form) in enumerate(zip(gates, move.writes, strict=True)):
            layer.log_decay[i] = log_decay(gate)
            angle = cmath.phase(gate) % (2 * math.pi)
            layer.log_angle[i] = math.log(angle) if angle else _NONE
            for place, factor in (*form.terms.items(), (ONE, form.constant)):
                layer.B[i, place] += _pair(to_complex(factor)).to(layer.B)
            layer.learned_start[i] = _pair(to_complex(block.layer.start[i])).to(layer.learned_start)
        for number, place in enumerate(block.states):
            part, i = divmod(number, len(gates))
            # Re(-i h) is the imaginary part.
            layer.C[place, i] = _pair(-1j if part else 1).to(layer.C)


def _pair(value: complex) -> Tensor:
    return torch.tensor([value.real, value.imag], dtype=torch.float64)


KIND = LayerKind(
    name="lru",
    title="LRU",
    settings=LruSettings,
    build=Lru,
    equation="h = λ ∘ h + γ ∘ B x, λ complex, fixed",
    reference=Reference("Orvieto2023"),
    surroundings=Surroundings(norm="layer", residual=True),
    writer=LruWriter,
)
