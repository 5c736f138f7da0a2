"""docs/trust.md: the lines that have to be believed are counted, and its theorems exist."""

from __future__ import annotations

import re

import pytest

from tests.formal.built import FORMAL, ROOT

PAGE = (ROOT / "docs" / "trust.md").read_text()
ROWS = re.findall(r"^\| `([^`]+)` \| (\d+) \|", PAGE, re.MULTILINE)


def test_the_page_has_rows() -> None:
    assert len(ROWS) >= 8


@pytest.mark.parametrize(("pattern", "most"), ROWS)
def test_lines_are_counted(pattern: str, most: str) -> None:
    paths = list(ROOT.glob(pattern))
    assert paths, f"{pattern} is gone: say in docs/trust.md which code has its place"
    count = sum(len(path.read_text().splitlines()) for path in paths)
    assert count <= int(most)


@pytest.mark.parametrize("theorem", re.findall(r"`(\w+\.v)`, `(\w+)`\)", PAGE))
def test_theorems_are_where_the_page_says(theorem: tuple[str, str]) -> None:
    assert f"\nTheorem {theorem[1]} " in (FORMAL / theorem[0]).read_text()
