"""Images of states and the groups that words induce on them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from nerode.algebra.components import component_actions, whole_action
from nerode.algebra.images import ImageOrbit
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa
from tests.algebra.semigroups import semigroup
from tests.strategies import dfas


def full_orbit(dfa: Dfa) -> ImageOrbit:
    orbit = ImageOrbit(whole_action(dfa))
    orbit.explore_all()
    return orbit


@given(dfas(max_states=5, max_letters=3))
def test_images_are_those_of_the_elements_of_the_monoid(dfa: Dfa) -> None:
    s = semigroup(dfa, 10_000)
    assert s is not None
    images = {frozenset(x) for x in s.maps} | {frozenset(range(dfa.num_states))}
    expected = {image for image in images if len(image) > 1}
    found = full_orbit(dfa).sets
    assert set(map(frozenset, found)) == expected
    assert len(found) == len(expected)


@given(dfas(max_states=4, max_letters=3))
def test_the_group_of_a_class_is_that_of_the_elements_that_permute_its_root(dfa: Dfa) -> None:
    s = semigroup(dfa, 10_000)
    assert s is not None
    for image_class in full_orbit(dfa).classes():
        points = image_class.points
        expected = {
            tuple(points.index(x[p]) for p in points) for x in s.maps if {x[p] for p in points} == set(points)
        }
        expected.add(tuple(range(len(points))))
        formal = PermutationGroup(map(image_class.generator, image_class.edges()), image_class.degree)
        circuits = [image_class.circuit(edge) for edge in image_class.edges()]
        real = PermutationGroup([g for _, g in circuits], image_class.degree)
        assert formal.order == real.order == len(expected)
        assert all(g in formal and g in real for g in expected)
        assert (image_class.moving_edge() is None) == (len(expected) == 1)


@given(dfas(max_states=5, max_letters=3))
def test_circuits_are_words_that_act_as_they_say(dfa: Dfa) -> None:
    for action in component_actions(dfa):
        orbit = ImageOrbit(action)
        orbit.explore_all()
        for image_class in orbit.classes():
            states = [action.states[i] for i in image_class.points]
            for edge in itertools.islice(image_class.edges(), 10):
                way, permutation = image_class.circuit(edge)
                ends = [dfa.run(action.word(way), state=q) for q in states]
                assert ends == [states[i] for i in permutation]


@given(dfas(max_states=5))
def test_depth_is_the_length_of_the_tree_word(dfa: Dfa) -> None:
    for image_class in full_orbit(dfa).classes():
        for image, depth in image_class.depth.items():
            assert len(image_class._tree_word(image)) == depth


def test_a_limit_stops_the_search_and_it_goes_on_later() -> None:
    n = 8
    table = np.array([[(q + 1) % n, 1 if q == 0 else q] for q in range(n)])
    dfa = Dfa.build("ab", lambda q, s: int(table[q, "ab".index(s)]), start=0, accept=[0])
    orbit = ImageOrbit(whole_action(dfa))
    assert not orbit.explore(20)
    assert len(orbit.sets) > 20
    assert orbit.explore(10_000)
    assert len(orbit.sets) == 2**n - 1 - n
    with pytest.raises(BudgetExceeded, match="images"):
        ImageOrbit(whole_action(dfa), Budget(images=20)).explore_all()
    with pytest.raises(BudgetExceeded, match="seconds"):
        ImageOrbit(whole_action(dfa), Budget(seconds=1e-9)).explore_all()
