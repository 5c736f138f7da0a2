"""Lookups: defaults, exceptions and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from nerode.algebra.cascades.lookups import LETTER, Lookup, LookupRow, old
from nerode.core import InputError


def table(**changes: Any) -> Lookup:
    fields: dict[str, Any] = {
        "name": "example",
        "num_values": 3,
        "reads": (LETTER, old(0)),
        "otherwise": (0, 1, 0),
        "rows": (LookupRow(((0, 0), (1, 1)), 2), LookupRow(((0, 1), (1, 0)), 0)),
    }
    return Lookup(**{**fields, **changes})


def test_rows_are_exceptions_from_the_default_of_the_first_source() -> None:
    values = {(a, b): table().evaluate((a, b)) for a in range(3) for b in range(2)}
    assert values == {(0, 0): 0, (0, 1): 2, (1, 0): 0, (1, 1): 1, (2, 0): 0, (2, 1): 0}


def test_a_single_default_is_a_constant() -> None:
    constant = table(otherwise=(1,), rows=(LookupRow(((1, 1),), 2),))
    assert [constant.evaluate((a, b)) for a in range(3) for b in range(2)] == [1, 2, 1, 2, 1, 2]


def test_two_rows_that_hold_at_once_are_an_error_when_they_do() -> None:
    double = table(rows=(LookupRow(((0, 0),), 1), LookupRow(((0, 0), (1, 1)), 2)))
    assert double.evaluate((0, 0)) == 1
    with pytest.raises(InputError, match="2 rows"):
        double.evaluate((0, 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"reads": (LETTER, LETTER)},
        {"otherwise": ()},
        {"otherwise": (0, 1), "reads": (), "rows": ()},
        {"otherwise": (0, 1, 3)},
        {"rows": (LookupRow(((0, 0),), 3),)},
        {"rows": (LookupRow(((0, 0), (0, 1)), 1),)},
        {"rows": (LookupRow(((0, 0), (2, 1)), 1),)},
        {"rows": (LookupRow(((1, 0),), 1),)},
        {"rows": (LookupRow((), 1),)},
    ],
)
def test_a_lookup_that_is_not_a_function_of_its_sources_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        table(**changes)
