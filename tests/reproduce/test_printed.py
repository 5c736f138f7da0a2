"""Cells from printed numbers."""

from __future__ import annotations

import pytest

from nerode.reproduce.printed import percent_cells, tick_cells
from nerode.reproduce.records import Lengths

READINGS = [Lengths(low=1, high=50), Lengths(low=51, high=100), Lengths(low=101, high=150)]


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
