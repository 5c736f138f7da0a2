"""Automata drawn by hand, and the network beside them, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from nerode.languages.formats import read_automaton
from tests.browser import OpenPage
from tests.explorer.test_page import at, opened, text, until, until_text, wait_for_network

pytestmark = [pytest.mark.browser]


def click(page: Any, x: float, y: float, *, twice: bool = False) -> None:
    box = page.locator("#edit-canvas").bounding_box()
    press = page.mouse.dblclick if twice else page.mouse.click
    press(box["x"] + x, box["y"] + y)


def test_an_automaton_is_drawn_edited_and_saved(address: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, address, width=1440)
    page.locator("#draw-one").click()
    first, second, nothing = (120, 150), (320, 150), (500, 280)
    for place in (first, second):
        click(page, *place, twice=True)
        click(page, *nothing)
    for source, target in ((first, second), (second, first)):
        click(page, *source)
        click(page, *target)
        click(page, *nothing)
    click(page, *first)
    page.locator("#edit-accepting").click()
    until_text(page, "#name", "drawn")
    until(page, lambda: "minimal DFA 2 states" in text(page, "#lead") and "Z₂" in text(page, "#lead"))
    click(page, *nothing)
    # A loop with another letter, then the letters of an arrow, then one state less.
    page.locator("#edit-letters").fill("b")
    click(page, *second)
    click(page, *second)
    until(page, lambda: "{a, b}" in text(page, "#lead"))
    page.locator("#edit-letters").fill("b c")
    until(page, lambda: "{a, b, c}" in text(page, "#lead"))
    with page.expect_download() as saved:
        page.locator("#edit-save").click()
    saved.value.save_as(tmp_path / "drawn.jff")
    dfa = read_automaton(tmp_path / "drawn.jff")
    assert [dfa.accepts(dfa.alphabet.encode(word)) for word in ("", "a", "aa", "abca", "ab", "b")] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]
    page.locator("#edit-delete").click()
    until(page, lambda: "{a}" in text(page, "#lead"))


def test_what_is_shown_can_be_edited(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="(aa)*"))
    page.locator("#edit-automaton").click()
    assert page.locator("#edit-canvas .state").count() == 2
    assert page.locator("#edit-canvas .state.accepting").count() == 1
    assert page.locator("#edit-canvas .edge").count() == 2
    page.locator("#edit-canvas .state").nth(1).click()
    page.locator("#edit-accepting").click()
    until(page, lambda: "star-free" in text(page, "#lead") and "not star-free" not in text(page, "#lead"))


def test_the_network_moves_beside_the_automaton(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="tomita-3", word="110100"), width=1440)
    wait_for_network(page)
    places = [page.locator(name).bounding_box() for name in ("#automaton-card", "#network-card")]
    assert places[0]["y"] == places[1]["y"] < 900 - 200
    before = page.locator("#drawing").inner_text()
    page.locator("#forward").click()
    assert page.locator("#drawing").inner_text() != before
    assert page.locator("#automaton g.state.lit").count() == 1
    assert page.locator("#now-answer").get_attribute("data-agrees") == "true"


def test_a_file_is_called_by_its_name(address: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, address)
    path = tmp_path / "<b>two.att"
    path.write_text("0 1 x\n1 0 y\n0\n")
    page.locator("#file").set_input_files(path)
    until_text(page, "#name", "<b>two")
    assert "<b>two.att" in text(page, "#convention")
    assert page.locator("#name b").count() == 0


def test_an_address_without_its_secret_says_how_to_go_on(address: str) -> None:
    parts = urlsplit(address)
    answer = httpx.get(f"{parts.scheme}://{parts.netloc}/", headers={"accept": "text/html,*/*"})
    assert answer.status_code == 404
    assert "open the whole address that it printed" in answer.text
    assert parts.path.strip("/") not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
