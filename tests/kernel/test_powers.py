"""Powers of a matrix: when they vanish, against multiplying out, and how long that may take."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st
from sympy import Matrix, Rational, zeros

from nerode.kernel.domains import windows
from nerode.kernel.domains.roots import Field
from nerode.kernel.domains.windows import nilpotency
from nerode.kernel.work import OverBudget, Undecided, WorkBudget, WorkCount

Rows = list[list[Fraction]]


def sparse(rows: Rows) -> tuple[tuple[tuple[int, Fraction], ...], ...]:
    return tuple(tuple((j, v) for j, v in enumerate(row) if v) for row in rows)


def order_by_sympy(rows: Rows) -> int | None:
    size = len(rows)
    matrix = Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in rows])
    power = matrix
    for n in range(1, size + 1):
        if power == zeros(size, size):
            return n
        power = power * matrix
    return None


@st.composite
def matrices(draw: st.DrawFn) -> Rows:
    """Rational matrices, half of them nilpotent but not by the places of their zeros."""
    size = draw(st.integers(1, 4))
    entry = st.fractions(-3, 3, max_denominator=5)
    below = [[draw(entry) if j < i else Fraction(0) for j in range(size)] for i in range(size)]
    if draw(st.booleans()):
        below[draw(st.integers(0, size - 1))][draw(st.integers(0, size - 1))] = draw(entry)
    # A change of basis by a unipotent matrix and its inverse.
    upper = Matrix(
        [[1 if i == j else draw(st.integers(-2, 2)) * (j > i) for j in range(size)] for i in range(size)]
    )
    middle = Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in below])
    changed = upper * middle * upper.inv()
    return [[Fraction(int(v.p), int(v.q)) for v in changed.row(i)] for i in range(size)]


@given(matrices())
def test_against_multiplying_out(rows: Rows) -> None:
    assert nilpotency(sparse(rows), WorkCount()) == order_by_sympy(rows)


def test_zero_and_empty() -> None:
    assert nilpotency((), WorkCount()) == 1
    assert nilpotency(((), ()), WorkCount()) == 1
    assert nilpotency(((), ((0, 0),)), WorkCount()) == 1


def test_large_entries_are_not_mistaken_for_zero() -> None:
    large = 10**900 + 7
    assert nilpotency(((), ((0, large),), ((1, 1),)), WorkCount()) == 3
    assert nilpotency(((), ((0, large),), ((1, large), (2, large))), WorkCount()) is None


def test_a_wide_matrix_that_reads_few_columns() -> None:
    rows = [((0, Fraction(1)), (1, Fraction(-1))), ((0, Fraction(1)), (1, Fraction(-1)))]
    rows += [((0, Fraction(k)), (1, Fraction(1, k % 7 + 1))) for k in range(5000)]
    assert nilpotency(tuple(rows), WorkCount()) == 3


def test_powers_that_get_too_large_end_with_the_budget() -> None:
    huge, size = 10**999 + 1, 400
    rows = tuple(tuple((j, huge + i) for j in ((i + 1) % size, (i + 3) % size)) for i in range(size))
    started = time.thread_time()
    with pytest.raises(OverBudget):
        nilpotency(rows, WorkCount(WorkBudget(seconds=0.3)))
    assert time.thread_time() - started < 1.5


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Undecided, match="rational"):
        nilpotency((((0, Field(8, WorkCount()).root(1)),),), WorkCount())
    monkeypatch.setattr(windows, "MAX_COLUMNS", 1)
    with pytest.raises(Undecided, match="2 columns"):
        nilpotency((((1, 1),), ((0, 1),)), WorkCount())
