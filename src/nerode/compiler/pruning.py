"""Dropping what nobody reads: outputs of layers, and what served only them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nerode.network import Affine, Decoder, Layer


def drop_unread(layers: Sequence[Layer], decoder: Decoder) -> list[Layer]:
    """Returns the layers without outputs that neither a later layer nor the decoder reads."""
    wanted = set(decoder.reads)
    kept = []
    for layer in reversed(layers):
        pruned = _drop_reads(_drop_previous(_drop_units(_drop_outputs(layer, wanted))))
        wanted.update(pruned.reads)
        kept.append(pruned)
    return kept[::-1]


def _drop_outputs(layer: Layer, wanted: set[str]) -> Layer:
    keep = [i for i, name in enumerate(layer.outputs) if name in wanted]
    return replace(layer, outputs=tuple(layer.outputs[i] for i in keep), readout=_rows(layer.readout, keep))


def _drop_units(layer: Layer) -> Layer:
    """Drops readout units that no output reads."""
    first = layer.readout_units.num_inputs
    used = _columns(layer.readout)
    keep = [i for i in range(layer.readout_units.num_outputs) if first + i in used]
    return replace(
        layer,
        readout_units=_rows(layer.readout_units, keep),
        readout=_select(layer.readout, [*range(first), *(first + i for i in keep)]),
    )


def _drop_previous(layer: Layer) -> Layer:
    """Stops showing the state before the letter if no output depends on it."""
    if not layer.exposes_previous:
        return layer
    copies = layer.width * (2 if layer.complex_state else 1)
    first = len(layer.reads) + copies
    hidden = set(range(first, first + copies))
    if hidden & (_columns(layer.readout_units) | _columns(layer.readout)):
        return layer
    return replace(
        layer,
        exposes_previous=False,
        readout_units=_select(layer.readout_units, range(first)),
        readout=_select(layer.readout, [c for c in range(layer.readout.num_inputs) if c not in hidden]),
    )


def _drop_reads(layer: Layer) -> Layer:
    """Drops directions of the stream that the layer no longer looks at."""
    recurrence = layer.recurrence
    if recurrence.as_gated() is None and recurrence.as_fixed() is None:
        return layer
    maps = [layer.units, *recurrence.maps(), layer.readout_units, layer.readout]
    used = set().union(*map(_columns, maps))
    keep = [i for i in range(len(layer.reads)) if i in used]
    count = len(layer.reads)

    def narrow(given: Affine) -> Affine:
        return _select(given, [*keep, *range(count, given.num_inputs)])

    return replace(
        layer,
        reads=tuple(layer.reads[i] for i in keep),
        units=narrow(layer.units),
        recurrence=recurrence.with_maps(narrow),
        readout_units=narrow(layer.readout_units),
        readout=narrow(layer.readout),
    )


def _columns(given: Affine) -> set[int]:
    return {column for row in given.rows for column, _ in row}


def _rows(given: Affine, keep: Sequence[int]) -> Affine:
    return replace(given, bias=tuple(given.bias[i] for i in keep), rows=tuple(given.rows[i] for i in keep))


def _select(given: Affine, columns: Sequence[int]) -> Affine:
    """The map on these inputs only; the others are not used."""
    number = {column: i for i, column in enumerate(columns)}
    rows = tuple(tuple((number[column], c) for column, c in row) for row in given.rows)
    return Affine(num_inputs=len(columns), bias=given.bias, rows=rows)
