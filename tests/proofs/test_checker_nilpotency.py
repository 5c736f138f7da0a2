from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st
from sympy import Matrix, Rational, zeros

from nerode.core import InputError, root_of_unity
from nerode.proofs import checker_nilpotency
from nerode.proofs.checker_nilpotency import nilpotency


def test_powers_that_get_too_large_are_refused_in_no_time() -> None:
    """Otherwise there are not enough primes that are small enough, and looking for them never ends."""
    huge = Fraction(2**10_000 + 1)
    size = 200
    rows = [[huge if j == (i + 1) % size else Fraction(0) for j in range(size)] for i in range(size)]
    with pytest.raises(InputError, match="bits"):
        nilpotency(sparse(rows))


def sparse(rows: list[list[Fraction]]) -> tuple[tuple[tuple[int, Fraction], ...], ...]:
    return tuple(tuple((j, v) for j, v in enumerate(row) if v) for row in rows)


def order_by_sympy(rows: list[list[Fraction]]) -> int | None:
    size = len(rows)
    matrix = Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in rows])
    power = matrix
    for n in range(1, size + 1):
        if power == zeros(size, size):
            return n
        power = power * matrix
    return None


@st.composite
def matrices(draw: st.DrawFn) -> list[list[Fraction]]:
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
def test_against_multiplying_out(rows: list[list[Fraction]]) -> None:
    assert nilpotency(sparse(rows)) == order_by_sympy(rows)


def test_large_entries_are_not_mistaken_for_zero() -> None:
    """The square of this matrix is a multiple of the first primes that are tried, and not zero."""
    primes = list(checker_nilpotency._primes_beyond(10**40, 2))
    product = 1
    for prime in primes:
        product *= prime
    matrix = ((), ((0, product),), ((1, 1),))
    assert nilpotency(matrix) == 3
    assert nilpotency(((), ((0, product),), ((1, product), (2, product)))) is None


def test_zero_and_empty() -> None:
    assert nilpotency(()) == 1
    assert nilpotency(((), ())) == 1
    assert nilpotency(((), ((0, 0),))) == 1


def test_a_wide_matrix_that_reads_few_columns() -> None:
    rows = [((0, Fraction(1)), (1, Fraction(-1))), ((0, Fraction(1)), (1, Fraction(-1)))]
    rows += [((0, Fraction(k)), (1, Fraction(1, k % 7 + 1))) for k in range(5000)]
    assert nilpotency(tuple(rows)) == 3


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="irrational"):
        nilpotency((((0, root_of_unity(1, 8)),),))
    monkeypatch.setattr(checker_nilpotency, "MOST_COLUMNS", 1)
    with pytest.raises(InputError, match="2 columns"):
        nilpotency((((1, 1),), ((0, 1),)))
