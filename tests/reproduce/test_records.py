"""Each invariant of the records of papers, broken once."""

from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.reproduce.records import Cell, Lengths
from tests.reproduce.tiny import compiled, paper, table, trained


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lengths(low=0, high=3), "range from 1"),
        (lambda: Lengths(low=4, high=3), "range from 1"),
        (lambda: Lengths(low=1, high=3, chance=1.0), "chance is 1.0"),
        (lambda: Cell(column="a", reading=Lengths(low=1, high=2), published=54.0), "give a share"),
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
