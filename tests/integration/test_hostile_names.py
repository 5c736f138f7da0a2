"""Hostile names of languages, letters, files and runs: shown as they are in every page, and never run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import OpenPage, wait_until
from tests.cli.runner import run
from tests.explorer.conftest import first_line
from tests.report.run_specimens import write_run

pytestmark = [pytest.mark.browser]

SCRIPT = "</script></style></title><script>window.hit = 1</script>"
IMAGE = '"><img src=x onerror="window.hit = 1">'
HANDLER = "' onmouseover='window.hit = 1' x='${window.hit = 1}{{7*7}}"
FILE = "'\"><img src=x onerror=window.hit=1>.json"
"""A name that a file system takes."""

LANGUAGE: dict[str, Any] = {
    "format": "nerode-dfa",
    "version": 1,
    "alphabet": ["</script><script>window.hit=1</script>", '"><img/src=x/onerror=window.hit=1>'],
    "start": 0,
    "accepting": [0],
    "transitions": [[0, 1], [1, 0]],
}


def is_untouched(page: Any) -> bool:
    """Whether no text of a file has become a part of the page that acts."""
    attributes = "[...e.attributes].some((a) => a.name.startsWith('on') || a.value.includes('javascript:'))"
    return bool(
        page.evaluate(
            "window.hit === undefined && document.querySelectorAll('img[src=x]').length === 0 && "
            f"![...document.querySelectorAll('*')].some((e) => {attributes})"
        )
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Runs whose models, tasks, settings and failures have hostile names, in a folder with such a name."""
    folder = tmp_path / FILE.removesuffix(".json")
    for title, task in ((SCRIPT, "parity"), (IMAGE, "parity"), (HANDLER, SCRIPT)):
        write_run(
            folder,
            title=title,
            task=task,
            settings={IMAGE: SCRIPT},
            layers=(HANDLER,),
            layer_settings={SCRIPT: IMAGE},
        )
    failed = folder / ".work" / ("ab" * 8)
    failed.mkdir(parents=True)
    (failed / "failure.json").write_text(
        json.dumps({"key": "ab" * 32, "message": SCRIPT + IMAGE, "trace": HANDLER})
    )
    return folder


@pytest.fixture
def language_file(tmp_path: Path) -> Path:
    path = tmp_path / FILE
    path.write_text(json.dumps(LANGUAGE))
    return path


def test_a_report_shows_hostile_runs(store: Path, tmp_path: Path, open_page: OpenPage) -> None:
    report = tmp_path / "report.html"
    made = run("report", str(store), "-o", str(report))
    assert made.code == 0, made.err
    page = open_page(report)
    wait_until(page, "document.readyState === 'complete'")
    assert "window.hit = 1" in page.locator("body").inner_text()
    assert is_untouched(page)


@pytest.mark.slow
def test_the_atlas_shows_hostile_runs(store: Path, tmp_path: Path, open_page: OpenPage) -> None:
    atlas = tmp_path / "atlas.html"
    options = ("--only", "parity", "--no-networks", "--jobs", "1", "--runs", str(store))
    made = run("atlas", "-o", str(atlas), "--experiments", str(tmp_path / "none"), *options)
    assert made.code == 0, made.err
    page = open_page(atlas)
    wait_until(page, "document.readyState === 'complete'")
    assert "onerror=window.hit=1" in page.content()
    assert is_untouched(page)


def test_the_page_of_a_hostile_language(language_file: Path, tmp_path: Path, open_page: OpenPage) -> None:
    target = tmp_path / "page.html"
    made = run("explain", str(language_file), "-o", str(target))
    assert made.code == 0, made.err
    page = open_page(target)
    wait_until(page, "document.readyState === 'complete'")
    assert "onerror=" in page.locator("body").inner_text()
    assert is_untouched(page)


@pytest.fixture
def address() -> Iterator[str]:
    command = [sys.executable, "-m", "nerode.cli.main", "explore", "--json", SCRIPT]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(first_line(process))["address"]
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.slow
def test_the_explorer_shows_hostile_names(address: str, language_file: Path, open_page: OpenPage) -> None:
    page = open_page(address)
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    assert is_untouched(page)
    page.locator("#file").set_input_files(language_file)
    wait_until(page, "document.body.innerText.includes('onerror=')", seconds=60)
    page.wait_for_timeout(500)
    assert is_untouched(page)
    for text in (IMAGE, HANDLER):
        typed = open_page(f"{address}#text={quote(text)}&mode=regex")
        typed.wait_for_selector("html[data-ready]", timeout=60_000)
        typed.wait_for_timeout(500)
        assert is_untouched(typed)
