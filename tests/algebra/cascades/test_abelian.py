"""Coordinates of solvable groups: one vector for each step, in which multiplication is addition."""

from __future__ import annotations

import itertools
import math

import pytest

from nerode.algebra.cascades.abelian import AbelianFactor, GroupCoordinates
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, compose
from nerode.core import Budget, BudgetExceeded, InputError


def cycle(*points: int, n: int) -> Permutation:
    images = list(range(n))
    for p, q in zip(points, [*points[1:], points[0]], strict=True):
        images[p] = q
    return tuple(images)


def symmetric(n: int) -> PermutationGroup:
    return PermutationGroup([cycle(*range(n), n=n), cycle(0, 1, n=n)])


def quaternions() -> PermutationGroup:
    """Q8 acting on itself: i and j as permutations of 1, -1, i, -i, j, -j, k, -k."""
    return PermutationGroup([(2, 3, 1, 0, 7, 6, 4, 5), (4, 5, 6, 7, 1, 0, 3, 2)])


GROUPS: dict[str, tuple[PermutationGroup, list[tuple[int, ...]]]] = {
    "Z6": (PermutationGroup([cycle(0, 1, 2, n=5), cycle(3, 4, n=5)]), [(2, 3)]),
    "Z12": (PermutationGroup([cycle(*range(12), n=12)]), [(4, 3)]),
    "Z2xZ4": (PermutationGroup([cycle(0, 1, n=6), cycle(2, 3, 4, 5, n=6)]), [(4, 2)]),
    "S3": (symmetric(3), [(2,), (3,)]),
    "A4": (PermutationGroup([cycle(0, 1, 2, n=4), cycle(1, 2, 3, n=4)]), [(3,), (2, 2)]),
    "S4": (symmetric(4), [(2,), (3,), (2, 2)]),
    "D4": (PermutationGroup([cycle(0, 1, 2, 3, n=4), cycle(0, 2, n=4)]), [(2, 2), (2,)]),
    "Q8": (quaternions(), [(2, 2), (2,)]),
    "F20": (PermutationGroup([cycle(0, 1, 2, 3, 4, n=5), (0, 2, 4, 1, 3)]), [(4,), (5,)]),
    "S3 wr Z2": (
        PermutationGroup([cycle(0, 1, 2, n=6), cycle(0, 1, n=6), (3, 4, 5, 0, 1, 2)]),
        [(2, 2), (2,), (3, 3)],
    ),
}
"""Groups with the orders of the cyclic groups of each derived factor, as the literature has them."""


@pytest.mark.parametrize("name", GROUPS)
def test_the_factors_are_those_of_the_derived_series(name: str) -> None:
    group, orders = GROUPS[name]
    coordinates = GroupCoordinates(group)
    assert [factor.orders for factor in coordinates.factors] == orders
    assert math.prod(itertools.chain(*orders)) == group.order


@pytest.mark.parametrize("name", GROUPS)
def test_coordinates_are_one_to_one(name: str) -> None:
    group, _ = GROUPS[name]
    coordinates = GroupCoordinates(group)
    elements = group.chain.elements()
    written = {coordinates.vectors(g) for g in elements}
    assert len(written) == len(elements)
    assert all(coordinates.element(coordinates.vectors(g)) == g for g in elements)
    zero = tuple((0,) * len(factor.orders) for factor in coordinates.factors)
    assert coordinates.vectors(tuple(range(group.degree))) == zero


@pytest.mark.parametrize("name", GROUPS)
def test_multiplication_adds_to_each_coordinate_what_the_ones_before_leave_over(name: str) -> None:
    group, _ = GROUPS[name]
    coordinates = GroupCoordinates(group)
    for g, s in itertools.product(group.chain.elements(), group.generators):
        rest, expected = s, []
        for step, vector in enumerate(coordinates.vectors(g)):
            factor = coordinates.factors[step]
            expected.append(factor.add(vector, factor.vector(rest)))
            rest = coordinates.carry(step, vector, rest)
        assert coordinates.vectors(compose(g, s)) == tuple(expected)


def test_a_basis_of_an_abelian_group_of_mixed_orders() -> None:
    group = PermutationGroup([cycle(*range(8), n=16), cycle(8, 9, 10, 11, n=16), cycle(12, 13, 14, n=16)])
    factor = AbelianFactor(group.chain.elements(), [tuple(range(16))])
    assert factor.orders == (8, 4, 3)


def test_a_group_that_is_not_solvable_has_no_coordinates() -> None:
    with pytest.raises(InputError, match="order 120"):
        GroupCoordinates(symmetric(5))


def test_a_group_that_is_too_large_stops() -> None:
    with pytest.raises(BudgetExceeded) as stopped:
        GroupCoordinates(symmetric(4), Budget(elements=20))
    assert stopped.value.known_so_far == {"group_order": 24}
