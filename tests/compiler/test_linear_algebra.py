from __future__ import annotations

from fractions import Fraction

from hypothesis import given, strategies as st
from sympy import Matrix, Rational

from nerode.compiler.linear_algebra import independent_rows, invert, multiply, transpose

entries = st.fractions(-4, 4, max_denominator=4)


@st.composite
def matrices(draw: st.DrawFn, square: bool = False) -> list[list[Fraction]]:
    height = draw(st.integers(1, 4))
    width = height if square else draw(st.integers(1, 4))
    return [[draw(entries) for _ in range(width)] for _ in range(height)]


def to_sympy(rows: list[list[Fraction]]) -> Matrix:
    return Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in rows])


@given(matrices(square=True))
def test_invert(rows: list[list[Fraction]]) -> None:
    inverse = invert(rows)
    matrix = to_sympy(rows)
    if matrix.det() == 0:
        assert inverse is None
    else:
        assert inverse is not None
        assert to_sympy(inverse) == matrix.inv()


def test_an_empty_matrix_is_its_inverse() -> None:
    assert invert([]) == []


@given(matrices(), st.data())
def test_multiply_and_transpose(rows: list[list[Fraction]], data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    right = [[data.draw(entries) for _ in range(width)] for _ in rows[0]]
    assert to_sympy(multiply(rows, right)) == to_sympy(rows) * to_sympy(right)
    assert to_sympy(transpose(rows)) == to_sympy(rows).T


@given(matrices(), st.integers(0, 4))
def test_independent_rows(rows: list[list[Fraction]], wanted: int) -> None:
    found = independent_rows(rows, wanted)
    rank = to_sympy(rows).rank()
    assert len(found) == min(wanted, rank)
    # Each is the first row that the ones before it do not span.
    for k, number in enumerate(found):
        assert to_sympy(rows[: number + 1]).rank() == k + 1
        assert number == 0 or to_sympy(rows[:number]).rank() == k
