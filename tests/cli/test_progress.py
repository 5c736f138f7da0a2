"""Progress is told at once, with the total and the time left."""

from __future__ import annotations

import pytest

from nerode.cli import progress
from nerode.cli.progress import Progress


def test_the_total_comes_first_and_every_part_has_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 30.0, 60.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with Progress("train", 2) as shown:
        assert capsys.readouterr().err == "train: 2 runs\n"
        shown.end("first")
        assert capsys.readouterr().err == "[1/2] first, about 30 s left\n"
        shown.end("second")
    told = capsys.readouterr()
    assert told.err == "[2/2] second\n"
    assert told.out == ""


@pytest.mark.parametrize(("total", "quiet"), [(0, False), (3, True)])
def test_nothing_is_told_of_nothing(capsys: pytest.CaptureFixture[str], total: int, quiet: bool) -> None:
    with Progress("proving", total, quiet=quiet) as shown:
        shown.end("one")
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with Progress("atlas", 2, unit="language", terse=True) as shown:
        shown.end("parity")
        shown.end("dyck-1")
    told = capsys.readouterr().err
    assert "atlas: 2 languages" in told
    assert "2/2" in told
    assert "parity" not in told
