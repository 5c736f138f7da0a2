"""Optional packages: one sentence for whichever is missing."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from nerode.core import InputError, MissingExtra, load_extra
from nerode.core.doors import EXTRAS
from nerode.models import exports
from tests.cli.runner import run


def test_the_table_names_extras_that_exist() -> None:
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert set(EXTRAS.values()) <= set(project["project"]["optional-dependencies"])


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"this needs ray: pip install 'nerode\[ray\]'; or stay") as caught:
        load_extra("ray", hint="or stay local")
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ImportError)


def test_another_missing_module_is_no_extra() -> None:
    with pytest.raises(ModuleNotFoundError):
        load_extra("no_such_module_anywhere")


def test_a_command_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ELEMENTS", "write_onnx"):
        monkeypatch.delitem(vars(exports), name, raising=False)  # loaded by an earlier test
    monkeypatch.delitem(sys.modules, "nerode.models.exports.module_graph", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    outcome = run("export", str(tmp_path), "-o", str(tmp_path / "x.onnx"))
    assert outcome.code == 2
    assert "this needs onnx: pip install 'nerode[onnx]'" in outcome.err
