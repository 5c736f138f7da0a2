from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.cli.runner import run
from tests.training.tiny import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    spec = tiny(run={"steps": 5})
    run_in(out, spec)
    return out / run_name(run_key(spec))


def test_json_and_page_are_written_with_the_neurons_that_memorising_needs(folder, tmp_path):
    outcome = run("analyse", str(folder), "-o", str(tmp_path / "there"), "--memorise", "5")
    assert outcome.code == 0, outcome.err
    found = json.loads((tmp_path / "there" / "analysis.json").read_text())
    page = (tmp_path / "there" / "analysis.html").read_text()
    assert found["name"] in outcome.out
    assert "How far back it looks" in outcome.out
    assert "Hidden states by automaton state, untrained" in page or "by answer, untrained" in page
    # The published bound says 5; four suffice (docs/theory/ngrams.md).
    assert "5 alternating points on a line need 4 ReLU neurons; with one neuron fewer all " in outcome.out
    memorised = found["memorisation"]
    assert (memorised["points"], memorised["neurons"], len(memorised["ramps"])) == (5, 4, 4)


def test_json_on_the_terminal_is_that_of_the_file(folder):
    outcome = run("analyse", str(folder), "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out) == json.loads((folder / "analysis" / "analysis.json").read_text())


def test_a_metric_that_does_not_apply_is_left_out_with_its_reason(tmp_path):
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "parity"},
            "model": {"layers": "transformer", "width": 4, "settings": {"heads": 1}},
            "run": {"steps": 2, "batch": 4, "test_lengths": [8], "test_sequences": 4},
        }
    )
    run_in(tmp_path, spec)
    folder = tmp_path / run_name(run_key(spec))
    outcome = run("analyse", str(folder), "--metric")
    assert outcome.code == 0, outcome.err
    assert "left out: metric" in " ".join(outcome.out.split())
    found = json.loads((folder / "analysis" / "analysis.json").read_text())
    assert "metric" not in found
    assert "grows with the word" in found["left_out"]["metric"]


def test_what_is_no_run_is_refused(tmp_path):
    outcome = run("analyse", str(tmp_path))
    assert outcome.code == 2
    assert "neither a run" in outcome.err
    assert not (tmp_path / "analysis").exists()


def test_a_wrong_word_is_refused(folder):
    outcome = run("analyse", str(folder), "--word", "0x1")
    assert outcome.code == 2
    assert "'x'" in outcome.err


def test_the_word_that_refutes_a_run_is_the_one_that_is_shown(folder, tmp_path, monkeypatch):
    ended = SimpleNamespace(status="refuted", first_wrong_length=3, word=("1", "0", "0"))
    monkeypatch.setattr("nerode.cli.analyse.settled_run", lambda place: ended)
    outcome = run("analyse", str(folder), "-o", str(tmp_path / "out"), "--no-automaton")
    assert outcome.code == 0, outcome.err
    found = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert found["trace"]["word"] == ["1", "0", "0"]
    page = (tmp_path / "out" / "analysis.html").read_text()
    assert "States and gates along the word that refutes it" in page
    given = run("analyse", str(folder), "-o", str(tmp_path / "own"), "--no-automaton", "--word", "1 1")
    assert given.code == 0, given.err
    assert "States and gates along a word" in (tmp_path / "own" / "analysis.html").read_text()
