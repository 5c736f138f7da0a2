"""minGRU: a GRU whose gate and candidate do not read the state, so that the recurrence is linear.

    z   = σ(W_z x + b_z)
    c   = W_c x + b_c                    or g(W_c x + b_c) > 0, with g(v) = v + 1/2 for v ≥ 0, σ(v) below
    h_t = (1 - z) ∘ h_{t-1} + z ∘ c

The gate 1 - z lies in [0,1]; with `signed` it is 1 - 2z, in [-1,1]. The output is h_t.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference
from nerode.models.base import DiagonalTransition, LayerKind, SequenceLayer, State, require_features
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.heads import require_positive


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
        require_positive(hidden=self.hidden)


class MinGru(SequenceLayer):
    """A minGRU layer; its output is its state.

    The published parallel form sums logarithms, for which states must be positive; here a scan in order of
    time does the same without them. Weights are drawn as torch does for linear maps.

    Implements: [Feng2024]
    """

    def __init__(self, inputs: int, settings: MinGruSettings) -> None:
        hidden = settings.hidden or inputs
        super().__init__(inputs, hidden)
        self.settings = settings
        self.gate = nn.Linear(inputs, hidden)
        self.candidate = nn.Linear(inputs, hidden)
        self.start = nn.Parameter(torch.zeros(hidden)) if settings.learned_start else None

    def initial_state(self, batch: int) -> State:
        """Returns h₀."""
        if self.start is None:
            return {"h": self.zeros(batch, self.outputs)}
        return {"h": self.start.expand(batch, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns h_t as output and state."""
        gate, write = self._recurrence(x)
        h = gate * state["h"] + write
        return h, {"h": h}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns all h_t and the last of them."""
        require_features(self, x)
        start = (state or self.initial_state(len(x)))["h"]
        h, last = diagonal_scan(*self._recurrence(x), start)
        return h, {"h": last}

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> DiagonalTransition:
        """Returns the gates (batch, time, hidden)."""
        require_features(self, x)
        return DiagonalTransition(state="h", gate=self._recurrence(x)[0])

    def _recurrence(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The gate and what is written."""
        score, candidate = self.gate(x), self.candidate(x)
        if self.settings.positive:
            candidate = torch.where(candidate >= 0, candidate + 0.5, candidate.sigmoid())
        gate = torch.sigmoid(-score)
        return 2 * gate - 1 if self.settings.signed else gate, torch.sigmoid(score) * candidate


KIND = LayerKind(
    name="mingru",
    title="minGRU",
    settings=MinGruSettings,
    build=MinGru,
    equation="h = (1-z) ∘ h + z ∘ c, z and c from x alone",
    reference=Reference("Feng2024"),
    variants={"mingru-signed": {"signed": True}},
)
