"""Direct products: along orbits, by normal subgroups, and of cyclic groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sympy.combinatorics import Permutation as SympyPermutation, PermutationGroup as SympyGroup

from nerode.algebra.group_structure import merge_invariants
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import compose, invert
from nerode.algebra.subgroups import (
    IDENTITY,
    MOST_SPLIT_ELEMENTS,
    ProductTable,
    split_by_orbits,
    split_directly,
)
from nerode.core import Budget, BudgetExceeded
from nerode.languages.groups import word_problem
from tests.algebra import named_groups as build

CLASSES = {
    "S3": 4,
    "S4": 11,
    "A4": 5,
    "A5": 9,
    "S5": 19,
    "Q8": 6,
    "D4": 8,
    "Z12": 6,
    "Z2xZ2xZ2": 16,
    "Z2xA4": 12,
}
"""Conjugacy classes of subgroups, as books on finite groups list them."""


def table_of(name):
    dfa = word_problem(name).dfa()
    return ProductTable(PermutationGroup([tuple(column) for column in dfa.transitions.T.tolist()]))


@pytest.mark.parametrize("name", CLASSES)
def test_the_number_of_classes_of_subgroups(name):
    assert len(table_of(name).subgroup_classes) == CLASSES[name]


@pytest.mark.parametrize("name", ["S4", "Q8", "A4"])
def test_products_and_inverses_are_those_of_permutations(name):
    table = table_of(name)
    for x, y in itertools.product(range(table.order), repeat=2):
        product = compose(table.permutation(x), table.permutation(y))
        assert table.permutation(int(table.products[x, y])) == product
    for x in range(table.order):
        assert table.permutation(int(table.inverses[x])) == invert(table.permutation(x))


@pytest.mark.parametrize("name", ["S4", "A5", "D4"])
def test_subgroups_have_the_orders_that_sympy_finds(name):
    table = table_of(name)
    for subgroup in table.subgroup_classes:
        generators = [SympyPermutation(list(table.permutation(g))) for g in subgroup.generators]
        degree = len(table.permutation(0))
        group = SympyGroup(generators or [SympyPermutation(degree - 1)])
        assert subgroup.order == group.order()
        whole = SympyGroup([SympyPermutation(list(table.permutation(x))) for x in range(table.order)])
        assert table.is_normal(subgroup.members) == group.is_normal(whole)


@pytest.mark.parametrize("name", ["S4", "Q8", "Z12"])
def test_cosets_are_permuted_like_a_group(name):
    table = table_of(name)
    for subgroup in table.subgroup_classes:
        action = table.cosets(subgroup)
        assert action.degree * subgroup.order == table.order
        assert action.number[IDENTITY] == IDENTITY
        for x, y in itertools.product(range(0, table.order, 5), range(table.order)):
            along = action.images[action.images[:, x], y]
            assert np.array_equal(along, action.images[:, table.products[x, y]])
        assert action.kernel[IDENTITY]
        assert not (action.kernel & ~subgroup.members).any()


@pytest.mark.parametrize("name", ["S4", "Q8", "D4", "A4"])
def test_square_roots_give_the_subgroups_of_index_two(name):
    table = table_of(name)
    for subgroup in table.subgroup_classes:
        for t in table.square_roots(subgroup):
            larger = table.generate((*subgroup.generators, t))
            assert larger.order == 2 * subgroup.order


def test_a_large_group_is_refused():
    cycle = tuple((i + 1) % 6 for i in range(6))
    with pytest.raises(BudgetExceeded):
        ProductTable(PermutationGroup([cycle, (1, 0, 2, 3, 4, 5)]))


def test_the_search_for_subgroups_keeps_the_budget():
    table = table_of("Z2xZ2xZ2xZ2xZ2xZ2")
    with Budget(seconds=1e-3).running(), pytest.raises(BudgetExceeded):
        _ = table.subgroup_classes


def test_direct_factors() -> None:
    pieces = split_directly(
        PermutationGroup(build.regular(build.product(build.symmetric(3), build.symmetric(3))))
    )
    assert pieces is not None
    assert [piece.order for piece in pieces] == [6, 6]
    orbits = split_by_orbits(PermutationGroup(build.product(build.symmetric(5), build.cyclic(4))))
    assert sorted(piece.order for piece in orbits) == [4, 120]
    diagonal = [g + tuple(5 + x for x in g) for g in build.symmetric(5)]
    assert len(split_by_orbits(PermutationGroup(diagonal))) == 1


def test_what_cannot_be_split_is_one_piece() -> None:
    for generators in (build.dicyclic(2), build.symmetric(4), build.affine(5, 2)):
        pieces = split_directly(PermutationGroup(generators))
        assert pieces is not None
        assert len(pieces) == 1


def test_too_large_or_too_many_normal_subgroups_are_left_alone() -> None:
    assert PermutationGroup(build.symmetric(7)).order > MOST_SPLIT_ELEMENTS
    assert split_directly(PermutationGroup(build.symmetric(7))) is None
    assert split_directly(PermutationGroup(build.product(*[build.cyclic(2)] * 7))) is None


def test_invariant_factors() -> None:
    assert merge_invariants([4, 6, 10]) == [2, 2, 60]
    assert merge_invariants([]) == []
    assert merge_invariants([1, 7]) == [7]
