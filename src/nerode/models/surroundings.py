"""What stands around a layer in a block: norm, residual path and feed-forward part, each optional.

x → [norm] → layer → [dropout] → (+ x) → [norm] → feed-forward → (+ …)          norms before ("pre")
x → layer → [dropout] → (+ x) → [norm] → feed-forward → (+ …) → [norm]          norms after ("post")
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import Layer, State
from nerode.records import FeedForward, Norm, Surroundings


class FeedForwardPart(nn.Module):
    """A feed-forward network at each position: W₂ f(W₁ x), or W₂ (f(W₁ x) ∘ V x) for the gated ones.

    References: [Shazeer2020] for the gated forms.
    """

    def __init__(self, width: int, hidden: int, activation: FeedForward) -> None:
        super().__init__()
        self.activation = activation
        self.gated = activation in ("swiglu", "geglu")
        self.up = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden) if self.gated else None
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the features of each position."""
        if self.gate is not None:
            gate = self.gate(x)
            gate = nn.functional.silu(gate) if self.activation == "swiglu" else nn.functional.gelu(gate)
            return self.down(gate * self.up(x))  # type: ignore[no-any-return]
        hidden = self.up(x)
        hidden = hidden.relu() if self.activation == "relu" else nn.functional.gelu(hidden)
        return self.down(hidden)  # type: ignore[no-any-return]


class Block(Layer):
    """A layer and what stands around it; to the outside it is a layer with the same state."""

    def __init__(self, layer: Layer, around: Surroundings) -> None:
        super().__init__(layer.inputs, layer.outputs)
        if around.residual and layer.inputs != layer.outputs:
            raise InputError(
                f"a residual path needs as many outputs as inputs; {type(layer).__name__} has "
                f"{layer.inputs} inputs and {layer.outputs} outputs"
            )
        self.around = around
        self.layer = layer
        self.grows = layer.grows
        norm_width = layer.inputs if around.position == "pre" else layer.outputs
        self.norm = make_norm(around.norm, norm_width)
        self.dropout = nn.Dropout(around.dropout)
        self.feed_forward: FeedForwardPart | None = None
        if around.feed_forward != "none":
            hidden = max(1, round(around.expansion * layer.outputs))
            self.feed_forward = FeedForwardPart(layer.outputs, hidden, around.feed_forward)
            self.second_norm = make_norm(around.norm, layer.outputs)

    def initial_state(self, batch: int) -> State:
        """Returns the state of the layer."""
        return self.layer.initial_state(batch)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and the state after it."""
        y, state = self.layer.step(self._before(x), state)
        return self._after(x, y), state

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and the state after it."""
        y, state = self.layer(self._before(x), state)
        return self._after(x, y), state

    def _before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.around.position == "pre" else x

    def _after(self, x: Tensor, y: Tensor) -> Tensor:
        y = self._join(x, self.dropout(y))
        post = self.around.position == "post"
        if post:
            y = self.norm(y)
        if self.feed_forward is None:
            return y
        z = self._join(y, self.dropout(self.feed_forward(y if post else self.second_norm(y))))
        return self.second_norm(z) if post else z

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.add(x, y) if self.around.residual else y


def make_norm(norm: Norm, width: int) -> nn.Module:
    """Returns the module of a norm; the identity for none."""
    match norm:
        case "layer":
            return nn.LayerNorm(width)
        case "rms":
            return nn.RMSNorm(width, eps=1e-5)
        case _:
            return nn.Identity()
