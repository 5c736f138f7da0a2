"""S4: a state space model with a diagonal-plus-low-rank matrix for each feature, beginning as HiPPO-LegS.

    h' = A h + B x,  A = diag(λ) - P P*                  on pairs of conjugates, of which one is kept
    h_t = (2/Δ - A)⁻¹ ((2/Δ + A) h_{t-1} + 2 B x_t)      the bilinear rule
    y_t = 2 Re(C h_t) + D x_t
    output = (W g + b) ∘ sigmoid(V g + c),  g = GELU(y)

The kept half of h moves by a map that is linear over the reals only, because P* h = 2 Re(Σ conj(p) h) joins a
number with its conjugate. The state is therefore given as real and imaginary parts in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from nerode.core.refs import Reference
from nerode.models.base import Layer, State, require_features
from nerode.models.diagonal_ssm import require_even
from nerode.models.discretisation import draw_log_steps, require_steps
from nerode.models.hippo import legendre_normal_form
from nerode.models.precision import as_complex, widened
from nerode.models.readout import Mixing, Readout
from nerode.models.surroundings import Surroundings
from nerode.models.time_invariant import dense_system
from nerode.models.transitions import DenseTransition
from nerode.models.zoo import Kind, register


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


class S4(Layer):
    """An S4 layer, without the norm and the residual path around it.

    λ, P and B begin as those of HiPPO-LegS, the step sizes are drawn evenly on a logarithmic scale, C from a
    complex and D from a real normal distribution. Trained is C itself: the published layer trains C (I - Aᴸ)
    for the length L of its sequences, which spares it a power of A and ties it to that length.

    Implements: [GuGoelRe2022]
    """

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
        h = self._advance(as_complex(torch.unflatten(state["h"], -1, (-1, 2))), widened(x))
        y = 2 * (as_complex(self.C) * h).sum(-1).real
        return self._finish(y, x), {"h": torch.view_as_real(h).flatten(-2)}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        require_features(self, x)
        start = (state or self.initial_state(len(x)))["h"]
        nothing, unit = torch.zeros_like(as_complex(self.C)), torch.ones_like(widened(self.log_step))
        write = torch.view_as_real(self._advance(nothing, unit)).flatten(-2)
        read = torch.view_as_real(2 * as_complex(self.C).conj().resolve_conj()).flatten(-2)
        y, h = dense_system(widened(x), self._matrix(), write, read[:, None], start)
        return self._finish(y[..., 0], x), {"h": h}

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> DenseTransition:
        """Returns the matrix of each feature, the same at each position."""
        return DenseTransition(state="h", matrix=self._matrix().expand(*x.shape[:2], -1, -1, -1))

    def _advance(
        self, h: Complex[Tensor, "... inputs half"], x: Float[Tensor, "... inputs"]
    ) -> Complex[Tensor, "... inputs half"]:
        """One step of the bilinear rule, the inverse by the formula of Woodbury."""
        rate = torch.complex(-widened(self.log_decay).exp(), widened(self.frequency))
        P, B = as_complex(self.P), as_complex(self.B)
        double = 2 * (-widened(self.log_step)).exp()[:, None]
        inverse = (double - rate).reciprocal()
        moved = (double + rate) * h - P * _joined(P, h) + 2 * B * x[..., None]
        moved = inverse * moved
        return moved - inverse * P * (_joined(P, moved) / (1 + _joined(P, inverse * P)))

    def _matrix(self) -> Float[Tensor, "inputs states states"]:
        """The matrix of a step without input, on real and imaginary parts in turn."""
        states = self.settings.states
        basis = torch.eye(states, dtype=widened(self.P).dtype, device=self.P.device)
        basis = as_complex(torch.unflatten(basis, -1, (-1, 2)))[:, None].expand(-1, self.inputs, -1)
        images = self._advance(basis, torch.zeros_like(basis[..., 0].real))
        return torch.view_as_real(images).flatten(-2).permute(1, 2, 0)

    def _finish(self, y: Tensor, x: Tensor) -> Tensor:
        y = y.to(x.dtype)
        y = y if self.D is None else y + self.D * x
        return self.readout(y)  # type: ignore[no-any-return]


def _joined(left: Tensor, right: Tensor) -> Tensor:
    """The product left* right of two vectors of which one of each pair of conjugates is given."""
    return 2 * (left.conj() * right).sum(-1, keepdim=True).real


register(
    Kind(
        name="s4",
        title="S4",
        settings=S4Settings,
        build=S4,
        equation="h = (2/Δ - A)⁻¹ ((2/Δ + A) h + 2 B x), A = diag(λ) - P P*, fixed",
        reference=Reference("GuGoelRe2022"),
        surroundings=Surroundings(norm="layer", position="post", residual=True),
    ),
)
