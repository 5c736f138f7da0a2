"""What every layer of the zoo offers: whole sequences, single steps, its state, and its transition.

A layer maps features to features, position by position, and carries a state from one position to the next.
`step` is the plain form, one position in torch operations; `forward` is the fast form for a whole sequence.
Both take and give the same state, so that a sequence may be cut anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.transitions import Transition

State = dict[str, Tensor]
"""The state of a layer or a model by name; the first axis of every tensor is the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All that happened on the way through a sequence.

    Attributes:
        outputs: the outputs (batch, time, outputs).
        states: for each name of the state, its values after each position (batch, time, …).
    """

    outputs: Tensor
    states: dict[str, Tensor]


class Layer(nn.Module, ABC):
    """A causal layer with a state.

    Args:
        inputs: number of features that it reads at each position.
        outputs: number of features that it gives at each position.
    """

    grows = False
    """Whether the state grows with the sequence, as the cache of attention does."""

    undecayed_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that training does not decay; any module inside a layer may have this, too."""

    slow_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that are not decayed and are trained at a small rate of their own, likewise."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.outputs = outputs

    @abstractmethod
    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position, on the device and in the type of the parameters."""

    @abstractmethod
    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch outputs"], State]:
        """Returns the output of one position and the state after it; the given state is not changed."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns the outputs of a sequence of length 1 or more, and the state after it."""

    def transition(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> Transition | None:
        """Returns the linear map that each position applies to the state before it.

        None for a layer whose state moves nonlinearly. The part of the state that the transition is about is
        named in it; windows of past inputs, which a convolution keeps, are never part of it.
        """
        return None

    def reference(
        self, x: Float[Tensor, "batch time inputs"], state: State | None = None
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Returns what `forward` returns, by one step after the other."""
        state = self.initial_state(len(x)) if state is None else state
        outputs = []
        for position in x.unbind(1):
            output, state = self.step(position, state)
            outputs.append(output)
        return torch.stack(outputs, dim=1), state

    def trace(self, x: Float[Tensor, "batch time inputs"], state: State | None = None) -> Trace:
        """Returns the outputs and all states in between; a growing state is left out."""
        state = self.initial_state(len(x)) if state is None else state
        outputs, states = [], []
        for position in x.unbind(1):
            output, state = self.step(position, state)
            outputs.append(output)
            states.append(state)
        return Trace(outputs=torch.stack(outputs, dim=1), states={} if self.grows else _stack(states))

    @property
    def state_size(self) -> int | None:
        """Numbers in the state of one sequence; None if it grows. A complex number counts as two."""
        return None if self.grows else count_numbers(self.initial_state(1).values())

    def zeros(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Returns zeros on the device and in the type of the parameters."""
        anchor = next(self.parameters())
        return torch.zeros(*shape, dtype=dtype or anchor.dtype, device=anchor.device)


def require_features(layer: Layer, x: Tensor) -> None:
    """Raises InputError unless `x` is a sequence of features that the layer can read."""
    if x.ndim != 3 or x.shape[2] != layer.inputs or 0 in x.shape:
        raise InputError(
            f"{type(layer).__name__} was given features of shape {tuple(x.shape)}; "
            f"it reads (batch, time, {layer.inputs}), each axis 1 or more"
        )


def require_state(state: State, names: Collection[str], batch: int) -> None:
    """Raises InputError unless a state has these parts and is for a batch of this size."""
    if state.keys() != set(names):
        odd = sorted(state.keys() ^ set(names))[0]
        where = "is not one of this model" if odd in state else "is missing"
        raise InputError(f"the part {odd!r} of the state {where}; `initial_state` has all of them")
    for name, value in state.items():
        if len(value) != batch:
            raise InputError(
                f"the part {name!r} of the state is for a batch of {len(value)}; {batch} were given"
            )


def count_numbers(tensors: Iterable[Tensor]) -> int:
    """Returns how many real numbers the tensors hold; whole numbers (positions, counters) do not count."""
    return sum(
        t.numel() * (2 if t.is_complex() else 1) for t in tensors if t.is_floating_point() or t.is_complex()
    )


def _stack(states: list[State]) -> dict[str, Tensor]:
    return {name: torch.stack([state[name] for state in states], dim=1) for name in states[0]}
