"""LSSL: a dense state space model for each feature, the HiPPO-LegS matrix with a step size of its own.

h_t = (I - Δ/2 A)⁻¹ (I + Δ/2 A) h_{t-1} + (I - Δ/2 A)⁻¹ Δ B x_t      A, B shared, Δ for each feature
y_t = C h_t + D x_t                                                    `channels` numbers for each feature
output = W GELU(y) + b
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference
from nerode.models.base import DenseTransition, LayerKind, RecurrentLayer, State, Surroundings, require_sizes
from nerode.models.parts.precision import widened
from nerode.models.parts.state_space import (
    Mixing,
    Readout,
    add_weight,
    bilinear_matrix,
    draw_log_steps,
    legendre_matrices,
    require_steps,
)
from nerode.models.parts.time_invariant import dense_system
from nerode.models.shared_terms import shared


@dataclass(frozen=True, slots=True, kw_only=True)
class LsslSettings:
    """Settings of an LSSL layer.

    Attributes:
        states: states of each feature.
        channels: numbers read from the state of each feature.
        smallest_step: the lower end of the step sizes.
        largest_step: their upper end.
        learned_matrix: whether A and B are trained; otherwise they stay those of HiPPO-LegS.
        learned_steps: whether the step sizes are trained; otherwise they stay as drawn.
        skip: whether D x is added.
        activation: whether GELU follows.
        mixing: the map over features and channels at the end; with none, each channel is an output.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int = 64
    channels: int = 1
    smallest_step: float = 1e-3
    largest_step: float = 0.1
    learned_matrix: bool = False
    learned_steps: bool = False
    skip: bool = True
    activation: bool = True
    mixing: Mixing = "linear"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_sizes(self, "states", "channels", of="LSSL")
        require_steps(self.smallest_step, self.largest_step)


class Lssl(RecurrentLayer):
    """An LSSL layer, without the norm and the residual path around it.

    With the defaults nothing but C, D and the map at the end is trained, the "fixed" layer of the paper. In
    the paper a trained A stays in a family of structured matrices; here, with `learned_matrix`, every entry
    is free. C and D are drawn from normal distributions, the step sizes evenly on a logarithmic scale.

    Implements: [Gu2021]
    """

    slow_parameters = ("A", "B", "log_step")

    A: Tensor
    B: Tensor
    log_step: Tensor

    def __init__(self, inputs: int, settings: LsslSettings) -> None:
        mixed = settings.mixing != "none"
        super().__init__(inputs, inputs if mixed else inputs * settings.channels)
        self.settings = settings
        A, B = legendre_matrices(settings.states)
        log_step = draw_log_steps(inputs, settings.smallest_step, settings.largest_step)
        add_weight(self, "A", A.to(log_step), learned=settings.learned_matrix)
        add_weight(self, "B", B.to(log_step), learned=settings.learned_matrix)
        add_weight(self, "log_step", log_step, learned=settings.learned_steps)
        self.C = nn.Parameter(torch.randn(inputs, settings.channels, settings.states))
        self.D = nn.Parameter(torch.randn(inputs, settings.channels)) if settings.skip else None
        self.readout = Readout(
            inputs * settings.channels, inputs, activation=settings.activation, mixing=settings.mixing
        )
        self.start = nn.Parameter(torch.zeros(inputs, settings.states)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀; in float32 at least."""
        start = self.zeros(self.inputs, self.settings.states) if self.start is None else self.start
        return {"h": widened(start).expand(batch, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        matrix, write = self._discrete()
        h = (matrix @ state["h"][..., None])[..., 0] + write * widened(x)[..., None]
        return self._finish((widened(self.C) @ h[..., None])[..., 0], x), {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        start = state["h"]
        y, h = dense_system(widened(x), *shared(Lssl._discrete, self), widened(self.C), start)
        return self._finish(y, x), {"h": h}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DenseTransition:
        """Returns the matrix of each feature, the same at each position."""
        return DenseTransition(state="h", matrix=self._discrete()[0].expand(*x.shape[:2], -1, -1, -1))

    def _discrete(self) -> tuple[Tensor, Tensor]:
        return bilinear_matrix(widened(self.A), widened(self.B), widened(self.log_step).exp())

    def _finish(self, y: Float[Tensor, "... inputs channels"], x: Float[Tensor, "... inputs"]) -> Tensor:
        y = y.to(x.dtype)
        y = y if self.D is None else y + self.D * x[..., None]
        return self.readout(y.flatten(-2))  # type: ignore[no-any-return]


KIND = LayerKind(
    name="lssl",
    title="LSSL",
    settings=LsslSettings,
    build=Lssl,
    equation="h = (I - Δ/2 A)⁻¹ ((I + Δ/2 A) h + Δ B x), A dense, fixed",
    reference=Reference("Gu2021"),
    surroundings=Surroundings(norm="layer", residual=True),
)
