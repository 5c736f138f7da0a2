"""Every kind of figure in a real browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nerode.report.figures.plot import Figure
from nerode.report.pages.render import render
from tests.browser import OpenPage
from tests.report.figures.cases import all_figures

pytestmark = [pytest.mark.browser]


def show(open_page: OpenPage, folder: Path, figures: Sequence[Figure], **options: Any) -> Any:
    file = folder / "figures.html"
    file.write_text(render("figures_only.html.j2", title="figures", shown=figures), encoding="utf-8")
    return open_page(file, **options)


COUNT = """
  () => [...document.querySelectorAll("figure.chart")].map((figure) => {
    const svg = [...figure.querySelectorAll("svg")].find((one) => one.checkVisibility());
    return {
      dots: svg.querySelectorAll("circle").length,
      rects: svg.querySelectorAll("rect").length,
      titles: [...svg.querySelectorAll("g > title")].map((title) => title.textContent),
      texts: [...svg.querySelectorAll("text")].map((text) => text.textContent),
      width: svg.getBoundingClientRect().width,
      colour: getComputedStyle(svg.querySelector("text")).fill,
    };
  })
"""


def test_the_marks_of_every_figure_are_there(open_page: OpenPage, tmp_path: Path) -> None:
    page = show(open_page, tmp_path, all_figures(), script=False)
    lengths, lines, spectrum, scatter, heat, bars = page.evaluate(COUNT)
    # Two models: three seeds and a median at three lengths, and a dot of theory.
    assert lengths["dots"] == 2 * (3 + 1) * 3 + 2
    # The zone of training, and two bands of theory.
    assert lengths["rects"] == 1 + 2
    assert {"trained up to 60", "40", "80", "400"} <= set(lengths["texts"])
    assert "falling: 60 [50–70] at length 80" in lengths["titles"]
    assert "falling, published: 50 (a paper)" in lengths["titles"]
    assert "steady: other reason (other source)" in lengths["titles"]
    assert "horizon" in lines["texts"]
    # A value that is missing or that has no logarithm is no point; a thin line has none.
    assert lines["dots"] == 2 + 1
    assert spectrum["dots"] == 5 + 2
    assert scatter["dots"] == 3 * 2
    assert heat["rects"] == 5
    assert heat["texts"].count("a") == 2
    # A bar of length 0 is its text alone.
    assert bars["rects"] == 1
    assert {"mamba", "lstm", "0 of 5", "9 of 10"} <= set(bars["texts"])


@pytest.mark.parametrize(("dark", "colour"), [(False, "rgb(91, 107, 130)"), (True, "rgb(154, 168, 191)")])
def test_every_figure_fits_a_phone_in_light_and_dark(
    open_page: OpenPage, tmp_path: Path, dark: bool, colour: str
) -> None:
    page = show(open_page, tmp_path, all_figures(), width=390, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = page.evaluate(COUNT)
    assert all(300 < item["width"] <= 390 for item in found)
    assert {item["colour"] for item in found} == {colour}
    assert {"40", "80", "400"} <= set(found[0]["texts"])
    page.set_viewport_size({"width": 1100, "height": 700})
    assert page.evaluate(COUNT)[0]["width"] > 900


ATTACKS = [
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "</title></svg><svg onload='window.hit = 1'>",
    "\"><g onclick=\"window.hit = 1",
    "${window.hit = 1}{{ 7 * 7 }}",
    "a.b[c]\\'\u202e\u2028\x00",
]  # fmt: skip


def test_hostile_texts_are_shown_and_not_run(open_page: OpenPage, tmp_path: Path) -> None:
    plain = show(open_page, tmp_path, all_figures()).evaluate(COUNT)
    figures = [item for attack in ATTACKS for item in all_figures(lambda text, a=attack: f"{a}{text}")]
    page = show(open_page, tmp_path, figures)
    assert page.evaluate("window.hit === undefined")
    assert page.evaluate("document.images.length") == 0
    for hostile, harmless in zip(page.evaluate(COUNT), plain * len(ATTACKS), strict=True):
        for name in ("dots", "rects"):
            assert hostile[name] == harmless[name]
        assert len(hostile["texts"]) <= len(harmless["texts"])


def test_a_click_on_the_legend_hides_a_series(open_page: OpenPage, tmp_path: Path) -> None:
    page = show(open_page, tmp_path, all_figures()[:1], script=False)
    dots = page.locator("svg.wide circle:visible")
    assert dots.count() == 26
    page.get_by_text("falling ✗").click()
    assert dots.count() == 13
    page.get_by_text("falling ✗").click()
    assert dots.count() == 26
