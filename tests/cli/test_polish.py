from __future__ import annotations

import json
from pathlib import Path

import pytest

from nerode.training.run_folder import folder_name, run_in
from nerode.training.spec import TrainSpec
from tests.cli.runner import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S3 by rotations of space, trained for a few seconds."""
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": "s3", "settings": {"pairs": 0.5}},
            "model": {
                "layers": "orthogonal",
                "width": 0,
                "head": "none",
                "settings": {"blocks": 4, "size": 3, "outputs": 6, "spread": 1.0},
            },
            "optimiser": {"rate": 2e-2, "decay": 0.0, "schedule": "cosine"},
            "run": {
                "steps": 250,
                "batch": 64,
                "test_sequences": 8,
                "test_lengths": [8],
                "stop": {"threshold": 2.0},
            },
        }
    )
    out = tmp_path_factory.mktemp("runs")
    run_in(out, spec)
    return out / folder_name(spec.key)


def test_a_run_is_polished_and_checked_again(trained: Path, tmp_path: Path) -> None:
    place = tmp_path / "polished"
    shown = run("polish", str(trained), "-o", str(place), "--lengths", "64,2048", "--sequences", "8")
    assert shown.code == 0, shown.err
    assert "✓ with its exact matrices right at every length" in shown.out
    assert "in float32, one letter after the other" in shown.out
    again = run("polish", str(place), "--check", "--json")
    assert again.code == 0
    assert json.loads(again.out)["length"] > 10_000
    (place / "model.safetensors").write_bytes(b"x" + (place / "model.safetensors").read_bytes()[1:])
    refused = run("polish", str(place), "--check")
    assert refused.code == 1
    assert "not those that the certificate was written for" in refused.err


def test_the_object_has_everything(trained: Path, tmp_path: Path) -> None:
    shown = run(
        "polish", str(trained), "-o", str(tmp_path / "p"), "--dtype", "float64", "--lengths", "8", "--json"
    )
    found = json.loads(shown.out)
    assert found["proved"] is True
    assert found["group"] == "S3"
    assert found["length"] > 10**11
    assert [score["length"] for score in found["after"]] == [8]
    assert len(found["defects"]) == 4


def test_wrong_use_is_told(trained: Path, tmp_path: Path) -> None:
    nowhere = run("polish", str(trained))
    assert nowhere.code == 2
    assert "-o DIR" in nowhere.err
    lengths = run("polish", str(trained), "-o", str(tmp_path / "p"), "--lengths", "8,x")
    assert lengths.code == 2
    assert "whole numbers with commas" in lengths.err
