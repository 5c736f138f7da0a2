"""PD-SSM: a linear recurrence whose matrix has one complex entry in each column.

    s      = softmax(S x)                    over a dictionary of matrices M_k
    P      = in each column, 1 at the largest entry of Σ_k s_k M_k, 0 elsewhere
    D      = r e^{iφ},  r = σ(mlp x),  φ = 2π σ(mlp' x)
    h_t    = P (D ∘ h_{t-1}) + B x_t         h complex, h_0 the first unit vector
    output = C (Re h_t, Im h_t) + c + d ∘ x_t

P moves every coordinate to a place that the input chooses, as an automaton moves every state to the next.
Its gradient is that of the softmax of each column in place of the largest entry ("straight-through").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import NotCompilable, Reference, to_complex
from nerode.models.base import LayerKind, State, Surroundings, require_positive
from nerode.models.kernels.choice_scan import choice_scan, choose_rows
from nerode.models.kernels.linear import Linear, linear
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.time_invariant import DenseLayer
from nerode.models.registers import SATURATED, SCALE, Register, distinct_moves, log_odds, read_registers
from nerode.models.weight_writer import (
    BlockPlan,
    GatedPlan,
    PermutationPlan,
    PlaceForm,
    WeightWriter,
    at,
    combine,
    set_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PdSsmSettings:
    """Settings of a PD-SSM layer.

    Attributes:
        states: complex numbers in the state; None for as many as inputs.
        dictionary: number of matrices from which P is mixed.
        expansion: hidden units of each mlp for each state.
        straight_through: whether gradients pass through the choice of P, as if it were soft; without it they
            are the true ones, and the dictionary and S learn nothing.
        write: whether there is a B.
        learned_start: whether the state before the first position is trained; it begins as published.
    """

    states: int | None = None
    dictionary: int = 8
    expansion: int = 2
    straight_through: bool = True
    write: bool = True
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "states", "dictionary", "expansion")


class PdSsm(DenseLayer):
    """A PD-SSM layer, without the norm after it.

    The dictionary is drawn from N(0,1)/√states, both parts of B from N(0,1)/√(2 states), d from
    N(0,1)/√inputs, all else as torch does. The published program takes the largest entry of each row, the
    paper that of each column; this is the paper's, which automata need.

    Implements: [Terzic2025PdSsm]
    """

    def __init__(self, inputs: int, settings: PdSsmSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.states = states = settings.states or inputs
        self.S = Linear(inputs, settings.dictionary, bias=False)
        self.dictionary = nn.Parameter(torch.randn(settings.dictionary, states, states) / states**0.5)
        self.size, self.phase = (_mlp(inputs, settings.expansion * states, states) for _ in range(2))
        self.B = None
        if settings.write:
            self.B = nn.Parameter(torch.randn(states, inputs, 2) / (2 * states) ** 0.5)
        self.C = Linear(2 * states, inputs)
        self.d = nn.Parameter(torch.randn(inputs) / inputs**0.5)
        self.start = None
        if settings.learned_start:
            self.start = nn.Parameter(self._one_hot())

    def first_state(self) -> Tensor:
        """Returns h₀ (1, states, 1), complex."""
        start = self._one_hot() if self.start is None else self.start
        return as_complex(start)[None, :, None]

    def matrices(self, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns P D (…, 1, states, states), complex."""
        return (self.moves(x) * self._diagonal(x)[..., None, :])[..., None, :, :]

    def moves(self, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... states states"]:
        """Returns P, with the gradient of the soft choice where that is wanted."""
        through = self.settings.straight_through
        return choose_rows(self._shares(x), widened(self.dictionary), straight_through=through)

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and h after it, without making the matrices."""
        h = state["h"]
        written = self.writes(x)
        states = choice_scan(
            self._shares(x),
            widened(self.dictionary),
            self._diagonal(x),
            None if written is None else written[:, :, 0, :, 0],
            h[:, 0, :, 0],
            straight_through=self.settings.straight_through,
        )[:, :, None, :, None]
        return self.output(states, x), {"h": states[:, -1]}

    def _shares(self, x: Tensor) -> Tensor:
        """The shares of the matrices of the dictionary."""
        return widened(self.S(x)).softmax(dim=-1)

    def _diagonal(self, x: Tensor) -> Tensor:
        phases = 2 * math.pi * widened(self.phase(x)).sigmoid()
        return torch.polar(widened(self.size(x)).sigmoid(), phases)

    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B x (…, 1, states, 1), complex."""
        if self.B is None:
            return None
        real, imaginary = (linear(widened(x), part) for part in widened(self.B).unbind(-1))
        return torch.complex(real, imaginary)[..., None, :, None]

    def output(self, h: Tensor, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns C (Re h, Im h) + c + d x."""
        parts = torch.cat([h.real, h.imag], dim=-2)[..., 0, :, 0].to(x.dtype)
        return torch.add(self.C(parts), self.d * x)

    def _one_hot(self) -> Tensor:
        start = self.zeros(self.states, 2)
        start[0, 0] = 1
        return start


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(Linear(inputs, hidden), nn.GELU(), Linear(hidden, outputs))


class PdSsmWriter(WeightWriter):
    """Writes layers of permutation times diagonal, and diagonal ones.

    The size of an entry is σ(1000) = 1 and its phase 2π σ(-1000) = 0, both exact. Other sizes and phases come
    from hidden units, one for each letter: GELU(64) = 64 without rounding.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the states, and a matrix for each letter."""
        states = 1 if block.layer is None else block.layer.width
        letters = max(1, len(block.letters))
        units = max(letters, len(distinct_moves(self._registers(block))))
        return {
            "states": states,
            "dictionary": letters,
            "expansion": -(-units // states),
            "learned_start": True,
        }

    def fill(self, layer: PdSsm, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        if block.layer is None:
            return
        assert layer.B is not None
        for letter, place in enumerate(block.letters):
            layer.S.weight[letter, place] = SATURATED
        self._fill_matrices(layer, block)
        for part, writes in enumerate(self._writes(block)):
            for i, form in enumerate(writes):
                layer.B[i, :, part] = form.row(layer.inputs).to(layer.B)
        for i, value in enumerate(block.layer.start):
            number = to_complex(value)
            layer.learned_start[i, 0], layer.learned_start[i, 1] = number.real, number.imag
        for i, place in enumerate(block.states):
            layer.C.weight[place, i] = 1

    def _fill_matrices(self, layer: PdSsm, block: BlockPlan) -> None:
        assert block.layer is not None
        move = block.layer.move
        sizes, phases = _last(layer.size), _last(layer.phase)
        sizes.bias.fill_(SATURATED)
        phases.bias.fill_(-SATURATED)
        if isinstance(move, GatedPlan):
            self._fill_registers(layer, block)
            return
        if not isinstance(move, PermutationPlan):
            raise NotCompilable(self.architecture, [f"layer {block.layer.name} is {move.kind}"])
        for letter, (images, diagonal) in enumerate(zip(move.images, move.diagonals, strict=True)):
            for j, i in enumerate(images):
                layer.dictionary[letter, i, j] = 1
            for mlp in (layer.size, layer.phase):
                _first(mlp).weight[letter, block.letters[letter]] = SCALE
            for j, value in enumerate(diagonal):
                size, turn = _polar(to_complex(value))
                _set(sizes.weight, j, letter, _logit(size) - SATURATED)
                _set(phases.weight, j, letter, _logit(turn) + SATURATED)

    def _fill_registers(self, layer: PdSsm, block: BlockPlan) -> None:
        """Sets P to the identity; hidden units say when registers move."""
        registers = self._registers(block)
        signals = distinct_moves(registers)
        for mlp in (layer.size, layer.phase):
            set_rows(_first(mlp), [form.scaled(SCALE) for form in signals])
        for i, register in enumerate(registers):
            layer.dictionary[:, i, i] = 1
            size, turn = _polar(to_complex(register.gate))
            changes = (_logit(size) - SATURATED, _logit(turn) + SATURATED)
            for mlp, change in zip((layer.size, layer.phase), changes, strict=True):
                if register.moves is None:
                    _last(mlp).bias[i] += change
                else:
                    _set(_last(mlp).weight, i, signals.index(register.moves), change)

    def _registers(self, block: BlockPlan) -> list[Register]:
        if block.layer is None or not isinstance(block.layer.move, GatedPlan):
            return []
        return read_registers(block, self.architecture)

    def _writes(self, block: BlockPlan) -> tuple[list[PlaceForm], list[PlaceForm]]:
        """The real and the imaginary parts of what is written."""
        assert block.layer is not None
        move = block.layer.move
        if isinstance(move, GatedPlan):
            return list(move.writes), []
        assert isinstance(move, PermutationPlan)
        real, imaginary = [], []
        for i in range(block.layer.width):
            values = [to_complex(write[i]) for write in move.writes]
            places = [at(place) for place in block.letters]
            real.append(combine([(p, Fraction(v.real)) for p, v in zip(places, values, strict=True)]))
            imaginary.append(combine([(p, Fraction(v.imag)) for p, v in zip(places, values, strict=True)]))
        return real, imaginary


def _set(weight: Tensor, state: int, letter: int, logit: float) -> None:
    weight[state, letter] = logit / SCALE


def _polar(value: complex) -> tuple[float, float]:
    """The size, and the turn as a share of the full circle."""
    return abs(value), math.atan2(value.imag, value.real) / (2 * math.pi) % 1


def _logit(share: float) -> float:
    return log_odds(share, 1 - share, SATURATED)


def _first(mlp: nn.Sequential) -> nn.Linear:
    linear = mlp[0]
    assert isinstance(linear, nn.Linear)
    return linear


def _last(mlp: nn.Sequential) -> nn.Linear:
    linear = mlp[2]
    assert isinstance(linear, nn.Linear)
    return linear


KIND = LayerKind(
    name="pd-ssm",
    title="PD-SSM",
    settings=PdSsmSettings,
    build=PdSsm,
    equation="h = P(x) D(x) h + B x, P one-hot in each column",
    reference=Reference("Terzic2025PdSsm"),
    surroundings=Surroundings(norm="layer", position="post"),
    writer=PdSsmWriter,
)
