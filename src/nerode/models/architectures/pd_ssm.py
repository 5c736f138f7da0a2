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

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import one_hot

from nerode.core import Reference
from nerode.models.base import LayerKind, Surroundings
from nerode.models.parts.dense import DenseLayer
from nerode.models.parts.heads import require_positive
from nerode.models.parts.precision import as_complex, widened


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
        require_positive(states=self.states, dictionary=self.dictionary, expansion=self.expansion)


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
        self.S = nn.Linear(inputs, settings.dictionary, bias=False)
        self.dictionary = nn.Parameter(torch.randn(settings.dictionary, states, states) / states**0.5)
        self.size, self.phase = (_mlp(inputs, settings.expansion * states, states) for _ in range(2))
        self.B = None
        if settings.write:
            self.B = nn.Parameter(torch.randn(states, inputs, 2) / (2 * states) ** 0.5)
        self.C = nn.Linear(2 * states, inputs)
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
        phases = 2 * math.pi * widened(self.phase(x)).sigmoid()
        diagonal = torch.polar(widened(self.size(x)).sigmoid(), phases)
        return (self.moves(x) * diagonal[..., None, :])[..., None, :, :]

    def moves(self, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... states states"]:
        """Returns P, with the gradient of the soft choice where that is wanted."""
        chosen = widened(self.S(x)).softmax(dim=-1)
        mixed = torch.einsum("...k,kij->...ij", chosen, widened(self.dictionary))
        hard = one_hot(mixed.argmax(dim=-2), self.states).transpose(-1, -2).to(mixed.dtype)
        if not self.settings.straight_through:
            return hard
        soft = mixed.softmax(dim=-2)
        # The difference is zero bit for bit, so that P stays exact.
        return hard + (soft - soft.detach())

    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B x (…, 1, states, 1), complex."""
        if self.B is None:
            return None
        real, imaginary = (widened(x) @ part.T for part in widened(self.B).unbind(-1))
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
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


KIND = LayerKind(
    name="pd-ssm",
    title="PD-SSM",
    settings=PdSsmSettings,
    build=PdSsm,
    equation="h = P(x) D(x) h + B x, P one-hot in each column",
    reference=Reference("Terzic2025PdSsm"),
    surroundings=Surroundings(norm="layer", position="post"),
)
