"""Permutation groups against sympy and against brute force."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import sympy.combinatorics as sc
from hypothesis import given, strategies as st

from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import (
    StabiliserChain,
    commutator,
    compose,
    conjugate,
    cycles,
    invert,
    is_even,
    permutation_order,
    power,
    random_elements,
)
from nerode.core import Budget, BudgetExceeded, InputError
from tests.algebra import named_groups as build


def random_generators(seed: int, largest: int = 11) -> build.Generators:
    """Between one and three permutations; half of them keep a first part of the points to itself."""
    shuffler = random.Random(seed)
    n = shuffler.randint(1, largest)
    found = []
    for _ in range(shuffler.randint(1, 3)):
        cut = shuffler.choice([n, shuffler.randint(0, n)])
        first, second = list(range(cut)), list(range(cut, n))
        shuffler.shuffle(first)
        shuffler.shuffle(second)
        found.append(tuple(first + second))
    return found


def in_sympy(generators: build.Generators) -> sc.PermutationGroup:
    return sc.PermutationGroup([sc.Permutation(list(g)) for g in generators])


@pytest.mark.parametrize("block", range(6))
def test_agrees_with_sympy(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        generators = random_generators(seed)
        group, oracle = PermutationGroup(generators), in_sympy(generators)
        assert group.order == oracle.order()
        assert group.chain.order() == oracle.order()
        assert group.is_abelian == oracle.is_abelian
        assert group.is_solvable == oracle.is_solvable
        assert group.is_nilpotent == oracle.is_nilpotent
        assert [g.order for g in group.derived_series] == [g.order() for g in oracle.derived_series()]
        ours = [g.order for g in group.lower_central_series]
        assert ours == [g.order() for g in oracle.lower_central_series()]
        assert {frozenset(o) for o in group.moved_orbits} == {
            frozenset(o) for o in oracle.orbits() if len(o) > 1
        }


permutations_of_six = st.permutations(range(6)).map(tuple)


@given(st.lists(permutations_of_six, min_size=1, max_size=3), st.lists(permutations_of_six, max_size=8))
def test_membership_and_elements_are_those_of_brute_force(
    generators: build.Generators, others: build.Generators
) -> None:
    group = PermutationGroup(generators)
    everything = set(build.elements(generators))
    listed = group.chain.elements()
    assert group.order == len(everything) == len(listed)
    assert set(listed) == everything
    assert listed[0] == tuple(range(6))
    for g in [*others, *generators]:
        assert (g in group) == (g in everything)


@given(permutations_of_six, permutations_of_six, st.integers(0, 20))
def test_permutation_arithmetic(g: build.Images, h: build.Images, exponent: int) -> None:
    identity = tuple(range(6))
    assert compose(g, h) == build.after(g, h)
    assert compose(g, invert(g)) == identity
    assert conjugate(g, h) == compose(compose(invert(h), g), h)
    assert commutator(g, h) == compose(compose(invert(g), invert(h)), compose(g, h))
    repeated = identity
    for _ in range(exponent):
        repeated = compose(repeated, g)
    assert power(g, exponent) == repeated
    oracle = sc.Permutation(list(g))
    assert permutation_order(g) == oracle.order()
    assert is_even(g) == oracle.is_even
    assert sorted(x for cycle in cycles(g) for x in cycle) == list(range(6))


@pytest.mark.parametrize("n", [8, 9, 12, 20, 64, 300])
def test_giants_are_recognised(n: int) -> None:
    symmetric = PermutationGroup(build.relabelled(build.symmetric(n), n))
    assert symmetric.giant == "S"
    assert symmetric.order == math.factorial(n)
    derived = symmetric.derived_subgroup
    assert derived.order == math.factorial(n) // 2
    assert derived.derived_subgroup.order == derived.order
    assert not symmetric.is_solvable
    assert not symmetric.is_nilpotent
    three = build.cycles(n + 3, symmetric.moved[:3])
    two = build.cycles(n + 3, symmetric.moved[:2])
    outside = next(p for p in range(n + 3) if p not in symmetric.moved)
    assert three in derived
    assert two in symmetric
    assert two not in derived
    assert build.cycles(n + 3, (symmetric.moved[0], symmetric.moved[1], outside)) not in symmetric


@pytest.mark.parametrize("n", [8, 9, 10, 11, 12])
def test_the_shortcut_for_giants_gives_the_order_of_the_chain(n: int) -> None:
    for generators, order in [
        (build.symmetric(n), math.factorial(n)),
        (build.alternating(n), math.factorial(n) // 2),
    ]:
        group = PermutationGroup(generators)
        assert group.giant is not None
        assert group.order == order == PermutationGroup(generators).chain.order()


@pytest.mark.parametrize(
    ("generators", "order"),
    [
        (build.mathieu_11(), 7920),
        (build.mathieu_12(), 95040),
        (build.projective_line(7, with_squares_only=True), 168),
        (build.projective_line(19, with_squares_only=False), 6840),
        (build.wreath(build.symmetric(4), build.symmetric(2)), 24**2 * 2),
        (build.wreath(build.symmetric(10), build.cyclic(2)), 2 * math.factorial(10) ** 2),
    ],
)
def test_transitive_groups_that_are_no_giants(generators: build.Generators, order: int) -> None:
    group = PermutationGroup(generators)
    assert len(group.orbits) == 1
    assert group.giant is None
    assert group.order == order


@pytest.mark.parametrize("n", [256, 257, 300])
def test_more_points_than_a_byte_holds(n: int) -> None:
    rotation, mirror = build.dihedral(n)
    group = PermutationGroup([rotation, mirror])
    assert group.order == 2 * n
    assert group.derived_subgroup.order == (n if n % 2 else n // 2)
    assert compose(rotation, mirror) in group
    assert build.cycles(n, (0, 1)) not in group


def test_normal_closure_and_subgroups() -> None:
    group = PermutationGroup(build.symmetric(4))
    double = build.cycles(4, (0, 1), (2, 3))
    four_group = group.normal_closure([double])
    assert four_group.order == 4
    assert group.subgroup([double]).order == 2
    assert four_group.is_subgroup_of(group)
    assert not group.is_subgroup_of(four_group)
    assert group.restricted_to([3, 1, 0, 2]).order == 24


def test_orbits_are_sorted_and_hold_every_point() -> None:
    group = PermutationGroup([build.cycles(7, (5, 1), (2, 6, 4))])
    assert group.orbits == ((0,), (1, 5), (2, 4, 6), (3,))
    assert group.moved_orbits == ((1, 5), (2, 4, 6))
    assert group.moved == (1, 2, 4, 5, 6)


def test_base_and_stabilisers() -> None:
    chain = StabiliserChain(5, base=[4, 2])
    for g in build.symmetric(5):
        chain.insert(g)
    assert chain.base[:2] == [4, 2]
    assert [chain.order(level) for level in range(3)] == [120, 24, 6]
    stabiliser = PermutationGroup(chain.stabiliser_generators(2), 5)
    assert stabiliser.order == 6
    assert {4, 2}.isdisjoint(stabiliser.moved)
    assert all(g[4] == point for point, g in chain.transversal(0).items())
    assert not chain.insert(build.cycles(5, (0, 1, 2)))


def test_generators_may_be_arrays_and_repeated() -> None:
    group = PermutationGroup([np.array([1, 0, 2]), [1, 0, 2], (0, 1, 2)])
    assert group.generators == ((1, 0, 2),)
    assert group == PermutationGroup([(1, 0, 2)])
    assert hash(group) == hash(PermutationGroup([(1, 0, 2)]))
    assert group != PermutationGroup([(0, 2, 1)])
    assert (1, 0) not in group
    assert "1 generators on 3 points" in repr(group)


def test_the_trivial_group() -> None:
    group = PermutationGroup([], 3)
    assert group.order == 1
    assert group.is_nilpotent
    assert (0, 1, 2) in group
    assert (1, 0, 2) not in group
    assert PermutationGroup([], 0).order == 1


@pytest.mark.parametrize("wrong", [(0, 0, 1), (0, 1, 3), (1, 0), (0, 1, -1)])
def test_what_is_not_a_permutation_is_refused(wrong: build.Images) -> None:
    with pytest.raises(InputError, match="not a permutation"):
        PermutationGroup([wrong], 3)


def test_no_generators_and_no_degree_are_refused() -> None:
    with pytest.raises(InputError, match="degree"):
        PermutationGroup([])


def test_the_seconds_of_the_budget_are_kept() -> None:
    generators = build.wreath(build.symmetric(12), build.cyclic(3))
    with pytest.raises(BudgetExceeded) as caught:
        _ = PermutationGroup(generators, budget=Budget(seconds=1e-9)).order
    assert int(str(caught.value.known_so_far["group_order_at_least"])) > 1


def test_random_elements_repeat_and_stay_inside() -> None:
    generators = build.product(build.alternating(4), build.cyclic(5))
    group = PermutationGroup(generators)
    first = [g for g, _ in zip(random_elements(generators, 1), range(50), strict=False)]
    assert first == [g for g, _ in zip(random_elements(generators, 1), range(50), strict=False)]
    assert all(g in group for g in first)
    assert len(set(first)) > 10
