from __future__ import annotations

import numpy as np
import pytest

from nerode.analysis.polish.exact_parts import NoExactForm, exact_parts, invert, multiply
from nerode.analysis.polish.learned import LetteredGroup
from nerode.core import root_of_unity, square_root, to_complex
from nerode.languages.groups import finite_monoid
from tests.analysis.polish.planted import points, regular, turned, turns


def lettered(name: str) -> LetteredGroup:
    group = finite_monoid(name)
    return LetteredGroup(group=group, letters=tuple(range(group.order)))


@pytest.mark.parametrize(
    ("name", "matrices", "degrees"),
    [
        ("S3", regular("S3"), [1, 1, 2, 2]),
        ("Q8", regular("Q8"), [1, 1, 1, 1, 2, 2]),
        ("S4", points("S4"), [1, 3]),
        ("A5", points("A5"), [1, 4]),
        ("Z60", turns(60, 7), [1, 1]),
    ],
)
def test_the_parts_are_irreducible_and_give_the_matrices_back(
    name: str, matrices: np.ndarray, degrees: list[int]
) -> None:
    block = turned(matrices, 3)
    parts = exact_parts(block, lettered(name))
    assert sorted(part.degree for part in parts) == degrees
    basis = np.concatenate([part.basis for part in parts], axis=1)
    for number, matrix in enumerate(block):
        exact = np.zeros(matrix.shape, dtype=complex)
        first = 0
        for part in parts:
            rows = slice(first, first + part.degree)
            exact[rows, rows] = [[to_complex(e) for e in row] for row in part.matrices[number]]
            first += part.degree
        assert basis @ exact @ np.linalg.inv(basis) == pytest.approx(matrix, abs=1e-9)


def test_the_exact_matrices_multiply_exactly() -> None:
    group = lettered("A5")
    for part in exact_parts(turned(points("A5"), 0), group):
        for g in (1, 7, 20):
            for h in (3, 33, 59):
                product = group.group.product(g, h)
                assert part.matrices[product] == multiply(part.matrices[h], part.matrices[g])


def test_eigenvalues_that_are_no_roots_of_unity_are_refused() -> None:
    angles = 0.1 + 2 * np.pi * np.arange(5) / 5
    block = np.stack([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    with pytest.raises(NoExactForm, match="no root of unity of order"):
        exact_parts(block, lettered("Z5"))


def test_inverses_are_exact() -> None:
    matrix = ((square_root(5), root_of_unity(1, 3)), (1, root_of_unity(1, 4)))
    assert multiply(invert(matrix), matrix) == ((1, 0), (0, 1))
    with pytest.raises(NoExactForm, match="dependent"):
        invert(((1, 2), (2, 4)))
