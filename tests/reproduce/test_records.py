"""Each invariant of the records of papers, broken once."""

from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.reproduce.records import LengthRange, TableCell, percent_cells, tick_cells
from tests.reproduce.tiny import compiled, paper, table, trained


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LengthRange(low=0, high=3), "range from 1"),
        (lambda: LengthRange(low=4, high=3), "range from 1"),
        (lambda: LengthRange(low=1, high=3, chance=1.0), "chance is 1.0"),
        (lambda: TableCell(column="a", reading=LengthRange(low=1, high=2), published=54.0), "give a share"),
        (lambda: trained(cells=()), "has no cell"),
        (lambda: trained(seeds=2), "3 or more"),
        (lambda: compiled(language=""), "needs a language"),
        (lambda: trained(compile_to="gla"), "no spec"),
        (lambda: paper(table(), table()), "have to differ"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_columns_of_a_table_come_in_order_of_first_appearance():
    assert table().columns == ("≤ 8", "16")
    assert table().ticks
    assert not trained(cpu=None).runs_here
    assert compiled().runs_here


READINGS = [LengthRange(low=1, high=50), LengthRange(low=51, high=100), LengthRange(low=101, high=150)]


def test_percentages_are_shares():
    cells = percent_cells(("a", "b", "c"), READINGS, "100/53.95/–")
    assert [cell.published for cell in cells] == [1.0, pytest.approx(0.5395), None]
    assert [cell.printed for cell in cells] == ["100", "53.95", "–"]
    assert [cell.trained for cell in cells] == [True, False, False]


def test_ticks():
    cells = tick_cells(("a", "b", "c"), READINGS, "✓✗–")
    assert [cell.published for cell in cells] == [1.0, 0.0, None]


def test_a_number_too_few_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        percent_cells(("a", "b", "c"), READINGS, "100/10")
