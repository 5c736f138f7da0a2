"""The linear map that one position applies to the state: its gate, its factors or its matrix.

Theorems speak of these maps, so layers give them out. Every record can apply itself to a state (which a
test compares with the layer's own step) and say where its eigenvalues lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagonalTransition:
    """Each coordinate of the state is multiplied by its gate.

    Attributes:
        state: the name of the state.
        gate: (batch, time, …), to be broadcast over the axes of the state: an axis of size 1 stands for all.
    """

    state: str
    gate: Tensor

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state (batch, …) at one position."""
        return self.gate[:, time] * state

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues, each once for every coordinate that has a gate of its own."""
        return self.gate


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholderTransition:
    """A product of generalised Householder factors, I - beta k kᵀ, on the keys of a matrix state.

    The state (batch, heads, keys, values) is first scaled by the decay, then multiplied by the factors,
    the first factor first.

    Attributes:
        state: the name of the state.
        vectors: k, (batch, time, factors, heads, keys).
        betas: (batch, time, factors, heads).
        decay: (batch, time, heads, 1 or keys); None for no decay.
    """

    state: str
    vectors: Tensor
    betas: Tensor
    decay: Tensor | None = None

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state (batch, heads, keys, values) at one position."""
        if self.decay is not None:
            state = self.decay[:, time, :, :, None] * state
        for i in range(self.vectors.shape[2]):
            k, beta = self.vectors[:, time, i, ..., None], self.betas[:, time, i, :, None, None]
            state = state - beta * k * (k * state).sum(-2, keepdim=True)
        return state

    def matrices(self) -> Tensor:
        """Returns the maps as matrices (batch, time, heads, keys, keys)."""
        batch, time, _, heads, keys = self.vectors.shape
        start = torch.eye(keys, dtype=self.vectors.dtype, device=self.vectors.device)
        start = start.expand(batch, heads, keys, keys)
        return torch.stack([self.apply(start, t) for t in range(time)], dim=1)

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues (batch, time, heads, keys), complex."""
        values: Tensor = torch.linalg.eigvals(self.matrices())
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseTransition:
    """The state is multiplied by a matrix from the left.

    Attributes:
        state: the name of the state.
        matrix: (batch, time, …, n, n); the state is (batch, …, n), or (batch, …, n, m) with `columns`.
        columns: whether the state has an axis after the one that is multiplied.
    """

    state: str
    matrix: Tensor
    columns: bool = False

    def apply(self, state: Tensor, time: int) -> Tensor:
        """Returns the image of a state at one position."""
        matrix = self.matrix[:, time]
        return matrix @ state if self.columns else (matrix @ state[..., None])[..., 0]

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues (batch, time, …, n), complex."""
        values: Tensor = torch.linalg.eigvals(self.matrix)
        return values


Transition = DiagonalTransition | HouseholderTransition | DenseTransition
