"""States and gates along a word: a row of numbers for each coordinate, a column for each letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nerode.analysis.probes import Probe, plain
from nerode.analysis.subject import Subject
from nerode.core import InputError, to_mapping
from nerode.models import DiagonalTransition, HouseholderTransition, Model, SequenceLayer
from nerode.models.architectures import Gru, Lstm
from nerode.models.compiled import CompiledModel

_MOST_ROWS = 64
"""Coordinates that are kept, spread evenly over those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One quantity along a word.

    Attributes:
        name: what it is.
        layer: the layer that it belongs to.
        kind: "state" or "gate".
        coordinates: the number of each row.
        rows: values at each letter; complex ones as absolute values.
        size: how many coordinates there are in all.
    """

    name: str
    layer: int
    kind: str
    coordinates: tuple[int, ...]
    rows: tuple[tuple[float | None, ...], ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTrace:
    """What a network does along one word.

    Attributes:
        word: its letters.
        strips: states and gates.
    """

    word: tuple[str, ...]
    strips: tuple[Strip, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        return to_mapping(self)


@torch.no_grad()
def trace_word(subject: Subject, probe: Probe, row: int = 0) -> WordTrace:
    """Returns states and gates of a network along one word of a probe.

    Raises:
        InputError: if the model does not show its states.
    """
    model = subject.model
    if not isinstance(model, Model | CompiledModel):
        raise InputError(f"a {type(model).__name__} does not show its states; models of the zoo do")
    inputs = probe.inputs[row : row + 1]
    strips = []
    for name, values in model.trace(inputs).states.items():
        place, _, what = name.partition(".")
        if what and what != "window" and (values.is_floating_point() or values.is_complex()):
            strips.append(_strip(what, int(place), "state", values))
    if isinstance(model, Model):
        for number, layer in enumerate(model.layers):
            x = model.inputs_of(number, inputs)
            strips += [_strip(name, number, "gate", values) for name, values in gates(layer, x).items()]
    return WordTrace(word=probe.spell(row), strips=tuple(strips))


@torch.no_grad()
def gates(layer: SequenceLayer, x: Tensor) -> dict[str, Tensor]:
    """Returns the gates of a layer at each position, by name (batch, time, …); none if it has none.

    Those of linear layers are what their state is multiplied with; of an LSTM input, forget and output, of a
    GRU reset and update, each from 0 to 1.

    Args:
        layer: the layer.
        x: what it reads (batch, time, inputs).
    """
    if isinstance(layer, Lstm | Gru):
        return _cell_gates(layer, x)
    match layer.transition(x):
        case DiagonalTransition(gate=gate):
            return {"gate": gate}
        case HouseholderTransition(betas=betas, decay=decay):
            return {"beta": betas} if decay is None else {"beta": betas, "decay": decay}
        case _:
            return {}


def _cell_gates(layer: Lstm | Gru, x: Tensor) -> dict[str, Tensor]:
    before = torch.cat([layer.initial_state(len(x))["h"][:, None], layer.trace(x).states["h"][:, :-1]], dim=1)
    total = layer.read(x) + before @ layer.recurrent.T
    if layer.recurrent_bias is not None:
        total = total + layer.recurrent_bias
    if isinstance(layer, Lstm):
        i, f, _, o = total.sigmoid().chunk(4, dim=-1)
        return {"input": i, "forget": f, "output": o}
    reset, update, _ = total.sigmoid().chunk(3, dim=-1)
    return {"reset": reset, "update": update}


def _strip(name: str, layer: int, kind: str, values: Tensor) -> Strip:
    flat = values[0].reshape(values.shape[1], -1)
    flat = (flat.abs() if flat.is_complex() else flat).double()
    size = flat.shape[1]
    chosen = list(range(0, size, max(1, -(-size // _MOST_ROWS))))
    rows = tuple(tuple(plain(v) for v in flat[:, i].tolist()) for i in chosen)
    return Strip(name=name, layer=layer, kind=kind, coordinates=tuple(chosen), rows=rows, size=size)
