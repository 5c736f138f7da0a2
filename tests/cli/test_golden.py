"""Whole outputs, compared with files in `golden/`.

After a change that is meant, `make golden` writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.runner import run

GOLDEN = Path(__file__).parent / "golden"

BAD_INPUTS = (
    ("check", "(a"),
    ("check", "a)"),
    ("check", "a||*"),
    ("check", "a{3,2}"),
    ("check", "a{1000000000}"),
    ("check", "[b-a]"),
    ("check", "<push"),
    ("check", ""),
    ("check", "tomita-9"),
    ("check", "nosuch-name"),
    ("check", "dyck-0"),
    ("check", "missing.att"),
    ("check", "parity", "--alphabet", "01"),
    ("check", "H (b -> Y", "--ltl"),
    ("check", "(ab)*", "--arch", "mambo"),
    ("check", "(ab)*", "--max-states", "0"),
    ("check", "(a|b)*a(a|b){24}"),
    ("chek", "parity"),
    ("list", "languages", "--suite", "tomito"),
)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def assert_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    # Trailing blanks of table cells are no part of what is seen.
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("NERODE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["parity", "flip-flop", "dyck-1"])
def test_check(name: str) -> None:
    outcome = run("check", name, "--details")
    assert outcome.code == 0
    assert outcome.err == ""
    assert_golden(f"check-{name}.txt", outcome.out)


def test_errors() -> None:
    shown = []
    for arguments in BAD_INPUTS:
        outcome = run(*arguments)
        assert outcome.code == 2, arguments
        assert outcome.out == "", arguments
        shown.append(
            f"$ nerode {' '.join(repr(a) if not a.isalnum() else a for a in arguments)}\n{outcome.err}"
        )
    assert_golden("errors.txt", "\n".join(shown))
