"""The static explorer in a real browser: typed words, and the exercise with its shortest difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import OpenPage, wait_until
from tests.cli.runner import run

pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course") / "pages"
    done = run("explore", "parity", "(ab)*", "--static", str(folder))
    assert done.code == 0, done.err
    assert done.out.strip() == str(folder / "index.html")
    return folder


def test_the_first_page_leads_to_a_language_whose_words_can_be_typed(
    course: Path, open_page: OpenPage
) -> None:
    page = open_page(course / "index.html", width=390, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("text=parity")
    wait_until(page, "document.documentElement.dataset.ready === 'true'")
    page.fill("#word", "0110")
    wait_until(page, "document.getElementById('network-verdict').textContent.includes('all 5 prefixes')")
    assert page.is_disabled("#text")
    page.fill("#word", "01" * 8)
    wait_until(page, "document.getElementById('word-problem').textContent.includes('up to 7 letters')")


def test_the_exercise_names_the_shortest_difference_and_knows_the_smallest(
    course: Path, open_page: OpenPage
) -> None:
    page = open_page(course / "exercise.html", width=1200)
    page.check("[data-accepting='0']")
    page.click("#check")
    assert page.inner_text("#told").startswith("The shortest word that is answered wrongly: 1. It is not in")
    page.select_option("#size", "2")
    page.select_option("[data-move='0 1']", "1")
    page.select_option("[data-move='1 0']", "1")
    page.click("#check")
    assert page.inner_text("#told") == "✓ Your automaton has the same words, and no smaller one has."
    # Two states, one of them with two circles; four moves and the start, each a line with a head.
    assert page.locator("#picture circle").count() == 3
    assert page.locator("#picture path").count() == 2 * 5
    assert sorted(page.locator("#picture .letters").all_text_contents()) == ["0", "0", "1", "1"]
    page.uncheck("[data-accepting='0']")
    assert page.locator("#picture circle").count() == 2
    page.check("[data-accepting='0']")
    page.select_option("#size", "3")
    page.click("#check")
    assert page.inner_text("#told") == "✓ Your automaton has the same words. 2 states are enough."
    page.select_option("#task", "1")
    page.click("#check")
    assert "ε (the empty word). It is in the language" in page.inner_text("#told")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    assert "one language, and 2 are named" in run("explore", "parity", "tomita-3", "--no-browser").err
    assert "same file" in run("explore", "parity", "parity", "--static", str(tmp_path / "x")).err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    assert run("explore", "parity", "--static", str(tmp_path / "full")).code == 2
