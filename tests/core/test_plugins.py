"""Entry points add rows, and broken ones are one sentence."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from nerode.core import InputError, Registry, add_plugins, plugins


def _with(monkeypatch: pytest.MonkeyPatch, value: str, *, name: str = "mine") -> None:
    point = EntryPoint(name=name, value=value, group="nerode.tasks")
    monkeypatch.setattr(plugins, "_points", lambda group: [point] if group == point.group else [])


def test_a_row_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, "math:pi", name="pi-row")
    table: Registry[float] = Registry("number")
    assert add_plugins("tasks", table, float) == [table["pi-row"]]
    assert add_plugins("languages", table, float) == []


@pytest.mark.parametrize(
    ("value", "name", "match"),
    [
        ("no_such_module:row", "mine", "cannot be loaded: ModuleNotFoundError"),
        ("math:no_such_row", "mine", "cannot be loaded: AttributeError"),
        ("math:sqrt", "mine", "is a builtin_function_or_method, not a float"),
        ("math:pi", "Not Kebab", "is not kebab-case"),
        ("math:pi", "taken", "two rows of the number table"),
    ],
)
def test_a_broken_plugin_is_one_sentence(
    value: str, name: str, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with(monkeypatch, value, name=name)
    table: Registry[Any] = Registry("number")
    table.add("taken", 1.0)
    with pytest.raises(InputError, match=match) as error:
        add_plugins("tasks", table, float)
    assert "uninstall" in str(error.value)
    assert list(table) == ["taken"]
