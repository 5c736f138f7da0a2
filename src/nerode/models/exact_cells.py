"""Exact cells: recurrent cells that are trained through units that are exactly 1 or -1.

A cell has a candidate, the number that tanh squashes, and most have a gate that keeps the memory. Forward,
the candidate is its sign, and the gate keeps or replaces the memory of its unit; backward, both are soft.
Folded, all scores are multiplied by a power of two, so that tanh and the logistic function are exact in
floats: the cell is then an automaton of bits. What else a cell has is fixed: reset and output gates are open,
and an input gate is the opposite of the forget gate, so that nothing is ever counted.

References: [Bengio2013] for straight-through gradients.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from nerode.models.exact_gates import (
    SATURATED,
    SMALLEST_SCORE,
    SPREAD,
    ExactGates,
    State,
    straight,
)


class StackedRows(NamedTuple):
    """The weights of a cell as views of its parameters, one part for each of its gates.

    Attributes:
        read: (gates, units, inputs).
        recurrent: (gates, units, units).
        bias: (gates, units).
    """

    read: Tensor
    recurrent: Tensor
    bias: Tensor


class ExactCell(ExactGates):
    """A recurrent cell with units of one bit.

    A unit that is not live is the constant 1.

    Attributes:
        keeps: the number of the gate that keeps the memory; None for a cell without one.
        candidate: the number of the gate that is squashed by tanh.
        opposite: the number of the gate that writes where the other keeps; None for none.
        opened: the numbers of gates that are always 1.
        stabilised: whether sizes of what is written are compared, so that forgetting has to outweigh them.
    """

    settings: ClassVar[Mapping[str, Any]] = {"hidden": 32, "learned_start": True}
    bare = True
    keeps: ClassVar[int | None] = None
    candidate: ClassVar[int] = 0
    opposite: ClassVar[int | None] = None
    opened: ClassVar[tuple[int, ...]] = ()
    stabilised: ClassVar[bool] = False

    @abstractmethod
    def rows(self, layer: nn.Module) -> StackedRows:
        """Returns the weights of a plain cell."""

    @abstractmethod
    def memory(self, layer: nn.Module) -> Tensor:
        """Returns the learned start of the memory, one number per unit, as a view."""

    def visible(self, memory: Tensor) -> Tensor:
        """Returns what a cell with this memory shows."""
        return memory

    def fold_start(self, layer: nn.Module) -> None:
        """Lets the plain cell start with what the memory shows."""

    def initial_state(self, batch: int) -> State:
        """Returns the memory at the start."""
        memory = self.memory(self.layer)
        return {"memory": torch.where(self.live, memory, torch.ones_like(memory)).expand(batch, -1)}

    def score_rows(self, layer: nn.Module) -> tuple[Tensor, Tensor]:
        """Returns the map to the candidates."""
        rows = self.rows(layer)
        return rows.read[self.candidate], rows.bias[self.candidate]

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence; the state is the memory before it."""
        rows = self.rows(self.layer)
        used = [self.candidate] if self.keeps is None else [self.candidate, self.keeps]
        read, recurrent, bias = (part[used].flatten(0, 1) for part in rows)
        inputs = nn.functional.linear(x, read, bias)
        memory = (self.initial_state(len(x)) if state is None else state)["memory"]
        live = self.live
        shown, outputs, found = self.visible(memory), [], []
        for at in inputs.unbind(1):
            scores = torch.addmm(at, shown, recurrent.T)
            candidate, *keeping = scores.chunk(len(used), dim=-1)
            unit = straight(candidate.sign(), candidate.tanh())
            least = candidate.abs()
            if keeping:
                on = straight((keeping[0] < 0).to(x.dtype), torch.sigmoid(-2 * keeping[0]))
                unit = on * unit + (1 - on) * memory
                held = keeping[0].abs()
                least = torch.where(keeping[0] < 0, torch.minimum(least, held), held)
            memory = torch.where(live, unit, torch.ones_like(unit))
            shown = self.visible(memory)
            outputs.append(shown)
            found.append(torch.cat([least, scores], dim=-1))
        joined = torch.stack(found, dim=1)
        self.scores, self._raw = joined[..., : len(live)], joined[..., len(live) :].detach()
        return torch.stack(outputs, dim=1), {"memory": memory}

    @torch.no_grad()
    def spread(self) -> None:
        """Rescales the scores of the last sequences to mean 0 and one deviation."""
        rows = self.rows(self.layer)
        used = [self.candidate] if self.keeps is None else [self.candidate, self.keeps]
        for number, raw in zip(used, self._raw.chunk(len(used), dim=-1), strict=True):
            flat = raw.flatten(0, -2)
            factor = SPREAD / flat.std(0).clamp_min(1e-2)
            rows.bias[number].sub_(flat.mean(0)).mul_(factor)
            rows.read[number].mul_(factor[:, None])
            rows.recurrent[number].mul_(factor[:, None])

    @torch.no_grad()
    def fold(self, layer: nn.Module) -> None:
        """Writes the decided units into a plain cell with the same weights."""
        scores = self.scores.flatten(0, -2)[:, self.live]
        least = float(scores.min()) if scores.numel() else 1.0
        scale = 2.0 ** math.ceil(math.log2(SATURATED / max(least, SMALLEST_SCORE)))
        rows, idle = self.rows(layer), ~self.live
        for part in rows:
            part[self.candidate].mul_(scale)
        self._fix(rows, self.candidate, idle, scale)
        if self.keeps is not None:
            for part in rows:
                part[self.keeps].mul_(scale)
            self._fix(rows, self.keeps, idle, -scale)
            if self.opposite is not None:
                for part in rows:
                    part[self.opposite].copy_(-part[self.keeps])
            if self.stabilised:
                self._outweigh(rows)
        for number in self.opened:
            self._fix(rows, number, torch.ones_like(idle), scale)
        self.memory(layer)[idle] = 1.0
        self.fold_start(layer)

    def fold_scale(self, layer: nn.Module, scale: float) -> None:
        """Does nothing: cells fold their rows themselves."""

    @staticmethod
    def _fix(rows: StackedRows, number: int, units: Tensor, value: float) -> None:
        """Sets the score of some units to a constant."""
        rows.read[number][units] = 0.0
        rows.recurrent[number][units] = 0.0
        rows.bias[number][units] = value

    def _outweigh(self, rows: StackedRows) -> None:
        """Scales forgetting so that it outweighs whatever was written with a larger score before."""
        assert self.keeps is not None
        raw = self._raw.chunk(2, dim=-1)[1].abs().flatten(0, -2)[:, self.live]
        if raw.numel():
            most = float(raw.max()) / max(float(raw.min()), SMALLEST_SCORE)
            for part in rows:
                part[self.keeps].mul_(2.0 ** math.ceil(math.log2(4 * most + 4)))
