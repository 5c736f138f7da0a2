"""Sizes of groups: known values, and never less than what the compiler needs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nerode.algebra.group_structure import describe_group
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.records import GroupFactor
from nerode.compiler.group_representations import fewest_reflections
from nerode.languages import resolve_language
from nerode.verdict.decision import decide
from nerode.verdict.theorems.groups import reflection_room


@pytest.mark.parametrize(
    ("name", "room"),
    [
        ("Z1", (0, 0)),
        ("Z2", (1, 1)),
        ("Z60", (2, 2)),
        ("D4", (2, 2)),
        ("S3", (2, 2)),
        # Siems et al.: n_h = n - 1 for S_n.
        ("S5", (5, 4)),
        ("S8", (8, 7)),
        # The longest even permutations of 6 points have two cycles.
        ("A6", (6, 4)),
        ("A7", (7, 6)),
        ("A4 Z5", (6, 4)),
        ("Q8", None),
        ("A4 Q8", None),
        ("F20", None),
        ("PSL7", None),
        ("", None),
    ],
)
def test_rooms_of_known_groups(name, room):
    factors = [re.fullmatch("([A-Z]+)([0-9]+)", part).groups() for part in name.split()]
    group = replace(
        describe_group(PermutationGroup([], 1)),
        direct_factors=tuple(GroupFactor(family=family, number=int(n)) for family, n in factors),
    )
    assert reflection_room(group) == room


@pytest.mark.parametrize("name", ["Z2", "Z7", "D5", "S3", "A4", "S4", "A5", "S5", "A4xZ5", "Z2xZ4"])
def test_the_verdict_claims_no_less_than_a_network_needs(name):
    language = resolve_language(name)
    size = decide(language, architectures=["deltaproduct-signed"])["deltaproduct-signed"].size
    found = fewest_reflections(language.dfa())
    assert found.num_factors <= size.factors
    assert size.layers == 1


@pytest.mark.slow
def test_the_word_problem_of_s5_needs_four_reflections():
    size = decide(resolve_language("S5"), architectures=["deltaproduct-signed"])["deltaproduct-signed"].size
    assert (size.width, size.factors) == (5, 4)
