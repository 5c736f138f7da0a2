"""Lazy doors load a module when one of its names is used, and know just the names that they list."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from nerode.core import Displays, Shown, doors, register_displays
from nerode.core.doors import _listed_imports

LAZY = ["nerode.languages", "nerode.records", "nerode.report", "nerode.study", "nerode.verdict"]


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_door_has_all_its_names(name: str) -> None:
    door = importlib.import_module(name)
    assert door.__file__ is not None
    assert door.__all__ == sorted(_listed_imports(Path(door.__file__).read_text()))
    for exported in door.__all__:
        assert getattr(door, exported) is not None
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'nothing'"):
        _ = door.nothing


@pytest.mark.parametrize("name", LAZY)
def test_opening_a_lazy_door_loads_nothing_behind_it(name: str) -> None:
    run(f"import sys, {name}\nassert not [m for m in sys.modules if m.startswith('{name}.')]")


def test_only_imports_for_type_checkers_are_listed() -> None:
    source = "from a import b\nif TYPE_CHECKING:\n    from c.d import e, f\nelse:\n    from g import h\n"
    assert _listed_imports(source) == {"e": "c.d", "f": "c.d"}


def test_a_check_loads_neither_the_compiler_nor_the_proofs() -> None:
    run(
        "import sys\n"
        "from nerode.cli.main import main\n"
        "try:\n    main(['check', '(ab)*'])\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "late = ('nerode.compiler', 'nerode.proofs', 'nerode.report.figures', 'torch', 'scipy')\n"
        "loaded = [name for name in late if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )


class Value(Shown):
    """Something to be shown."""


def test_without_displays_a_value_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "_load", None)
    assert Value()._repr_html_() is None
    assert Value()._repr_svg_() is None


def test_displays_are_loaded_when_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "_load", None)
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

    monkeypatch.setattr(doors, "_load", load)
    with pytest.warns(RuntimeWarning, match=r"this Value is shown as text.*no jinja2"):
        assert Value()._repr_html_() is None


def test_a_public_name_brings_the_displays_but_does_not_load_them() -> None:
    code = (
        "import sys, nerode as nr; language = nr.language('parity')\n"
        "assert 'nerode.report' not in sys.modules\n"
        "assert language._repr_svg_().startswith('<svg')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
