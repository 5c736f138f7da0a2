"""The pictures of README and documentation are those that their command makes."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_figure_on_parity_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    pictures = importlib.import_module("_pictures")
    again = "run `python docs/_pictures.py`"
    assert (DOCS / "_static" / "parity.svg").read_text(encoding="utf-8") == pictures.parity_figure(), again


def test_every_picture_that_a_page_names_is_there() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    named = [
        (page, path) for page in pages for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())
    ]
    assert named
    for page, path in named:
        assert (page.parent / path).exists(), f"{page.name}: {path}"
