"""The page of an answer: the failing word letter by letter, with the margin of the least sure answer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nerode.records import Settlement
from nerode.report import answer_page
from nerode.report.terminal.answers import threshold

READING = "probability at least 1/50 in the columns 1, 2"


def found(reading: str, *, language: str | None, numbers: tuple[float, ...]) -> dict[str, Any]:
    places = [
        {"letter": "c", "says": ["c"], "expected": ["c"], "least": ["c", number]} for number in numbers[:-1]
    ]
    places.append({"letter": "d", "says": ["c", "$"], "expected": ["$"], "least": ["c", numbers[-1]]})
    settlement = Settlement(
        status="refuted",
        about="c*d",
        words="every word",
        dtype="float32",
        method="tests",
        length=0,
        states=0,
        word=("c",) * (len(numbers) - 1) + ("d",),
        expected="$",
        got="c $",
    ).to_json()
    learned = {
        "states": 50,
        "expression": "c*d",
        "known": None,
        "ltl": None,
        "star_free": True,
        "monoid": 3,
        "proved": False,
        "remarks": [],
        "tested": None,
    }
    return {
        "model": "m",
        "language": language,
        "reading": reading,
        "seen": "",
        "gap": None,
        "learned": learned,
        "settlement": settlement,
        "places": places,
    }


def widths(page: str) -> list[float]:
    return [float(width) for width in re.findall(r'<i class="(?:yes|no)" style="width: ([0-9.]+)%">', page)]


def test_margins_are_distances_from_the_threshold() -> None:
    # 0.2 is ten times the threshold and 0.002 a tenth; 0.02·√10 is half as far on a logarithmic scale.
    numbers = (0.2, 0.02 * 10**0.5, 0.002, 0.02)
    page = answer_page(found(READING, language="c*d", numbers=numbers))
    assert widths(page) == [100.0, 50.0, 100.0, 0.0]
    assert page.count('<i class="no"') == 1
    assert ">correct<" in page


def test_scores_have_a_linear_scale_and_the_automaton_is_not_called_correct() -> None:
    page = answer_page(found("scores above 1", language=None, numbers=(5.0, 2.0, 1.0)))
    assert widths(page) == [100.0, 25.0, 0.0]
    assert ">correct<" not in page
    assert ">the automaton<" in page


def test_where_the_largest_score_counts_no_margin_is_shown() -> None:
    page = answer_page(found("the largest score: …", language=None, numbers=(5.0, 2.0)))
    assert widths(page) == []
    assert ">margin<" not in page


@pytest.mark.parametrize(
    ("reading", "number"), [(READING, 0.02), ("scores above 0", 0.0), ("scores above -0.5 in x", -0.5)]
)
def test_the_threshold_is_read_from_the_sentence(reading: str, number: float) -> None:
    assert threshold(reading) == number
