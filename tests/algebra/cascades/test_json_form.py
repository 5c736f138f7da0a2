"""Cascades survive JSON, and what is not a cascade is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nerode.algebra.cascades.json_form import cascade_from_json, cascade_to_json
from nerode.algebra.cascades.portfolio import decompose
from nerode.algebra.cascades.solvable import decompose_general, decompose_solvable
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.test_records import ab_star


@pytest.mark.parametrize("name", ["d-3", "tomita-3", "s3", "a5-generators"])
def test_a_cascade_survives_json(name: str) -> None:
    cascade = decompose_general(find_language(name).dfa())
    assert cascade_from_json(json.loads(json.dumps(cascade_to_json(cascade)))) == cascade


def test_all_kinds_of_commands_are_written() -> None:
    cases = [
        decompose(find_language("flip-flop").dfa(), window=1),
        decompose_solvable(find_language("q8").dfa()),
    ]
    for cascade in cases:
        assert cascade_from_json(json.loads(json.dumps(cascade_to_json(cascade)))) == cascade


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("levels"),
        lambda data: data["levels"][0].pop("commands"),
        lambda data: data["levels"][0].update(commands=["hold"]),
        lambda data: data["levels"][0].update(commands=[{"multiply": 2}]),
        lambda data: data["lookups"][0].update(reads=[["letter"]]),
        lambda data: data.update(lookups=5),
        lambda data: data.update(state=7),
    ],
)
def test_what_is_not_a_cascade_is_refused(damage: Any) -> None:
    data = cascade_to_json(ab_star())
    damage(data)
    with pytest.raises(InputError):
        cascade_from_json(data)
