"""Terms that a run adds to the loss of its task.

A term may have parameters of its own, which are trained with those of the model and are no part of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from nerode.models import ExactGates, LayerBlock, Model, RoundedMemory
from nerode.tasks import Batch, TaskAutomaton

_EXCESS = 0.1
"""The weight of writes of many steps into rounded memory."""


class LossTerm(nn.Module, ABC):
    """A term of the loss."""

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watches a pass of the model."""
        yield

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Returns the term after a pass over a batch."""


class ReadFeatures(LossTerm):
    """A term about what the head of a model reads.

    Args:
        model: of the run.
        weight: of the term.
    """

    def __init__(self, model: Model, *, weight: float) -> None:
        super().__init__()
        self.weight = weight
        self._hook = model.head.register_forward_pre_hook
        self._read: list[Tensor] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Notes what the head of the model reads, in one pass or letter by letter."""
        self._read = []
        hook = self._hook(lambda _, given: self._read.append(given[0]))
        try:
            yield
        finally:
            hook.remove()

    def features(self) -> Tensor:
        """Returns what the head has read along the words (batch, time, features)."""
        return self._read[0] if self._read[0].dim() == 3 else torch.stack(self._read, dim=1)


class StateNaming(ReadFeatures):
    """A second head, which names the state of the automaton.

    So what an answer depends on is asked for when it is read, not when it shows.

    Args:
        model: what its own head reads is read.
        automaton: of the task.
        weight: of the term.
    """

    def __init__(self, model: Model, automaton: TaskAutomaton, *, weight: float) -> None:
        super().__init__(model, weight=weight)
        last = model.blocks[-1]
        assert isinstance(last, LayerBlock)
        self.states = nn.Linear(last.outputs, len(automaton.legal))
        self._automaton = automaton

    def loss(self, batch: Batch) -> Tensor:
        """Returns the cross-entropy of the named states."""
        states = torch.from_numpy(self._automaton.states(batch.inputs.numpy()))
        named: Tensor = self.states(self.features())
        return self.weight * nn.functional.cross_entropy(named.flatten(0, 1), states.flatten())


class Saturation(ReadFeatures):
    """Pushes the units of a tanh cell to where they saturate."""

    def loss(self, batch: Batch) -> Tensor:
        """Returns the mean of 1 - |h|."""
        return self.weight * (1 - self.features().abs().clamp(max=1)).mean()


def noisy_scores(model: Model, inputs: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    """Returns the scores along words, with Gaussian noise on the state after each letter."""
    state = model.initial_state(len(inputs))
    found = []
    for letters in inputs.unbind(1):
        scores, state = model.step(letters, state)
        state = {
            name: value + noise * torch.randn(value.shape, generator=generator)
            for name, value in state.items()
        }
        found.append(scores)
    return torch.stack(found, dim=1)


class GateMargin(LossTerm):
    """Keeps the scores of exact gates away from 0, where they decide, and writes into rounded memory small.

    Args:
        gates: of the model.
        margin: distance from 0.
        weight: of the term.
    """

    def __init__(self, gates: Sequence[ExactGates], *, margin: float, weight: float) -> None:
        super().__init__()
        self._gates = tuple(gates)
        self._margin, self._weight = margin, weight

    def loss(self, batch: Batch) -> Tensor:
        """Returns by how much scores of the last pass are too near to 0, in the mean."""
        total = torch.zeros(())
        for gates in self._gates:
            if gates.live.any():
                near = torch.relu(self._margin - gates.scores.abs())[..., gates.live]
                total = total + self._weight * near.mean()
                if isinstance(gates, RoundedMemory):
                    total = total + _EXCESS * gates.excess()
        return total
