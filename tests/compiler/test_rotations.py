from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st
from sympy import Matrix, Rational

from nerode.compiler.rotations import (
    apply,
    block_diagonal,
    icosahedral_generators,
    identity,
    independent_rows,
    invert,
    multiply,
    reflection,
    reflection_factors,
    rotation,
)
from nerode.core import InputError, exact_sum, inverse
from nerode.network import Factor


def product_of(factors: tuple[Factor, ...], size: int):
    """The product of the factors, the first one applied first."""
    found = identity(size)
    for factor in factors:
        v = factor.vector
        scale = factor.beta * inverse(exact_sum(e * e for e in v))
        step = tuple(tuple(int(i == j) - scale * v[i] * v[j] for j in range(size)) for i in range(size))
        found = multiply(step, found)
    return found


@st.composite
def signed_permutations(draw):
    n = draw(st.integers(1, 6))
    images = draw(st.permutations(range(n)))
    signs = draw(st.lists(st.sampled_from([1, -1]), min_size=n, max_size=n))
    return tuple(tuple(signs[j] if images[j] == i else 0 for j in range(n)) for i in range(n))


@given(signed_permutations())
def test_signed_permutations_are_products_of_few_integer_reflections(matrix):
    factors = reflection_factors(matrix)
    assert product_of(factors, len(matrix)) == matrix
    assert len(factors) == rank_of_moved_space(matrix)
    assert all(isinstance(e, int) for factor in factors for e in factor.vector)


def rank_of_moved_space(matrix):
    """The rank of the matrix minus the identity, by elimination."""
    n = len(matrix)
    rows = [[Fraction(matrix[i][j]) - int(i == j) for j in range(n)] for i in range(n)]
    rank = 0
    for column in range(n):
        pivot = next((i for i in range(rank, n) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(n):
            if i != rank and rows[i][column]:
                factor = rows[i][column] / rows[rank][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@pytest.mark.parametrize("m", [3, 4, 5, 7, 12])
def test_rotations_of_the_plane_take_two_and_mirrors_one(m):
    for k in range(1, m):
        assert len(reflection_factors(rotation(k, m))) == 2
        assert product_of(reflection_factors(rotation(k, m)), 2) == rotation(k, m)
        assert len(reflection_factors(reflection(k, m))) == 1
        assert product_of(reflection_factors(reflection(k, m)), 2) == reflection(k, m)
    assert reflection_factors(rotation(0, m)) == ()


def test_the_generators_of_the_icosahedron_satisfy_the_relations_of_a5():
    a, b = icosahedral_generators()
    assert multiply(a, a) == identity(3)
    assert multiply(b, multiply(b, b)) == identity(3)
    fifth = identity(3)
    for _ in range(5):
        fifth = multiply(fifth, multiply(a, b))
    assert fifth == identity(3)
    assert len(reflection_factors(multiply(a, b))) == 2


def test_the_icosahedron_has_sixty_rotations():
    generators = icosahedral_generators()
    found = [identity(3)]
    for matrix in found:
        for generator in generators:
            image = multiply(generator, matrix)
            if image not in found:
                found.append(image)
    assert len(found) == 60


def test_blocks_act_side_by_side():
    matrix = block_diagonal([rotation(1, 4), ((-1,),)])
    assert apply(matrix, (1, 0, 5)) == (0, 1, -5)


def test_a_matrix_that_is_not_orthogonal_is_refused():
    with pytest.raises(InputError, match="not orthogonal"):
        reflection_factors(((1, 1), (0, 1)))


entries = st.fractions(-4, 4, max_denominator=4)


@st.composite
def matrices(draw: st.DrawFn, square: bool = False) -> list[list[Fraction]]:
    height = draw(st.integers(1, 4))
    width = height if square else draw(st.integers(1, 4))
    return [[draw(entries) for _ in range(width)] for _ in range(height)]


def to_sympy(rows: Sequence[Sequence[Fraction]]) -> Matrix:
    return Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in rows])


@given(matrices(square=True))
def test_invert(rows: list[list[Fraction]]) -> None:
    found = invert(rows)
    matrix = to_sympy(rows)
    if matrix.det() == 0:
        assert found is None
    else:
        assert found is not None
        assert to_sympy(found) == matrix.inv()


def test_an_empty_matrix_is_its_inverse() -> None:
    assert invert([]) == []


@given(matrices(), st.data())
def test_multiply(rows: list[list[Fraction]], data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    right = [[data.draw(entries) for _ in range(width)] for _ in rows[0]]
    assert to_sympy(multiply(rows, right)) == to_sympy(rows) * to_sympy(right)


@given(matrices(), st.integers(0, 4))
def test_independent_rows(rows: list[list[Fraction]], wanted: int) -> None:
    found = independent_rows(rows, wanted)
    rank = to_sympy(rows).rank()
    assert len(found) == min(wanted, rank)
    # Each is the first row that the ones before it do not span.
    for k, number in enumerate(found):
        assert to_sympy(rows[: number + 1]).rank() == k + 1
        assert number == 0 or to_sympy(rows[:number]).rank() == k
