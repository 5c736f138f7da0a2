"""The page in a real browser; the fixture fails every test whose page complains or asks somebody else."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import pytest

from nerode.compiler import compile_language
from nerode.languages import resolve_language
from nerode.network import Interpreter
from nerode.proofs import check_folder
from tests.browser import OpenPage, Watch

pytestmark = [pytest.mark.browser]

WIDTHS = (1440, 390)


def at(address: str, **state: str) -> str:
    return address + "#" + "&".join(f"{name}={quote(value)}" for name, value in state.items())


def opened(open_page: OpenPage, place: Any, **options: Any) -> Any:
    page = open_page(place, **options)
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    return page


def text(page: Any, selector: str) -> str:
    return str(page.locator(selector).inner_text()).strip()


def symbols(page: Any, selector: str) -> list[str]:
    shown = page.locator(f"{selector} .symbol").all_inner_texts()
    return ["$" if name == "end" else name for name in shown]


def until(page: Any, condition: Callable[[], bool]) -> None:
    """Waits; the page's policy forbids the library's own way, which evaluates texts inside the page."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, page.locator("body").inner_text()[:2000]
        page.wait_for_timeout(50)


def until_text(page: Any, selector: str, wanted: str) -> None:
    until(page, lambda: text(page, selector) == wanted)


def wait_for_network(page: Any) -> None:
    until(page, page.locator("#now-network").is_visible)


def test_type_a_language_and_see_it(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, address)
    assert page.locator("#language").is_hidden()
    page.locator("#text").press_sequentially("(aa)*")
    until_text(page, "#name", "(aa)*")
    assert page.locator("#automaton g.state").count() == 2
    assert "not star-free" in text(page, "#lead")
    assert page.locator("#eggs td.group").count() == 1
    row = page.locator("#verdicts tr", has=page.get_by_role("button", name="Mamba", exact=True))
    assert "no" in row.locator(".pill").first.inner_text()
    assert "Z2" in row.inner_text()
    page.locator("#text").fill("(ab)*")
    until_text(page, "#name", "(ab)*")
    assert page.locator("#automaton g.state").count() == 2
    assert "yes" in row.locator(".pill").first.inner_text()


def test_a_malformed_regex_shows_its_error(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="(ab)*"))
    page.locator("#text").fill("(ab")
    problem = page.locator("#problem")
    problem.wait_for(state="visible")
    assert "unclosed ( at column 1" in problem.inner_text()
    assert problem.locator("mark").inner_text() == "("
    assert page.locator("#text").get_attribute("aria-invalid") == "true"
    page.locator("#text").fill("tomita-9")
    page.get_by_role("button", name="tomita-7").click()
    until_text(page, "#name", "tomita-7")
    assert problem.is_hidden()


