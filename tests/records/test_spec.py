"""Tables of settings: what is read, what is refused, how tables are joined."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nerode.core import FormatError, InputError
from nerode.records import merge_tables, nest_settings, parse_assignments, read_toml


def test_files_that_are_no_toml_are_refused(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        read_toml(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("[task\n")
    with pytest.raises(FormatError, match="is not TOML"):
        read_toml(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_toml(tmp_path / "bytes.toml")


def test_assignments():
    tables = parse_assignments(
        ["optimiser.rate=1e-3", "run.test_lengths=[1, 2]", "task.settings.labels=last", "run.steps=7"]
    )
    assert tables == {
        "optimiser": {"rate": 1e-3},
        "run": {"test_lengths": [1, 2], "steps": 7},
        "task": {"settings": {"labels": "last"}},
    }
    assert merge_tables({"run": {"steps": 1, "batch": 2}}, tables)["run"] == {
        "steps": 7,
        "batch": 2,
        "test_lengths": [1, 2],
    }


@pytest.mark.parametrize("text", ["rate", "=3", "a..b=3"])
def test_what_sets_nothing_is_refused(text):
    with pytest.raises(InputError, match="does not set anything"):
        parse_assignments([text])


def test_assignments_that_contradict_each_other_are_refused():
    with pytest.raises(InputError, match="another setting made a plain value"):
        parse_assignments(["run=3", "run.steps=3"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("x = " + "[" * 30 + "]" * 30, "nested too deeply"),
        ("x = " + "{a=" * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ("x = " + "9" * 10_000, "too long"),
        ("x = " + "9" * 2_000, "300 digits"),
        ("x = 1979-05-27", "a date or a time"),
        ("a." * 5_000 + "b = 1", "nested too deeply"),
    ],
)
def test_toml_without_end(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=what):
        read_toml(path)
    name, _, value = text.partition("=")
    if name == "x ":
        with pytest.raises(InputError, match=what):
            parse_assignments([f"{name}={value}"])


def test_settings_are_read_from_files_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="not a file"):
        read_toml(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (2 << 20))
    with pytest.raises(FormatError, match="more than"):
        read_toml(tmp_path / "large")


def test_other_spellings_of_settings_are_understood() -> None:
    assert parse_assignments(["optimizer.lr=1e-3"]) == {"optimiser": {"rate": 1e-3}}
    assert nest_settings({"optimiser.learning_rate": 0.1, "run.steps": 5}) == {
        "optimiser": {"rate": 0.1},
        "run": {"steps": 5},
    }
    both = parse_assignments(["optimiser.lr=1e-3", "optimiser.rate=1e-2"])
    assert both == {"optimiser": {"lr": 1e-3, "rate": 1e-2}}, "an ambiguous spec is left to be refused"
