"""Displays of notebooks; what cannot be drawn is shown as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nerode as nr
from nerode.core import Shown
from nerode.languages import Dfa
from tests.browser import OpenPage
from tests.cli.runner import run
from tests.report.cases import hostile_language
from tests.report.pages.test_language import words


def shown(value: Any) -> str:
    found = value._repr_html_()
    assert found is not None
    assert found.startswith('<div class="nerode">')
    return words(found)


def test_a_language_shows_its_automaton() -> None:
    language = nr.language("parity")
    assert "parity regular · 2 states · monoid of 2 elements · not star-free" in shown(language)
    picture = language._repr_svg_()
    assert picture is not None
    assert picture.startswith("<svg")
    assert picture.endswith("</svg>")
    assert language.dfa()._repr_svg_() is not None


def test_a_counter_language_has_no_automaton_but_is_shown() -> None:
    language = nr.language("dyck-1")
    assert "dyck-1" in shown(language)
    assert language._repr_svg_() is None


def test_verdicts_networks_and_certificates_are_shown() -> None:
    language = nr.language("parity")
    table = nr.decide(language, architectures=["mamba", "lstm"])
    assert "✗ ✗ ✗· ✗ needs a star-free language" in shown(table)
    assert "mamba no (finite-precision): needs a star-free language" in shown(table["mamba"])
    network = nr.compile_language(language, to="diagonal-signed")
    assert "h[sign] ← ([x=0] - [x=1])·h[sign]" in shown(network)
    assert "all lengths in exact arithmetic" in shown(nr.certify(network, language))


def test_a_profile_shows_its_classes() -> None:
    said = shown(nr.profile(nr.language("(aa)*")))
    assert said.startswith("not star-free 2 states · monoid of 2 elements · 1 D-class · groups inside: Z₂")
    assert "solvable ✓" in said
    assert "not regular" in shown(nr.profile(nr.language("anbn")))


@pytest.mark.browser
def test_a_notebook_draws_automaton_and_egg_box_in_colour(open_page: OpenPage, tmp_path: Path) -> None:
    """The displays stand in a page without our style sheets, as in a notebook."""
    language = nr.language("tomita-3")
    values = (language, language.dfa(), nr.profile(language), nr.decide(language, architectures=["mamba"]))
    body = "".join(f"<div>{value._repr_html_()}</div>" for value in values) + str(language._repr_svg_())
    file = tmp_path / "notebook.html"
    head = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
    file.write_text(f"{head}<body>{body}</body>", encoding="utf-8")
    page = open_page(file)
    fills = "[...document.querySelectorAll('svg circle')].map((c) => getComputedStyle(c).fill)"
    found = page.evaluate(fills)
    assert len(found) >= 12
    assert "rgb(0, 0, 0)" not in found
    curves = page.evaluate("[...document.querySelectorAll('svg path')].map((p) => getComputedStyle(p).fill)")
    assert "none" in curves
    assert "rgb(0, 0, 0)" not in curves
    assert page.locator("svg rect").count() > 5
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_run_shows_its_lengths() -> None:
    tables = {
        "task": {"name": "parity", "settings": {"longest": 10}},
        "model": {"layers": "gru", "width": 4},
        "run": {"steps": 2, "batch": 8, "test_lengths": [20], "test_sequences": 4},
    }
    record, _ = nr.train(nr.TrainSpec.from_mapping(tables))
    assert "gru seed 0, 2 steps, accuracy (sequence) at length 20" in shown(record)


def test_names_do_not_become_markup() -> None:
    found = hostile_language()._repr_html_()
    assert found is not None
    assert "<script" not in found
    assert "<img" not in found


def test_what_cannot_be_drawn_is_printed_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unknown(Shown):
        pass

    assert Unknown()._repr_html_() is None
    assert Unknown()._repr_svg_() is None

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("nerode.report.notebook.automaton_figure", fail)
    dfa: Dfa = nr.language("parity").dfa()
    with pytest.warns(RuntimeWarning, match=r"this Dfa is shown as text.*MemoryError"):
        assert dfa._repr_html_() is None


def test_what_learning_extraction_and_ask_return_has_a_picture(tmp_path: Path) -> None:
    labels = [True, False, True, False, True, False]
    found = nr.learn(["", "a", "ab", "b", "abab", "aa"], labels)
    assert "no smaller automaton agrees with all words" in shown(found)
    assert (found._repr_svg_() or "").count("<svg") == 1
    assert run("compile", "(ab)*", "--to", "diagonal", "-o", str(tmp_path / "net")).code == 0
    extraction = nr.extract(nr.load_subject(tmp_path / "net"))
    assert "3 states by" in shown(extraction)
    assert "equal to (ab)*" in shown(extraction)
    answer = nr.ask(tmp_path / "net")
    assert "proved" in shown(answer)
    for value in (found, extraction, answer):
        assert "<svg" in (value._repr_html_() or "")
        assert (value._repr_svg_() or "").startswith("<svg")
