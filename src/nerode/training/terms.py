"""Terms that a run adds to the loss of its task.

A term may have parameters of its own, which are trained with those of the model and are no part of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.core import InputError
from nerode.models import ExactGates, LayerBlock, Model, RoundedMemory
from nerode.models.architectures import Elman
from nerode.tasks import Batch, TaskAutomaton

_EXACT_SCORE = 24.0
"""A score at which Sigmoid and Tanh of float32 are exact, or so near that a sum with 1 is."""

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


class OwnGates(LossTerm):
    """Pushes the gates of a user's own module, its Sigmoid and Tanh modules, to where they are exact.

    Args:
        model: of the run; one without such modules is left alone.
        weight: of the term.
    """

    def __init__(self, model: nn.Module, *, weight: float) -> None:
        super().__init__()
        self.weight = weight
        # In a tuple, so that they are no part of the term.
        self._gates = tuple(part for part in model.modules() if isinstance(part, nn.Sigmoid | nn.Tanh))
        self._scores: list[Tensor] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Notes the scores of all gates."""
        self._scores = []
        hooks = [
            gate.register_forward_pre_hook(lambda _, given: self._scores.append(given[0]))
            for gate in self._gates
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def loss(self, batch: Batch) -> Tensor:
        """Returns by how much scores are too near to 0 for an exact gate, in the mean."""
        if not self._scores:
            return torch.zeros(())
        near = [(1 - score.abs() / _EXACT_SCORE).relu().mean() for score in self._scores]
        return self.weight * torch.stack(near).mean()


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


_LEAST_RADIUS, _FIRST_RADIUS = 0.03, 0.1
"""No box gets thinner; the radius at the beginning, on top of the least one."""

_PRICES, _RAMP = (0.6, 30.0), 800
"""The price of what is outside, at the first update and from so many updates on."""

_ANSWERS, _STATES = 2.0, 0.3
"""Weights of the worst answer and of the worst name of a state of each box."""


class BoxTerm(LossTerm):
    """Boxes of the states of a tanh cell, trained together with its weights; nothing is lost before `begin`.

    There is a box for each pair of a state of the automaton and the last letter; its centre and its radii are
    parameters like the weights. The loss is by how much the image of a box is outside of the box that it
    should be in, at a price that rises, and the loss of the worst state in each box. Steps on boxes are not
    rounded outward: they guide training, and a judge proves what they lead to.

    Args:
        model: one Elman cell of tanh units between letters and a linear head.
        automaton: of the task.
        names: the head that names states.
        weight: of the term.

    Raises:
        InputError: if the model is another.
    """

    updates: Tensor

    def __init__(self, model: Model, automaton: TaskAutomaton, names: nn.Linear, *, weight: float) -> None:
        super().__init__()
        cell = model.layers[0]
        plain = len(model.layers) == 1 and model.config.final_norm == "none"
        if not (isinstance(cell, Elman) and plain and isinstance(model.head, nn.Linear)):
            raise InputError("run.exact.boxes is for one Elman cell between letters and a linear head")
        # In a list, so that they are no part of this module.
        self._others = [model, names]
        self._automaton, self._weight = automaton, weight
        start = (automaton.dfa.start, -1)
        number, order, edges = {start: 0}, [start], []
        for here, (state, _) in enumerate(order):
            for letter, target in enumerate(automaton.dfa.transitions[state].tolist()):
                if (target, letter) not in number:
                    number[target, letter] = len(order)
                    order.append((target, letter))
                edges.append((here, letter, number[target, letter]))
        self._states, self._last = torch.tensor(order).unbind(1)
        self._source, self._letter, self._target = torch.tensor(edges).unbind(1)
        self.centres = nn.Parameter(torch.zeros(len(order) - 1, cell.outputs))
        self.radii = nn.Parameter(torch.full((len(order) - 1, cell.outputs), math.log(_FIRST_RADIUS)))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def begin(self, words: Tensor) -> None:
        """Puts the centres at the mean states of the pairs along words, unless that was done before."""
        if int(self.updates):
            return
        model = self._model
        seen = model.layers[0](model.inputs_of(0, words))[0]
        passed = torch.from_numpy(self._automaton.states(words.numpy()))
        pairs = zip(self._states[1:].tolist(), self._last[1:].tolist(), strict=True)
        for row, (state, letter) in enumerate(pairs):
            here = (passed == state) & (words == letter)
            if bool(here.any()):
                self.centres[row] = seen[here].mean(dim=0)
        self.updates.fill_(1)

    @property
    def _model(self) -> Model:
        model = self._others[0]
        assert isinstance(model, Model)
        return model

    def loss(self, batch: Batch) -> Tensor:
        """Returns what is outside of its box, and the loss of the worst states."""
        if not int(self.updates):
            return torch.zeros(())
        model, names = self._model, self._others[1]
        cell, head = model.layers[0], model.head
        assert isinstance(cell, Elman)
        assert isinstance(head, nn.Linear)
        assert isinstance(names, nn.Linear)
        first, last = _PRICES
        price = first + (last - first) * min(1.0, int(self.updates) / _RAMP)
        self.updates += 1
        start = cell.initial_state(1)["h"]
        centre = torch.cat([start, self.centres])
        radius = torch.cat([torch.zeros_like(start), _LEAST_RADIUS + self.radii.exp()])
        letters = torch.arange(model.config.letters or 0)[:, None]
        drive = cell._project(model.inputs_of(0, letters)[:, 0])[self._letter]
        middle = (centre @ cell.recurrent.T)[self._source] + drive
        reach = (radius @ cell.recurrent.abs().T)[self._source]
        low, high = (middle - reach).tanh(), (middle + reach).tanh()
        there = self._target
        above = functional.relu(high - (centre + radius)[there])
        outside = (above + functional.relu((centre - radius)[there] - low)).mean()
        worst = _worst_classes(names, self._states, centre, radius)
        total = price * outside + _ANSWERS * self._worst_answers(head, centre, radius) + _STATES * worst
        return self._weight * total

    def _worst_answers(self, head: nn.Linear, centre: Tensor, radius: Tensor) -> Tensor:
        """The loss of the worst state in each box."""
        automaton = self._automaton
        if automaton.classes is not None:
            classes = torch.from_numpy(automaton.classes)[self._states]
            return _worst_classes(head, classes, centre, radius)
        bits = torch.from_numpy(automaton.bits.astype(np.float32))[self._states]
        signs = 2.0 * bits - 1.0
        return functional.softplus(radius @ head.weight.abs().T - signs * head(centre)).mean()


def _worst_classes(head: nn.Linear, classes: Tensor, centre: Tensor, radius: Tensor) -> Tensor:
    """The cross-entropy with every difference of two scores as bad as it gets in the box."""
    scores: Tensor = head(centre)
    differences = head.weight[classes][:, None] - head.weight[None]
    worst = scores - scores.gather(1, classes[:, None])
    worst = worst + (radius[:, None] * differences.abs()).sum(dim=-1)
    return worst.logsumexp(dim=1).mean()
