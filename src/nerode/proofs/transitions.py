"""What a layer stores, and whether products of its transitions stay exact."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from nerode.core import Exact, inverse, simplify
from nerode.network import (
    Affine,
    Factor,
    Fixed,
    Gated,
    Householder,
    Layer,
    LetterMatrices,
    Network,
    PermutationDiagonal,
    PointDecoder,
    ScoreDecoder,
    Squashed,
)
from nerode.proofs.dyadic import NotDyadicError, is_unit


def groups_exactly(layer: Layer) -> bool:
    """Whether products of the layer's transitions stay exact: they only move coordinates and change signs."""
    match layer.recurrence:
        case Gated() | Squashed():
            return True
        case Fixed(matrix=matrix):
            return _moves_only([list(enumerate(matrix))])
        case LetterMatrices(matrices=matrices):
            return _moves_only([list(enumerate(matrix)) for matrix in matrices])
        case PermutationDiagonal(diagonals=diagonals):
            return all(d == 0 or is_unit(d) for diagonal in diagonals for d in diagonal)
        case Householder(factors=factors):
            return all(_swaps_only(f) for letter in factors for f in letter)
        case _:
            return False


def _moves_only(matrices: Iterable[list[tuple[int, Sequence[tuple[int, Exact]]]]]) -> bool:
    for matrix in matrices:
        columns = [j for _, row in matrix for j, _ in row]
        if len(set(columns)) < len(columns) or not all(is_unit(c) for _, row in matrix for _, c in row):
            return False
    return True


def _swaps_only(factor: Factor) -> bool:
    """Whether I - beta v vᵀ/(vᵀv) has at most one entry a column, of absolute value 1."""
    scale = factor_scale(factor)
    support = [(j, v) for j, v in enumerate(factor.vector) if v != 0]
    for j, v in support:
        column = [int(i == j) - scale * w * v for i, w in support]
        entries = [c for c in column if c != 0]
        if len(entries) > 1 or not all(map(is_unit, entries)):
            return False
    return True


def stored_numbers(network: Network) -> Iterable[Exact]:
    """Every number that a model has to store."""
    maps: list[Affine] = []
    for vector in network.embedding.vectors:
        yield from vector
    for layer in network.layers:
        yield from layer.start
        maps += [layer.units, layer.readout_units, layer.readout]
        match layer.recurrence:
            case Gated(gate=gate, write=write):
                maps += [gate, write]
            case Fixed(matrix=matrix, write=write):
                maps.append(write)
                yield from (c for row in matrix for _, c in row)
            case LetterMatrices(matrices=matrices, writes=writes):
                yield from (c for m in matrices for row in m for _, c in row)
                yield from (c for w in writes for c in w)
            case PermutationDiagonal(diagonals=diagonals, writes=writes):
                yield from (c for v in (*diagonals, *writes) for c in v)
            case Householder(factors=factors, writes=writes, selector=selector):
                maps += [] if selector is None else [selector]
                yield from (c for w in writes for c in w)
                for factor in (f for letter in factors for f in letter):
                    yield factor_scale(factor)
                    yield from factor.vector
            case Squashed(update=update):
                maps.append(update)
            case _:
                raise NotDyadicError
    decoder = network.decoder
    if isinstance(decoder, ScoreDecoder):
        maps += [decoder.units, decoder.scores]
    elif isinstance(decoder, PointDecoder):
        yield from (c for point in decoder.points for c in point)
    for affine in maps:
        yield from affine.bias
        yield from (c for row in affine.rows for _, c in row)


@functools.lru_cache(maxsize=4096)
def factor_scale(factor: Factor) -> Exact:
    """The factor beta/(vᵀv)."""
    square: Exact = 0
    for entry in factor.vector:
        square = square + entry * entry
    return simplify(factor.beta * inverse(square))
