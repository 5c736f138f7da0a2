"""One layer of a compiled network: its step, and its scan over a sequence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nerode.core import InputError, charge
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.recurrence import CompiledRecurrence
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
        self.exposes_previous = layer.exposes_previous
        place = f"layer {layer.name}"
        numbers = TorchNumbers(self, converter, place, is_complex=layer.complex_state)
        self._start = numbers.table([layer.start], "start")
        self.recurrence: CompiledRecurrence
        self.exact_step = LayerStep(layer, _LayerNumbers(self, converter, place))

    def initial_state(self, batch: int) -> Tensor:
        """Returns the state before the first letter (batch, width)."""
        return self._start.values.expand(batch, -1)

    def step(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the state after one position and the new directions."""
        charge()
        return self.exact_step.step(reads, letters, state)

    def forward(self, reads: Tensor, letters: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states after all positions (batch, time, width) and the new directions."""
        charge()
        recurrence = self.recurrence
        states = recurrence.scan(recurrence.drive(self.exact_step.seen(reads), letters), state)
        before = states
        if self.exposes_previous:
            before = torch.cat([state[:, None], states[:, :-1]], dim=1)
        return states, self.exact_step.read_out(reads, states, before)


class _LayerNumbers(TorchNumbers):
    """Numbers of a layer, which make its recurrence a module of its own."""

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[Tensor]:
        """Returns the module of the recurrence."""
        module = CompiledRecurrence(
            record, self._converter, place=f"{self._place}, recurrence", is_complex=is_complex
        )
        self._owner.recurrence = module
        return module
