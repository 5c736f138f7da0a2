"""Settings from plain data and back; what does not fit is refused with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from nerode.core import add_plugins, config
from nerode.core.config import Registry, from_mapping, to_mapping
from nerode.core.errors import InputError, UnknownName


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    kind: Literal["plain", "odd", 3] = "plain"


@dataclass(frozen=True, kw_only=True)
class Outer:
    size: int
    name: str = "x"
    on: bool = False
    inner: Inner = field(default_factory=Inner)
    parts: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (1, "a")
    maybe: int | None = None
    either: Inner | tuple[int, ...] | None = None
    table: dict[str, float] = field(default_factory=dict)
    free: dict[str, Any] = field(default_factory=dict)


inners = st.builds(Inner, rate=st.floats(allow_nan=False), kind=st.sampled_from(["plain", "odd", 3]))
outers = st.builds(
    Outer,
    size=st.integers(),
    name=st.text(),
    on=st.booleans(),
    inner=inners,
    parts=st.lists(inners, max_size=3).map(tuple),
    pair=st.tuples(st.integers(), st.text()),
    maybe=st.none() | st.integers(),
    either=st.none() | inners | st.lists(st.integers(), max_size=3).map(tuple),
    table=st.dictionaries(st.text(), st.floats(allow_nan=False)),
)


@given(outers)
def test_there_and_back(config):
    assert from_mapping(Outer, to_mapping(config)) == config


def test_a_whole_number_is_a_number():
    found = from_mapping(Inner, {"rate": 2})
    assert found.rate == 2.0
    assert isinstance(found.rate, float)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, InputError, "the setting size is missing"),
        ({"size": 1, "nam": "y"}, UnknownName, "did you mean name"),
        ({"size": "1"}, InputError, "size is '1'; it has to be a whole number"),
        ({"size": True}, InputError, "size is True; it has to be a whole number"),
        ({"size": 1.0}, InputError, "it has to be a whole number"),
        ({"size": 1, "on": 1}, InputError, "on is 1; it has to be true or false"),
        (
            {"size": 1, "inner": {"kind": "even"}},
            InputError,
            "inner.kind is 'even'; allowed are plain, odd, 3",
        ),
        ({"size": 1, "inner": {"rate": None}}, InputError, "inner.rate is None; it has to be a number"),
        ({"size": 1, "inner": 5}, InputError, "inner is 5; it has to be a table of settings"),
        ({"size": 1, "parts": [{}, {"rate": "x"}]}, InputError, r"parts\[1\].rate is 'x'"),
        ({"size": 1, "parts": "ab"}, InputError, "it has to be a list"),
        ({"size": 1, "pair": [1]}, InputError, "pair has 1 entries; it has to have 2"),
        ({"size": 1, "maybe": "x"}, InputError, "maybe is 'x'"),
        ({"size": 1, "table": {"a": "b"}}, InputError, "table.a is 'b'"),
        ({"size": 1, "table": [1]}, InputError, "it has to be a table"),
        ([1], InputError, "it has to be a table of settings"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(given, error, message):
    with pytest.raises(error, match=message):
        from_mapping(Outer, given)


def test_an_annotation_that_settings_cannot_have():
    @dataclass
    class Odd:
        x: complex

    with pytest.raises(TypeError, match="annotation"):
        from_mapping(Odd, {"x": 1})
    with pytest.raises(TypeError, match="not a dataclass"):
        to_mapping(Odd)


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


def _with(monkeypatch: pytest.MonkeyPatch, value: str, *, name: str = "mine") -> None:
    point = EntryPoint(name=name, value=value, group="nerode.tasks")
    monkeypatch.setattr(config, "_points", lambda group: [point] if group == point.group else [])


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
