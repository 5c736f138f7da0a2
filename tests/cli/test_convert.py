"""`nerode convert`, `nerode diff` and `nerode draw`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.languages.bestiary import find_language
from nerode.languages.formats import FORMATS, read_automaton
from tests.cli.runner import run


@pytest.mark.parametrize("form", list(FORMATS))
def test_every_format_comes_back(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{form}"
    assert run("convert", "tomita-3", "-o", str(path)).code == 0
    assert run("diff", "tomita-3", str(path)).out.startswith("equal")


def test_operations_are_those_of_sets(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    done = run("convert", "[ab]*a", "--and", "b[ab]*", "--or", "(aa)", "--minus", "(ba)", "-o", str(path))
    assert done.code == 0, done.err
    found = read_automaton(path)
    assert [found.accepts(word) for word in ("bba", "ba", "aa", "aba", "b")] == [
        True,
        False,
        True,
        False,
        False,
    ]
    other = tmp_path / "y.json"
    assert run("convert", str(path), "--complement", "-o", str(other)).code == 0
    assert read_automaton(other).accepts("ba")


def test_the_monoid_as_data() -> None:
    found = json.loads(run("convert", "parity", "--as", "monoid").out)
    assert found["elements"] == [[], ["1"]]
    assert found["products"] == [[0, 1], [1, 0]]
    assert found["green"] == {"r": [0, 0], "l": [0, 0], "d": [0, 0]}


def test_the_shortest_difference_is_named() -> None:
    found = run("diff", "tomita-1", "parity", "--json")
    assert found.code == 1
    assert json.loads(found.out) == {"equal": False, "word": ["0"], "in": "parity"}
    word = run("diff", "[ab]*", "[abc]*").out
    assert "c is in [abc]*" in word


def test_draw_writes_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "eggs.tikz"
    done = run("draw", "tomita-3", "--what", "egg-box", "-o", str(path), "--json")
    assert json.loads(done.out) == {
        "language": "tomita-3",
        "what": "egg-box",
        "out": str(path),
        "bytes": len(path.read_text()),
    }
    assert find_language("tomita-3").name in path.read_text()


def test_a_star_free_expression_is_the_same_language() -> None:
    text = run("convert", "tomita-2", "--as", "star-free").out.strip()
    assert "*" not in text
    assert run("diff", "tomita-2", text).out.startswith("equal")
    assert "not star-free" in run("convert", "parity", "--as", "star-free").err
