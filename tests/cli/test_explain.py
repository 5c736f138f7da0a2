"""`nerode explain`: pages and where they are written."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from tests.cli.runner import run

FAST = ("--arch", "mamba,lstm", "--no-networks")


def test_a_page_is_written_and_its_path_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "parity.html"
    outcome = run("explain", "parity", "-o", str(path), *FAST)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [str(path)]
    page = path.read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    for text in ("parity", "even number of 1s", "<svg", "Sarrof", f"nerode explain parity -o {path}"):
        assert text in page


def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "page.html"
    assert run("explain", "(ab)*", "-o", str(path), *FAST).code == 0
    assert path.is_file()


def test_the_command_on_the_page_can_be_pasted(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("explain", "(a|b)*a", "-o", str(path), *FAST).code == 0
    assert f"nerode explain &#34;(a|b)*a&#34; -o {path}" in path.read_text(encoding="utf-8")


def test_json_names_the_file_and_its_size(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = run("explain", "anbn", "-o", str(path), "--json", *FAST)
    found = json.loads(outcome.out)
    assert found == {"language": "anbn", "out": str(path), "bytes": path.stat().st_size}


def test_languages_are_read_as_by_check(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("explain", "H (b -> Y a)", "--ltl", "--alphabet", "ab", "-o", str(path), *FAST).code == 0
    assert "H (b -&gt; Y a)" in path.read_text(encoding="utf-8")


def test_one_page_is_the_same_twice(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    pages = []
    for _ in range(2):
        run("explain", "flip-flop", "-o", str(path), *FAST)
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("file/page.html", "cannot write"),
        (".", "directory"),
        ("n" * 300, "cannot write"),
    ],
)
def test_a_target_that_cannot_be_written_is_one_clear_error(
    tmp_path: Path, target: str, message: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    outcome = run("explain", "parity", "-o", str(tmp_path / target), *FAST)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pariti", "-o", "x.html"), "parity"),
        (("(a", "-o", "x.html"), "column"),
        (("parity",), "--output"),
        (("parity", "-o", "x.html", "--arch", "mambo"), "mamba"),
        (("parity", "-o", "x.html", "--arch", ","), "nerode list architectures"),
        (("parity", "-o", "x.html", "--sense", "certain"), "finite-precision"),
        (("parity", "-o", "x.html", "--max-seconds", "0"), "above 0"),
        (("(a|b)*a(a|b){24}", "-o", "x.html"), "--max-states"),
    ],
)
def test_bad_input_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("explain", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.iterdir())


def test_an_existing_page_survives_a_language_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    assert run("explain", "(a", "-o", str(path)).code == 2
    assert path.read_text() == "old"


def test_the_page_names_the_command_that_makes_it_again(tmp_path):
    page = tmp_path / "my page.html"
    outcome = run("explain", "H (b -> Y a)", "--ltl", "--alphabet", "ab", "--no-networks", "-o", str(page))
    assert outcome.code == 0, outcome.err
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert f'nerode explain "H (b -> Y a)" --ltl --alphabet ab -o "{page}"' in text
