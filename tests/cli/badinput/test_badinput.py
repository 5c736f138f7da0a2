"""Every case of the corpus ends with a documented status and a sentence, and never with a traceback.

`python -m tests.cli.badinput.test_badinput TABLE…` runs tables and prints what each case says; with `--write`
it fills in the rows whose status is `?`. Read them before they are committed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nerode.cli.main import COMMANDS
from tests.cli.badinput.cases import TABLES, Case, all_cases, first_cases, make_case, read_table
from tests.cli.badinput.inputs import MADE, make_inputs

DOCUMENTED = {0, 1, 2, 3, 130, 141, 143, 129}
"""Success, a negative answer, wrong use, unsettled, stopped by the user, no reader; ended by TERM and HUP."""


_UNCAUGHT = re.compile(r"^\w+(Error|Exception)\b", re.MULTILINE)


class Forker:
    """A warmed parent, see `forker.py`."""

    def __init__(self, without: str, inputs: Path, root: Path) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "NERODE_NATIVE": ""}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [os.getcwd(), environment.get("PYTHONPATH")])
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.badinput.forker", without, str(inputs), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, words: Sequence[str], setup: Sequence[str] = (), text: str = "") -> dict[str, Any]:
        """Returns what came of a case."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        case = {"words": list(words), "setup": list(setup), "text": text}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in found, found
        return found

    def close(self) -> None:
        """Ends the parent."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Corpus:
    """The inputs, and a parent for each set of missing packages."""

    def __init__(self, root: Path) -> None:
        self.root, self.inputs = root, root / "inputs"
        (root / "cases").mkdir()
        make_inputs(self.inputs)
        self.forkers: dict[str, Forker] = {}
        self.cases, self.seconds = 0, 0.0
        for words in MADE:
            name = words[-1]
            found = self.run(make_case("made", 0, "0", "", ""), words=(*words[:-1], str(self.inputs / name)))
            assert found["codes"] == [0], found
        run = next(path for path in (self.inputs / "runs").iterdir() if len(path.name) == 16)
        (self.inputs / "run").symlink_to(Path("runs") / run.name)
        self.before = self.digest()

    def run(self, case: Case, *, words: Sequence[str] | None = None) -> dict[str, Any]:
        """Returns what came of a case."""
        if case.without not in self.forkers:
            self.forkers[case.without] = Forker(case.without, self.inputs, self.root / "cases")
        found = self.forkers[case.without].run(words or case.words, case.setup, case.text)
        self.cases, self.seconds = self.cases + 1, self.seconds + found["seconds"]
        return found

    def digest(self) -> str:
        """The hash of all inputs: no case may change them."""
        found = hashlib.sha256()
        for path in sorted(self.inputs.rglob("*")):
            found.update(str(path).encode())
            if path.is_file() and path.stat().st_size < 1 << 24:
                found.update(path.read_bytes())
        return found.hexdigest()

    def close(self) -> None:
        """Ends all parents."""
        for forker in self.forkers.values():
            forker.close()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    made = Corpus(tmp_path_factory.mktemp("badinput"))
    yield made
    print(f"{made.cases} cases, {made.seconds:.1f} CPU seconds")
    made.close()


def faults(case: Case, found: dict[str, Any]) -> list[str]:
    """Returns what is wrong with the outcome of a case."""
    said = found["out"] + found["err"]
    problems = []
    if "Traceback" in said or _UNCAUGHT.search(said):
        problems.append("a traceback")
    if not set(found["codes"]) <= set(case.codes):
        problems.append(f"status {found['codes']}, not {case.codes}")
    if not set(found["codes"]) <= DOCUMENTED:
        problems.append(f"status {found['codes']} is not documented")
    if " ".join(case.phrase.split()) not in " ".join(said.replace("|", " ").split()):
        problems.append(f"{case.phrase!r} is not said")
    if found["stray"]:
        problems.append(f"it left {found['stray']}")
    return problems


def test_the_corpus_is_large_and_covers_every_command() -> None:
    cases = all_cases()
    assert len(cases) >= 800
    assert {case.outcome for case in first_cases()} >= {case.outcome for case in cases if not case.slow}
    assert len({case.text for case in cases}) == len(cases), "a case is there twice"
    for name in COMMANDS:
        assert sum(bool(case.words) and case.words[0] == name for case in cases) >= 5, name
    for case in cases:
        assert case.codes, case.name
        silent = set(case.codes) <= {0, 1, 129, 130, 141, 143} or any("@stderr" in s for s in case.setup)
        assert case.phrase or silent, case.name


@pytest.mark.parametrize("table", [*sorted(path.stem for path in TABLES.glob("*.txt")), "commands"])
def test_every_case_ends_with_a_sentence(corpus: Corpus, table: str) -> None:
    bad = [
        f"{case.name}\n    {problem}\n    {(found['out'] + found['err'])[-600:]}"
        for case in first_cases()
        if case.table == table
        for found in [corpus.run(case)]
        for problem in faults(case, found)
    ]
    assert not bad, "\n".join(bad)
    assert corpus.digest() == corpus.before, "a case changed an input that it should have left alone"


@pytest.mark.slow
def test_the_other_cases(corpus: Corpus) -> None:
    first = set(first_cases())
    bad = [
        (case.name, problem, found)
        for case in all_cases()
        if case not in first
        for found in [corpus.run(case)]
        for problem in faults(case, found)
    ]
    assert not bad


def test_a_planted_traceback_is_found(corpus: Corpus) -> None:
    case = make_case("planted", 1, "2", "no such", "check nothing-like-this")
    found = {"codes": [1], "out": "", "err": "Traceback (most recent call last):", "stray": [".x.new"]}
    assert len(faults(case, found)) == 4


def _sentence(found: dict[str, Any]) -> str:
    """The beginning of what a case says, for a new row."""
    said = (found["err"] or found["out"]).strip()
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("Usage:", "Try "))]
    line = lines[0] if lines else ""
    line = re.sub(r"^(nerode|Error): ", "", line).replace("|", " ")
    line = re.sub(r"^in/\S+?(, line \d+)?: ", "", line)
    line = re.sub(r": none of the \d+ known names.*", "", line)
    return line if len(line) <= 70 else line[:70].rpartition(" ")[0]


def _show(names: list[str], *, write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder))
        seconds: dict[str, float] = {}
        for path in sorted(TABLES.glob("*.txt")):
            if names and path.stem not in names:
                continue
            rows = path.read_text(encoding="utf-8").splitlines()
            for case in read_table(path):
                found = corpus.run(case)
                seconds[case.name] = found["seconds"]
                problems = faults(case, found) if case.codes else ["new"]
                if "Traceback" in found["out"] + found["err"]:
                    problems.append("TRACEBACK")
                if problems or found["seconds"] > 1.5:
                    print(
                        f"{case.name}\n  {problems} {found['codes']} {found['seconds']:.2f} s\n  "
                        f"{(found['out'][-200:] + found['err'][-900:]).strip()}",
                        flush=True,
                    )
                if write and not case.codes and "Traceback" not in found["out"] + found["err"]:
                    code = "/".join(map(str, sorted(set(found["codes"]))))
                    rows[case.line - 1] = f"{code} | {_sentence(found)} | {case.text}"
            if write:
                path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        for name in sorted(seconds, key=lambda name: -seconds[name])[:40]:
            print(f"{seconds[name]:.2f} s  {name[:40]} … {name[-60:]}")
        print(f"{len(seconds)} cases, {sum(seconds.values()):.1f} CPU seconds")
        print(f"inputs changed: {corpus.digest() != corpus.before}")
        corpus.close()


if __name__ == "__main__":
    _show([name for name in sys.argv[1:] if name != "--write"], write="--write" in sys.argv)
