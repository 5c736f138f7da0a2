"""The complex diagonal recurrence with gates that depend on the input.

    r = radius(W_r x + b_r)              sigmoid, clamp to [0,1], or always 1
    θ = W_θ x + b_θ
    h_t = r e^{iθ} ∘ h_{t-1} + W_B x + b_B
    y_t = Re(C h_t) + D ∘ x

What is written does not depend on the gate. With radius 1 the transition is unitary.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from nerode.core import NotCompilable, Reference, to_complex, to_float
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    RecurrentLayer,
    State,
    Surroundings,
    require_positive,
)
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.precision import as_complex, widened
from nerode.models.registers import read_registers
from nerode.models.weight_writer import BlockPlan, GatedPlan, PlaceForm, WeightWriter, at, combine, set_rows

_INNER, _OUTER = 0.9, 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexDiagonalSettings:
    """Settings of a complex diagonal layer.

    Attributes:
        states: number of complex states; None for as many as inputs.
        radius: where the radius of a gate comes from; "clamp" reaches 0 and 1 exactly.
        readout: whether the outputs are Re(C h) + D ∘ x; otherwise they are the real parts of h, then the
            imaginary ones.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int | None = None
    radius: Literal["sigmoid", "clamp", "one"] = "sigmoid"
    readout: bool = True
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "states")


class ComplexDiagonal(RecurrentLayer):
    """A complex diagonal layer, the plain form of the class that the theorems are about.

    AUSSM is a published architecture with such a transition, of radius 1. The beginning is ours: radii
    between 0.9 and 0.999 and angles all around the circle at x = 0, D = 1, C normal with the variance
    1 / states, all else as torch does. Complex numbers have at least 32 bits a part, whatever the weights.

    References: [Karuvally2025Aussm]
    """

    def __init__(self, inputs: int, settings: ComplexDiagonalSettings) -> None:
        states = settings.states or inputs
        super().__init__(inputs, inputs if settings.readout else 2 * states)
        self.settings = settings
        self.states = states
        self.radius = Linear(inputs, states) if settings.radius != "one" else None
        self.angle = Linear(inputs, states)
        self.write = Linear(inputs, 2 * states)
        self.C = nn.Parameter(torch.randn(inputs, states, 2) * states**-0.5) if settings.readout else None
        self.D = nn.Parameter(torch.ones(inputs)) if settings.readout else None
        self.start = nn.Parameter(torch.zeros(states, 2)) if settings.learned_start else None
        nn.init.uniform_(self.angle.bias, 0, 2 * math.pi)
        if self.radius is not None:
            nn.init.uniform_(self.radius.bias, _INNER, _OUTER)
            if settings.radius == "sigmoid":
                with torch.no_grad():
                    self.radius.bias.logit_()

    def initial_state(self, batch: int) -> State:
        """Returns h₀, complex; in float32 at least."""
        pairs = self.zeros(self.states, 2) if self.start is None else self.start
        return {"h": as_complex(pairs).expand(batch, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        h = self._gates(x) * state["h"] + self._write(x)
        return self._finish(h, x), {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        start = state["h"]
        h, last = diagonal_scan(self._gates(x), self._write(x), start)
        return self._finish(h, x), {"h": last}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gates (batch, time, states)."""
        return DiagonalTransition(state="h", gate=self._gates(x))

    def _gates(self, x: Tensor) -> Complex[Tensor, "... states"]:
        angle = widened(self.angle(x))
        if self.radius is None:
            return torch.polar(torch.ones_like(angle), angle)
        score = widened(self.radius(x))
        clamped = self.settings.radius == "clamp"
        return torch.polar(score.clamp(0, 1) if clamped else score.sigmoid(), angle)

    def _write(self, x: Tensor) -> Complex[Tensor, "... states"]:
        pairs = self.write(x)
        return as_complex(pairs.reshape(*x.shape[:-1], self.states, 2))

    def _finish(self, h: Tensor, x: Tensor) -> Tensor:
        if self.C is None or self.D is None:
            return torch.cat([h.real, h.imag], dim=-1).to(x.dtype)
        return (h @ as_complex(self.C).T).real.to(x.dtype) + self.D * x


class ComplexDiagonalWriter(WeightWriter):
    """Writes diagonal layers, real ones as registers and complex ones as rotations.

    A gate that only the letter decides turns by its angle, a sum over letters of which one is there. A
    register has a radius of 1 or of its gate, clamped, and turns by half a circle where the gate is negative.
    Writes are free, so counters are carried too.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the number of states; radii reach 0 and 1."""
        states = 1 if block.layer is None else block.layer.width
        return {"states": states, "radius": "clamp", "learned_start": True}

    def fill(self, layer: ComplexDiagonal, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        assert layer.C is not None
        if block.layer.complex_state:
            self._fill_rotations(layer, block)
        else:
            self._fill_registers(layer, block)
        for i, value in enumerate(block.layer.start):
            number = to_complex(value)
            layer.learned_start[i, 0], layer.learned_start[i, 1] = number.real, number.imag
        width = block.layer.width
        for i, place in enumerate(block.states):
            # Re(h) = Re(1 · h) and Im(h) = Re(-i · h).
            layer.C[place, i % width, i // width] = 1 if i < width else -1

    def _fill_registers(self, layer: ComplexDiagonal, block: BlockPlan) -> None:
        assert layer.radius is not None
        registers = read_registers(block, self.architecture)
        for i, register in enumerate(registers):
            gate = Fraction(to_float(register.gate))
            set_rows(layer.radius, [register.switched(abs(gate), 1)], first=i)
            if gate < 0:
                set_rows(layer.angle, [register.switched(Fraction(cmath.pi), 0)], first=i)
            set_rows(layer.write, [register.write], first=2 * i)

    def _fill_rotations(self, layer: ComplexDiagonal, block: BlockPlan) -> None:
        assert block.layer is not None
        assert layer.radius is not None
        move = block.layer.move
        if not isinstance(move, GatedPlan):
            raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {move.kind}"])
        for i, (gate, write) in enumerate(zip(move.gates, move.writes, strict=True)):
            sizes, angles = zip(*(cmath.polar(g) for g in self._by_letter(gate, block)), strict=True)
            written = self._by_letter(write, block)
            set_rows(layer.radius, [_over_letters(sizes, block)], first=i)
            set_rows(layer.angle, [_over_letters(angles, block)], first=i)
            parts = [[w.real for w in written], [w.imag for w in written]]
            set_rows(layer.write, [_over_letters(part, block) for part in parts], first=2 * i)

    def _by_letter(self, form: PlaceForm, block: BlockPlan) -> list[complex]:
        """The value of a form after each letter."""
        if not form.terms.keys() <= set(block.letters):
            raise NotCompilable(
                self.architecture, ["a complex gate depends on more than the letter, which angles cannot sum"]
            )
        return [to_complex(form.constant + form.terms.get(place, 0)) for place in block.letters]


def _over_letters(values: Sequence[float], block: BlockPlan) -> PlaceForm:
    parts = zip(block.letters, values, strict=True)
    return combine([(at(place), Fraction(value)) for place, value in parts])


KIND = LayerKind(
    name="complex-diagonal",
    title="complex diagonal, input-dependent",
    settings=ComplexDiagonalSettings,
    build=ComplexDiagonal,
    equation="h = r(x) e^{iθ(x)} ∘ h + B(x)",
    reference=Reference("Karuvally2025Aussm"),
    surroundings=Surroundings(norm="layer", residual=True),
    writer=ComplexDiagonalWriter,
)
