from __future__ import annotations

import pytest

from nerode.report.eggbox import Cell, EggBox

ONE = Cell(words=("ε",), size=1, idempotent="ε")
TWO = Cell(words=("ε", "a"), size=2, idempotent="ε")


def test_a_cell_with_an_idempotent_and_more_is_a_group() -> None:
    assert TWO.is_group
    assert not ONE.is_group
    assert not Cell(words=("a", "b"), size=2).is_group


def test_cells_and_boxes_say_what_they_leave_out() -> None:
    assert Cell(words=("a",), size=6).left_out == 5
    box = EggBox(level=0, cells=((TWO, TWO),), num_rows=3, num_columns=4)
    assert box.num_elements == 24
    assert box.note == "1 of 3 rows and 2 of 4 columns"
    assert EggBox(level=0, cells=((ONE,),), num_rows=1, num_columns=1).note == ""


def test_a_class_without_idempotent_is_not_regular() -> None:
    cell = Cell(words=("a",), size=1)
    assert not EggBox(level=0, cells=((cell,),), num_rows=1, num_columns=1).regular
    assert EggBox(level=0, cells=((cell, ONE),), num_rows=1, num_columns=2).regular


def test_boxes_are_rectangles() -> None:
    with pytest.raises(ValueError, match="rows of one length"):
        EggBox(level=0, cells=((ONE,), (ONE, ONE)), num_rows=2, num_columns=2)
    with pytest.raises(ValueError, match="rows of one length"):
        EggBox(level=0, cells=(), num_rows=0, num_columns=0)
    with pytest.raises(ValueError, match="more cells"):
        EggBox(level=0, cells=((ONE, ONE),), num_rows=1, num_columns=1)
