"""Exact gates: layers that are trained through gates that are exactly 0, 1 or -1.

A gate has a score q, the number that is squashed. Forward, it is exact: where q > 0 the layer writes (gate 0,
or -1 in a layer with signs), elsewhere it holds, and nothing is written. Backward, it is soft, as the plain
layer is, so that the loss has slopes (straight through). The decided gates are then folded into the plain
layer: scores times a power of two, large enough that the squashing function is exact in floats. A folded
layer computes, in the order of its own step, what the exact one computed, and its gates are decided.

A recurrent cell has a candidate, the number that tanh squashes, and most have a gate that keeps the memory.
Forward, the candidate is its sign, and the gate keeps or replaces the memory of its unit; backward, both are
soft. Folded, all scores are multiplied by a power of two, so that tanh and the logistic function are exact in
floats: the cell is then an automaton of bits. What else a cell has is fixed: reset and output gates are open,
and an input gate is the opposite of the forget gate, so that nothing is ever counted.

References: [Zeng1993, Zeng1994] for cells with a hard state forward and a pseudo-gradient backward;
[Bengio2013] for straight-through gradients.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from nerode.models.kernels.scan import diagonal_scan

State = dict[str, Tensor]

SATURATED = 220.0
"""A score at which the squashing functions of all layers are exact in float32, with a wide margin."""

SMALLEST_SCORE = 1e-3
"""Scores nearer to zero than this are not decided; they are scaled as if they were this large."""

SPREAD = 1.5
"""The deviation of scores at the start."""

_SHARPNESS = 2.0

_ROUNDS = 3
"""Times that what rounding has left of a solution is solved for."""


def saturating_scale(least: float) -> float:
    """Returns the power of two that takes the smallest score to where squashing functions are exact."""
    return float(2.0 ** math.ceil(math.log2(SATURATED / max(least, SMALLEST_SCORE))))


def straight(hard: Tensor, soft: Tensor) -> Tensor:
    """Returns the value of `hard` with the slope of `soft`."""
    return soft + (hard - soft).detach()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateForm:
    """The model that exact gates of an architecture are trained in.

    Attributes:
        settings: of the plain layer.
        stacked: settings that are otherwise where there are several layers.
        around: what stands around the layer: as published, nothing, or the residual path alone, because a
            norm that centres would mix the letters.
        embedding: whether letters are embedded; otherwise the layer reads one feature for each.
        patient: whether words of training get longer only as the shorter ones are answered correctly.
    """

    settings: Mapping[str, Any] = field(default_factory=lambda: {"learned_start": True})
    stacked: Mapping[str, Any] = field(default_factory=dict)
    around: Literal["published", "residual", "nothing"] = "published"
    embedding: bool = True
    patient: bool = False


class ExactGates(nn.Module, ABC):
    """A layer in its exact form.

    Args:
        layer: the plain layer, whose weights are trained.
        signed: whether a decided gate flips the state (gate -1, nothing is written) instead of clearing it.

    Attributes:
        live: the gates that keep memory. The others have a fixed score: a state that is always written, or
            never flipped.
        idle: the fixed score of each gate, for where it keeps no memory.
        scores: the scores of the last sequence (batch, time, gates).
    """

    form: ClassVar[GateForm] = GateForm()
    """The model that it is trained in."""

    sign: ClassVar[float] = 1.0
    """1 where the map of `score_rows` gives the scores, -1 where it gives them with the other sign."""

    def __init__(self, layer: Any, *, signed: bool) -> None:
        super().__init__()
        self.layer = layer
        self.signed = signed
        self.grows = False
        self.live = torch.ones(len(self.score_rows(layer)[1]), dtype=torch.bool)
        self.idle = torch.full((len(self.live),), -1.0 if signed else 1.0)
        self.scores = torch.zeros(0)

    @abstractmethod
    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence by exact gates, and the state after it."""

    @abstractmethod
    def score_rows(self, layer: Any) -> tuple[Tensor, Tensor]:
        """Returns the weights (gates, inputs) and the biases of the scores, as views of the parameters."""

    @abstractmethod
    def fold_scale(self, layer: Any, scale: float) -> None:
        """Takes the scale of the scores out of what else they set in a plain layer."""

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence by exact gates; the state is that before it."""
        return self.run(x, self.initial_state(len(x)) if state is None else state)

    def initial_state(self, batch: int) -> State:
        """Returns the state of the layer."""
        state: State = self.layer.initial_state(batch)
        return state

    def begin(self) -> None:
        """Draws a start of the state that flips can tell apart."""
        start = getattr(self.layer, "start", None)
        if self.signed and start is not None:
            nn.init.normal_(start)

    def decide(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Returns for scores whether the gates write, 1 or 0, and the scores with idle gates set."""
        self.scores = scores
        scores = torch.where(self.live, scores, self.idle.to(scores.dtype))
        return straight((scores > 0).to(scores.dtype), torch.sigmoid(_SHARPNESS * scores)), scores

    def keep(self, on: Tensor) -> Tensor:
        """Returns the gates where `on` says whether they write."""
        return 1 - 2 * on if self.signed else 1 - on

    def scan(self, on: Tensor, write: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        """Returns all states (batch, time, …) and the last.

        Args:
            on: whether the gates write, to be broadcast over the axes of the state.
            write: what is written, 0 where a gate holds; with signs nothing is.
            start: the state before.
        """
        write = torch.zeros_like(write) if self.signed else write
        return diagonal_scan(self.keep(on).expand_as(write), write, start)

    def see_letters(self, letters: Tensor, on: Tensor) -> None:
        """Notes which letters of the last sequences gates wrote at, for `take_keys`."""
        self._letters, self._on = letters.detach(), on.detach() > 0.5

    def take_keys(self, key: Tensor) -> None:
        """Sets keys (gates, letters) to exactly 0 where a letter's gates hold; with signs, all."""
        if self.signed:
            key.zero_()
        for letter in range(self._letters.shape[-1]):
            read = self._letters[..., letter] != 0
            if read.any():
                key[~self._on[read][0], letter] = 0.0

    @torch.no_grad()
    def spread(self) -> None:
        """Rescales the scores of the last sequences to mean 0 and one deviation, so that about half write."""
        weight, bias = self.score_rows(self.layer)
        scores = self.scores.flatten(0, -2)
        factor = SPREAD / scores.std(0).clamp_min(1e-4)
        bias.copy_((bias - self.sign * scores.mean(0)) * factor)
        weight.mul_(factor[:, None])

    @torch.no_grad()
    def fold(self, layer: Any) -> None:
        """Writes the decided gates into a plain layer with the same weights."""
        scores = self.scores.flatten(0, -2)[:, self.live]
        least = float(scores.abs().min()) if scores.numel() else 1.0
        scale = saturating_scale(least)
        weight, bias = self.score_rows(layer)
        weight.mul_(scale)
        bias.mul_(scale)
        weight[~self.live] = 0.0
        bias[~self.live] = self.sign * scale * self.idle[~self.live].to(bias.dtype)
        self.fold_scale(layer, scale)


def amount(scores: Tensor) -> Tensor:
    """Returns the size of a write: the positive part of the score, with the slope of softplus."""
    return straight(scores.relu(), nn.functional.softplus(_SHARPNESS * scores) / _SHARPNESS)


class ThreeValuedGates(ExactGates):
    """A layer with gates 0, 1 and -1: flips beside resets.

    A gate has two scores. Where the first is above 0 the state is reset, and only then something is written;
    elsewhere what would be written is 0, and the second score decides between a flip and a hold. Folded, the
    first goes through SiLU, which is 0 or passes it on. The gate sees finitely many windows of letters, and
    the map to its own score is solved for what each window needs: a large number for a flip, its negative for
    a hold, and 0 for a reset, where the squashing function gives its middle value. So the gate of a reset is
    0 up to rounding, and what it leaves of the state before is rounded away by the next one.
    """

    shows_window = False
    """Whether the layer has no memory and only shows the last letters to the next one."""

    _inputs: Tensor
    _resets: Tensor
    _flips: Tensor

    @abstractmethod
    def shift_resets(self, mean: Tensor, factor: Tensor) -> None:
        """Takes the mean from the first scores and multiplies them by a factor."""

    def decide_three(self, resets: Tensor, flips: Tensor) -> tuple[Tensor, Tensor]:
        """Returns whether gates reset the state, 1 or 0, and the gates; scores (batch, time, gates)."""
        self._resets, self._flips = resets, flips
        size = resets.abs()
        self.scores = torch.where(resets > 0, size, torch.minimum(size, flips.abs()))
        reset = straight((resets > 0).to(resets.dtype), torch.sigmoid(_SHARPNESS * resets))
        reset = torch.where(self.live, reset, torch.ones_like(reset))
        flip = straight((flips > 0).to(flips.dtype), torch.sigmoid(_SHARPNESS * flips))
        return reset, (1 - reset) * (1 - 2 * flip)

    @torch.no_grad()
    def spread(self) -> None:
        """Rescales the first scores and then the second ones to mean 0 and one deviation."""
        seen = self._resets.flatten(0, -2)
        self.shift_resets(seen.mean(0), SPREAD / seen.std(0).clamp_min(1e-4))
        self(self._inputs)
        weight, bias = self.score_rows(self.layer)
        seen = self._flips.flatten(0, -2)
        factor = SPREAD / seen.std(0).clamp_min(1e-4)
        weight.mul_(factor[:, None])
        bias.sub_(seen.mean(0)).mul_(factor)

    def reset_scale(self) -> float:
        """Returns the factor of the first scores at which SiLU is exact."""
        return saturating_scale(float(self._resets.abs().min()))

    def solve_gates(self, rows: nn.Linear, inputs: Tensor) -> None:
        """Sets the map to the gates so that they are what they were, as nearly as floats can.

        Args:
            rows: the map, with a bias.
            inputs: its inputs along the last sequences, many of them equal.
        """
        wanted = torch.where(self._flips > 0, SATURATED, -SATURATED)
        wanted = torch.where((self._resets > 0) | ~self.live, torch.zeros_like(wanted), wanted)
        seen, place = torch.unique(inputs.flatten(0, -2), dim=0, return_inverse=True)
        first = torch.zeros(len(seen), dtype=torch.int64).scatter_(0, place, torch.arange(len(place)))
        target = wanted.flatten(0, -2)[first].double()
        table = torch.cat([seen, torch.ones_like(seen[:, :1])], dim=1).double()
        solver = torch.linalg.pinv(table)
        solution = torch.zeros(table.shape[1], target.shape[1], dtype=torch.float64)
        got = torch.zeros_like(target)
        for _ in range(_ROUNDS):
            solution += solver @ (target - got)
            rows.weight.copy_(solution[:-1].T)
            rows.bias.copy_(solution[-1])
            got = rows(seen).double()

    def fold_scale(self, layer: Any, scale: float) -> None:
        """Does nothing: scales are taken out where the gates are folded."""


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

    form = GateForm(settings={"hidden": 32, "learned_start": True}, around="nothing")
    keeps: ClassVar[int | None] = None
    candidate: ClassVar[int] = 0
    opposite: ClassVar[int | None] = None
    opened: ClassVar[tuple[int, ...]] = ()
    stabilised: ClassVar[bool] = False

    @abstractmethod
    def rows(self, layer: Any) -> StackedRows:
        """Returns the weights of a plain cell."""

    @abstractmethod
    def memory(self, layer: Any) -> Tensor:
        """Returns the learned start of the memory, one number per unit, as a view."""

    def visible(self, memory: Tensor) -> Tensor:
        """Returns what a cell with this memory shows."""
        return memory

    def fold_start(self, layer: Any) -> None:
        """Lets the plain cell start with what the memory shows."""

    def initial_state(self, batch: int) -> State:
        """Returns the memory at the start."""
        memory = self.memory(self.layer)
        return {"memory": torch.where(self.live, memory, torch.ones_like(memory)).expand(batch, -1)}

    def score_rows(self, layer: Any) -> tuple[Tensor, Tensor]:
        """Returns the map to the candidates."""
        rows = self.rows(layer)
        return rows.read[self.candidate], rows.bias[self.candidate]

    def run(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the outputs of a sequence; the state is the memory before it."""
        rows = self.rows(self.layer)
        used = [self.candidate] if self.keeps is None else [self.candidate, self.keeps]
        read, recurrent, bias = (part[used].flatten(0, 1) for part in rows)
        inputs = nn.functional.linear(x, read, bias)
        memory, live = state["memory"], self.live
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
    def fold(self, layer: Any) -> None:
        """Writes the decided units into a plain cell with the same weights."""
        scores = self.scores.flatten(0, -2)[:, self.live]
        least = float(scores.min()) if scores.numel() else 1.0
        scale = saturating_scale(least)
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

    def fold_scale(self, layer: Any, scale: float) -> None:
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
