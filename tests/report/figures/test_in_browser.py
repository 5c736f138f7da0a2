"""Every kind of figure in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nerode.report.figures.vega import Figure
from nerode.report.pages.render import render
from tests.browser import OpenPage, wait_until
from tests.report.figures.cases import all_figures

pytestmark = [pytest.mark.browser]


def show(open_page: OpenPage, folder: Path, figures: list[Figure], **options: int) -> Any:
    file = folder / "figures.html"
    file.write_text(
        render("figures_only.html.j2", title="figures", figures=True, shown=figures), encoding="utf-8"
    )
    page = open_page(file, **options)
    wait_until(page, f"document.querySelectorAll('figure[data-drawn]').length === {len(figures)}")
    return page


COUNT = """
  () => [...document.querySelectorAll("figure.vega")].map((figure) => ({
    points: figure.querySelectorAll(".mark-symbol.role-mark path").length,
    rects: figure.querySelectorAll(".mark-rect.role-mark path").length,
    lines: figure.querySelectorAll(".mark-line.role-mark path").length,
    texts: [...figure.querySelectorAll("svg text")].map((text) => text.textContent),
    width: figure.querySelector("svg").getBoundingClientRect().width,
  }))
"""


def test_the_marks_of_every_figure_are_there(open_page: OpenPage, tmp_path: Path) -> None:
    page = show(open_page, tmp_path, all_figures())
    lengths, lines, spectrum, scatter, heat, bars = page.evaluate(COUNT)
    # Two models: three seeds and a median at three lengths; two dots of theory, one published point.
    assert lengths["points"] == 2 * (3 + 1) * 3 + 2 + 1
    assert lengths["rects"] == 2
    assert "trained up to 60" in lengths["texts"]
    assert {"40", "80", "400"} <= set(lengths["texts"])
    assert "horizon" in lines["texts"]
    # A value that is missing or that has no logarithm is no point.
    assert lines["points"] == 3 + 2 + 1
    assert spectrum["points"] == 5 + 2
    assert spectrum["lines"] == 1
    assert scatter["points"] == 3 * 2
    assert heat["rects"] == 5
    assert heat["texts"].count("a") == 2
    assert bars["rects"] == 2
    assert {"mamba", "lstm", "0 of 5", "9 of 10"} <= set(bars["texts"])


def test_every_figure_fits_a_phone_in_the_dark(open_page: OpenPage, tmp_path: Path) -> None:
    page = show(open_page, tmp_path, all_figures(), width=390, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    widths = [item["width"] for item in page.evaluate(COUNT)]
    assert all(250 < width <= 390 for width in widths), widths
    assert {"40", "80", "400"} <= set(page.evaluate(COUNT)[0]["texts"])


ATTACKS = [
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "'); window.hit = 1; ('",
    "\"] + (window.hit = 1) + [\"",
    "datum['x']; constructor.constructor('window.hit = 1')()",
    "${window.hit = 1}{{ 7 * 7 }}",
    "a.b[c]\\'\u202e\u2028\x00",
    "__proto__",
]  # fmt: skip


def test_hostile_texts_are_shown_and_not_run(open_page: OpenPage, tmp_path: Path) -> None:
    plain = show(open_page, tmp_path, all_figures()).evaluate(COUNT)
    figures = [item for attack in ATTACKS for item in all_figures(lambda text, a=attack: f"{a}{text}")]
    page = show(open_page, tmp_path, figures)
    assert page.evaluate("window.hit === undefined")
    assert page.evaluate("document.images.length") == 0
    for hostile, harmless in zip(page.evaluate(COUNT), plain * len(ATTACKS), strict=True):
        for name in ("points", "rects", "lines"):
            assert hostile[name] == harmless[name]
        assert len(hostile["texts"]) <= len(harmless["texts"])


def test_a_click_on_the_legend_hides_a_series(open_page: OpenPage, tmp_path: Path) -> None:
    page = show(open_page, tmp_path, all_figures()[:1])
    before = page.evaluate(COUNT)[0]["points"]
    page.get_by_role("button", name="falling").click()
    wait_until(
        page, f"document.querySelectorAll('.mark-symbol.role-mark path').length === {before - 12 - 1 - 1}"
    )
