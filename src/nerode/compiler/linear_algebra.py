"""Small dense linear algebra in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Matrix = list[list[Fraction]]


def invert(matrix: Sequence[Sequence[Fraction | int]]) -> Matrix | None:
    """Returns the inverse of a square matrix, None if it has none."""
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


def multiply(left: Sequence[Sequence[Fraction | int]], right: Sequence[Sequence[Fraction | int]]) -> Matrix:
    """Returns the product of two matrices."""
    columns = list(zip(*right, strict=True))
    return [
        [
            sum((Fraction(a) * b for a, b in zip(row, column, strict=True) if a and b), Fraction(0))
            for column in columns
        ]
        for row in left
    ]


def transpose(matrix: Sequence[Sequence[Fraction | int]]) -> Matrix:
    """Returns the transpose."""
    return [[Fraction(v) for v in column] for column in zip(*matrix, strict=True)]


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
