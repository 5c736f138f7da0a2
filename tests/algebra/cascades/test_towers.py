"""Towers of congruences, and images seen through them."""

from __future__ import annotations

import itertools
import random

import pytest

from nerode.algebra.cascades.holonomy import is_finer, principal_congruences, tower_cascade
from nerode.algebra.cascades.skeleton import Levels, Skeleton, Tower
from nerode.algebra.components import whole_action
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE, planted_cascade, with_group
from tests.algebra.cascades.naive import assert_runs
from tests.algebra.cascades.test_congruences import is_congruence
from tests.algebra.cascades.verification import verify_cascade


def test_a_set_is_seen_through_the_first_congruence_that_splits_it() -> None:
    tower = Tower([(0, 0, 0, 1, 1), (0, 0, 1, 2, 3)])
    assert [tower.tier(mask) for mask in (0b11111, 0b01001, 0b00101, 0b00011, 0b00001)] == [
        0,
        0,
        1,
        None,
        None,
    ]
    assert tower.saturate(0b01001, 0) == 0b11111
    assert tower.saturate(0b00101, 1) == 0b00111
    assert tower.saturate(0b00011, None) == 0b00011
    assert tower.rank(0b11111) == (2, 2)
    assert tower.rank(0b00101) == (1, 2)
    assert tower.rank(0b00011) == (0, 2)
    assert set(tower.classes) == {0b00111, 0b11000, 0b00011, 0b00100, 0b01000, 0b10000}


def test_finer_means_inside_the_classes() -> None:
    assert is_finer((0, 1, 2, 2), (0, 1, 1, 1))
    assert not is_finer((0, 1, 1, 1), (0, 1, 2, 2))
    assert not is_finer((0, 0, 1, 1), (0, 1, 1, 0))


def test_principal_congruences_are_proper_congruences() -> None:
    rows = find_language("aabbccddee").dfa().transitions.tolist()
    found = principal_congruences(rows, 100)
    assert found
    assert all(is_congruence(rows, labels) and 1 < len(set(labels)) < len(rows) for labels in found)
    assert principal_congruences(rows, 2) == found[:2]


def test_over_a_tower_letters_never_raise_the_rank_and_cover_the_plain_image() -> None:
    seen = 0
    for seed in range(60):
        dfa = planted_cascade(random.Random(seed), 4)
        rows = dfa.transitions.tolist()
        for labels in principal_congruences(rows, 3):
            tower = Tower([labels])
            skeleton = Skeleton(whole_action(dfa), None, tower)
            levels = Levels(skeleton)
            for image, (letter, column) in itertools.product(
                range(len(skeleton.masks)), enumerate(skeleton.after)
            ):
                seen += 1
                mask, target = skeleton.masks[image], skeleton.masks[column[image]]
                move = skeleton.action.maps[letter]
                assert all(target >> move[q] & 1 for q in range(dfa.num_states) if mask >> q & 1)
                assert tower.rank(target) <= tower.rank(mask)
                assert levels.of(column[image]) <= levels.of(image)
                assert all(levels.of(tile) < levels.of(image) for tile in skeleton.tiles(image))
    assert seen > 500


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_a_tower_gives_fewer_levels_or_nothing(kind: str) -> None:
    rng = random.Random(kind)
    for seed in range(30):
        dfa = COUNTER_FREE[kind](rng)
        cascade = tower_cascade(dfa)
        if cascade is not None:
            assert cascade.depth < Levels(Skeleton(whole_action(dfa))).top
            assert verify_cascade(cascade, dfa)
            assert_runs(cascade, dfa, seed=seed)


def test_towers_with_groups() -> None:
    rng = random.Random(3)
    found = 0
    for seed in range(60):
        dfa = with_group(rng, degree=4)
        cascade = tower_cascade(dfa)
        if cascade is not None:
            found += 1
            assert verify_cascade(cascade, dfa)
            assert_runs(cascade, dfa, seed=seed)
    assert found
