"""One layer of a compiled network: units, recurrence and readout."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.compiled.affine_map import AffineMap
from nerode.models.compiled.linear import (
    DiagonalRecurrence,
    FixedMatrix,
    MatrixByLetter,
    Permutations,
    Reflections,
    entries,
    table,
)
from nerode.models.compiled.nonlinear import ElmanRecurrence, GatedRecurrence
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.recurrence import CompiledRecurrence
from nerode.network import Layer as ExactLayer, recurrences as exact


class CompiledLayer(nn.Module):
    """A layer that reads some directions of the stream and gives new ones; see `nerode.network.record`."""

    def __init__(self, layer: ExactLayer, numbers: Converter) -> None:
        super().__init__()
        if layer.complex_state and numbers.dtype not in (torch.float32, torch.float64):
            raise InputError(
                f"layer {layer.name} has a complex state, which torch does not have in {numbers.dtype}; "
                "use float32 or float64"
            )
        self.name, self.width = layer.name, layer.width
        self.exposes_previous, self.is_complex = layer.exposes_previous, layer.complex_state
        place = f"layer {layer.name}"
        self.start = table([layer.start], numbers, f"{place}, start", layer.complex_state)
        self.units = AffineMap.of(layer.units, numbers, place=f"{place}, units")
        self.recurrence = make_recurrence(
            layer.recurrence, numbers, place=f"{place}, recurrence", is_complex=layer.complex_state
        )
        self.readout_units = AffineMap.of(layer.readout_units, numbers, place=f"{place}, readout units")
        self.readout = AffineMap.of(layer.readout, numbers, place=f"{place}, readout")

    def initial_state(self, batch: int) -> Tensor:
        """Returns the state before the first letter (batch, width)."""
        return entries(self.start, self.is_complex).expand(batch, -1)

    def step(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the new directions and the state after one position."""
        new = self.recurrence.advance(self.recurrence.drive(self._seen(reads), letters), state)
        return self._read_out(reads, new, state), new

    def forward(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the new directions and the states after all positions (batch, time, width)."""
        states = self.recurrence.scan(self.recurrence.drive(self._seen(reads), letters), state)
        before = states
        if self.exposes_previous:
            before = torch.cat([state[:, None], states[:, :-1]], dim=1)
        return self._read_out(reads, states, before), states

    def _seen(self, reads: Tensor) -> Tensor:
        return torch.cat([reads, self.units(reads).relu()], dim=-1) if self.units.rows else reads

    def _read_out(self, reads: Tensor, state: Tensor, before: Tensor) -> Tensor:
        inside = [reads, *self._shown(state)]
        if self.exposes_previous:
            inside.extend(self._shown(before))
        seen = torch.cat(inside, dim=-1)
        if self.readout_units.rows:
            seen = torch.cat([seen, self.readout_units(seen).relu()], dim=-1)
        outputs: Tensor = self.readout(seen)
        return outputs

    def _shown(self, state: Tensor) -> list[Tensor]:
        return [state.real, state.imag] if self.is_complex else [state]


def make_recurrence(
    record: exact.Recurrence, numbers: Converter, *, place: str, is_complex: bool
) -> CompiledRecurrence:
    """Returns the module of a recurrence."""
    match record:
        case exact.Gated():
            return DiagonalRecurrence(record, numbers, place=place, is_complex=is_complex)
        case exact.Fixed():
            return FixedMatrix(record, numbers, place=place, is_complex=is_complex)
        case exact.LetterMatrices():
            return MatrixByLetter(record, numbers, place=place, is_complex=is_complex)
        case exact.PermutationDiagonal():
            return Permutations(record, numbers, place=place, is_complex=is_complex)
    if is_complex:
        raise InputError(f"{place}: a recurrence of the kind {record.kind} has no complex form")
    match record:
        case exact.Householder():
            return Reflections(record, numbers, place=place)
        case exact.Squashed():
            return ElmanRecurrence(record, numbers, place=place)
        case exact.GatedCell():
            return GatedRecurrence(record, numbers, place=place)
        case _:
            raise NotImplementedError(record.kind)
