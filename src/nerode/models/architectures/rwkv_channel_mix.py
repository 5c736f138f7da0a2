"""The channel mixing of RWKV-4 and RWKV-6: a feed-forward part that sees the position before, too.

y_t = σ(W_r x^r_t) ∘ W_v relu(W_k x^k_t)²
x^r and x^k are mixtures μ ∘ x_t + (1 - μ) ∘ x_{t-1}, each with its own μ
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import Reference
from nerode.models.base import Layer, LayerKind, State, Surroundings, require_features
from nerode.models.parts.heads import require_positive
from nerode.models.parts.token_shift import Depth, before, ramp


@dataclass(frozen=True, slots=True, kw_only=True)
class RwkvChannelMixSettings:
    """Settings of the channel mixing of RWKV.

    Attributes:
        expansion: hidden units as a multiple of the inputs: 4 in RWKV-4, 3.5 in RWKV-6.
        depth: where the layer lies, which the initial weights depend on.
    """

    expansion: float = 4.0
    depth: Depth = field(default_factory=Depth)

    def __post_init__(self) -> None:
        require_positive(expansion=self.expansion)


class RwkvChannelMix(Layer):
    """The channel mixing of RWKV, as a layer of its own; its state is the position before.

    Mixtures start as in the authors' code. Their maps by W_r and W_v start at zero, which the residual path
    makes up for; here all maps are drawn as torch does, so that a layer works without one.

    Implements: [Peng2023Rwkv4]
    """

    def __init__(self, inputs: int, settings: RwkvChannelMixSettings) -> None:
        super().__init__(inputs, inputs)
        self.settings = settings
        hidden = max(1, round(settings.expansion * inputs))
        mix = (ramp(inputs) ** settings.depth.falling).to(torch.get_default_dtype())
        self.mix = nn.Parameter(torch.stack([mix, mix]))
        self.receptance = nn.Linear(inputs, inputs, bias=False)
        self.key = nn.Linear(inputs, hidden, bias=False)
        self.value = nn.Linear(hidden, inputs, bias=False)

    def initial_state(self, batch: int) -> State:
        """Returns features of zero before the first position."""
        return {"last": self.zeros(batch, self.inputs)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position, and x after it."""
        return self._mix(x, state["last"]), {"last": x}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence, and the last x after it."""
        require_features(self, x)
        last = (state or self.initial_state(len(x)))["last"]
        return self._mix(x, before(x, last)), {"last": x[:, -1]}

    def _mix(self, x: Tensor, last: Tensor) -> Tensor:
        for_receptance, for_key = (last + (x - last) * mix for mix in self.mix)
        hidden = self.key(for_key).relu().square()
        return torch.mul(torch.sigmoid(self.receptance(for_receptance)), self.value(hidden))


KIND = LayerKind(
    name="rwkv-channel-mix",
    title="RWKV channel mixing",
    settings=RwkvChannelMixSettings,
    build=RwkvChannelMix,
    equation="y = σ(W_r x') ∘ W_v relu(W_k x'')², x' and x'' mixtures of x and the x before it",
    reference=Reference("Peng2023Rwkv4"),
    surroundings=Surroundings(norm="layer", residual=True),
)
