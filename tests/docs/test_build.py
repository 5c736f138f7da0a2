"""The documentation builds offline without a warning, and says what the API promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nerode as nr
from nerode.verdict.theorems import THEOREMS
from tests.browser import OpenPage

DOCS = Path(__file__).parents[2] / "docs"


pytestmark = [pytest.mark.browser]

SCREEN = 900
"""The height of a screen that is 1,440 pixels wide."""


def test_the_documentation_builds_without_warnings_and_findings_fill_four_screens(
    tmp_path: Path, open_page: OpenPage
) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "What can a sequence model compute" in page
    for name in THEOREMS:
        assert (tmp_path / "generated" / "theorems" / f"{name}.html").exists()
    height = "document.documentElement.scrollHeight"
    found = open_page(tmp_path / "findings.html", width=1440, height=SCREEN)
    assert 2 * SCREEN < found.evaluate(height) <= 4 * SCREEN
    outside = re.findall(r'(?:src|href)="(https?://[^"]+)"', page)
    assert not [url for url in outside if url.endswith((".js", ".css"))]


def test_the_reference_lists_the_names_of_the_api() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)", page, re.MULTILINE)
    homes = {".".join(home) for home in nr._HOMES.values()}
    assert sorted(listed) == sorted(homes)
    assert sorted([*nr._HOMES, "__version__"]) == sorted(nr.__all__)
