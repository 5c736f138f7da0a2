"""Small dense matrices with exact entries: products, inverses, orthogonal ones as products of reflections."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar, cast

from nerode.core import Exact, InputError, exact_sum, inverse, simplify
from nerode.network import Factor

E = TypeVar("E", bound=Exact)

Vector = tuple[Exact, ...]
Matrix = tuple[Vector, ...]
"""Rows of entries."""


def identity(size: int) -> Matrix:
    """Returns the identity matrix."""
    return tuple(tuple(int(i == j) for j in range(size)) for i in range(size))


def apply(matrix: Matrix, vector: Sequence[Exact]) -> Vector:
    """Returns the product of a matrix and a vector."""
    return tuple(_dot(row, vector) for row in matrix)


def multiply(left: Sequence[Sequence[E]], right: Sequence[Sequence[E]]) -> tuple[tuple[E, ...], ...]:
    """Returns the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return tuple(tuple(cast("E", _dot(row, column)) for column in columns) for row in left)


def invert(matrix: Sequence[Sequence[Fraction | int]]) -> list[list[Fraction]] | None:
    """Returns the inverse of a square matrix of rational numbers, None if it has none."""
    n = len(matrix)
    rows = [
        [Fraction(v) for v in row] + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(matrix)
    ]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [v / scale for v in rows[column]]
        for i in range(n):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [v - factor * p for v, p in zip(rows[i], rows[column], strict=True)]
    return [row[n:] for row in rows]


def independent_rows(rows: Sequence[Sequence[Fraction | int]], wanted: int) -> list[int]:
    """Returns the first `wanted` rows (by number) that are linearly independent; fewer if there are fewer."""
    basis: list[tuple[int, list[Fraction]]] = []
    found: list[int] = []
    for number, row in enumerate(rows):
        if len(found) == wanted:
            break
        rest = [Fraction(v) for v in row]
        for pivot, vector in basis:
            if rest[pivot]:
                factor = rest[pivot] / vector[pivot]
                rest = [a - factor * b for a, b in zip(rest, vector, strict=True)]
        pivot_at = next((j for j, v in enumerate(rest) if v), None)
        if pivot_at is not None:
            basis.append((pivot_at, rest))
            found.append(number)
    return found


def block_diagonal(blocks: Sequence[Matrix]) -> Matrix:
    """Returns the matrix with these blocks on its diagonal."""
    width = sum(map(len, blocks))
    rows: list[Vector] = []
    for block in blocks:
        before = len(rows)
        after = width - before - len(block)
        rows.extend(((0,) * before + row + (0,) * after) for row in block)
    return tuple(rows)


def reflection_factors(matrix: Matrix) -> tuple[Factor, ...]:
    """Returns the fewest reflections whose product, first factor first, is an orthogonal matrix.

    A vector that the matrix moves from x to y is brought back by the reflection along y - x, which moves
    nothing that the matrix fixes; so the fixed space grows by one dimension each time, and the number of
    reflections is the dimension of the moved space.

    Raises:
        InputError: if the matrix is not orthogonal.

    Implements: [Grazzi2025]
    """
    size = len(matrix)
    if multiply(matrix, tuple(zip(*matrix, strict=True))) != identity(size):
        raise InputError("the matrix is not orthogonal, so it is not a product of reflections")
    found: list[Factor] = []
    rest = [list(column) for column in zip(*matrix, strict=True)]
    for i in range(size):
        vector = tuple(simplify(e - int(i == j)) for j, e in enumerate(rest[i]))
        if not any(e != 0 for e in vector):
            continue
        found.append(Factor(beta=2, vector=vector))
        scale = 2 * inverse(_dot(vector, vector))
        for column in rest:
            amount = scale * _dot(vector, column)
            for j, e in enumerate(vector):
                if e != 0:
                    column[j] = column[j] - amount * e
    return tuple(reversed(found))


def _dot(left: Sequence[Exact], right: Sequence[Exact]) -> Exact:
    return exact_sum(a * b for a, b in zip(left, right, strict=True) if a != 0 and b != 0)
