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


SCREEN = 900
"""The height of a screen that is 1,440 pixels wide."""


@pytest.mark.slow
@pytest.mark.browser
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


def test_findings_are_few_and_short() -> None:
    """Bounds that are checked in a moment; the slow test above measures the screens in a browser."""
    text = (DOCS / "findings.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+)\. ", text, re.MULTILINE)
    assert headings == [str(n + 1) for n in range(len(headings))]
    assert 1 <= len(headings) <= 6
    assert len(text.split()) <= 1_000


def _anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as myst makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_lead_to_pages_and_headings_and_every_page_is_in_a_list() -> None:
    """What the build warns of most often, in a moment; the build itself is one of the slow tests."""
    pages = {
        path: path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md") if "generated" not in path.parts
    }
    broken = []
    for path, text in pages.items():
        prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            place, _, anchor = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            if "://" in link or "generated" in target.parts:
                continue
            if not target.exists() or (anchor and anchor not in _anchors(pages.get(target, ""))):
                broken.append(f"{path.relative_to(DOCS)}: {link}")
    assert not broken
    listed = {
        line.strip()
        for text in pages.values()
        for block in re.findall(r"^```{toctree}(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    }
    names = {str(path.relative_to(DOCS).with_suffix("")) for path in pages}
    assert names - listed <= {"index"}, "no list of pages leads there"


def test_the_reference_lists_the_names_of_the_api() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)", page, re.MULTILINE)
    homes = {".".join(home) for home in nr._HOMES.values()}
    assert sorted(listed) == sorted(homes)
    assert sorted([*nr._HOMES, "__version__"]) == sorted(nr.__all__)
