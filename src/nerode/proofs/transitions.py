"""What a layer stores, and whether products of its transitions stay exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nerode.core import Exact
from nerode.network import Affine, Layer, Network, PointDecoder, Row, ScoreDecoder
from nerode.proofs.dyadic import NotDyadicError, is_unit


def groups_exactly(layer: Layer) -> bool:
    """Whether products of the layer's transitions stay exact: they only move coordinates and change signs.

    Of gates this is seen only at each step.
    """
    return all(map(_moves_only, layer.recurrence.applied()))


def _moves_only(matrix: Sequence[Row]) -> bool:
    """Whether a matrix has at most one entry per column, of absolute value 1."""
    columns = [j for row in matrix for j, _ in row]
    return len(set(columns)) == len(columns) and all(is_unit(c) for row in matrix for _, c in row)


def stored_numbers(network: Network) -> Iterable[Exact]:
    """Every number that a model has to store."""
    maps: list[Affine] = []
    for vector in network.embedding.vectors:
        yield from vector
    for layer in network.layers:
        if not layer.recurrence.exact:
            raise NotDyadicError
        yield from layer.start
        yield from layer.recurrence.constants()
        maps += [layer.units, *layer.recurrence.maps(), layer.readout_units, layer.readout]
    decoder = network.decoder
    if isinstance(decoder, ScoreDecoder):
        maps += [decoder.units, decoder.scores]
    elif isinstance(decoder, PointDecoder):
        yield from (c for point in decoder.points for c in point)
    for affine in maps:
        yield from affine.bias
        yield from (c for row in affine.rows for _, c in row)
