"""Lazy doors load a module when one of its names is used, and know just the names that they list."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from nerode.core.doors import _listed_imports

LAZY = ["nerode.report", "nerode.study"]


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_door_has_all_its_names(name: str) -> None:
    door = importlib.import_module(name)
    assert door.__file__ is not None
    assert sorted(door.__all__) == sorted(_listed_imports(Path(door.__file__).read_text()))
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
