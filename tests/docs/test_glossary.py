"""The glossary explains every class of languages that a command prints, with examples that are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nerode.algebra.classes import CLASSES
from nerode.algebra.classes.table import decide_membership
from nerode.languages import resolve_language

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z-]+)` \| .* \| (.*) \|$", GLOSSARY, re.MULTILINE))
PATTERNS = {
    name: found[1].replace("\\|", "|")
    for name, text in ROWS.items()
    if (found := re.fullmatch("`(.+)`", text))
}


def test_every_class_has_a_row_and_every_row_is_a_class() -> None:
    assert set(ROWS) == set(CLASSES)


@pytest.mark.parametrize("name", PATTERNS)
def test_examples_that_are_patterns_belong_to_their_class(name: str) -> None:
    dfa = resolve_language(PATTERNS[name], regex=True).dfa()
    assert decide_membership(name, dfa).holds is True
