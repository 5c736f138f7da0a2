"""Sections: what they must respect, and how they are joined into labels."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, strategies as st

from nerode.algebra.cascades.sections import Levels, join_sections, largest_matching
from nerode.algebra.cascades.skeleton import NOWHERE, Skeleton
from nerode.algebra.components import whole_action
from tests.algebra.cascades.automata import COUNTER_FREE


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
