"""Every command line that a command prints after "Next" is run as it is printed."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import nerode
from nerode.cli import main
from nerode.reproduce import PAPERS
from tests.cli.runner import Outcome, run
from tests.cli.test_ask import MINE
from tests.reproduce.tiny import paper

COMMANDS = {
    "report/terminal/verdicts.py": [["check", "(ab)*"], ["check", "H (b -> Y a)", "--ltl"]],
    "cli/explain.py": [["explain", "(ab)*", "--arch", "mamba", "-o", "page-0.html"]],
    "cli/compile.py": [
        ["compile", "(ab)*", "--to", "mamba", "-o", "compiled"],
        ["compile", "parity", "--to", "mamba"],
    ],
    "cli/settling.py": [
        ["train", "parity", "--arch", "gru", "--steps", "4", "--lengths", "40", "--set", "model.width=4"]
    ],
    "cli/ask.py": [
        ["ask", "asked_next:table", "--letters", "ab", "--language", "(ab)*"],
        ["ask", "asked_next:table", "--letters", "ab", "--language", "(ab)*", "-o", "asked.html"],
        ["ask", "asked_next:table", "--letters", "ab", "-o", "asked.html"],
        ["ask", "asked_next:table", "--letters", "ab", "--language", "(ba)*"],
        ["ask", "asked_next:words", "--letters", "ab", "--language", "(ab)*", "--max-seconds", "1"],
    ],
    "cli/learn.py": [["learn", "odd.tsv", "--arch", "mamba"]],
    "cli/prove.py": [["prove", "last"], ["prove", "compiled"]],
    "cli/analyse.py": [["analyse", "last", "--automaton", "--longest", "8"]],
    "cli/import_weights.py": [
        ["import", "cell.safetensors", "--language", "parity", "--recognise", "-o", "imported"]
    ],
    "cli/reproduce.py": [["reproduce", "tiny:table-1", "--seeds", "1", "--settle", "off", "--out", "again"]],
}
"""Commands by the file that prints what comes next: one for each kind of line."""

ELSEWHERE = {"cli/mend.py"}
"""Files whose line is run where the command is tested, because the command takes long (`test_mend.py`)."""

LONG = re.compile("repair|mend|--again|--harden")
"""What trains or searches for minutes: its words are parsed, and other tests run it."""


def next_lines(outcome: Outcome) -> Iterator[str]:
    """The command lines after "Next" in what a command has printed."""
    for text in (outcome.out, outcome.err):
        for block in re.findall(r"^Next:?((?:.*\n)(?: +.*\n)*)", text, re.MULTILINE):
            for part in re.split(r"\n| {3}or {3}|; | · ", block):
                if part.strip().startswith("nerode "):
                    yield part.strip()


def test_every_file_that_prints_what_comes_next_has_a_command() -> None:
    root = Path(nerode.__file__).parent
    found = re.compile(r'"(\\n)?Next[:" ]')
    printing = {str(p.relative_to(root)) for p in root.rglob("*.py") if found.search(p.read_text())}
    assert printing == set(COMMANDS) | ELSEWHERE


def test_what_comes_next_can_be_run_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PAPERS._rows, "tiny", paper())
    Path("asked_next.py").write_text(MINE.replace("(ab|c)*d", "(ab)*"))
    words = ("".join(word) for n in range(6) for word in itertools.product("ab", repeat=n))
    Path("odd.tsv").write_text("".join(f"{word}\t{word.count('b') % 2}\n" for word in words))
    torch.manual_seed(0)
    model = nn.ModuleDict({"embedding": nn.Embedding(2, 3), "rnn": nn.GRU(3, 4), "head": nn.Linear(4, 2)})
    save_file(model.state_dict(), "cell.safetensors")
    tried: set[str] = set()
    for command in (words for commands in COMMANDS.values() for words in commands):
        outcome = run(*command)
        assert outcome.code in (0, 1, 3), f"{command}: {outcome.err}"
        lines = list(next_lines(outcome))
        assert lines, f"{command} names nothing that comes next: {outcome.out}{outcome.err}"
        for line in lines:
            name, *words = shlex.split(line.removeprefix("nerode "))
            if LONG.search(line):
                parsed = main.nerode.get_command(click.Context(main.nerode), name)
                assert parsed is not None
                parsed.make_context(name, words)
            elif line not in tried:
                done = run(name, *words)
                assert done.code in (0, 1, 3), f"{command} printed {line!r}: {done.err}"
            tried.add(line)
    assert any("--language" in line for line in tried)
