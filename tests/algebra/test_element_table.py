"""All elements of a small group in one array."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nerode.algebra.permutation_groups import (
    MOST_ELEMENTS,
    ElementTable,
    PermutationGroup,
    prime_multiplicities,
)
from nerode.algebra.permutations import permutation_order
from nerode.core import BudgetExceeded
from tests.algebra import named_groups as build


def test_element_tables() -> None:
    group = PermutationGroup(build.symmetric(5))
    table = ElementTable(group)
    assert table.element(0) == (0, 1, 2, 3, 4)
    left, right = np.divmod(np.arange(120 * 120), 120)
    products = table.products(left, right)
    for i in range(0, 120 * 120, 97):
        expected = build.after(table.element(left[i]), table.element(right[i]))
        assert table.element(products[i]) == expected
        assert table.index(expected) == products[i]
    assert sorted(products[:120].tolist()) == list(range(120))
    assert len(table.class_representatives) == 7
    assert sorted(np.bincount(table.classes)[table.class_representatives].tolist()) == [
        1,
        10,
        15,
        20,
        20,
        24,
        30,
    ]
    assert table.has_trivial_centre
    assert not ElementTable(PermutationGroup(build.dicyclic(2))).has_trivial_centre
    assert table.exponent == 60
    assert table.orders.tolist() == [permutation_order(table.element(x)) for x in range(120)]
    assert math.factorial(8) > MOST_ELEMENTS
    with pytest.raises(BudgetExceeded):
        ElementTable(PermutationGroup(build.symmetric(8)))


def test_prime_multiplicities() -> None:
    for n in range(1, 2000):
        factors = prime_multiplicities(n)
        assert math.prod(p**k for p, k in factors.items()) == n
        assert all(all(p % d for d in range(2, p)) for p in factors)
