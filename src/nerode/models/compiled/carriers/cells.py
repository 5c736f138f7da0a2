"""Automata in nonlinear cells: weights of a network become those of an Elman layer, LSTM, GRU or sLSTM."""

from __future__ import annotations

from typing import Any

import torch

from nerode.core import Exact, NotCompilable, to_float
from nerode.models.architectures.elman import Elman
from nerode.models.architectures.gru import Gru
from nerode.models.architectures.lstm import Lstm
from nerode.models.architectures.slstm import Slstm
from nerode.models.base import SequenceLayer
from nerode.models.compiled.carriers.forms import Form, compose
from nerode.models.compiled.carriers.one_layer import CellCarrier, Sources
from nerode.network import Affine, GatedCell, Layer as ExactLayer, Row, Squashed

_SATURATED = 1000.0


class ElmanCarrier(CellCarrier):
    """Carries Elman layers."""

    def settings(self, layer: ExactLayer) -> dict[str, Any]:
        """Returns the number of units and the activation."""
        record = layer.recurrence
        if not isinstance(record, Squashed) or record.activation not in ("tanh", "relu"):
            raise NotCompilable(self.architecture, [f"layer {layer.name} is not an Elman layer of the zoo"])
        return {"hidden": layer.width, "activation": record.activation, "learned_start": True}

    def fill(self, module: SequenceLayer, layer: ExactLayer, sources: Sources) -> None:
        """Sets the weights."""
        assert isinstance(module, Elman)
        assert isinstance(layer.recurrence, Squashed)
        assert module.start is not None
        rows, recurrent = split_update(layer.recurrence.update, sources.seen)
        sources.set_rows(module.read.weight, module.read.bias, rows)
        module.recurrent.copy_(recurrent)
        module.start.copy_(numbers(layer.start))


class LstmCarrier(CellCarrier):
    """Carries LSTM cells."""

    def settings(self, layer: ExactLayer) -> dict[str, Any]:
        """Returns the number of units."""
        return {"hidden": _gates(layer, "lstm", self.architecture)[0].num_outputs, "learned_start": True}

    def fill(self, module: SequenceLayer, layer: ExactLayer, sources: Sources) -> None:
        """Sets the weights; the layer stacks its gates as input, forget, cell, output."""
        assert isinstance(module, Lstm)
        assert module.start is not None
        given = _gates(layer, "lstm", self.architecture)
        for number, gate in enumerate(given[i] for i in (0, 1, 3, 2)):
            rows, recurrent = split_update(gate, sources.seen)
            part = slice(number * module.outputs, (number + 1) * module.outputs)
            sources.set_rows(module.read.weight[part], module.read.bias[part], rows)
            module.recurrent[part] = recurrent
        module.start.copy_(numbers(layer.start).reshape(2, -1))


class GruCarrier(CellCarrier):
    """Carries GRU cells; a reset gate that never changes becomes part of the matrix that it multiplies."""

    def settings(self, layer: ExactLayer) -> dict[str, Any]:
        """Returns the number of units, and where the reset gate acts."""
        reset = _gates(layer, "gru", self.architecture)[0]
        constant = not any(reset.rows)
        return {
            "hidden": layer.width,
            "reset_after": constant,
            "recurrent_bias": False,
            "learned_start": True,
        }

    def fill(self, module: SequenceLayer, layer: ExactLayer, sources: Sources) -> None:
        """Sets the weights; the layer's z is 1 - z of the network, so its rows change their sign."""
        assert isinstance(module, Gru)
        assert module.start is not None
        n = module.outputs
        parts = [split_update(gate, sources.seen) for gate in _gates(layer, "gru", self.architecture)]
        (reset, around_reset), (update, around_update), (candidate, around) = parts
        if module.settings.reset_after:
            shares = torch.tensor([to_float(form.constant) for form in reset], dtype=torch.float64).sigmoid()
            around = around * shares
            reset = [Form({}, int(_SATURATED))] * n
        update = [form.scaled(-1) for form in update]
        sources.set_rows(module.read.weight, module.read.bias, [*reset, *update, *candidate])
        module.recurrent.copy_(torch.cat([around_reset, -around_update, around]))
        module.start.copy_(numbers(layer.start))


class SlstmCarrier(CellCarrier):
    """Carries sLSTM cells in one head."""

    def settings(self, layer: ExactLayer) -> dict[str, Any]:
        """Returns the number of units."""
        hidden = _gates(layer, "slstm", self.architecture)[0].num_outputs
        return {"hidden": hidden, "heads": 1, "learned_start": True}

    def fill(self, module: SequenceLayer, layer: ExactLayer, sources: Sources) -> None:
        """Sets the weights; the layer stacks its gates as input, forget, cell, output."""
        assert isinstance(module, Slstm)
        assert module.start is not None
        given = _gates(layer, "slstm", self.architecture)
        n = module.outputs
        for number, gate in enumerate(given[i] for i in (0, 1, 3, 2)):
            rows, recurrent = split_update(gate, sources.seen)
            sources.set_rows(module.read[number], module.bias[number], rows)
            module.recurrent[0, number * n : (number + 1) * n] = recurrent
        module.start.copy_(numbers(layer.start).reshape(3, -1))


def split_update(update: Affine, seen: list[Form]) -> tuple[list[Form], torch.Tensor]:
    """Returns what the inputs add to each row, and the matrix of the state."""
    width, first = update.num_outputs, len(seen)
    reading: list[Row] = [tuple((j, c) for j, c in row if j < first) for row in update.rows]
    recurrent = torch.zeros(width, width, dtype=torch.float64)
    for i, row in enumerate(update.rows):
        for j, c in row:
            if j >= first:
                recurrent[i, j - first] = to_float(c)
    inputs = Affine(num_inputs=first, bias=update.bias, rows=tuple(reading))
    return compose(inputs, seen), recurrent


def numbers(values: tuple[Exact, ...]) -> torch.Tensor:
    """Returns exact numbers in float64."""
    return torch.tensor([to_float(v) for v in values], dtype=torch.float64)


def _gates(layer: ExactLayer, cell: str, architecture: str) -> tuple[Affine, ...]:
    record = layer.recurrence
    if not isinstance(record, GatedCell) or record.cell != cell:
        raise NotCompilable(architecture, [f"layer {layer.name} is not made of {cell} cells"])
    if record.cap != 1:
        raise NotCompilable(architecture, [f"layer {layer.name} has a cap on its update gate"])
    return record.gates
