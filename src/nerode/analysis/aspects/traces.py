"""States, gates and attention along a word: one row per coordinate or position, one column per letter."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nerode.analysis.probes import ProbeWords, plain
from nerode.analysis.subject import LoadedNetwork
from nerode.models import (
    DiagonalTransition,
    HouseholderTransition,
    Model,
    OwnLayer,
    SequenceLayer,
    as_layered,
)
from nerode.models.architectures import Attention, Gru, Lstm
from nerode.models.network_module import CompiledModel
from nerode.records import AnalysisRow

MARK = "⊢"
"""What the beginning mark is called, at which heads look too."""

_MOST_ROWS = 64
"""Coordinates that are kept, spread evenly over those that there are."""


@torch.no_grad()
def trace_word(subject: LoadedNetwork, probe: ProbeWords, row: int = 0) -> AnalysisRow:
    """Returns states and gates of a network along one word of a probe.

    Raises:
        InputError: if the model does not show its states.
    """
    model = subject.model if isinstance(subject.model, CompiledModel) else as_layered(subject.model)
    inputs = probe.inputs[row : row + 1]
    strips = []
    for name, values in model.trace(inputs).states.items():
        place, _, what = name.partition(".")
        if what and what != "window" and (values.is_floating_point() or values.is_complex()):
            strips.append(_strip(what, int(place), "state", values))
    if not isinstance(model, CompiledModel):
        layers: Sequence[SequenceLayer | OwnLayer] = model.layers
        for number, layer in enumerate(layers):
            x = model.inputs_of(number, inputs)
            strips += [_strip(name, number, "gate", values) for name, values in gates(layer, x).items()]
    return AnalysisRow(word=probe.spell(row), strips=tuple(strips))


@torch.no_grad()
def gates(layer: SequenceLayer | OwnLayer, x: Tensor) -> dict[str, Tensor]:
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


def _strip(name: str, layer: int, kind: str, values: Tensor) -> AnalysisRow:
    flat = values[0].reshape(values.shape[1], -1)
    flat = (flat.abs() if flat.is_complex() else flat).double()
    size = flat.shape[1]
    chosen = list(range(0, size, max(1, -(-size // _MOST_ROWS))))
    rows = tuple(tuple(plain(v) for v in flat[:, i].tolist()) for i in chosen)
    return AnalysisRow(name=name, layer=layer, kind=kind, coordinates=tuple(chosen), rows=rows, size=size)


@torch.no_grad()
def attention_maps(model: Model, probe: ProbeWords) -> AnalysisRow | None:
    """Returns where each head looks along one word, None for a model without attention over all positions."""
    found = []
    for number, layer in enumerate(model.layers):
        if isinstance(layer, Attention):
            weights = layer.weights(model.inputs_of(number, probe.inputs, with_mark=True)).double()
            found += [_map(number, head, weights[:, head]) for head in range(weights.shape[1])]
    word = (*[MARK] * model.config.beginning, *probe.spell(0))
    return AnalysisRow(word=word, heads=tuple(found)) if found else None


def _map(layer: int, head: int, weights: Tensor) -> AnalysisRow:
    """The map of one head, from its weights (batch, time, time); the first word is shown."""
    time = weights.shape[1]
    places = torch.arange(time, dtype=weights.dtype)
    distances = (places[:, None] - places).clamp(min=0)
    logs = torch.where(weights > 0, weights, 1).log2()
    one = time > 1
    return AnalysisRow(
        layer=layer,
        head=head,
        weights=tuple(tuple(line) for line in weights[0].tolist()),
        distance=float((weights * distances).sum(-1).mean()),
        entropy=float(-(weights * logs).sum(-1).mean()),
        previous=float(weights.diagonal(-1, dim1=1, dim2=2).mean()) if one else 0.0,
        first=float(weights[:, 1:, 0].mean()) if one else 0.0,
    )
