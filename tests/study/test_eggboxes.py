from __future__ import annotations

import pytest
from hypothesis import given

from nerode.algebra import Green, green, j_levels, transition_monoid
from nerode.languages import Dfa, resolve_language
from nerode.study.eggboxes import (
    MAX_BOXES,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_WORDS,
    Box,
    EggCell,
    eggboxes_of,
)
from tests.report.specimens import SPECIMENS, permutations
from tests.strategies import dfas

ONE = EggCell(words=("ε",), size=1, idempotent=0)
TWO = EggCell(words=("ε", "a"), size=2, idempotent=0)


def relations_of(dfa: Dfa) -> Green:
    return green(transition_monoid(dfa))


def boxes_of(name: str) -> list[Box]:
    dfa = SPECIMENS[name]
    return eggboxes_of(relations_of(dfa), dfa.alphabet)


def test_a_cell_with_an_idempotent_and_more_is_a_group() -> None:
    assert TWO.is_group
    assert not ONE.is_group
    assert not EggCell(words=("a", "b"), size=2).is_group


def test_cells_and_boxes_say_what_they_leave_out() -> None:
    assert EggCell(words=("a",), size=6).left_out == 5
    box = Box(level=0, cells=((TWO, TWO),), num_rows=3, num_columns=4, regular=True)
    assert box.num_elements == 24
    assert box.note == "1 of 3 rows and 2 of 4 columns"
    assert Box(level=0, cells=((ONE,),), num_rows=1, num_columns=1, regular=True).note == ""


def test_cells_show_at_most_what_they_have() -> None:
    with pytest.raises(ValueError, match="1 elements cannot show 2"):
        EggCell(words=("a", "b"), size=1)
    with pytest.raises(ValueError, match="cannot show 0"):
        EggCell(words=(), size=1)
    with pytest.raises(ValueError, match="among its words"):
        EggCell(words=("a",), size=2, idempotent=1)


def test_boxes_are_rectangles() -> None:
    with pytest.raises(ValueError, match="rows of one length"):
        Box(level=0, cells=((ONE,), (ONE, ONE)), num_rows=2, num_columns=2, regular=True)
    with pytest.raises(ValueError, match="rows of one length"):
        Box(level=0, cells=(), num_rows=0, num_columns=0, regular=True)
    with pytest.raises(ValueError, match="more cells"):
        Box(level=0, cells=((ONE, ONE),), num_rows=1, num_columns=1, regular=True)


def test_parity_is_one_group() -> None:
    (box,) = boxes_of("parity")
    assert box.cells == ((EggCell(words=("ε", "1"), size=2, idempotent=0),),)
    assert box.group == "Z2"


def test_the_egg_boxes_of_the_textbook_example() -> None:
    top, middle, zero = boxes_of("(ab)*")
    assert [box.level for box in (top, middle, zero)] == [0, 1, 2]
    assert top.cells[0][0].words == ("ε",)
    assert (middle.num_rows, middle.num_columns, middle.group) == (2, 2, "")
    words = {cell.words[0]: cell.idempotent for row in middle.cells for cell in row}
    assert words == {"a": None, "ab": 0, "b": None, "ba": 0}
    assert zero.cells[0][0].words == ("aa",)


def test_large_boxes_are_cut_and_keep_their_idempotents() -> None:
    dfa = permutations(4, {"a": (1, 2, 3, 0), "b": (1, 0, 2, 3)})
    (box,) = eggboxes_of(relations_of(dfa), dfa.alphabet)
    ((cell,),) = box.cells
    assert len(cell.words) == MAX_WORDS
    assert cell.left_out == 20
    assert cell.words[cell.idempotent or 0] == "ε"
    assert box.group == "S4"


def test_many_classes_are_cut_from_below() -> None:
    boxes = boxes_of("brackets 3")
    assert len(boxes) <= MAX_BOXES
    assert boxes[0].cells[0][0].words == ("ε",)
    assert [box.level for box in boxes] == sorted(box.level for box in boxes)


@given(dfas(max_states=4, max_letters=2))
def test_boxes_agree_with_the_monoid(dfa: Dfa) -> None:
    relations = relations_of(dfa)
    monoid = relations.monoid
    boxes = eggboxes_of(relations, dfa.alphabet)
    levels = j_levels(relations.covers)
    assert sum(levels[d] == 0 for d in range(len(levels))) == 1
    for upper, lower in enumerate(relations.covers):
        assert all(levels[d] > levels[upper] for d in lower)
    if len(boxes) == relations.num_d_classes:
        assert sum(box.num_elements for box in boxes) == len(monoid)
    for box in boxes:
        assert len(box.cells) == min(box.num_rows, MAX_ROWS)
        assert len(box.cells[0]) == min(box.num_columns, MAX_COLUMNS)
        for row in box.cells:
            for cell in row:
                elements = [monoid.element_of(dfa.alphabet.encode(word)) for word in cell.words]
                assert len(set(elements)) == len(elements)
                assert len({int(relations.h_class[x]) for x in elements}) == 1
                squares = [monoid.product(x, x) == x for x in elements]
                assert [i for i, found in enumerate(squares) if found] == (
                    [] if cell.idempotent is None else [cell.idempotent]
                )


@pytest.mark.parametrize("name", ["tomita-3", "flip-flop", "(ab)*", "aab-star"])
def test_boxes_name_the_classes_directly_above_them(name: str) -> None:
    # By the definition: a is below b if a = x b y, with x and y products of the letters' maps.
    dfa = resolve_language(name).dfa()
    maps = {c: tuple(int(q) for q in dfa.transitions[:, i]) for i, c in enumerate(dfa.alphabet)}
    unit = tuple(range(dfa.num_states))

    def then(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(second[q] for q in first)

    def closure(start: tuple[int, ...], both: bool) -> set[tuple[int, ...]]:
        found, waiting = {start}, [start]
        while waiting:
            one = waiting.pop()
            for letter in maps.values():
                for other in {then(one, letter), then(letter, one) if both else one} - found:
                    found.add(other)
                    waiting.append(other)
        return found

    boxes = eggboxes_of(relations_of(dfa), dfa.alphabet)
    assert len(boxes) < MAX_BOXES, "not all boxes are shown"
    elements = []
    for box in boxes:
        word = box.cells[0][0].words[0]
        one = unit
        for letter in "" if word == "ε" else word:
            one = then(one, maps[letter])
        elements.append(one)
    ideals = [closure(one, True) for one in elements]
    below = [{j for j, two in enumerate(elements) if two in ideals[i] and j != i} for i in range(len(boxes))]
    for j, box in enumerate(boxes):
        over = {i for i in range(len(boxes)) if j in below[i]}
        direct = {i for i in over if not any(k in below[i] for k in over)}
        assert set(box.above) == direct, (name, j)
    assert boxes[0].above == ()
    assert all(box.above for box in boxes[1:])
