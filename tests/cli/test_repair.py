"""`nerode repair`, and the numbers of `nerode analyse --metric`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.models import read_model
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.cli.runner import run


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that was hardly trained."""
    out = tmp_path_factory.mktemp("runs")
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "parity"},
            "model": {"layers": "elman", "width": 4, "settings": {"hidden": 6}},
            "run": {
                "steps": 2,
                "evaluate_every": 2,
                "validation": 8,
                "test_lengths": [8],
                "test_sequences": 4,
            },
        }
    )
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_the_shortest_failing_word_is_told(wrong: Path) -> None:
    outcome = run("repair", str(wrong))
    assert outcome.code == 1
    assert "failing word" in outcome.out
    found = json.loads(run("repair", str(wrong), "--json").out)
    word, failing = found["failing"]["word"], found["failing"]
    assert set(word) <= {"0", "1"}
    assert failing["expected"] != failing["got"]


def test_training_goes_on_with_it(wrong: Path, tmp_path: Path) -> None:
    outcome = run(
        "repair", str(wrong), "-o", str(tmp_path / "mended"), "--rounds", "2", "--steps", "3", "--json"
    )
    assert outcome.code in (0, 1)
    found = json.loads(outcome.out)
    assert 1 <= len(found["rounds"]) <= 2
    assert read_model(tmp_path / "mended").config == read_model(wrong / "model").config


def test_metric_numbers_are_printed_and_kept(wrong: Path, tmp_path: Path) -> None:
    outcome = run("analyse", str(wrong), "--metric", "-o", str(tmp_path))
    assert outcome.code == 0, outcome.err
    assert "around 2 of the automaton" in outcome.out
    assert json.loads((tmp_path / "analysis.json").read_text())["metric"]["places"] == 2


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    assert run("repair", str(tmp_path)).code == 2
