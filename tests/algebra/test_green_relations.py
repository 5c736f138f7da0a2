"""Green's relations against libsemigroups and against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nerode.algebra.green_relations import (
    Green,
    cayley_components,
    eggbox,
    green,
    j_order,
    join,
    number_by_appearance,
)
from nerode.algebra.monoid import transition_monoid
from nerode.core import Budget, BudgetExceeded, InputError
from tests.algebra import transformations as build


def relations(letters: build.Letters) -> Green:
    return green(transition_monoid(letters))


def check_against_libsemigroups(letters: build.Letters) -> None:
    found = relations(letters)
    expected = build.opinion(letters)
    # Where no product gives the identity, it is a class of its own here and missing there.
    extra = 0 if expected.has_identity else 1
    assert len(found.monoid) - extra == expected.size
    assert found.num_r_classes - extra == expected.r_classes
    assert found.num_l_classes - extra == expected.l_classes
    assert found.num_d_classes - extra == expected.d_classes
    assert found.num_h_classes - extra == expected.h_classes
    assert len(found.idempotents) - extra == expected.idempotents
    assert int(found.is_regular.sum()) - extra == expected.regular_d_classes
    assert found.is_aperiodic == (expected.h_classes == expected.size)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_automaton_with_two_letters(n: int) -> None:
    for letters in build.every_pair(n):
        check_against_libsemigroups(letters)


@pytest.mark.parametrize("seed", range(5))
def test_random_automata(seed: int) -> None:
    for letters in build.some(60, 300 + seed, points=(2, 6), letters=(1, 4)):
        check_against_libsemigroups(letters)


def test_random_automata_with_more_points() -> None:
    for letters in build.some(15, 400, points=(17, 20), letters=(1, 1)):
        check_against_libsemigroups(letters)
    check_against_libsemigroups(build.counter(20))


def check_against_the_definitions(letters: build.Letters) -> None:
    found = relations(letters)
    table = found.monoid.multiplication_table()
    size = len(found.monoid)
    right = [frozenset(table[x, :].tolist()) for x in range(size)]
    left = [frozenset(table[:, x].tolist()) for x in range(size)]
    both = [frozenset(table[list(left[x]), :].ravel().tolist()) for x in range(size)]
    for x in range(size):
        for y in range(size):
            assert (found.r_class[x] == found.r_class[y]) == (right[x] == right[y])
            assert (found.l_class[x] == found.l_class[y]) == (left[x] == left[y])
            assert (found.d_class[x] == found.d_class[y]) == (both[x] == both[y])
            same_h = right[x] == right[y] and left[x] == left[y]
            assert (found.h_class[x] == found.h_class[y]) == same_h
    first = {int(d): x for x, d in reversed(list(enumerate(found.d_class.tolist())))}
    ideals = [both[first[d]] for d in range(found.num_d_classes)]
    for d, below in enumerate(found.covers):
        expected = [
            e
            for e, ideal in enumerate(ideals)
            if ideal < ideals[d] and not any(ideal < middle < ideals[d] for middle in ideals)
        ]
        assert list(below) == expected


@pytest.mark.parametrize("seed", range(3))
def test_classes_and_order_are_those_of_the_definitions(seed: int) -> None:
    for letters in build.some(12, 500 + seed, points=(2, 4), letters=(1, 3)):
        if len(transition_monoid(letters)) <= 120:
            check_against_the_definitions(letters)


def check_boxes(found: Green) -> None:
    monoid = found.monoid
    seen = 0
    for d_class in found.d_classes():
        seen += d_class.size
        assert d_class.size == len(d_class.rows) * len(d_class.columns) * d_class.h_size
        assert d_class.regular == bool(found.is_regular[d_class.number])
        assert d_class.word == min(
            (monoid.word(x) for x in d_class.elements.tolist()), key=lambda w: (len(w), w)
        )
        assert set(d_class.elements.tolist()) == set(np.flatnonzero(found.d_class == d_class.number).tolist())
        if d_class.regular:
            assert d_class.group is not None
            assert d_class.group.order == d_class.h_size
            # Every R-class and every L-class of a regular D-class has an idempotent.
            assert set(found.r_class[d_class.idempotents]) == set(d_class.rows)
            assert set(found.l_class[d_class.idempotents]) == set(d_class.columns)
            names = {found.group_at(int(e)).order for e in d_class.idempotents}
            assert names == {d_class.h_size}
        else:
            assert d_class.group is None
    assert seen == len(monoid)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_are_rectangles_and_their_groups_fit(seed: int) -> None:
    for letters in build.some(15, 600 + seed, points=(2, 5), letters=(1, 3)):
        check_boxes(relations(letters))


def test_all_maps_of_six_points() -> None:
    found = relations(build.full(6))
    assert found.num_r_classes == 203  # partitions of six points
    assert found.num_l_classes == 2**6 - 1
    assert found.num_d_classes == 6
    assert found.covers == ((1,), (2,), (3,), (4,), (5,), ())
    groups = [d.group.name for d in found.d_classes() if d.group]
    assert groups == ["S6", "S5", "S4", "S3", "Z2", "Z1"]
    # Choose the image and how the rest is mapped into it.
    assert len(found.idempotents) == sum(math.comb(6, k) * k ** (6 - k) for k in range(1, 7))
    assert not found.is_aperiodic


def test_order_preserving_maps_are_aperiodic() -> None:
    found = relations(build.order_preserving(6))
    assert found.is_aperiodic
    assert found.num_r_classes == 2**5
    assert found.num_l_classes == 2**6 - 1


def test_a_group_is_one_class() -> None:
    found = relations([[1, 2, 3, 0], [1, 0, 2, 3]])
    assert (found.num_r_classes, found.num_l_classes, found.num_d_classes, found.num_h_classes) == (
        1,
        1,
        1,
        1,
    )
    (only,) = found.d_classes()
    assert only.group is not None
    assert only.group.name == "S4"
    assert only.word == ()


def test_classes_that_are_not_regular_have_no_group() -> None:
    # One letter with a³ = a⁴: a and a² are no idempotents and stand alone.
    found = relations([[1, 2, 3, 3]])
    kinds = [(d.size, d.regular, d.word) for d in found.d_classes()]
    assert kinds == [(1, True, ()), (1, False, (0,)), (1, False, (0, 0)), (1, True, (0, 0, 0))]
    assert found.covers == ((1,), (2,), (3,), ())


def test_no_letters() -> None:
    found = green(transition_monoid(np.empty((0, 2), dtype=np.int32)))
    assert found.num_d_classes == 1
    assert found.covers == ((),)


def test_an_egg_box_shows_everything_when_there_is_room() -> None:
    found = relations(build.full(3))
    middle = found.d(1)
    box = eggbox(found, middle, max_words=6)
    assert (len(box.rows), len(box.columns)) == (3, 3)
    words = [word for row in box.cells for cell in row for word in cell.words]
    assert sorted(found.monoid.element_of(word) for word in words) == middle.elements.tolist()
    for r, row in zip(box.rows, box.cells, strict=True):
        for c, cell in zip(box.columns, row, strict=True):
            members = [found.monoid.element_of(word) for word in cell.words]
            assert {int(found.r_class[x]) for x in members} == {r}
            assert {int(found.l_class[x]) for x in members} == {c}
            idempotents = [x for x in members if found.monoid.is_idempotent[x]]
            assert cell.is_group == bool(idempotents)
            if cell.idempotent is not None:
                assert [found.monoid.element_of(cell.idempotent)] == idempotents
    assert sum(cell.is_group for row in box.cells for cell in row) == len(middle.idempotents)


def test_an_egg_box_is_cut_to_the_size_asked_for() -> None:
    found = relations(build.full(4))
    box = eggbox(found, found.d(1), max_rows=2, max_columns=3, max_words=1)
    assert (len(box.cells), len(box.cells[0])) == (2, 3)
    assert (len(box.d_class.rows), len(box.d_class.columns)) == (6, 4)
    assert all(cell.size == 6 and len(cell.words) == 1 for row in box.cells for cell in row)
    assert box.cells[0][0].size - len(box.cells[0][0].words) == 5
    # One word a cell: where there is an idempotent, it is that one.
    groups = [cell for row in box.cells for cell in row if cell.is_group]
    assert groups
    assert all(cell.words == (cell.idempotent,) for cell in groups)
    with pytest.raises(InputError, match="at least 1"):
        eggbox(found, found.d(1), max_rows=0)


def test_the_budget_is_kept() -> None:
    monoid = transition_monoid(build.full(5))
    with pytest.raises(BudgetExceeded) as caught:
        green(monoid, Budget(bytes=1000))
    assert caught.value.known_so_far == {"elements of the monoid": 3125}
    with pytest.raises(BudgetExceeded):
        green(monoid, Budget(seconds=1e-9))
    found = relations(build.counter(20))
    graphs = (found.monoid.distinct_right, found.monoid.distinct_left)
    with pytest.raises(BudgetExceeded):
        j_order(found.d_class, graphs, Budget(bytes=8))


def test_equivalences() -> None:
    # Twice the same edge, loops, and a cycle 0 → 1 → 2 → 0 beside the sink 3.
    graph = np.array([[1, 1], [2, 3], [0, 2], [3, 3]], dtype=np.int32)
    assert cayley_components(graph).tolist() == [0, 0, 0, 1]
    assert number_by_appearance(np.array([7, 7, 2, 9, 2])).tolist() == [0, 0, 1, 2, 1]
    assert number_by_appearance(np.array([10**12, 0, 10**12])).tolist() == [0, 1, 0]
    first = np.array([0, 0, 1, 2], dtype=np.int32)
    second = np.array([0, 1, 1, 2], dtype=np.int32)
    assert join(first, second).tolist() == [0, 0, 0, 1]
