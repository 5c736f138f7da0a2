from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.explorer.jobs import run_job
from nerode.records import TrainSpec, locked
from nerode.training.runs import run_in
from tests.explorer.conftest import write_runs


def test_the_list_follows_the_folder(tmp_path: Path) -> None:
    write_runs(tmp_path)
    found = run_job("runs", {"root": str(tmp_path)})
    assert [(r["architecture"], r["seed"], r["reaches"]) for r in found["runs"]] == [
        ("lstm", 0, 256),
        ("mamba", 0, 64),
        ("mamba", 1, 128),
    ]
    assert found["unfinished"] == [{"name": "ab" * 8, "failure": "it broke"}]
    assert not found["running"]
    with locked(tmp_path):
        assert run_job("runs", {"root": str(tmp_path)})["running"]
    damaged = tmp_path / ("0" * 16)
    damaged.mkdir()
    assert run_job("runs", {"root": str(tmp_path)})["damaged"] == ["0" * 16]


def test_runs_on_other_languages_are_other_tasks(tmp_path: Path) -> None:
    write_runs(tmp_path)
    for number, place in enumerate(sorted(tmp_path.glob("*/result.json"))):
        result = json.loads(place.read_text())
        result["spec"]["task"] = {"name": "recognise", "settings": {"language": f"tomita-{number + 1}"}}
        place.write_text(json.dumps(result))
    found = run_job("runs", {"root": str(tmp_path)})
    assert {run["task"] for run in found["runs"]} == {f"recognise · tomita-{i}" for i in (1, 2, 3)}


def test_one_run(tmp_path: Path) -> None:
    write_runs(tmp_path)
    name = run_job("runs", {"root": str(tmp_path)})["runs"][0]["name"]
    found = run_job("run", {"root": str(tmp_path), "name": name})
    assert [row["step"] for row in found["history"]] == [10, 30, 60]
    assert found["lengths"]["256"]["sequence"] == 1.0
    assert found["analysis"] is None
    (tmp_path / name / "analysis").mkdir()
    for text, read in (('{"spectra": ["NaN"]}', {"spectra": ["NaN"]}), ('{"spectra": [NaN]}', None)):
        (tmp_path / name / "analysis" / "analysis.json").write_text(text)
        assert run_job("run", {"root": str(tmp_path), "name": name})["analysis"] == read
    missing = run_job("run", {"root": str(tmp_path), "name": "f" * 16})
    assert "there is no such file" in missing["error"]["message"]


def test_without_a_folder() -> None:
    assert "--runs" in run_job("runs", {"root": ""})["error"]["message"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    root = tmp_path_factory.mktemp("trained")
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "parity"},
            "model": {"layers": "lstm", "width": 8, "settings": {"hidden": 16}},
            "optimiser": {"rate": 0.01},
            "run": {"steps": 60, "batch": 64, "test_lengths": [40, 80], "test_sequences": 64},
        }
    )
    record = run_in(root, spec)
    return root, record.key[:16]


def test_what_is_inside(trained: tuple[Path, str]) -> None:
    root, name = trained
    look = run_job("analysis", {"root": str(root), "name": name})
    assert look["spectra"][0]["spectra"][0]["eigenvalues"]
    assert look["clusters"][0]["untrained"]["points"]
    found = run_job("extraction", {"root": str(root), "name": name})
    assert found["target"] == "parity"
    assert found["wanted"].count('<g class="state') == 2
    if found["equal"]:
        assert found["automaton"].replace("what was learned", "parity") == found["wanted"]
    else:
        assert found["difference"]["word"]


def test_code_of_others_is_not_run(trained: tuple[Path, str], tmp_path: Path) -> None:
    root, name = trained
    result = json.loads((root / name / "result.json").read_text())
    result["spec"]["model"]["module"] = "os:abort"
    (tmp_path / name).mkdir()
    (tmp_path / name / "result.json").write_text(json.dumps(result))
    (tmp_path / name / "metrics.jsonl").write_text("")
    for job in ("analysis", "extraction", "attention"):
        answer = run_job(job, {"root": str(tmp_path), "name": name})
        assert "never runs" in answer["error"]["message"]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A decoder after a few updates."""
    root = tmp_path_factory.mktemp("decoder")
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "predict-set-reset", "settings": {"longest": 8}},
            "model": {"layers": "transformer-alibi", "depth": 2, "width": 8, "settings": {"heads": 2}},
            "run": {"steps": 3, "batch": 4, "test_lengths": [8], "test_sequences": 4, "validation": 8},
        }
    )
    return root, run_in(root, spec).key[:16]


def test_where_heads_of_a_trained_decoder_look(decoder: tuple[Path, str]) -> None:
    root, name = decoder
    order = {"root": str(root), "name": name}
    found = run_job("attention", {**order, "word": "1 h 0 h"})
    assert found["word"] == ["1", "h", "0", "h"]
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for head in found["heads"]:
        assert all(0 <= at <= place for place, at in enumerate(head["looks"]))
        assert head["shares"][0] == 1.0
        assert all(1 / (place + 1) <= share + 1e-6 for place, share in enumerate(head["shares"]))
    drawn = run_job("attention", order)
    assert 1 < len(drawn["word"]) <= 24
    assert "no letter" in run_job("attention", {**order, "word": "1 x"})["error"]["message"]
    assert "too long" in run_job("attention", {**order, "word": "h" * 201})["error"]["message"]


def test_a_run_without_attention_has_no_heads(trained: tuple[Path, str]) -> None:
    root, name = trained
    found = run_job("attention", {"root": str(root), "name": name})
    assert "no heads" in found["error"]["message"]
