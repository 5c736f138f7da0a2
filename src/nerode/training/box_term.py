"""Boxes of the states of a tanh cell, trained together with its weights.

There is a box for each pair of a state of the automaton and the last letter; its centre and its radii are
parameters like the weights. The loss is by how much the image of a box is outside of the box that it should
be in, at a price that rises, and the loss of the worst state in each box. Steps on boxes are not rounded
outward: they guide training, and a judge proves what they lead to.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.core import InputError
from nerode.models import Model
from nerode.models.architectures import Elman
from nerode.tasks import Batch, TaskAutomaton
from nerode.training.terms import LossTerm

_LEAST_RADIUS, _FIRST_RADIUS = 0.03, 0.1
"""No box gets thinner; the radius at the beginning, on top of the least one."""

_PRICES, _RAMP = (0.6, 30.0), 800
"""The price of what is outside, at the first update and from so many updates on."""

_ANSWERS, _STATES = 2.0, 0.3
"""Weights of the worst answer and of the worst name of a state of each box."""


class BoxTerm(LossTerm):
    """Boxes of states; nothing is lost before `begin`.

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
