"""What mixes the channels after a bank of one-channel systems: an activation and a position-wise map."""

from __future__ import annotations

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

Mixing = Literal["glu", "linear", "none"]


class Readout(nn.Module):
    """[GELU], then W y + b ("linear"), or (W y + b) ∘ sigmoid(V y + c) ("glu"), or nothing.

    Args:
        inputs: number of features that it reads.
        outputs: number of features that it gives; with no mixing the inputs.
        activation: whether GELU comes first.
        mixing: which map follows.
    """

    def __init__(self, inputs: int, outputs: int, *, activation: bool, mixing: Mixing) -> None:
        super().__init__()
        self.activation = nn.GELU() if activation else nn.Identity()
        self.mixing: nn.Module = nn.Identity()
        if mixing == "glu":
            self.mixing = nn.Sequential(nn.Linear(inputs, 2 * outputs), nn.GLU())
        elif mixing == "linear":
            self.mixing = nn.Linear(inputs, outputs)

    def forward(self, y: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        """Returns the features of each position."""
        return self.mixing(self.activation(y))  # type: ignore[no-any-return]
