"""The nonlinear recurrences of compiled layers: Elman networks and gated cells."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nerode.core import InputError, to_float
from nerode.models.compiled.affine_map import AffineMap
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.recurrence import CompiledRecurrence, Drive, longest_path
from nerode.models.kernels import cells
from nerode.network import Affine, Row, recurrences as exact

_LONGEST_WINDOW = 64
_WIDEST_DENSE = 2048
"""Up to so many units the state-to-state map of a fast kernel is a dense matrix."""


_SATURATING = 1000.0
"""The logistic function of it is 1 in every type."""


class ElmanRecurrence(CompiledRecurrence):
    """h = f(W seen + b + U h)."""

    def __init__(self, record: exact.Squashed, numbers: Converter, *, place: str) -> None:
        super().__init__()
        self.activation = record.activation
        self.read, self.recurrent, loops = _split(record.update, numbers, place)
        self.window = longest_path(loops, limit=_LONGEST_WINDOW)

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs add to the sum."""
        return (self.read(seen),)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        total = torch.add(drive[0], self.recurrent(state))
        match self.activation:
            case "tanh":
                return total.tanh()
            case "relu":
                return total.relu()
            case _:
                return total.clamp(0, 1)

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        if self.window is not None:
            return self.settle(drive, start, self.window)
        if self.activation == "tanh" and start.shape[1] <= _WIDEST_DENSE:
            return cells.elman(drive[0], self.recurrent.dense(), start, "tanh")
        if self.activation == "relu" and start.shape[1] <= _WIDEST_DENSE:
            return cells.elman(drive[0], self.recurrent.dense(), start, "relu")
        return super().scan(drive, start)


class GatedRecurrence(CompiledRecurrence):
    """An LSTM, GRU or sLSTM cell; the state is h, and for some c and n, one after the other."""

    def __init__(self, record: exact.GatedCell, numbers: Converter, *, place: str) -> None:
        super().__init__()
        self.cell = record.cell
        self.cap = to_float(record.cap)
        names = exact.CELL_GATES[record.cell]
        parts = [
            _split(gate, numbers, f"{place}, {name} gate")
            for gate, name in zip(record.gates, names, strict=True)
        ]
        self.reads = nn.ModuleList(read for read, _, _ in parts)
        self.recurrents = nn.ModuleList(recurrent for _, recurrent, _ in parts)
        self.width = record.gates[0].num_outputs
        self.constant_reset = not any(record.gates[0].rows)

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs add to each gate."""
        return tuple(read(seen) for read in self.reads)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        match self.cell:
            case "gru":
                return self._gru(drive, state)
            case "lstm":
                return self._lstm(drive, state)
            case _:
                return self._slstm(drive, state)

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        if self.width > _WIDEST_DENSE:
            return super().scan(drive, start)
        if self.cell == "lstm":
            return self._lstm_kernel(drive, start)
        if self.cell == "gru" and self.constant_reset and self.cap == 1:
            return self._gru_kernel(drive, start)
        return super().scan(drive, start)

    def _lstm_kernel(self, drive: Drive, start: Tensor) -> Tensor:
        order = (0, 1, 3, 2)
        inputs = torch.cat([drive[i] for i in order], dim=-1)
        weight = torch.cat([self._recurrent(i).dense() for i in order])
        h, c = start.chunk(2, dim=-1)
        return torch.cat(cells.lstm(inputs, weight, (h, c)), dim=-1)

    def _gru_kernel(self, drive: Drive, start: Tensor) -> Tensor:
        """The kernel resets after the product; a constant reset gate can be part of the matrix instead.

        Its z is our 1 - z.
        """
        reset, update, candidate = drive
        columns = reset[0, 0].sigmoid()
        zeros = torch.zeros(self.width, self.width, dtype=start.dtype, device=start.device)
        inputs = torch.cat([torch.full_like(reset, _SATURATING), -update, candidate], dim=-1)
        weight = [zeros, -self._recurrent(1).dense(), self._recurrent(2).dense() * columns]
        return cells.gru(inputs, torch.cat(weight), None, start)

    def _sums(self, drive: Drive, h: Tensor) -> list[Tensor]:
        return [part + recurrent(h) for part, recurrent in zip(drive, self.recurrents, strict=True)]

    def _gru(self, drive: Drive, h: Tensor) -> Tensor:
        reset = torch.add(drive[0], self.recurrents[0](h)).sigmoid()
        update = torch.add(drive[1], self.recurrents[1](h)).sigmoid()
        if self.cap != 1:
            update = 1 - self.cap * (1 - update)
        candidate = torch.add(drive[2], self.recurrents[2](reset * h)).tanh()
        return (1 - update) * h + update * candidate

    def _lstm(self, drive: Drive, state: Tensor) -> Tensor:
        h, c = state.chunk(2, dim=-1)
        write, forget, out, inner = self._sums(drive, h)
        c = forget.sigmoid() * c + write.sigmoid() * inner.tanh()
        return torch.cat([out.sigmoid() * c.tanh(), c], dim=-1)

    def _slstm(self, drive: Drive, state: Tensor) -> Tensor:
        h, c, n = state.chunk(3, dim=-1)
        write, forget, out, inner = self._sums(drive, h)
        c = forget.sigmoid() * c + write.exp() * inner.tanh()
        n = forget.sigmoid() * n + write.exp()
        return torch.cat([out.sigmoid() * c / n, c, n], dim=-1)

    def _recurrent(self, number: int) -> AffineMap:
        part = self.recurrents[number]
        assert isinstance(part, AffineMap)
        return part


def _split(
    update: Affine, numbers: Converter, place: str
) -> tuple[AffineMap, AffineMap, Sequence[Sequence[int]]]:
    """The part of a map that reads the inputs, the part that reads the state, and what each state reads."""
    width = update.num_outputs
    first = update.num_inputs - width
    if first < 0:
        raise InputError(f"{place}: the map of {update.num_inputs} inputs cannot read {width} states")
    inputs: list[Row] = [tuple((j, c) for j, c in row if j < first) for row in update.rows]
    states: list[Row] = [tuple((j - first, c) for j, c in row if j >= first) for row in update.rows]
    return (
        AffineMap(first, inputs, update.bias, numbers, place=place),
        AffineMap(width, states, None, numbers, place=f"{place}, recurrent"),
        [[j for j, _ in row] for row in states],
    )
