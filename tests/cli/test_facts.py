"""`nerode check --json` on every named language, against what is known from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nerode.languages.bestiary import BESTIARY
from tests.cli.runner import run
from tests.languages.bestiary.facts import FACTS


@pytest.fixture(scope="module")
def checked() -> dict[str, dict[str, Any]]:
    outcome = run("check", *BESTIARY, "--arch", "mamba", "--json")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert len(lines) == len(BESTIARY)
    return {name: json.loads(line) for name, line in zip(BESTIARY, lines, strict=True)}


@pytest.mark.parametrize("name", BESTIARY)
def test_the_algebra_agrees_with_the_facts(name: str, checked: dict[str, dict[str, Any]]) -> None:
    found, facts = checked[name], FACTS[name]
    assert found["language"]["regular"] == facts.regular.value
    stated = {
        "states": (facts.num_states, found["language"]["states"]),
        "monoid_size": (facts.monoid_size, found["algebra"]["monoid_size"]),
        "star_free": (facts.star_free, found["algebra"]["star_free"]),
    }
    for key, (fact, value) in stated.items():
        if fact is not None and key not in found["incomplete"]:
            assert value == fact.value, f"{key}: {fact.why}"
    if facts.groups is not None:
        assert tuple(group["name"] for group in found["algebra"]["groups"]) == facts.groups.value


def test_only_what_has_a_billion_states_is_left_out(checked: dict[str, dict[str, Any]]) -> None:
    assert [name for name in BESTIARY if "monoid_size" in checked[name]["incomplete"]] == ["dyck-8-10"]
    for name, found in checked.items():
        assert "states" not in found["incomplete"], name
        assert "star_free" not in found["incomplete"], name


def test_orders_of_groups_are_those_of_their_names(checked: dict[str, dict[str, Any]]) -> None:
    orders = {
        "Z2": 2, "Z3": 3, "Z4": 4, "Z5": 5, "Z60": 60, "Z2xZ2": 4, "S3": 6, "S4": 24, "S5": 120,
        "A5": 60, "A4xZ5": 60, "Q8": 8, "D4": 8, "F20": 20,
    }  # fmt: skip
    seen = {g["name"]: g for found in checked.values() for g in found["algebra"]["groups"]}
    assert {name: group["order"] for name, group in seen.items()} == orders
    assert [name for name, group in seen.items() if not group["solvable"]] == ["A5", "S5"]
