"""Sparse matrices in other forms: products of Householder factors, and matrices with one entry per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nerode.core import Exact, InputError, inverse, simplify
from nerode.network.affine import Row

Vector = tuple[Exact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A generalised Householder factor I - beta v vᵀ / (vᵀ v)."""

    beta: Exact
    vector: Vector

    def __post_init__(self) -> None:
        if not any(e != 0 for e in self.vector):
            raise InputError("a Householder factor needs a vector that is not zero")

    @property
    def scale(self) -> Exact:
        """The number beta / (vᵀ v)."""
        norm: Exact = 0
        for e in self.vector:
            norm = norm + e * e
        return simplify(self.beta * inverse(norm))


def multiplied(factors: Sequence[Factor], width: int) -> tuple[Row, ...]:
    """Returns the rows of a product of Householder factors, the first factor first."""
    columns: list[dict[int, Exact]] = [{j: 1} for j in range(width)]
    for factor in factors:
        entries = [(i, e) for i, e in enumerate(factor.vector) if e != 0]
        scale = factor.scale
        for column in columns:
            product: Exact = 0
            for i, e in entries:
                product = product + e * column.get(i, 0)
            if product != 0:
                for i, e in entries:
                    column[i] = simplify(column.get(i, 0) - scale * product * e)
    rows: list[list[tuple[int, Exact]]] = [[] for _ in range(width)]
    for j, column in enumerate(columns):
        for i, value in column.items():
            if value != 0:
                rows[i].append((j, value))
    return tuple(map(tuple, rows))


def moved_columns(images: Sequence[int], diagonal: Sequence[Exact]) -> tuple[Row, ...]:
    """Returns the rows of the matrix whose column j has diagonal[j] in row images[j]."""
    rows: list[list[tuple[int, Exact]]] = [[] for _ in images]
    for j, (i, d) in enumerate(zip(images, diagonal, strict=True)):
        if d != 0:
            rows[i].append((j, d))
    return tuple(map(tuple, rows))


def check_matrix(matrix: tuple[Row, ...], width: int) -> None:
    """Raises InputError if a matrix is not square of this width."""
    if len(matrix) != width or any(not 0 <= j < width for row in matrix for j, _ in row):
        raise InputError(f"a transition matrix is not {width}x{width}")


def check_vectors(vectors: tuple[Vector, ...], count: int, width: int, what: str) -> None:
    """Raises InputError if there are not so many vectors of this width."""
    if len(vectors) != count or any(len(v) != width for v in vectors):
        raise InputError(f"the {what} are not {count} vectors of {width} entries")
