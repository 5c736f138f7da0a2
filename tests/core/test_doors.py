"""Lazy doors load a module when one of its names is used, and know just the names that they list."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import nerode
from nerode.core import Displays, Shown, doors

ROOT = Path(nerode.__file__).parent
LAZY = sorted(
    ".".join(("nerode", *path.parent.relative_to(ROOT).parts))
    for path in ROOT.rglob("__init__.py")
    if " = attach(" in path.read_text()
)
TORCHLESS = ["nerode.languages", "nerode.records", "nerode.report", "nerode.study", "nerode.verdict"]


def listed_imports(name: str) -> dict[str, str]:
    """The names that a door imports for type checkers, each with its module."""
    file = importlib.import_module(name).__file__
    assert file is not None
    (block,) = [node for node in ast.parse(Path(file).read_text()).body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def test_there_are_lazy_doors() -> None:
    assert set(TORCHLESS) < set(LAZY)


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_door_has_all_its_names(name: str) -> None:
    door = importlib.import_module(name)
    listed = listed_imports(name)
    assert door.__all__ == dir(door) == sorted(listed)
    for exported, module in listed.items():
        assert getattr(door, exported) is getattr(importlib.import_module(module), exported)
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'nothing'"):
        _ = door.nothing


@pytest.mark.parametrize("name", TORCHLESS)
def test_opening_a_lazy_door_loads_nothing_behind_it(name: str) -> None:
    run(f"import sys, {name}\nassert not [m for m in sys.modules if m.startswith('{name}.')]")


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


def test_displays_are_loaded_when_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    def load() -> Displays:
        loads.append("loaded")
        return Displays(html=lambda value: f"<b>{type(value).__name__}</b>", svg=lambda value: None)

    monkeypatch.setattr(doors, "_load", load)
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
