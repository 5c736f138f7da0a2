"""Where each position of a transformer looks, and how far back that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nerode.analysis.probes import Probe
from nerode.core import to_mapping
from nerode.models import Model
from nerode.models.architectures import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionMap:
    """The weights of one head.

    Attributes:
        layer: its layer.
        head: its number.
        weights: along one word: a row for each position that looks, a column for each that is looked at.
        distance: how far back it looks on average, over all words.
        entropy: of its weights in bits, on average: 0 for one place, more for many.
        previous: the share of its weight on the position before, on average over positions that have one.
        first: the share on the first position, on average over all other positions.
    """

    layer: int
    head: int
    weights: tuple[tuple[float, ...], ...]
    distance: float
    entropy: float
    previous: float
    first: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionMaps:
    """The weights of all heads along one word.

    Attributes:
        word: its letters.
        heads: all heads of all layers.
    """

    word: tuple[str, ...]
    heads: tuple[AttentionMap, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        return to_mapping(self)


@torch.no_grad()
def attention_maps(model: Model, probe: Probe, row: int = 0) -> AttentionMaps | None:
    """Returns where each head looks along one word, None for a model without attention over all positions."""
    found = []
    for number, layer in enumerate(model.layers):
        if isinstance(layer, Attention):
            weights = layer.weights(model.inputs_of(number, probe.inputs)).double()
            found += [_map(number, head, weights[:, head], row) for head in range(weights.shape[1])]
    return AttentionMaps(word=probe.spell(row), heads=tuple(found)) if found else None


def _map(layer: int, head: int, weights: Tensor, row: int) -> AttentionMap:
    """The map of one head, from its weights (batch, time, time)."""
    time = weights.shape[1]
    places = torch.arange(time, dtype=weights.dtype)
    distances = (places[:, None] - places).clamp(min=0)
    logs = torch.where(weights > 0, weights, 1).log2()
    one = time > 1
    return AttentionMap(
        layer=layer,
        head=head,
        weights=tuple(tuple(line) for line in weights[row].tolist()),
        distance=float((weights * distances).sum(-1).mean()),
        entropy=float(-(weights * logs).sum(-1).mean()),
        previous=float(weights.diagonal(-1, dim1=1, dim2=2).mean()) if one else 0.0,
        first=float(weights[:, 1:, 0].mean()) if one else 0.0,
    )
