"""One layer of a compiled network: its step, and its scan over a sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.recurrence import CompiledRecurrence, Drive
from nerode.models.compiled.torch_numbers import TorchNumbers
from nerode.network import Layer, LayerStep, Recurrence, RecurrenceStep


class CompiledLayer(nn.Module):
    """A layer that reads some directions of the stream and gives new ones; see `nerode.network.record`."""

    def __init__(self, layer: Layer, converter: Converter) -> None:
        super().__init__()
        if layer.complex_state and converter.dtype not in (torch.float32, torch.float64):
            raise InputError(
                f"layer {layer.name} has a complex state, which torch does not have in {converter.dtype}; "
                "use float32 or float64"
            )
        self.name, self.width = layer.name, layer.width
        place = f"layer {layer.name}"
        numbers = TorchNumbers(self, converter, place, is_complex=layer.complex_state)
        self._start = numbers.table([layer.start], "start")
        self.exact_step = LayerStep(layer, _LayerNumbers(self, converter, place))

    def initial_state(self, batch: int) -> Tensor:
        """Returns the state before the first letter (batch, width)."""
        return self._start.values.expand(batch, -1)

    def step(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the state after one position and the new directions."""
        return self.exact_step.step(reads, letters, state)

    def forward(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states after all positions (batch, time, width) and the new directions."""
        recurrence = self._recurrence
        states = recurrence.scan(recurrence.drive(self.exact_step.seen(reads), letters), state)
        before = torch.cat([state[:, None], states[:, :-1]], dim=1)
        return states, self.exact_step.read_out(reads, states, before)

    @property
    def _recurrence(self) -> CompiledRecurrence:
        found = self.recurrence
        assert isinstance(found, CompiledRecurrence)
        return found


class _LayerNumbers(TorchNumbers):
    """Numbers of a layer, which make its recurrence a module of its own."""

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[Tensor]:
        """Returns whatever recurrence the layer has at the time of a step."""
        self._owner.recurrence = CompiledRecurrence(
            record, self._converter, place=f"{self._place}, recurrence", is_complex=is_complex
        )
        return _OwnRecurrence(self._owner)


class _OwnRecurrence:
    """The recurrence of a layer, looked up at each use, as it may be wrapped."""

    def __init__(self, owner: nn.Module) -> None:
        self._owner: Any = owner

    def drive(self, seen: Tensor, letter: Tensor) -> Drive:
        drive: Drive = self._owner.recurrence.drive(seen, letter)
        return drive

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        after: Tensor = self._owner.recurrence.advance(drive, state)
        return after

    def shown(self, drive: Drive, state: Tensor) -> dict[str, Tensor]:
        shown: dict[str, Tensor] = self._owner.recurrence.shown(drive, state)
        return shown
