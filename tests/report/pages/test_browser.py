"""The pages in a real browser: nothing is fetched, nothing fails, everything can be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerode.report.pages.atlas import atlas_page
from nerode.report.pages.language import explain_page
from tests.browser import OpenPage, Watch, wait_until
from tests.report.cases import PARITY, PARITY_BOXES, PARITY_PROFILE, every_architecture, study_of
from tests.report.pages.test_atlas import hostile_row, many_rows

pytestmark = [pytest.mark.browser]


def parity_page() -> str:
    return explain_page(
        study_of(PARITY, PARITY_PROFILE, every_architecture(), dfa=PARITY.automaton, eggboxes=PARITY_BOXES)
    )


def test_a_page_that_asks_or_fails_is_noticed(tmp_path: Path, open_page: OpenPage, watch: Watch) -> None:
    file = tmp_path / "asks.html"
    file.write_text('<img src="http://example.invalid/x.png"><script>undefinedName()</script>')
    open_page(file)
    assert watch.foreign == ["http://example.invalid/x.png"]
    assert any("undefinedName is not defined" in complaint for complaint in watch.complaints)
    watch.foreign.clear()
    watch.complaints.clear()


# `open_page` fails the test if the page asks for anything but files or complains on its console.
def test_the_explain_page_asks_for_nothing_and_fails_nowhere(tmp_path: Path, open_page: OpenPage) -> None:
    file = tmp_path / "explain.html"
    file.write_text(parity_page(), encoding="utf-8")
    assert open_page(file).content().count('class="state') == 2


def test_the_atlas_asks_for_nothing_and_fails_nowhere(tmp_path: Path, open_page: OpenPage) -> None:
    file = tmp_path / "atlas.html"
    file.write_text(atlas_page([hostile_row(), *many_rows(3)]), encoding="utf-8")
    page = open_page(file)
    assert page.title() == "Atlas of 4 languages · nerode"
    assert 'data-ready="true"' in page.content()


DRIVE_ATLAS = """
  const get = (id) => document.getElementById(id);
  const change = (id, value, kind) => { get(id).value = value; get(id).dispatchEvent(new Event(kind)); };
  const shown = () => [
    [...document.querySelectorAll(".matrix thead .language")].map((item) => item.textContent),
    [...document.querySelectorAll(".matrix tbody th")].map((item) => item.textContent)];
  const cells = () => [...document.querySelectorAll(".matrix tbody td[tabindex]")];
  const dialog = document.querySelector("dialog");
  cells()[0].click();
  const opened = dialog.open, told = dialog.innerText;
  dialog.querySelector(".close").click();
  const closed = !dialog.open;
  const all = shown();
  change("filter", "TOMITA -5", "input");
  const language = shown();
  const sections = [...document.querySelectorAll("details[data-language]")].filter((item) => !item.hidden);
  change("filter", "mamba", "input");
  const architecture = shown();
  change("filter", "mamba nosuchname", "input");
  const nothing = get("nothing").hidden ? "" : get("nothing").textContent;
  const matrix = document.querySelector(".matrix").hidden;
  change("filter", "", "input");
  change("sort-languages", "name", "change");
  change("sort-architectures", "yes", "change");
  const sorted = shown();
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  const yes = rows.map((row) => row.querySelectorAll("td.yes").length);
  change("sort-languages", "kind", "change");
  change("sort-architectures", "family", "change");
  change("family", "0", "change");
  const family = shown()[1];
  change("family", "", "change");
  const before = cells().map((cell) => cell.textContent[0]).join("");
  const total = get("total-yes").textContent;
  document.querySelectorAll("input[name=sense]")[3].click();
  const after = cells().map((cell) => cell.textContent[0]).join("");
  const first = cells()[0], second = cells()[1];
  first.focus();
  first.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  const moved = document.activeElement === second && second.tabIndex === 0;
  const said = get("told").textContent;
  location.hash = "#language-2";
  return {opened, told, closed, all, language, sections: sections.length, architecture, nothing, matrix,
    sorted, yes, family, before, after, total, moved, said};
"""


def test_the_atlas_can_be_filtered_sorted_and_read(tmp_path: Path, open_page: OpenPage) -> None:
    file = tmp_path / "driven.html"
    file.write_text(atlas_page(many_rows(6)), encoding="utf-8")
    page = open_page(file)
    result = page.evaluate(f"() => {{{DRIVE_ATLAS}}}")
    assert result["opened"]
    assert result["closed"]
    assert result["told"].startswith("×\nparity (0) × diagonal, gates in [0,1]")
    assert "finite precision: " in result["told"]
    assert "under noise: " in result["told"]
    assert "[Sarrof et al. 2024]" in result["told"]
    languages, architectures = result["all"]
    assert len(languages) == 6
    assert result["language"] == [["tomita-5 (4)"], architectures]
    assert result["sections"] == 1
    assert result["architecture"][0] == languages
    assert 0 < len(result["architecture"][1]) < len(architectures)
    assert "Mamba" in result["architecture"][1]
    assert "LSTM" not in result["architecture"][1]
    assert "Nothing matches “nosuchname”" in result["nothing"]
    assert result["matrix"]
    assert result["sorted"][0] == sorted(languages)
    assert sorted(result["sorted"][1]) == sorted(architectures)
    assert result["yes"] == sorted(result["yes"], reverse=True)
    assert "Mamba" in result["family"]
    assert len(result["family"]) < len(architectures)
    assert set(result["before"]) == {"✓", "✗", "?"}
    assert result["before"] != result["after"]
    assert result["total"] == f"{result['before'].count('✓')} possible"
    assert result["moved"]
    assert " × " in result["said"]
    wait_until(page, "document.getElementById('language-2').open")


MEASURE = """() => {
  const card = document.querySelector(".card");
  return {
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    background: getComputedStyle(document.body).backgroundColor,
    label: getComputedStyle(document.querySelector(".dfa text")).fill,
    card: card.getBoundingClientRect().width,
  };
}"""


@pytest.mark.parametrize(("dark", "background"), [(False, "rgb(248, 250, 252)"), (True, "rgb(11, 17, 32)")])
def test_pages_fit_a_phone_in_light_and_dark(
    tmp_path: Path, open_page: OpenPage, dark: bool, background: str
) -> None:
    pages = {"explain": parity_page(), "atlas": atlas_page(many_rows(4))}
    for name, text in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        measured = open_page(file, width=390, height=800, dark=dark).evaluate(MEASURE)
        assert measured["overflow"] <= 0
        assert measured["background"] == background
        assert measured["label"] != background
        assert 300 < measured["card"] <= 390
