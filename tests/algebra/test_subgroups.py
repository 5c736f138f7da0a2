import itertools

import numpy as np
import pytest
from sympy.combinatorics import Permutation as SympyPermutation, PermutationGroup as SympyGroup

from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import compose, invert
from nerode.algebra.subgroups import IDENTITY, ProductTable
from nerode.core import BudgetExceeded
from nerode.languages.groups import word_problem

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
