"""Groups inside the monoid, found on images."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings

from nerode.algebra.groups_inside import groups_inside, search_groups
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet, Dfa, minimise
from tests.algebra.semigroups import Semigroup, semigroup
from tests.strategies import dfas


def full_transformations(n: int) -> Dfa:
    """An automaton whose monoid is that of all maps of n points."""
    rows = [[(q + 1) % n, {0: 1, 1: 0}.get(q, q), 1 if q == 0 else q] for q in range(n)]
    return Dfa(alphabet=Alphabet(("a", "b", "c")), transitions=rows, start=0, accepting=np.arange(n) == 0)


def maximal_subgroup_orders(s: Semigroup) -> set[int]:
    """Orders of the maximal subgroups, counted element by element around each idempotent."""
    inside = range(s.size)
    return {
        sum(
            s.table[e, g] == g
            and s.table[g, e] == g
            and any(s.table[g, h] == e == s.table[h, g] for h in inside)
            for g in inside
        )
        for e in s.idempotents
    }


@settings(max_examples=60)
@given(dfas(max_states=4, max_letters=2).map(minimise))
def test_orders_are_those_of_the_maximal_subgroups(dfa: Dfa) -> None:
    s = semigroup(dfa, 200)
    if s is None:
        return
    found = groups_inside(dfa)
    assert {g.structure.order for g in found} == maximal_subgroup_orders(s) - {1}
    assert all(g.scope == "monoid" for g in found)
    orders = [g.structure.order for g in found]
    assert orders == sorted(orders, reverse=True)


@settings(max_examples=80)
@given(dfas(max_states=6, max_letters=3).map(minimise))
def test_the_words_permute_the_points_and_generate_the_group(dfa: Dfa) -> None:
    for group in groups_inside(dfa):
        permutations = []
        for word in group.generators:
            action = dfa.action(word)
            assert {int(action[q]) for q in group.points} == set(group.points)
            permutations.append([group.points.index(int(action[q])) for q in group.points])
        assert PermutationGroup(permutations).order == group.structure.order > 1
        for some in itertools.combinations(permutations, len(permutations) - 1):
            assert PermutationGroup(some, len(group.points)).order < group.structure.order


def test_all_maps_of_ten_points_in_two_seconds() -> None:
    started = time.process_time()
    found = groups_inside(full_transformations(10))
    assert time.process_time() - started < 2
    assert [g.structure.name for g in found] == ["S10", "S9", "S8", "S7", "S6", "S5", "S4", "S3", "Z2"]


def test_components_stand_in_where_the_whole_has_too_many_images() -> None:
    # Ten independent swaps of two states each, and a letter that resets inside each component: the images
    # of all states are many, those of one component are few.
    width = 14
    rows = []
    for i in range(width):
        for q in (0, 1):
            row = [2 * i + q] * (2 * width)
            row[2 * i] = 2 * i + 1 - q
            row[2 * i + 1] = 2 * i
            rows.append(row)
    start = [2 * i for i in range(width)] * 2
    rows.append(start)
    dfa = Dfa(
        alphabet=Alphabet(tuple(f"a{j}" for j in range(2 * width))),
        transitions=rows,
        start=2 * width,
        accepting=[q % 2 == 0 for q in range(2 * width)] + [False],
    )
    search = search_groups(dfa, Budget(images=200))
    assert search.complete
    assert [(g.structure.name, g.scope) for g in search.groups] == [("Z2", "component")]


def test_a_search_that_stops_says_what_it_found() -> None:
    dfa = full_transformations(10)
    search = search_groups(dfa, Budget(images=30))
    assert not search.complete
    with pytest.raises(BudgetExceeded, match="groups") as caught:
        groups_inside(dfa, Budget(images=30))
    assert "groups" in caught.value.known_so_far


def test_a_star_free_language_has_no_groups() -> None:
    dfa = Dfa.build("ab", {0: {"a": 1}, 1: {"b": 0}}, start=0, accept=[0])
    assert groups_inside(dfa) == ()
