"""S4D: a diagonal state space model for each feature, then GELU and a gated linear map.

h_t = e^{Δλ} ∘ h_{t-1} + (e^{Δλ} - 1)/λ ∘ B x_t      complex, Re λ < 0, one bank for each feature
y_t = 2 Re(C h_t) + D x_t
output = (W g + b) ∘ sigmoid(V g + c),  g = GELU(y)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference
from nerode.models.base import (
    DiagonalTransition,
    LayerKind,
    SequenceLayer,
    State,
    Surroundings,
    require_features,
)
from nerode.models.parts.precision import as_complex, widened
from nerode.models.parts.state_space import (
    DiagonalSsm,
    Discretisation,
    Mixing,
    Rates,
    Readout,
    require_even,
    require_steps,
)
from nerode.models.registers import Channel, ChannelWriter, set_diagonal, set_pair
from nerode.models.weight_writer import BlockPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class S4dSettings:
    """Settings of an S4D layer.

    Attributes:
        states: N, states of each feature; half of them are kept, as complex numbers.
        rates: the λ that the layer begins with: S4D-Lin, S4D-Inv or S4D-LegS.
        discretisation: how steps are made of continuous time.
        smallest_step: the lower end of the step sizes that the layer begins with.
        largest_step: their upper end.
        learned_write: whether B is trained; otherwise it is part of C.
        skip: whether D x is added.
        activation: whether GELU follows.
        mixing: the map over the features at the end.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    states: int = 64
    rates: Rates = "lin"
    discretisation: Discretisation = "zoh"
    smallest_step: float = 1e-3
    largest_step: float = 0.1
    learned_write: bool = False
    skip: bool = True
    activation: bool = True
    mixing: Mixing = "glu"
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_even(self.states)
        require_steps(self.smallest_step, self.largest_step)


class S4d(SequenceLayer):
    """An S4D layer, without the norm and the residual path around it; D is drawn from a normal distribution.

    With the defaults it has 132 d + 2 d² weights for d features, as the models of [MemoryGeneralization].

    Implements: [GuGuptaGoelRe2022]
    """

    def __init__(self, inputs: int, settings: S4dSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        self.ssm = DiagonalSsm(
            inputs,
            settings.states,
            rates=settings.rates,
            discretisation=settings.discretisation,
            smallest_step=settings.smallest_step,
            largest_step=settings.largest_step,
            learned_write=settings.learned_write,
        )
        self.D = nn.Parameter(torch.randn(inputs)) if settings.skip else None
        self.readout = Readout(inputs, inputs, activation=settings.activation, mixing=settings.mixing)
        shape = (inputs, settings.states // 2, 2)
        self.start = nn.Parameter(torch.zeros(shape)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀, complex; in float32 at least."""
        pairs = torch.zeros_like(self.ssm.C) if self.start is None else self.start
        return {"h": as_complex(pairs).expand(batch, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and h_t."""
        y, h = self.ssm.discrete().step(widened(x), state["h"])
        return self.readout.finish(y, x, self.D), {"h": h}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns the outputs and the last h."""
        require_features(self, x)
        if state is None and self.start is not None:
            state = self.initial_state(len(x))
        y, h = self.ssm.discrete().run(widened(x), None if state is None else state["h"])
        return self.readout.finish(y, x, self.D), {"h": h}

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> DiagonalTransition:
        """Returns the gate, the same at each position."""
        gate = self.ssm.discrete().gate
        return DiagonalTransition(state="h", gate=gate.expand(*x.shape[:2], -1, -1))


class S4dWriter(ChannelWriter):
    """Writes channels into the diagonal model; D is 0, and GELU is left out."""

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns one complex state per channel and a linear map after them."""
        return {
            "states": 2,
            "activation": False,
            "mixing": "linear",
            "learned_write": True,
            "learned_start": True,
        }

    def set_channel(self, layer: S4d, channel: Channel) -> None:
        """Sets one channel."""
        assert isinstance(layer.readout.mixing, nn.Linear)
        set_diagonal(layer.ssm, channel)
        set_pair(layer.learned_start[channel.number, 0], channel.start)
        layer.readout.mixing.weight[channel.shown, channel.number] = 1


KIND = LayerKind(
    name="s4d",
    title="S4D",
    settings=S4dSettings,
    build=S4d,
    equation="h = e^{Δλ} ∘ h + (e^{Δλ} - 1)/λ ∘ B x, λ complex, fixed",
    reference=Reference("GuGuptaGoelRe2022"),
    surroundings=Surroundings(norm="layer", position="post", residual=True),
    variants={"s4d-inv": {"rates": "inv"}, "s4d-legs": {"rates": "legs"}},
    writer=S4dWriter,
)
