"""The browser of the tests notices what it is there to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import OpenPage, Watch

pytestmark = [pytest.mark.browser]


def test_requests_errors_and_warnings_are_noticed(open_page: OpenPage, watch: Watch, tmp_path: Path) -> None:
    file = tmp_path / "asks.html"
    file.write_text(
        '<link rel="icon" href="data:,"><script>console.warn("beware")</script>'
        '<script>undefinedName()</script><img src="http://example.invalid/x.png">'
    )
    page = open_page(file)
    page.wait_for_load_state("networkidle")
    assert watch.foreign == ["http://example.invalid/x.png"]
    assert any("beware" in line for line in watch.complaints)
    assert any("undefinedName is not defined" in line for line in watch.complaints)
    watch.foreign.clear()
    watch.complaints.clear()


def test_a_quiet_page_passes_in_light_and_dark_and_any_width(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "quiet.html"
    file.write_text('<link rel="icon" href="data:,"><title>quiet</title>')
    page = open_page(file, width=390, dark=True)
    assert page.title() == "quiet"
    assert page.evaluate("innerWidth") == 390
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert not open_page(file).evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
