"""Tables of named rows."""

from __future__ import annotations

import pytest

from nerode.core.errors import UnknownName
from nerode.core.registry import Registry


def table() -> Registry[int]:
    registry: Registry[int] = Registry("bird", hint="`birds` lists them.")
    for number, name in enumerate(["robin", "great-tit", "a1"]):
        assert registry.add(name, number) == number
    return registry


def test_rows_keep_their_order() -> None:
    registry = table()
    assert list(registry) == ["robin", "great-tit", "a1"]
    assert dict(registry) == {"robin": 0, "great-tit": 1, "a1": 2}
    assert len(registry) == 3
    assert registry["great-tit"] == 1
    assert "robin" in registry
    assert "owl" not in registry
    assert 7 not in registry


def test_unknown_rows_are_named_with_kind_nearest_and_hint() -> None:
    with pytest.raises(UnknownName) as unknown:
        table()["grate-tit"]
    assert "unknown bird 'grate-tit'" in str(unknown.value)
    assert unknown.value.nearest == ("great-tit",)
    assert str(unknown.value).endswith("`birds` lists them.")


def test_a_missing_row_can_be_asked_for_without_an_error() -> None:
    # Mapping.get would catch a KeyError only, and UnknownName is none.
    assert table().get("owl") is None
    assert table().get("owl", 5) == 5


@pytest.mark.parametrize(
    "name", ["", "Robin", "great_tit", "-tit", "tit-", "a--b", "tit\n", "mésange", "a b"]
)
def test_names_are_kebab_case(name: str) -> None:
    with pytest.raises(ValueError, match="kebab-case"):
        table().add(name, 9)


def test_no_row_replaces_another() -> None:
    registry = table()
    with pytest.raises(ValueError, match="two rows of the bird table are called 'robin'"):
        registry.add("robin", 9)
    assert registry["robin"] == 0