def test_a_formula_and_a_file(address: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = opened(open_page, at(address, text="H (b -> Y O a)", mode="ltl", alphabet="ab"))
    assert text(page, "#name") == "H (b -> Y O a)"
    path = tmp_path / "two.att"
    path.write_text("0 1 x\n1 0 y\n0\n")
    page.locator("#file").set_input_files(path)
    until(page, lambda: "x, y" in text(page, "#lead"))
    assert page.locator("#automaton g.state").count() == 2
    path.write_text("0 1\nno automaton\n")
    page.locator("#file").set_input_files([])
    page.locator("#file").set_input_files(path)
    page.locator("#problem").wait_for(state="visible")
    assert "two.att" in text(page, "#problem")


@pytest.mark.parametrize(
    ("name", "target", "word"),
    [("flip-flop", "mamba", "w0i1r0w1i0"), ("tomita-3", "elman-tanh", "110100"), ("S3", "dense", "")],
)
def test_every_panel_agrees_at_every_step(
    address: str, open_page: OpenPage, name: str, target: str, word: str
) -> None:
    language = resolve_language(name)
    dfa = language.dfa()
    word = word or " ".join(language.alphabet.symbols[i] for i in (1, 2, 3, 0, 4))
    letters = language.alphabet.encode(word)
    network = compile_language(language, target)
    interpreter = Interpreter(network)
    page = opened(open_page, at(address, text=name, tab="network", target=target, word=word), width=1440)
    wait_for_network(page)
    configuration, state = interpreter.start(), dfa.start
    for position, expected in enumerate(language.legal_along(letters)):
        if position:
            page.locator("#forward").click()
            configuration, _ = interpreter.step(configuration, letters[position - 1])
            state = int(dfa.transitions[state, letters[position - 1]])
        assert text(page, "#position") == f"{position} / {len(letters)}"
        assert text(page, "#now-state") == str(state)
        lit = page.locator("#automaton g.state.lit title").all_text_contents()
        assert [title.split(",")[0] for title in lit] == [f"state {state}"]
        legal = expected.names(language.alphabet)
        assert symbols(page, "#now-legal") == legal
        assert symbols(page, "#now-answer") == legal
        assert page.locator("#now-answer").get_attribute("data-agrees") == "true"
        assert page.locator("#eggs td.lit").count() == 1
        for layer, values in zip(page.locator(".layer").all(), configuration, strict=True):
            shown = layer.locator("td.after").all_inner_texts()
            assert [number(value) for value in shown] == pytest.approx([float(v) for v in values], abs=1e-2)
    assert page.locator("#network-verdict").get_attribute("data-first-wrong") == "none"


def number(shown: str) -> float:
    shown = shown.replace("−", "-")
    above, _, below = shown.partition("/")
    return float(above) / float(below or 1)


def test_noise_breaks_the_linear_latch_and_not_the_tanh_latch(address: str, open_page: OpenPage) -> None:
    word = "w1" + "i0" * 100 + "r1"
    page = opened(open_page, at(address, text="flip-flop", tab="network", target="mamba", word=word))
    verdict = page.locator("#network-verdict")
    wait_for_network(page)
    assert verdict.get_attribute("data-first-wrong") == "none"
    slider = page.locator("#noise")
    slider.focus()
    for _ in range(6):
        slider.press("ArrowRight")
    assert text(page, "#noise-value") == "±0.1"
    assert page.locator("#arithmetic").input_value() == "float64"
    until(page, lambda: verdict.get_attribute("data-first-wrong") not in (None, "none"))
    first = int(verdict.get_attribute("data-first-wrong"))
    assert 0 < first < len(word)
    assert page.locator(".letter.first-wrong").count() == 1
    assert page.locator(".letter").nth(first - 1).get_attribute("class").endswith("first-wrong")
    page.locator("#target").select_option("elman-tanh")
    until(page, lambda: verdict.get_attribute("data-first-wrong") == "none")
    assert "noise ±0.1" in verdict.inner_text()
    for dtype in ("float32", "bfloat16", "float16"):
        page.locator("#arithmetic").select_option(dtype)
        until(page, lambda wanted=dtype: f"{wanted}, noise ±0.1" in verdict.inner_text())
        until(page, lambda: verdict.get_attribute("data-first-wrong") is not None)
        assert verdict.get_attribute("data-first-wrong") == "none"


def test_a_target_that_cannot_says_why(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="(aa)*"))
    page.get_by_role("button", name="Mamba", exact=True).click()
    page.locator(".refused").wait_for()
    assert "star-free" in text(page, ".refused")
    assert page.locator("#drawing-card").is_hidden()


def test_play_pause_and_keys(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="(ab)*", word="abababab"))
    page.wait_for_selector(".letter")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert text(page, "#position") == "2 / 8"
    page.keyboard.press("End")
    assert text(page, "#position") == "8 / 8"
    page.keyboard.press("Home")
    page.locator("#speed").fill("6")
    page.locator("h1").click()
    page.keyboard.press("Space")
    until_text(page, "#position", "8 / 8")
    until(page, lambda: page.locator("#play.playing").count() == 0)
    page.locator("#scrub").fill("3")
    assert text(page, "#position") == "3 / 8"
    page.locator("#now-legal button", has_text="b").click()
    until_text(page, "#position", "4 / 4")
    assert page.locator("#word").input_value() == "abab"
    page.locator("#length").fill("20")
    page.locator("#generate").click()
    until(page, lambda: text(page, "#position").endswith("/ 20"))
    assert resolve_language("(ab)*").accepts(page.locator("#word").input_value())


