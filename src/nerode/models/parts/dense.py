"""Dense linear recurrences: the states of h_t = A h_{t-1} + u_t, and layers whose matrix the input sets."""

from __future__ import annotations

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from nerode.models.base import DenseTransition, SequenceLayer, State, require_features
from nerode.models.kernels.scan import dense_scan

CHUNK = 16
LONG = 128
FEW = 2048
"""Chunks are worth their extra products from `LONG` positions on, if a step has at most `FEW` numbers: then
the loop spends its time on calls and not on arithmetic. Measured by `benchmarks/s4d.py`."""


def dense_states(
    matrix: Float[Tensor, "states states"],
    inputs: Float[Tensor, "batch time states"],
    initial: Float[Tensor, "batch states"],
) -> Float[Tensor, "batch time states"]:
    """Returns h_1 … h_T: by a loop over the positions, or over those of all chunks at once."""
    if inputs.shape[1] < LONG or initial.numel() > FEW:
        return _loop(matrix, inputs, initial)
    return _in_chunks(matrix, inputs, initial)


def _loop(matrix: Tensor, inputs: Tensor, state: Tensor) -> Tensor:
    turned = matrix.T
    states = []
    for position in inputs.unbind(1):
        state = torch.addmm(position, state, turned)
        states.append(state)
    return torch.stack(states, dim=1)


def _in_chunks(matrix: Tensor, inputs: Tensor, initial: Tensor) -> Tensor:
    """The states of each chunk from zero, then from chunk to chunk what the state before it adds."""
    batch, time, size = inputs.shape
    powers = matrix.T
    while powers.shape[1] < CHUNK * size:
        powers = torch.cat([powers, powers[:, -size:] @ powers], dim=1)
    if not powers.isfinite().all():
        # A power may overflow where no state does: in float16 that of 2 is enough.
        return _loop(matrix, inputs, initial)
    chunks = pad(inputs, (0, 0, 0, -time % CHUNK)).reshape(-1, CHUNK, size)
    inside = _loop(matrix, chunks, torch.zeros_like(chunks[:, 0]))
    before = [initial]
    for gained in inside[:, -1].reshape(batch, -1, size).unbind(1)[:-1]:
        before.append(torch.addmm(gained, before[-1], powers[:, -size:]))
    carried = torch.stack(before, dim=1).reshape(-1, size) @ powers
    return (inside + carried.view_as(inside)).reshape(batch, -1, size)[:, :time]


POSITIONS_AT_ONCE = 512
"""Bounds the memory for matrices where no gradient keeps them."""


class DenseLayer(SequenceLayer):
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
