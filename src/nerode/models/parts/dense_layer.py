"""Layers whose state is multiplied by a matrix that depends on the input: H_t = A(x_t) H_{t-1} + B(x_t)."""

from __future__ import annotations

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.models.base import Layer, State, require_features
from nerode.models.kernels.dense_scan import dense_scan
from nerode.models.transitions import DenseTransition

POSITIONS_AT_ONCE = 512
"""Bounds the memory for matrices where no gradient keeps them."""


class DenseLayer(Layer):
    """A layer with a dense transition, block by block; an architecture says what A, B and the output are.

    The state is `h` (batch, blocks, n, columns), real or complex.
    """

    @abstractmethod
    def matrices(self, x: Float[Tensor, "... inputs"]) -> Tensor:
        """Returns A (…, blocks, n, n), in the type of the state."""

    @abstractmethod
    def writes(self, x: Float[Tensor, "... inputs"]) -> Tensor | None:
        """Returns B (…, blocks, n, columns) in the type of the state; None for zero."""

    @abstractmethod
    def output(self, h: Tensor, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        """Returns the output that a state (…, blocks, n, columns) gives at an input."""

    @abstractmethod
    def first_state(self) -> Tensor:
        """Returns H₀ (blocks, n, columns)."""

    def initial_state(self, batch: int) -> State:
        """Returns H₀ for each sequence."""
        return {"h": self.first_state().expand(batch, -1, -1, -1)}

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> tuple[Tensor, State]:
        """Returns the output of one position and H after it."""
        h = self.matrices(x) @ state["h"]
        written = self.writes(x)
        h = h if written is None else h + written
        return self.output(h, x), {"h": h}

    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence and H after it."""
        require_features(self, x)
        h = (self.initial_state(len(x)) if state is None else state)["h"]
        outputs = []
        for part in torch.split(x, POSITIONS_AT_ONCE, dim=1):
            states = dense_scan(self.matrices(part), self.writes(part), h)
            h = states[:, -1]
            outputs.append(self.output(states, part))
        return torch.cat(outputs, dim=1), {"h": h}

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> DenseTransition:
        """Returns the matrices of all positions."""
        require_features(self, x)
        return DenseTransition(state="h", matrix=self.matrices(x), columns=True)
