"""Declared classes of own models, and measurements that contradict them."""

from __future__ import annotations

from typing import Any

import pytest

import nerode as nr
from nerode.core import InputError, UnknownName
from nerode.verdict import contradiction, declaration_trouble, find_architecture

FADING = {"form": "diagonal", "least": 0.1, "largest": 0.9, "imaginary": 0.0, "modulus": 0.9, "varies": True}


class Cell:
    """A class to be marked."""

    theory: str


def test_properties_and_names_lead_to_the_same_row() -> None:
    assert nr.describe(transition="diagonal", gates=(-1, 1))(Cell).theory == "diagonal-signed"
    assert nr.describe(Cell(), theory="rnn").theory == "elman-tanh"
    assert nr.describe(Cell(), transition="diagonal", gates="unit disk").theory == "diagonal-complex"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"theory": "diagonl"}, UnknownName, "did you mean diagonal"),
        ({"transition": "diagonal"}, InputError, "describe no class"),
        ({"transition": "diagonal", "gates": (0, 2)}, InputError, "describe no class"),
        ({"transition": "dense", "gates": (0, 1)}, InputError, "the table of theory has no linear class"),
    ],
)
def test_what_is_no_class_is_refused(options: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        nr.describe(**options)


@pytest.mark.parametrize(
    ("theory", "changes", "match"),
    [
        ("diagonal", {}, ""),
        ("diagonal", {"least": -0.2}, "but a gate of -0.2 was measured"),
        ("diagonal", {"largest": 1.5}, "but a gate of 1.5 was measured"),
        ("diagonal-signed", {"least": -0.2}, ""),
        ("diagonal-signed", {"imaginary": 0.3}, "imaginary part 0.3"),
        ("diagonal-complex", {"imaginary": 0.3, "modulus": 1.2}, "modulus 1.2"),
        ("diagonal", {"form": "dense"}, "its transition() is dense"),
        ("s4d", {}, "varies with the letter"),
        ("lstm", {"least": -7.0}, ""),
    ],
)
def test_measurements_are_held_against_the_declaration(
    theory: str, changes: dict[str, Any], match: str
) -> None:
    found = contradiction(find_architecture(theory), {**FADING, **changes})
    assert match in found
    assert bool(match) == bool(found)


def test_an_unknown_or_missing_declaration_is_said() -> None:
    assert "no class of theory is declared" in declaration_trouble("", FADING)
    assert "unknown architecture" in declaration_trouble("nothing-such", FADING)
    assert declaration_trouble("diagonal", {}) == ""
