from __future__ import annotations

import pytest

from nerode.core import InputError
from nerode.report.pages.report import analysis_page
from nerode.report.terminal.analysis import analysis_view, conclude_analysis, count, number, summary
from nerode.report.terminal.verdicts import make_console
from tests.report.analysis_json import HOSTILE, analysis_json, bare_json


def test_every_text_is_escaped():
    page = analysis_page(analysis_json(), command=f"nerode analyse {HOSTILE}")
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page


def test_an_analysis_of_nothing_is_a_page():
    page = analysis_page(bare_json())
    assert "no layer keeps a state" in page
    assert '<figure class="chart"' not in page


def test_other_json_is_refused():
    with pytest.raises(InputError, match="nerode-analysis-1"):
        analysis_page({"format": "something"})


def test_the_conclusion_says_how_the_run_is_settled():
    plain = bare_json()
    assert "word" not in conclude_analysis(plain)
    refuted = {**plain, "settled": {"status": "refuted", "letters": 98}}
    assert "Refuted by a word of 98 letters." in conclude_analysis(refuted)
    proved = {**plain, "settled": {"status": "proved", "letters": None}}
    assert "Proved at every length" in conclude_analysis(proved)


def test_tables_say_what_was_found():
    tables = summary(analysis_json())
    windows = {row[0]: row[1] for row in tables["How far back it looks"]}
    assert windows["spectrum, layer 0"] == "44"
    assert windows["norm, layer 0"] == "> 5"
    assert windows["nilpotency, layer 0"] == "unbounded"
    assert windows["intervention"] == "5 (all)"
    streams = tables["How long a bit is remembered"]
    assert streams[1] == ("opposite", "0", "not within 1,000", "51")
    assert streams[-1] == ("random", "1", "51", "–")
    points = tables["Where one ignored bit leads, repeated"]
    assert points[1][2:] == ("77", "1", "wrong, margin -0.4", "no")
    assert points[2][2:] == ("not seen", "–", "?, margin –", "?")
    assert [row[1] for row in tables["Transitions"][1:]] == ["by position"] * 2 + ["derivative"] * 2 + [
        "recurrent weights"
    ]
    # The specimen has two iterates of a layer that stretches states by 1.5 to 2.5.
    assert tables["Steps of a squashed recurrence"][1] == ("1", "1.5", "2.5", "0.5", "–", "–")
    assert summary(bare_json()) == {}


def test_the_terminal_shows_the_same():
    console = make_console()
    with console.capture() as captured:
        console.print(analysis_view(bare_json()))
    assert "left out: spectra (no layer keeps a state)" in captured.get()


def test_numbers_and_what_is_missing():
    assert (number(None), number(0.12345), count(None), count(1234)) == ("–", "0.123", "never", "1,234")


@pytest.mark.browser
def test_figures_are_drawn(open_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(analysis_page(analysis_json()), encoding="utf-8")
    page = open_page(path)
    assert page.locator("figure.chart").count() == 11
    assert page.locator("figure.chart svg:visible").count() == 11
