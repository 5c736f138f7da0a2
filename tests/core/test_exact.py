"""The table of float formats agrees with torch."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, strategies as st

from nerode.core import DTYPES
from nerode.core.budget import Budget
from nerode.core.errors import BudgetExceeded, InputError
from nerode.core.exact import (
    cosine,
    imaginary_part,
    inverse,
    read_exact,
    read_fraction,
    real_part,
    root_of_unity,
    sign,
    sine,
    square_root,
    to_complex,
    to_float,
    write_exact,
)
from tests.timing import within

fractions = st.fractions(min_value=-5, max_value=5, max_denominator=12)
roots = st.tuples(st.integers(0, 30), st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 15])).map(
    lambda t: root_of_unity(*t)
)
numbers = st.lists(st.tuples(fractions, roots), max_size=4).map(
    lambda terms: sum((c * r for c, r in terms), start=0)
)


@given(numbers, numbers)
def test_arithmetic_agrees_with_floats(x, y):
    assert cmath.isclose(to_complex(x + y), to_complex(x) + to_complex(y), abs_tol=1e-9)
    assert cmath.isclose(to_complex(x * y), to_complex(x) * to_complex(y), abs_tol=1e-9)
    assert cmath.isclose(to_complex(x - y), to_complex(x) - to_complex(y), abs_tol=1e-9)


@given(numbers, numbers, numbers)
def test_field_laws_hold_exactly(x, y, z):
    assert x + y == y + x
    assert x * (y + z) == x * y + x * z
    assert x - x == 0
    if x != 0:
        assert x * inverse(x) == 1


@given(numbers)
def test_written_form_round_trips(x):
    assert read_exact(write_exact(x)) == x


@given(numbers)
def test_parts_and_signs(x):
    re, im = real_part(x), imaginary_part(x)
    assert math.isclose(to_float(re), to_complex(x).real, abs_tol=1e-9)
    assert math.isclose(to_float(im), to_complex(x).imag, abs_tol=1e-9)
    assert re + im * root_of_unity(1, 4) == x
    if abs(to_float(re)) > 1e-6:
        assert sign(re) == (1 if to_float(re) > 0 else -1)


@given(numbers)
def test_equal_numbers_have_equal_hashes(x):
    lifted = x * root_of_unity(1, 7) * root_of_unity(6, 7)
    assert lifted == x
    assert hash(lifted) == hash(x)


@pytest.mark.parametrize("m", [1, 2, 3, 7, 12, 60, 105])
def test_roots_have_their_order(m):
    power = 1
    for k in range(1, m + 1):
        power = power * root_of_unity(1, m)
        assert (power == 1) == (k == m)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 45, 210])
def test_square_roots(n):
    root = square_root(n)
    assert root * root == n
    assert sign(root) == (1 if n else 0)


@pytest.mark.parametrize(("k", "m"), [(1, 5), (2, 7), (3, 8), (5, 12), (1, 60)])
def test_cosine_and_sine(k, m):
    assert math.isclose(to_float(cosine(k, m)), math.cos(2 * math.pi * k / m), abs_tol=1e-12)
    assert math.isclose(to_float(sine(k, m)), math.sin(2 * math.pi * k / m), abs_tol=1e-12)
    assert cosine(k, m) * cosine(k, m) + sine(k, m) * sine(k, m) == 1


def test_the_sign_of_a_number_that_floats_cannot_see():
    # A convergent of sqrt 2 with about 40 digits; the difference is far below double precision.
    p, q = 1, 1
    for _ in range(60):
        p, q = p + 2 * q, p + q
    difference = square_root(2) - Fraction(p, q)
    assert sign(difference) == (1 if 2 * q * q > p * p else -1)


def test_the_sign_of_a_number_that_no_float_holds():
    assert sign(10**400 * square_root(2)) == 1
    assert sign(10**400 * (square_root(2) - square_root(3))) == -1
    assert sign(10**400 * square_root(2) - square_root(2)) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "1/0", "e(1/0)", "1//2", "e(1/9999999)", "1e5", "+-1", "1 2", None, 1.5),
        *("9" * 5_000, "1/" + "9" * 5_000),
    ],
)
def test_bad_text_is_refused(text):
    with pytest.raises(InputError):
        read_exact(text)


def test_a_complex_number_has_no_sign():
    with pytest.raises(InputError, match="real"):
        sign(root_of_unity(1, 4))


@given(numbers, st.sampled_from([2, 3, 4, 5, 12]))
def test_equal_numbers_are_written_alike(x, m):
    """A number that went through a larger field is written as it was."""
    visitor = root_of_unity(1, m)
    assert write_exact((x + visitor) - visitor) == write_exact(x)
    assert write_exact(read_exact(write_exact(x))) == write_exact(x)


def test_written_forms_use_the_smallest_order():
    assert write_exact(cosine(1, 5) * 2 + 1) == write_exact(square_root(5) * Fraction(1, 2) + Fraction(1, 2))
    assert "/60)" not in write_exact(root_of_unity(12, 60) + root_of_unity(1, 60) - root_of_unity(1, 60))
    assert write_exact(root_of_unity(1, 6)) == "1+e(1/3)"


def test_long_sums_are_read_in_one_reduction():
    terms = range(1, 1_500)
    found = within(1.0, lambda: read_exact("+".join(f"e({k}/4999)" for k in terms)))
    assert found == read_exact("-1" + "".join(f"-e({k}/4999)" for k in range(1_500, 2_500))) - read_exact(
        "+".join(f"e({k}/4999)" for k in range(2_500, 3_500))
    ) - read_exact("+".join(f"e({k}/4999)" for k in range(3_500, 4_999)))


@pytest.mark.parametrize("text", ["1/2*e(1/8)-1/2*e(1/8)", "e(1/3)+e(2/3)+1", "e(2/6)+e(4/6)+1", "e(1/2)+1"])
def test_sums_that_vanish(text):
    assert read_exact(text) == 0


def test_inverses_keep_the_budget():
    dense = read_exact("+".join(f"{k % 9 + 1}*e({k}/401)" for k in range(1, 400)))
    with Budget(seconds=0.05).running(), pytest.raises(BudgetExceeded):
        inverse(dense)


def test_numbers_that_cannot_be_read_back_are_not_written():
    for number in (10**5_000, Fraction(1, 10**5_000), root_of_unity(1, 5) * 10**5_000):
        with pytest.raises(InputError, match="4,300 digits"):
            write_exact(number)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1/1000", Fraction(1, 1000)), ("1e-3", Fraction(1, 1000)), (".5", Fraction(1, 2)), ("5.", 5)],
)
def test_fractions_of_users(text, value):
    assert read_fraction(text, name="--eps") == value


@pytest.mark.parametrize(
    "text", ["1e999999999", "1e-999999999", "1e" + "9" * 5_000, "9" * 5_000, "1/" + "9" * 5_000]
)
def test_digits_and_exponents_of_users_are_bounded(text):
    with pytest.raises(InputError, match=r"--eps is .*4,300"):
        read_fraction(text, name="--eps")


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "1/0", "1/-3", "nan", "inf", "1_000", "١"])
def test_fractions_that_are_none(text):
    with pytest.raises(InputError, match="above 0"):
        read_fraction(text, name="--eps")


def near_overflow(scale):
    """The number of a forged network: its float sum overflows, and it is negative."""
    big = 10**307 * scale

    def z(k):
        return root_of_unity(k, 16)

    return (
        Fraction(175 * big // 10 + 1, 22)
        + (z(1) - z(7)) * Fraction(big + 1, 22)
        + (z(2) - z(6)) * Fraction(-17 * big - 1, 22)
    )


@pytest.mark.parametrize("scale", [1, Fraction(1, 10**307), 10**400, Fraction(1, 10**700), 10**5])
def test_signs_do_not_trust_floats_that_overflow_or_underflow(scale):
    number = near_overflow(1)
    tiny = Fraction(1, 10**640)
    assert sign(number * scale) == -1
    assert sign(-number * scale) == 1
    assert sign(number * scale * tiny) == -1
    assert isinstance(hash(number * scale), int)


def test_floats_of_large_numerators():
    assert to_float(near_overflow(1)) == pytest.approx(-0.213e307, rel=1e-2)
    with pytest.raises(OverflowError):
        to_float(near_overflow(1) * 10**20)


@pytest.mark.parametrize("name", DTYPES)
def test_a_format_is_the_one_of_torch(name: str) -> None:
    info, form = torch.finfo(getattr(torch, name)), DTYPES[name]
    assert info.eps == 2.0 ** (1 - form.bits)
    assert info.smallest_normal == 2.0**form.smallest
    assert math.frexp(info.max)[1] - 1 == form.largest
