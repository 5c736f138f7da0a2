"""Exact numbers of the kernel against an evaluation with decimals of many digits."""

from __future__ import annotations

import decimal
import functools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from nerode.kernel.domains.roots import Field, RootSum, cyclotomic_polynomial
from nerode.kernel.numbers import Number, Ratio, imaginary_part, plain, read_rational, real_part, sign
from nerode.kernel.work import Undecided, Unreadable, WorkBudget, WorkCount

DIGITS = 400
ORDERS = (5, 7, 8, 12, 15, 16, 24, 60)


@functools.cache
def cosine(k: int, m: int) -> Decimal:
    """cos(2πk/m) to many digits: the series at a sixteenth of the angle, then four doublings."""
    with decimal.localcontext() as context:
        context.prec = DIGITS + 50
        x = 2 * _pi() * k / m / 16
        term = total = Decimal(1)
        n = 0
        while abs(term) > Decimal(10) ** -(DIGITS + 40):
            n += 2
            term = -term * x * x / (n * (n - 1))
            total += term
        for _ in range(4):
            total = 2 * total * total - 1
        return total


def _pi() -> Decimal:
    """π by the Gauss-Legendre iteration, which the kernel does not use."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), 1
    for _ in range(10):
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return (a + b) ** 2 / (4 * t)


def real_value(value: Number) -> Decimal:
    with decimal.localcontext() as context:
        context.prec = DIGITS
        if not isinstance(value, RootSum):
            return Decimal(value.numerator) / Decimal(value.denominator)
        total = Decimal(0)
        for k, n in enumerate(value.numerators):
            if n:
                total += Decimal(n) * cosine(k, value.field.order)
        return total / Decimal(value.denominator)


@st.composite
def real_numbers(draw: st.DrawFn) -> Number:
    """Sums of 2·cos(2πk/m) with small, large and nearly cancelling coefficients."""
    field = Field(math.lcm(4, draw(st.sampled_from(ORDERS))), WorkCount())
    size = draw(st.sampled_from([3, 10**6, 10**300]))
    total: Number = Fraction(draw(st.integers(-size, size)), draw(st.integers(1, 50)))
    for _ in range(draw(st.integers(1, 4))):
        k = draw(st.integers(1, field.order))
        total = total + (field.root(k) + field.root(-k)) * draw(st.integers(-size, size))
    return total


@given(real_numbers())
def test_signs_are_those_of_decimals(value: Number) -> None:
    exact = real_value(value)
    assert sign(value) == (exact > 0) - (exact < 0)


@given(real_numbers(), st.sampled_from([64, 128, 300]))
def test_bounds_hold_the_number(value: Number, bits: int) -> None:
    if isinstance(value, RootSum):
        low, high = value.real_bounds(bits)
        exact = Fraction(real_value(value))
        assert low <= exact <= high


def test_a_number_next_to_zero_has_its_sign() -> None:
    field = Field(20, WorkCount())
    number = (field.root(4) + field.root(-4)) * Fraction(1, 2)
    digits = Fraction(real_value(number))
    for places in (20, 60, 90):
        below = Fraction(int(digits * 10**places), 10**places)
        assert sign(number - below) == 1
        assert sign(number - below - Fraction(1, 10**places)) == -1


def test_the_number_of_finding_1_1_is_negative() -> None:
    field = Field(16, WorkCount())
    big = 10**307
    z = field.root
    value = (
        Fraction(175 * big // 10 + 1, 22)
        + (z(1) - z(7)) * Fraction(big + 1, 22)
        + (z(2) - z(6)) * Fraction(-17 * big - 1, 22)
    )
    assert sign(value) == -1
    assert real_value(value) < 0


def test_complex_numbers_have_no_sign() -> None:
    with pytest.raises(Undecided, match="not real"):
        sign(Field(12, WorkCount()).root(1))


@given(st.sampled_from(ORDERS), st.integers(0, 100), st.integers(0, 100))
def test_arithmetic_of_roots(order: int, j: int, k: int) -> None:
    field = Field(math.lcm(4, order), WorkCount())
    assert field.root(j) * field.root(k) == field.root(j + k)
    assert field.root(j) - field.root(j + field.order) == 0
    number = field.root(j) + field.root(k) * Fraction(2, 3) + 3
    assert number * field.inverse(number) == 1
    i = field.root(field.order // 4)
    assert real_part(number) + i * imaginary_part(number) == number


RATIONALS = st.fractions(min_value=-50, max_value=50, max_denominator=60)


@given(RATIONALS, RATIONALS)
def test_ratios_compute_like_fractions(a: Fraction, b: Fraction) -> None:
    for x in (a, plain(a)):
        for y in (b, plain(b)):
            assert (x + y, x - y, x * y, -x) == (a + b, a - b, a * b, -a)
            assert [x == y, x < y, x <= y, x > y, x >= y] == [a == b, a < b, a <= b, a > b, a >= b]
            assert x != y or hash(x) == hash(y)
    for value in (plain(a) + plain(b), plain(a) - plain(b), plain(a) * plain(b), plain(a)):
        assert type(value) is (int if value.denominator == 1 else Ratio)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 6, 15, 30, 105, 360])
def test_cyclotomic_polynomials_multiply_to_a_binomial(m: int) -> None:
    product = [1]
    for d in range(1, m + 1):
        if m % d == 0:
            phi = cyclotomic_polynomial(d)
            product = [
                sum(product[i] * phi[n - i] for i in range(len(product)) if 0 <= n - i < len(phi))
                for n in range(len(product) + len(phi) - 1)
            ]
    assert product == [-1, *[0] * (m - 1), 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-3/4", Fraction(-3, 4)),
        ("e(1/2)", -1),
        ("1/2*e(0/8)-1", Fraction(-1, 2)),
        ("e(1/3)+e(2/3)", -1),
        (7, 7),
        ("0012", 12),
    ],
)
def test_written_numbers(text: Any, value: Number) -> None:
    assert Field(24, WorkCount()).read(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "1/0", "1//2", "e(1/7)", "e(1/0)", "1 2", "1.5", "--1", "1+", "٣", "nan", None, 1.5, True, [1]),
        *("9" * 1_001, "1/" + "9" * 1_001, "+1" * 2_001, "1" * 30_000),
    ],
)
def test_what_is_no_number_is_refused_in_one_sentence(text: Any) -> None:
    with pytest.raises(Unreadable) as refused:
        Field(24, WorkCount()).read(text)
    assert len(str(refused.value)) < 200
    with pytest.raises(Unreadable):
        read_rational(text if text != "e(1/7)" else None, "eps")


def test_orders_are_bounded_before_a_field_is_made() -> None:
    with pytest.raises(Unreadable, match="outside 1…5,000"):
        Field.around(["e(1/5001)"], WorkCount())
    with pytest.raises(Unreadable, match="above 5,000"):
        Field.around(["e(1/4999)", "e(1/7)"], WorkCount())


def test_work_with_large_orders_is_counted() -> None:
    work = WorkCount(WorkBudget(seconds=1000))
    field = Field(1604, work)
    before = work.units
    number = field.read("e(1/401)+2")
    assert (number * number) != 0
    assert work.units > before
