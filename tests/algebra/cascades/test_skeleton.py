"""Images, classes and tiles, against the sets of all maps of a small monoid."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, strategies as st

from nerode.algebra.cascades.skeleton import NOWHERE, Levels, Skeleton, join_sections, largest_matching
from nerode.algebra.components import component_actions, whole_action
from nerode.algebra.groups_inside import find_counter
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa, minimise
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE
from tests.algebra.semigroups import semigroup
from tests.strategies import dfas


def points(skeleton: Skeleton, image: int) -> frozenset[int]:
    return frozenset(i for i in range(skeleton.action.num_points) if skeleton.masks[image] >> i & 1)


@given(dfas(max_states=5, max_letters=3))
def test_images_are_those_of_the_maps_of_the_monoid_and_the_points(dfa: Dfa) -> None:
    s = semigroup(dfa, 10_000)
    assert s is not None
    expected = {frozenset(x) for x in s.maps} | {frozenset(range(dfa.num_states))}
    expected |= {frozenset([q]) for q in range(dfa.num_states)}
    skeleton = Skeleton(whole_action(dfa))
    found = [points(skeleton, i) for i in range(len(skeleton.masks))]
    assert len(set(found)) == len(found)
    assert set(found) == expected


@given(dfas(max_states=5, max_letters=3))
def test_tiles_are_the_greatest_images_inside_and_letters_of_a_class_permute_them(dfa: Dfa) -> None:
    skeleton = Skeleton(whole_action(dfa))
    images = [points(skeleton, i) for i in range(len(skeleton.masks))]
    for image, whole in enumerate(images):
        inside = [other for other in images if other < whole]
        greatest = {other for other in inside if not any(other < larger for larger in inside)}
        assert {images[tile] for tile in skeleton.tiles(image)} == greatest
        for letter, column in enumerate(skeleton.after):
            if skeleton.class_of[column[image]] == skeleton.class_of[image]:
                number = skeleton.tile_permutation(image, letter)
                assert sorted(number) == list(range(len(greatest)))


@given(dfas(max_states=6, max_letters=3))
def test_tiles_are_permuted_only_if_the_language_is_not_star_free(dfa: Dfa) -> None:
    minimal = minimise(dfa)
    levels = Levels(Skeleton(whole_action(minimal)))
    assert any(levels.has_group) == (find_counter(minimal) is not None)


@given(dfas(max_states=6, max_letters=2))
def test_the_images_inside_a_component_may_be_empty(dfa: Dfa) -> None:
    for action in component_actions(dfa):
        skeleton = Skeleton(action)
        for letter, column in enumerate(skeleton.after):
            for image, target in enumerate(column):
                moved = {action.maps[letter][p] for p in points(skeleton, image)} - {-1}
                assert (points(skeleton, target) if target != NOWHERE else set()) == moved


PLAIN_DEPTHS = {
    "tomita-1": 1,
    "tomita-2": 2,
    "tomita-4": 3,
    "tomita-7": 5,
    "ab-star": 2,
    "aab-star": 3,
    "aabb-star": 3,
    "d-2": 3,
    "d-3": 4,
    "d-4": 5,
    "d-12": 13,
    "aabbccddee": 6,
    "contains-abaab": 5,
    "contains-fibonacci-22": 22,
    "subsequence-abcdefgh": 36,
    "last-but-8": 9,
    "flip-flop": 4,
    "ab-star-d-bc-star": 3,
}
"""Depths of plain holonomy that an earlier, independent program found (specification, 1.7 and 2.4)."""


@pytest.mark.parametrize(("name", "depth"), PLAIN_DEPTHS.items())
def test_without_sections_the_levels_are_those_of_plain_holonomy(name: str, depth: int) -> None:
    skeleton = Skeleton(whole_action(find_language(name).dfa()))
    assert Levels(skeleton, share=False).top == depth
    assert Levels(skeleton).top <= depth


def test_many_images_are_searched_for_tiles_in_arrays_with_the_same_result() -> None:
    skeleton = Skeleton(whole_action(find_language("subsequence-abcdefgh").dfa()))
    assert len(skeleton.masks) > 200
    for image in range(0, len(skeleton.masks), 7):
        inside = [i for i, m in enumerate(skeleton.masks) if not m & ~skeleton.masks[image] and i != image]
        greatest = {i for i in inside if not any(i != j and skeleton.contains(j, i) for j in inside)}
        assert set(skeleton.tiles(image)) == greatest


def test_too_many_images_stop_with_what_is_known() -> None:
    with pytest.raises(BudgetExceeded) as stopped:
        Skeleton(whole_action(find_language("subsequence-abcdefgh").dfa()), Budget(images=100))
    assert stopped.value.resource == "images"
    assert stopped.value.known_so_far == {"states": 9}


def test_classes_come_after_those_that_they_lead_to() -> None:
    skeleton = Skeleton(whole_action(find_language("d-4").dfa()))
    for image, column in itertools.product(range(len(skeleton.masks)), skeleton.after):
        assert skeleton.class_of[column[image]] <= skeleton.class_of[image]


def random_levels(kind: str, seed: int) -> Levels:
    return Levels(Skeleton(whole_action(COUNTER_FREE[kind](random.Random(seed)))))


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_every_wanted_tile_has_a_section_that_letters_respect(kind: str) -> None:
    for seed in range(40):
        levels = random_levels(kind, seed)
        skeleton = levels.skeleton
        for level in range(1, levels.top + 1):
            classes = [c for c, found in enumerate(levels.level) if found == level]
            wanted = {c: range(len(skeleton.tiles(skeleton.classes[c][0]))) for c in classes}
            sections = join_sections(levels, wanted)
            for c in classes:
                assert {s[c] for s in sections if c in s} == set(wanted[c])
            for section, column in itertools.product(sections, skeleton.after):
                for image in (i for c in section for i in skeleton.classes[c]):
                    assert_respected(levels, section, image, column)


def assert_respected(levels: Levels, section: dict[int, int], image: int, column: list[int]) -> None:
    """A letter takes the tile of an image into that of the next image, as long as it stays at the level."""
    skeleton, target = levels.skeleton, column[image]
    if target == NOWHERE or levels.of(target) != levels.of(image):
        return
    moved = column[skeleton.tiles(image)[section[skeleton.class_of[image]]]]
    tile = skeleton.tiles(target)[section[skeleton.class_of[target]]]
    assert moved == NOWHERE or skeleton.contains(tile, moved)


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_levels_go_down_along_tiles_and_never_up_along_letters(kind: str) -> None:
    for seed in range(40):
        levels = random_levels(kind, seed)
        skeleton = levels.skeleton
        for image in range(len(skeleton.masks)):
            if skeleton.sizes[image] == 1:
                assert levels.of(image) == 0
                continue
            assert all(levels.of(tile) < levels.of(image) for tile in skeleton.tiles(image))
            assert all(levels.of(column[image]) <= levels.of(image) for column in skeleton.after)


@given(st.lists(st.lists(st.integers(0, 4), unique=True), max_size=5))
def test_the_matching_is_largest(options: list[list[int]]) -> None:
    matched = largest_matching(options)
    used = [option for option in matched if option is not None]
    assert len(set(used)) == len(used)
    assert all(option in options[row] for row, option in enumerate(matched) if option is not None)
    best = 0
    for choice in itertools.product(*([*row, None] for row in options)):
        chosen = [option for option in choice if option is not None]
        if len(set(chosen)) == len(chosen):
            best = max(best, len(chosen))
    assert len(used) == best
