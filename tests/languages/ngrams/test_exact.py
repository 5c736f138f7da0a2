from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages.ngrams.files import parse_probability


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("1", Fraction(1)),
        ("1.", Fraction(1)),
        ("0", Fraction(0)),
        ("5e-3", Fraction(1, 200)),
    ],
)
def test_values_are_exact(text: str, value: Fraction) -> None:
    assert parse_probability(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "1/0", "-1/2", "1/-2", "nan", "inf", "1_0", "3/2", "1.5", "1e999999999", "1e9", "½", "1 / 2", "."],
)
def test_what_is_not_a_probability(text: str) -> None:
    with pytest.raises(InputError):
        parse_probability(text)


@given(st.fractions(min_value=0, max_value=1))
def test_round_trip(value: Fraction) -> None:
    assert parse_probability(str(value)) == value