def test_the_address_holds_the_page(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="tomita-3", tab="network", target="gru", word="1101", at="2"))
    wait_for_network(page)
    page.locator("#forward").click()
    until(page, lambda: "at=3" in page.url)
    copied = page.url
    state = parse_qs(urlsplit(copied).fragment)
    assert {k: v[0] for k, v in state.items()} == {
        "text": "tomita-3",
        "tab": "network",
        "target": "gru",
        "word": "1101",
        "at": "3",
    }
    again = opened(open_page, copied)
    wait_for_network(again)
    assert text(again, "#position") == "3 / 4"
    assert again.locator("#target").input_value() == "gru"


def save(page: Any, button: str, folder: Path) -> Path:
    page.locator("#share summary").click()
    with page.expect_download() as waiting:
        page.locator(button).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_what_can_be_taken_away(address: str, open_page: OpenPage, watch: Watch, tmp_path: Path) -> None:
    page = opened(open_page, at(address, text="(ab)*", tab="network", target="mamba", word="abab", at="1"))
    wait_for_network(page)
    page.locator("#proof .pill").first.wait_for()
    for button in ("#save-automaton", "#save-network-drawing"):
        drawing = ElementTree.fromstring(save(page, button, tmp_path).read_text())
        assert drawing.tag.endswith("svg")
        assert not any("var(" in value for node in drawing.iter() for value in node.attrib.values())
    archive = zipfile.ZipFile(io.BytesIO(save(page, "#save-network", tmp_path).read_bytes()))
    archive.extractall(tmp_path / "network")
    assert check_folder(tmp_path / "network" / "mamba").ok
    saved = opened(open_page, save(page, "#save-page", tmp_path))
    wait_for_network(saved)
    assert text(saved, "#name") == "(ab)*"
    assert text(saved, "#position") == "1 / 4"
    saved.locator("#last").click()
    assert text(saved, "#position") == "4 / 4"
    assert saved.locator("#now-answer").get_attribute("data-agrees") == "true"
    assert saved.locator("#text").is_disabled()


def test_prefixes_that_are_not_compared_are_not_called_right(address: str, open_page: OpenPage) -> None:
    page = opened(open_page, at(address, text="(ab)*", tab="network", target="mamba", word="abb"))
    wait_for_network(page)
    until(page, lambda: "as the language after 3 prefixes of this word" in text(page, "#network-verdict"))
    assert "the other 1 begin no word" in text(page, "#network-verdict")
    page.locator("#word").fill("abab")
    until(page, lambda: "as the language after all 5 prefixes of this word" in text(page, "#network-verdict"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_hangs_out_and_everything_can_be_read(
    address: str, open_page: OpenPage, width: int, dark: bool
) -> None:
    place = at(address, text="flip-flop", tab="network", target="mamba", word="w0i1r0", at="2")
    page = opened(open_page, place, width=width, dark=dark)
    wait_for_network(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    pale = page.evaluate(_CONTRASTS)
    assert pale == []


_CONTRASTS = """
() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const colour = rgba(getComputedStyle(n).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return [255, 255, 255, 255];
  };
  const pale = [];
  for (const node of document.querySelectorAll("body *:not(svg *):not(option):not(optgroup)")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(":disabled, .skip, datalist")) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const told = `${node.tagName}.${node.className} ${node.textContent.trim().slice(0, 20)}`;
    if (ratio < 4.5) pale.push(`${told} ${ratio.toFixed(2)}`);
  }
  return pale;
}
"""
