"""Displays of notebooks; what cannot be drawn is shown as text."""

from __future__ import annotations

from typing import Any

import pytest

import nerode as nr
from nerode.core import Shown
from nerode.languages import Dfa
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


def test_a_run_shows_its_lengths() -> None:
    tables = {
        "task": {"name": "parity", "settings": {"longest": 10}},
        "model": {"layers": "gru", "width": 4},
        "run": {"steps": 2, "batch": 8, "test_lengths": [20], "test_sequences": 4},
    }
    record, _ = nr.train(nr.TrainSpec.from_mapping(tables))
    assert "gru seed 0, 2 steps, correct (sequence) at length 20" in shown(record)


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
