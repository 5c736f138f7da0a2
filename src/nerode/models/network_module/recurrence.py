"""Recurrences of compiled layers: one step in torch, and all steps of a sequence at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nerode.models.kernels import cells
from nerode.models.kernels.scan import dense_scan, diagonal_scan
from nerode.models.network_module.numbers import AffineMap, Converter
from nerode.models.network_module.torch_numbers import TorchNumbers
from nerode.models.parts.time_invariant import dense_states
from nerode.network import ByChoice, Fixed, Gated, GatedCell, Recurrence, RecurrenceStep, Squashed

Drive = tuple[Tensor, ...]
"""What the inputs contribute, computed before the state is known: (batch, …) or (batch, time, …) each."""

_LONGEST_WINDOW = 64
"""Up to so many rounds a recurrence without cycles is applied to all positions at once."""

_WIDEST = 256
"""Above this width a matrix for each position costs more than it saves."""

_WIDEST_DENSE = 2048
"""Up to so many units the state-to-state map of a fast kernel is a dense matrix."""

_PLACES = 1 << 22
"""Places of the matrices of all positions that are laid out at once."""

_SATURATING = 1000.0
"""The logistic function of it is 1 in every type."""


class CompiledRecurrence(nn.Module):
    """The move of a compiled layer's state: the step of its record, and fast scans beside it.

    Attributes:
        record: the recurrence with its exact weights.
        window: for a fixed matrix or an Elman network, the number of letters after which every state is
            forgotten; None if there is no such number, or it is too large.
    """

    def __init__(self, record: Recurrence, converter: Converter, *, place: str, is_complex: bool) -> None:
        super().__init__()
        self.record = record
        numbers = TorchNumbers(self, converter, place, is_complex=is_complex)
        self.exact_step: RecurrenceStep[Tensor] = record.step(numbers)
        self.window: int | None = None
        if isinstance(record, Fixed | Squashed):
            self.window = longest_path(record.sources(), limit=_LONGEST_WINDOW)

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs contribute.

        Args:
            seen: what the layer reads and its units, at one position (batch, n) or all (batch, time, n).
            letters: the letters, (batch,) or (batch, time).
        """
        return self.exact_step.drive(seen, letters)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        return self.exact_step.advance(drive, state)

    def shown(self, drive: Drive, state: Tensor) -> dict[str, Tensor]:
        """Returns what moves the state, by name."""
        return self.exact_step.shown(drive, state)

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions (batch, time, width)."""
        if self.window is not None:
            return self._settle(drive, start, self.window)
        found = self._fast(drive, start)
        return self._loop(drive, start) if found is None else found

    def _fast(self, drive: Drive, start: Tensor) -> Tensor | None:
        """The states by a kernel, None if there is none for this recurrence."""
        width = start.shape[1]
        match self.record:
            case Gated():
                return diagonal_scan(drive[0], drive[1], start)[0]
            case Fixed(is_diagonal=True):
                zero = torch.zeros_like(start[:1])
                return diagonal_scan(self.advance((zero,), zero + 1)[0], drive[0], start)[0]
            case Fixed() if width <= _WIDEST:
                return dense_states(_part(self, "matrix").dense(), drive[0], start)
            case ByChoice() if width <= _WIDEST:
                step: Any = self.exact_step
                return _choice_scan(step.move.matrices(width), drive[0], drive[1], start)
            case Squashed(activation="tanh") if width <= _WIDEST_DENSE:
                return cells.elman(drive[0], _part(self, "recurrent").dense(), start, "tanh")
            case Squashed(activation="relu") if width <= _WIDEST_DENSE:
                return cells.elman(drive[0], _part(self, "recurrent").dense(), start, "relu")
            case GatedCell(cell="lstm") if width <= 2 * _WIDEST_DENSE:
                return self._lstm(drive, start)
            case GatedCell(cell="gru", cap=1, gates=(reset, *_)) if not any(reset.rows):
                return self._gru(drive, start) if width <= _WIDEST_DENSE else None
        return None

    def _loop(self, drive: Drive, start: Tensor) -> Tensor:
        states, state = [], start
        for position in zip(*(part.unbind(1) for part in drive), strict=True):
            state = self.advance(position, state)
            states.append(state)
        return torch.stack(states, dim=1)

    def _settle(self, drive: Drive, start: Tensor, rounds: int) -> Tensor:
        """The states when none looks back further than `rounds` steps.

        Every round moves all positions at once, each from the state that the round before gave its
        predecessor; what was wrong at first has then left the window.
        """
        time = drive[0].shape[1]
        states = start[:, None].expand(-1, time, -1)
        for _ in range(min(rounds, time)):
            states = self.advance(drive, torch.cat([start[:, None], states[:, :-1]], dim=1))
        return states

    def _lstm(self, drive: Drive, start: Tensor) -> Tensor:
        order = (0, 1, 3, 2)
        inputs = torch.cat([drive[i] for i in order], dim=-1)
        weight = torch.cat([_part(self, "recurrents", i).dense() for i in order])
        h, c = start.chunk(2, dim=-1)
        return torch.cat(cells.lstm(inputs, weight, (h, c)), dim=-1)

    def _gru(self, drive: Drive, start: Tensor) -> Tensor:
        """The kernel resets after the product; a constant reset gate can be part of the matrix instead.

        Its z is our 1 - z.
        """
        reset, update, candidate = drive
        columns = reset[0, 0].sigmoid()
        around_update, around = (_part(self, "recurrents", i).dense() for i in (1, 2))
        inputs = torch.cat([torch.full_like(reset, _SATURATING), -update, candidate], dim=-1)
        weight = [torch.zeros_like(around), -around_update, around * columns]
        return cells.gru(inputs, torch.cat(weight), None, start)


def _part(module: nn.Module, name: str, number: int | None = None) -> AffineMap:
    part = getattr(module, name)
    found = part if number is None else part[number]
    assert isinstance(found, AffineMap)
    return found


def _choice_scan(matrices: Tensor, choices: Tensor, writes: Tensor, start: Tensor) -> Tensor:
    """The states of h_t = A(c_t) h_{t-1} + b_t, (batch, time, n).

    Args:
        matrices: A, (choices, n, n).
        choices: c, (batch, time).
        writes: b, (batch, time, n).
        start: h_0, (batch, n).
    """
    width = start.shape[1]
    chunk = max(1, _PLACES // (len(start) * width * width))
    state, blocks = start[:, None, :, None], []
    for chosen, added in zip(choices.split(chunk, dim=1), writes.split(chunk, dim=1), strict=True):  # type: ignore[no-untyped-call]
        states = dense_scan(matrices[chosen][:, :, None], added[:, :, None, :, None], state)
        state = states[:, -1]
        blocks.append(states[:, :, 0, :, 0])
    return torch.cat(blocks, dim=1)


def longest_path(successors: Sequence[Iterable[int]], *, limit: int) -> int | None:
    """Returns the number of vertices on the longest path of a graph; None if it is above the limit."""
    alive = set(range(len(successors)))
    remaining = [0] * len(successors)
    for targets in successors:
        for j in targets:
            remaining[j] += 1
    layer = [i for i in alive if remaining[i] == 0]
    for length in range(1, limit + 1):
        alive.difference_update(layer)
        if not alive:
            return length
        following = []
        for i in layer:
            for j in successors[i]:
                remaining[j] -= 1
                if remaining[j] == 0:
                    following.append(j)
        layer = following
    return None
