"""docs/trust.md: the lines that have to be believed are counted, its theorems exist, its commands work."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.runner import run
from tests.formal.built import FORMAL, ROOT, require_built

PAGE = (ROOT / "docs" / "trust.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| `([^`]+)` \| (\d+) \|", PAGE, re.MULTILINE)


def counted(pattern: str) -> int:
    """The lines of all files of a pattern; braces hold names."""
    before, _, rest = pattern.partition("{")
    inner, _, after = rest.partition("}")
    paths = [path for name in inner.split(",") for path in ROOT.glob(before + name + after)]
    assert paths, f"{pattern} is gone: say in docs/trust.md which code has its place"
    return sum(len(path.read_text().splitlines()) for path in paths)


def test_rows_are_numbered() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 15))
    kinds = PAGE[PAGE.index("| claim | about |") : PAGE.index("A claim about a *compiled network*")]
    named = {
        int(n)
        for row in re.findall(r"^\|.*\|(.*)\|.*\|$", kinds, re.MULTILINE)
        for n in re.findall(r"\d+", row)
    }
    assert named == set(range(5, 15))


@pytest.mark.parametrize(("number", "pattern", "stated"), ROWS)
def test_lines_are_counted(number: str, pattern: str, stated: str) -> None:
    assert 0.8 * int(stated) <= counted(pattern) <= int(stated)


@pytest.mark.parametrize(("path", "stated"), re.findall(r"`(src/[^`]+|kernel/[^`]+)` \((\d+) lines\)", PAGE))
def test_lines_in_sentences_are_counted(path: str, stated: str) -> None:
    place = path if path.startswith("src") else f"src/nerode/{path}"
    assert 0.8 * int(stated) <= counted(place) <= int(stated)


@pytest.mark.parametrize("theorem", re.findall(r"`(\w+\.v)`, `(\w+)`\)", PAGE))
def test_theorems_are_where_the_page_says(theorem: tuple[str, str]) -> None:
    assert f"\nTheorem {theorem[1]} " in (FORMAL / theorem[0]).read_text()


def test_a_regular_expression_becomes_a_theorem_in_three_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = require_built()
    console = PAGE[PAGE.index("```console") :]
    commands = [
        shlex.split(line[2:]) for line in console[: console.index("```\n\n")].splitlines() if line[:2] == "$ "
    ]
    last = shlex.split(PAGE[PAGE.index("```text\n") + 8 :].splitlines()[0])
    assert [words[:2] for words in commands] == [["nerode", "compile"], ["nerode", "export"]]
    monkeypatch.chdir(tmp_path)
    for words in commands:
        done = run(*words[1:])
        assert done.code == 0, done.err
    assert "correct_at_every_length" in done.out
    assert last[:1] == ["coqc"]
    words = [str(library) if word == "out/formal" else word for word in last]
    accepted = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert accepted.returncode == 0, accepted.stderr
    assert "Closed under the global context" in accepted.stdout
    assert "Axioms" not in accepted.stdout
