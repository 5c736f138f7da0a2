"""`nerode atlas` on a few languages."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from nerode.languages.bestiary import suite
from nerode.verdict import ARCHITECTURES, Sense
from tests.cli.runner import Outcome, run


def atlas(*arguments: str) -> Outcome:
    return run("atlas", "--no-networks", "--jobs", "1", *arguments)


def test_the_path_comes_last_and_progress_goes_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "new" / "atlas.html"
    outcome = atlas("--only", "parity,flip-flop,anbn", "-o", str(path))
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [str(path)]
    for i, name in enumerate(("parity", "flip-flop", "anbn"), start=1):
        assert f"[{i}/3] {name}" in outcome.err
    page = path.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    for name in ("parity", "flip-flop", "anbn"):
        assert name in page
    assert "tomita-1" not in page
    assert f"nerode atlas -o {path} --only parity,flip-flop,anbn --no-networks" in page


def test_the_command_has_every_option_that_changes_the_page(tmp_path: Path) -> None:
    path = tmp_path / "a page.html"
    runs = tmp_path / "runs"
    runs.mkdir()
    outcome = atlas(
        "--only", "parity", "--sense", "exact", "--max-elements", "99", "--runs", str(runs), "-o", str(path)
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "1 language in" in outcome.err
    command = f"nerode atlas -o '{path}' --only parity --no-networks --runs {runs} --sense exact"
    assert f"{command} --max-elements 99" in unescape(path.read_text(encoding="utf-8"))


def test_a_suite_is_all_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "atlas.html"
    outcome = atlas("--suite", "tomita", "-o", str(path), "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["languages"] == len(suite("tomita")) == 7
    assert found["out"] == str(path)
    architectures = [row for row in ARCHITECTURES.values() if not row.is_class]
    assert sum(found["verdicts"].values()) == 7 * len(architectures) * len(Sense)
    assert set(found["verdicts"]) == {"yes", "no", "open"}
    page = path.read_text(encoding="utf-8")
    assert all(row.name in page for row in suite("tomita"))


def test_names_by_pattern_and_in_any_case_are_taken_once(tmp_path: Path) -> None:
    outcome = atlas("--only", " Z3 ,z3,S3:generators", "-o", str(tmp_path / "a"), "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["languages"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "parity,tomita-9"), "tomita-"),
        (("--only", ","), "nerode list languages"),
        (("--suite", "tomito"), "tomita"),
        (("--suite", "tomita", "--only", "parity"), "exclude each other"),
        (("--only", "parity", "--jobs", "0"), "--jobs"),
        (("--only", "parity", "--max-elements", "-5"), "above 0"),
        (("--only", "parity", "--runs", "no-such-folder"), "no folder 'no-such-folder'"),
    ],
)
def test_bad_input_is_found_before_the_work_begins(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = run("atlas", *arguments, "-o", str(tmp_path / "atlas.html"))
    assert outcome.code == 2
    assert message in outcome.err
    assert "[1/" not in outcome.err
    assert outcome.out == ""
    assert not list(tmp_path.iterdir())


def test_a_target_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    outcome = atlas("--only", "parity", "-o", str(tmp_path / "file" / "atlas.html"))
    assert outcome.code == 2
    assert "cannot write" in outcome.err
    assert outcome.out == ""
