"""minGRU: a GRU whose gate and candidate do not read the state, so that the recurrence is linear.

    z   = σ(W_z x + b_z)
    c   = W_c x + b_c                    or g(W_c x + b_c) > 0, with g(v) = v + 1/2 for v ≥ 0, σ(v) below
    h_t = (1 - z) ∘ h_{t-1} + z ∘ c

The gate 1 - z lies in [0,1]; with `signed` it is 1 - 2z, in [-1,1]. The output is h_t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference, to_float
from nerode.models.base import DiagonalTransition, LayerKind, RecurrentLayer, State, require_positive
from nerode.models.exact_gates import ExactGates
from nerode.models.kernels.linear import Linear
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.registers import SATURATED, log_odds, registers_of, share_of, untied
from nerode.models.weight_writer import BlockPlan, WeightWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class MinGruSettings:
    """Settings of a minGRU layer.

    Attributes:
        hidden: number of units; None for as many as inputs.
        positive: whether the candidate goes through g, as in the published form for logarithms.
        signed: whether the gates of the recurrence reach from -1 to 1.
        learned_start: whether the state before the first position is trained; otherwise it is zero.
    """

    hidden: int | None = None
    positive: bool = False
    signed: bool = False
    learned_start: bool = False

    def __post_init__(self) -> None:
        require_positive(self, "hidden")


class MinGru(RecurrentLayer):
    """A minGRU layer; its output is its state.

    The published parallel form sums logarithms, for which states must be positive; here a scan in order of
    time does the same without them. Weights are drawn as torch does for linear maps.

    Implements: [Feng2024]
    """

    def __init__(self, inputs: int, settings: MinGruSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.gate = Linear(inputs, hidden)
        self.candidate = Linear(inputs, hidden)
        self.start = nn.Parameter(torch.zeros(hidden)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀."""
        return {"h": self.started(batch, self.outputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t as output and state."""
        gate, write = self._recurrence(x)
        h = gate * state["h"] + write
        return h, {"h": h}

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> tuple[Tensor, State]:
        """Returns all h_t and the last of them."""
        start = state["h"]
        h, last = diagonal_scan(*self._recurrence(x), start)
        return h, {"h": last}

    def transition_from(self, x: Float[Tensor, "batch time inputs"], state: State) -> DiagonalTransition:
        """Returns the gates (batch, time, hidden)."""
        return DiagonalTransition(state="h", gate=self._recurrence(x)[0])

    def _candidate(self, x: Tensor) -> Tensor:
        candidate: Tensor = self.candidate(x)
        if self.settings.positive:
            candidate = torch.where(candidate >= 0, candidate + 0.5, candidate.sigmoid())
        return candidate

    def _recurrence(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The gate and what is written."""
        score, candidate = self.gate(x), self._candidate(x)
        gate = torch.sigmoid(-score)
        return 2 * gate - 1 if self.settings.signed else gate, torch.sigmoid(score) * candidate


class MinGruWriter(WeightWriter):
    """Writes diagonal layers: a unit for each place of the stream, of which some are registers.

    The score of z is ±1000 where a gate is 0 or 1, so that z is exactly 1 or 0. The candidate is what is
    written, divided by z. Units at places of other numbers forget at once and write nothing.
    """

    def settings(self, block: BlockPlan, width: int) -> dict[str, Any]:
        """Returns the published settings but for a learned start."""
        registers_of(block, self.architecture)
        return {"learned_start": True}

    def fill(self, layer: MinGru, block: BlockPlan) -> None:
        """Sets the weights of a layer."""
        layer.gate.bias.fill_(SATURATED)
        for register in registers_of(block, self.architecture):
            place, kept = register.place, share_of(register.gate, self.architecture)
            score = register.switched(Fraction(log_odds(1 - kept, kept, SATURATED)), -SATURATED)
            layer.gate.bias[place] = 0
            layer.gate.weight[place] = score.row(layer.inputs)
            layer.candidate.weight[place] = register.write.scaled(untied(register.gate)).row(layer.inputs)
            layer.learned_start[place] = to_float(register.start)


class ExactMinGru(ExactGates):
    """minGRU with exact gates: the score is that of z."""

    layer: MinGru

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns all h_t and the last of them."""
        layer = self.layer
        on, _ = self.decide(layer.gate(x))
        h, last = self.scan(on, on * layer._candidate(x), state["h"])
        return h, {"h": last}

    def score_rows(self, layer: MinGru) -> tuple[Tensor, Tensor]:
        """Returns the map to z."""
        return layer.gate.weight, layer.gate.bias

    def fold_scale(self, layer: MinGru, scale: float) -> None:
        """With signs, a flip writes nothing."""
        if self.signed:
            layer.candidate.weight.zero_()
            layer.candidate.bias.zero_()


KIND = LayerKind(
    name="mingru",
    title="minGRU",
    settings=MinGruSettings,
    build=MinGru,
    equation="h = (1-z) ∘ h + z ∘ c, z and c from x alone",
    reference=Reference("Feng2024"),
    variants={"mingru-signed": {"signed": True}},
    writer=MinGruWriter,
    gates={"two": ExactMinGru},
)
