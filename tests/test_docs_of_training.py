"""What the documents say about sweeps and training can be run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from nerode.sweeps.sweep_file import parse_sweep
from nerode.training import TRAINING, with_small_defaults
from tests.cli.runner import run

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "experiments" / "sweeps" / "example.toml"

TINY = """
task.settings = {shortest = 4, longest = 8}
run.batch = 4
run.evaluate_every = 2
run.validation = 8
run.test_sequences = 8
"""


def blocks():
    return re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "sweeps.md").read_text(), re.DOTALL)


def test_the_example_of_the_document_is_the_file_of_24_runs():
    shown, _ = map(tomllib.loads, blocks())
    assert shown == tomllib.loads(EXAMPLE.read_text())
    assert len(parse_sweep(shown).jobs(TRAINING, with_small_defaults)) == 24


def test_entries_of_a_list_are_joined_with_the_grid():
    grid, entries = blocks()
    tables = tomllib.loads(grid.replace("optimiser.rate = [1e-2, 3e-3]\n", "") + entries)
    assert len(parse_sweep(tables).jobs(TRAINING, with_small_defaults)) == 4 * 3 * 2


def test_the_example_runs_continues_and_grows(tmp_path):
    text = EXAMPLE.read_text().replace("run.steps = 300\n", "run.steps = 2\n" + TINY)
    text = text.replace("[40, 256, 1024]", "[8, 12]").replace('"mamba", "mamba-signed", ', "")
    text = text.replace("[1e-2, 3e-3]", "[1e-2]").replace("[0, 1, 2]", "[0]")
    file, out = tmp_path / "example.toml", tmp_path / "out"

    def sweep():
        outcome = run("train", str(file), "--out", str(out), "--jobs", "1", "--settle", "off")
        assert outcome.code == 0, outcome.err
        return outcome.out

    file.write_text(text)
    assert "2 runs: 0 done before, 2 now, 0 not done" in sweep()
    assert "2 runs: 2 done before, 0 now, 0 not done" in sweep()
    file.write_text(text.replace("run.seed = [0]", "run.seed = [0, 1]"))
    assert "4 runs: 2 done before, 2 now, 0 not done" in sweep()


@pytest.mark.parametrize("document", ["sweeps", "training"])
def test_every_command_of_the_document_is_one(document):
    text = (ROOT / "docs" / f"{document}.md").read_text()
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    names = set(re.findall(r"(?:^|`)nerode (\w+)(?: (ls|show|table|export|prune)\b)?", text, re.MULTILINE))
    helps = " ".join(run(*(part for part in name if part), "--help").out for name in sorted(names))
    assert names
    assert {option for option in options if option not in helps} == set()
