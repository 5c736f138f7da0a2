"""Figures refuse what a page must not hold, and show what it may."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nerode.core import InputError
from nerode.report.figures.vega import Figure, FigureTable, LegendEntry
from nerode.report.pages.render import render
from tests.browser import OpenPage, wait_until

BARS: dict[str, Any] = {
    "data": {"values": [{"x": "a", "y": 1}, {"x": "b", "y": 3}]},
    "height": 120,
    "mark": "bar",
    "params": [{"name": "off", "value": []}],
    "transform": [{"filter": "indexof(off, datum.x) < 0"}],
    "encoding": {
        "x": {"field": "x", "type": "nominal"},
        "y": {"field": "y", "type": "quantitative"},
        "tooltip": [{"field": "x", "title": "letter"}],
    },
}
LEGEND = tuple(LegendEntry(value=v, label=f"letter {v}", colour=i + 1) for i, v in enumerate("ab"))


def page_of(*figures: Figure) -> str:
    """A page of the project with nothing but these figures."""
    return render("figures_only.html.j2", title="figures", figures=True, shown=figures)


def test_numbers_that_are_none_are_refused() -> None:
    spec = {**BARS, "data": {"values": [{"x": "a", "y": float("nan")}]}}
    with pytest.raises(InputError, match="use null for what is missing"):
        Figure(spec=spec, title="t")


def test_rows_are_needed() -> None:
    with pytest.raises(InputError, match=re.escape("put them in data.values")):
        Figure(spec={"mark": "bar"}, title="t")


@pytest.mark.parametrize(
    "addition",
    [
        {"data": {"values": [], "url": "http://example.invalid/data.csv"}},
        {"layer": [{"data": {"url": "x.csv"}}]},
        {"encoding": {"href": {"field": "x"}}},
        {"mark": {"type": "image", "url": "x.png"}},
    ],
)
def test_nothing_is_loaded(addition: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="would load something"):
        Figure(spec={**BARS, **addition}, title="t")


def test_rows_may_have_any_names() -> None:
    spec = {"data": {"values": [{"url": "a", "href": "b"}]}, "mark": "bar"}
    assert Figure(spec=spec, title="t").spec == spec


def test_tooltips_hold_no_text_that_is_read_as_an_expression() -> None:
    tooltip = [{"field": "x", "title": "a\\'] + b"}]
    spec = {**BARS, "layer": [{"mark": "bar", "encoding": {"tooltip": tooltip}}]}
    with pytest.raises(InputError, match=re.escape("give its title in usermeta.titles")):
        Figure(spec=spec, title="t")


def test_a_legend_needs_its_parameter() -> None:
    with pytest.raises(InputError, match="no parameter called 'off'"):
        Figure(spec={"data": {"values": []}, "mark": "bar"}, title="t", legend=LEGEND)


def test_colours_and_cells_are_checked() -> None:
    with pytest.raises(InputError, match="there are 1 to 8"):
        LegendEntry(value="a", label="a", colour=9)
    with pytest.raises(InputError, match="2 cells; there are 1 headings"):
        FigureTable(title="t", headings=("a",), rows=(("1", "2"),))


def test_the_policy_names_the_engine_by_its_hash_alone() -> None:
    page = page_of(Figure(spec=BARS, title="t"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}=';", policy[1])
    assert "unsafe-eval" not in policy[1]
    assert page.count("<script>") == 1


def test_hostile_texts_stay_texts() -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"
    spec = {**BARS, "data": {"values": [{"x": hostile, "y": 1}]}}
    entry = LegendEntry(value=hostile, label=hostile, colour=1)
    table = FigureTable(title=hostile, headings=(hostile,), rows=((hostile,),))
    page = page_of(
        Figure(spec=spec, title=hostile, caption=hostile, alternative=hostile, legend=(entry,), table=table)
    )
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("<script>") == 1


@pytest.mark.browser
def test_a_figure_is_drawn_hidden_shown_and_saved(open_page: OpenPage, tmp_path: Path) -> None:
    hostile = '=1+1,"<b>'
    spec = {**BARS, "data": {"values": [*BARS["data"]["values"], {"x": hostile, "y": 2}]}}
    file = tmp_path / "figure.html"
    file.write_text(page_of(Figure(spec=spec, title="bars", legend=LEGEND)), encoding="utf-8")
    page = open_page(file)
    page.wait_for_selector("figure[data-drawn]")
    bars = page.locator(".plot svg .mark-rect.role-mark path")
    assert bars.count() == 3
    page.get_by_role("button", name="letter a").click()
    wait_until(page, "document.querySelectorAll('.plot svg .mark-rect.role-mark path').length === 2")
    page.get_by_role("button", name="letter a").click()
    wait_until(page, "document.querySelectorAll('.plot svg .mark-rect.role-mark path').length === 3")
    # What was hidden is drawn last when it comes back.
    bars.nth(2).hover()
    assert page.locator(".figure-tip").inner_text() == "lettera"
    with page.expect_download() as download:
        page.get_by_role("button", name="save the data as CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.splitlines() == ['"x","y"', '"a",1', '"b",3', '"\'=1+1,""<b>",2']


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_follows_theme_and_width(open_page: OpenPage, tmp_path: Path, dark: bool) -> None:
    file = tmp_path / "figure.html"
    file.write_text(page_of(Figure(spec=BARS, title="bars")), encoding="utf-8")
    page = open_page(file, width=390, dark=dark)
    page.wait_for_selector("figure[data-drawn]")
    colour = "getComputedStyle(document.querySelector('.plot .mark-text text')).fill"
    assert page.evaluate(colour) == ("rgb(154, 168, 191)" if dark else "rgb(91, 107, 130)")
    width = "document.querySelector('.plot svg').getBoundingClientRect().width"
    narrow = page.evaluate(width)
    assert 300 < narrow <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 900, "height": 700})
    wait_until(page, f"{width} > {narrow + 300}")


@pytest.mark.browser
def test_without_scripts_the_words_and_the_table_are_there(open_page: OpenPage, tmp_path: Path) -> None:
    table = FigureTable(title="the numbers", headings=("x", "y"), rows=(("a", "1"),))
    file = tmp_path / "figure.html"
    file.write_text(
        page_of(Figure(spec=BARS, title="bars", alternative="Two bars.", table=table)), encoding="utf-8"
    )
    page = open_page(file, script=False)
    assert page.locator(".plot").inner_text() == "Two bars."
    page.get_by_text("the numbers").click()
    assert page.locator("figure table tbody").inner_text().split() == ["a", "1"]
