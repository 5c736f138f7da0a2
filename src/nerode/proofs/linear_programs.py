"""Is a vector a non-negative combination of others? Exact rational arithmetic, with a proof either way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Vector = Sequence[Fraction | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConeAnswer:
    """Weights that combine the generators to the target, or a vector that separates it from all of them.

    Exactly one of the two is given. A separator z has z·g ≤ 0 for every generator g and z·target > 0.
    """

    weights: tuple[Fraction, ...] | None
    separator: tuple[Fraction, ...] | None


def find_in_cone(generators: Sequence[Vector], target: Vector) -> ConeAnswer:
    """Returns non-negative weights with sum of weight · generator = target, or a separator.

    The first phase of the simplex method with the rule of Bland, which never cycles.

    Implements: [Bland1977]
    """
    height, count = len(target), len(generators)
    flips = [1 if t >= 0 else -1 for t in target]
    # Columns: the generators, one artificial unknown a row, the right-hand side.
    rows = [
        [
            *(Fraction(flips[i] * g[i]) for g in generators),
            *(Fraction(int(i == j)) for j in range(height)),
            Fraction(flips[i] * target[i]),
        ]
        for i in range(height)
    ]
    basis = [count + i for i in range(height)]
    # Reduced costs of minimising the sum of the artificial unknowns.
    costs = [-sum((row[j] for row in rows), Fraction(0)) for j in range(count + height + 1)]
    for j in range(count, count + height):
        costs[j] = Fraction(0)
    while True:
        entering = next((j for j in range(count) if costs[j] < 0), None)
        if entering is None:
            break
        leaving = _leaving_row(rows, basis, entering)
        assert leaving is not None, "a sum of non-negative unknowns is bounded below"
        _pivot(rows, costs, leaving, entering)
        basis[leaving] = entering
    if costs[-1] != 0:
        # The dual solution: 1 minus the reduced cost of each artificial unknown.
        separator = tuple(flips[i] * (1 - costs[count + i]) for i in range(height))
        return ConeAnswer(weights=None, separator=separator)
    weights = [Fraction(0)] * count
    for row, unknown in zip(rows, basis, strict=True):
        if unknown < count:
            weights[unknown] = row[-1]
    return ConeAnswer(weights=tuple(weights), separator=None)


def separates(separator: Vector, generators: Sequence[Vector], target: Vector) -> bool:
    """Whether a vector proves that the target is not in the cone."""
    return _dot(separator, target) > 0 and all(_dot(separator, g) <= 0 for g in generators)


def _leaving_row(rows: list[list[Fraction]], basis: list[int], entering: int) -> int | None:
    best: tuple[Fraction, int, int] | None = None
    for i, row in enumerate(rows):
        if row[entering] > 0:
            candidate = (row[-1] / row[entering], basis[i], i)
            best = candidate if best is None else min(best, candidate)
    return None if best is None else best[2]


def _pivot(rows: list[list[Fraction]], costs: list[Fraction], leaving: int, entering: int) -> None:
    divisor = rows[leaving][entering]
    rows[leaving] = [v / divisor for v in rows[leaving]]
    pivot = rows[leaving]
    for i, row in enumerate(rows):
        if i != leaving and row[entering]:
            factor = row[entering]
            rows[i] = [v - factor * p for v, p in zip(row, pivot, strict=True)]
    factor = costs[entering]
    costs[:] = [v - factor * p for v, p in zip(costs, pivot, strict=True)]


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((Fraction(a) * b for a, b in zip(left, right, strict=True)), Fraction(0))
