"""Values show what is registered for them, and text where nothing is or where drawing fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nerode.core import Displays, Shown, display, register_displays


class Value(Shown):
    """Something to be shown."""


def test_without_displays_a_value_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_load", None)
    assert Value()._repr_html_() is None
    assert Value()._repr_svg_() is None


def test_displays_are_loaded_when_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_load", None)
    loads: list[str] = []

    def load() -> Displays:
        loads.append("loaded")
        return Displays(html=lambda value: f"<b>{type(value).__name__}</b>", svg=lambda value: None)

    register_displays(load)
    assert not loads
    assert Value()._repr_html_() == "<b>Value</b>"
    assert Value()._repr_svg_() is None
    assert loads


def test_a_failure_is_told_and_the_value_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Displays:
        raise ImportError("no jinja2")

    monkeypatch.setattr(display, "_load", load)
    with pytest.warns(RuntimeWarning, match=r"this Value is shown as text.*no jinja2"):
        assert Value()._repr_html_() is None


def test_a_public_name_brings_the_displays_but_does_not_load_them() -> None:
    code = (
        "import sys, nerode as nr; language = nr.language('parity')\n"
        "assert 'nerode.report' not in sys.modules\n"
        "assert language._repr_svg_().startswith('<svg')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
