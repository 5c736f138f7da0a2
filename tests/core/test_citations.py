"""Every citation in the code and in the documents resolves, and every work is cited somewhere."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import nerode
from nerode.core.config import works

PACKAGE = Path(nerode.__file__).parent
ROOT = PACKAGE.parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ALL = [*SOURCES, *DOCUMENTS]

BRACKET = re.compile(r"\[(\w+)((?:, [^\]\[]+)?)\]")
KEY_LIKE = re.compile(r"\[([A-Z][A-Za-z]+\d{4}\w*)(?:, [^\]\[]+)?\](?!\()")
"""A citation in running text: a name and a year in brackets that are not those of a link."""

READ = {
    "Dankowiakowski2025",
    "Grazzi2025",
    "MemoryGeneralization",
    "Merrill2024",
    "Nandakumar2024",
    "NerodeTheory",
    "Terzic2025PdSsm",
}
"""Works whose text was read, so that a place inside them may be given."""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(path: Path) -> Iterator[str]:
    """All strings that stand alone: of modules, classes, functions and attributes."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                yield value


def implements_lines() -> list[tuple[Path, str]]:
    return [
        (path, line.strip())
        for path in SOURCES
        if "Implements" in path.read_text(encoding="utf-8")
        for text in docstrings(path)
        for line in text.splitlines()
        if line.strip().startswith("Implements")
    ]


def places() -> Iterator[tuple[Path, str, str]]:
    """Citations with a place: in docstrings, and in calls of Reference."""
    for path, line in implements_lines():
        for key, place in BRACKET.findall(line):
            if place:
                yield path, key, place.removeprefix(", ")
    for path in SOURCES:
        for node in ast.walk(tree_of(path)) if "Reference(" in path.read_text(encoding="utf-8") else ():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Reference"
                and len(node.args) == 2
                and all(isinstance(argument, ast.Constant) for argument in node.args)
            ):
                key, place = (ast.literal_eval(argument) for argument in node.args)
                yield path, key, place


def test_lines_that_say_what_is_implemented_resolve() -> None:
    lines = implements_lines()
    assert len(lines) > 60
    for path, line in lines:
        assert line.startswith("Implements: ["), f"{path}: {line}"
        keys = [key for key, _ in BRACKET.findall(line)]
        assert keys, f"{path}: {line}"
        assert all(key in works() for key in keys), f"{path}: {line}"


def test_citations_in_running_text_resolve() -> None:
    found = [(path, key) for path in ALL for key in KEY_LIKE.findall(path.read_text(encoding="utf-8"))]
    assert len(found) > 60
    assert not [(str(path), key) for path, key in found if key not in works()]


def test_places_are_given_only_where_the_source_was_read() -> None:
    found = list(places())
    assert len(found) > 20
    for path, key, place in found:
        assert key in READ, f"{path}: {key}, {place}"
        assert place.strip(), f"{path}: {key}"


def test_every_work_is_cited_somewhere() -> None:
    words = {word for path in ALL for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert not [key for key in works() if key not in words]


def test_the_search_finds_what_it_looks_for() -> None:
    text = "Implements: [Pin1986, Theorem 4], after [Green1951]; see [a link](x) and [1]."
    assert BRACKET.findall(text)[:2] == [("Pin1986", ", Theorem 4"), ("Green1951", "")]
    assert KEY_LIKE.findall(text + " [Not1999](url) [Nobody2099]") == ["Pin1986", "Green1951", "Nobody2099"]
