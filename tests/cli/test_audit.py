"""`nerode audit`: its table, its JSON, its exit codes and its errors."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest
import torch

from nerode.models.audit import all_peers
from tests.cli.runner import run
from tests.models.audit.planted import Planted
from tests.models.audit.test_comparison import planted_peer


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {**all_peers()._rows, "planted": planted_peer(Planted(100))}
    monkeypatch.setattr(all_peers(), "_rows", rows)


def test_peers_that_agree() -> None:
    outcome = run("audit", "torch-lstm", "torch-gru", "--lengths", "1,64")
    assert outcome.code == 0
    assert outcome.err == ""
    header, *rows = outcome.out.splitlines()
    assert header.split()[:4] == ["peer", "version", "forward", "backward"]
    assert [row.split()[0] for row in rows] == ["torch-lstm", "torch-gru"]
    assert all(row.split()[-1] == "same" for row in rows)


@pytest.mark.usefixtures("_planted")
def test_a_peer_that_differs() -> None:
    outcome = run("audit", "planted", "torch-gru", "--lengths", "7,120")
    assert outcome.code == 1
    line = next(line for line in outcome.out.splitlines() if line.startswith("planted"))
    assert "output of position 100 of 120" in line
    assert line.split()[-1] == "differs"
    assert run("audit", "planted", "--lengths", "7,100").code == 0
    assert run("audit", "planted", "--lengths", "120", "--tolerance", "0.1").code == 0


@pytest.mark.usefixtures("_planted")
def test_json() -> None:
    outcome = run("audit", "planted", "torch-gru", "--lengths", "7,120", "--json", "--seed", "3")
    assert outcome.code == 1
    planted, gru = map(json.loads, outcome.out.splitlines())
    assert (planted["verdict"], gru["verdict"]) == ("differs", "same")
    assert planted["first"] == "output of position 100 of 120"
    assert [item["length"] for item in planted["lengths"]] == [7, 120]
    assert planted["lengths"][1]["outputs"]["first"] == 100
    assert gru["first"] is None
    assert gru["version"] == torch.__version__
    assert set(gru["lengths"][0]["gradients_of_weights"]) == {
        "read.weight",
        "recurrent",
        "read.bias",
        "recurrent_bias",
    }


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_not_installed_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    missing = dataclasses.replace(all_peers()["mambapy"], module="no_such_module")
    monkeypatch.setattr(all_peers(), "_rows", {"mambapy": missing, "torch-gru": all_peers()["torch-gru"]})
    outcome = run("audit", "--lengths", "2", *(["--json"] if as_json else []))
    assert outcome.code == 0
    assert "mambapy is not installed; `pip install mambapy` installs it" in outcome.out
    if as_json:
        assert [json.loads(line)["verdict"] for line in outcome.out.splitlines()] == [None, "same"]


def test_float64_says_which_library_rounds() -> None:
    outcome = run("audit", "mambapy", "--dtype", "float64", "--lengths", "19", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["verdict"] == "float32 inside"


def test_the_list_says_what_can_be_run() -> None:
    outcome = run("audit", "--list", "--json")
    assert outcome.code == 0
    rows = {row["peer"]: row for row in map(json.loads, outcome.out.splitlines())}
    assert set(rows) == set(all_peers())
    assert rows["torch-lstm"]["obstacle"] is None
    if not torch.cuda.is_available():
        assert "CUDA" in rows["mamba-ssm"]["obstacle"]
    assert "transformers-recurrent-gemma" in run("audit", "--list").out
    assert "fla.ops.gla.chunk_gla" in run("audit", "fla-gla", "--list").out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["mambapi"], "did you mean mambapy"),
        (["torch-gru", "--lengths", "1,two"], "whole numbers from 1 on"),
        (["torch-gru", "--lengths", "0"], "whole numbers from 1 on"),
        (["torch-gru", "--lengths", ","], "whole numbers from 1 on"),
        (["torch-gru", "--lengths", "1000000"], "below 10^6"),
        (["torch-gru", "--lengths", "9" * 5000], "below 10^6"),
        (["torch-gru", "--seed", "9" * 20], "seed"),
        (["torch-gru", "--dtype", "float8"], "float8"),
        (["torch-gru", "--tolerance", "0"], "tolerance"),
    ],
)
def test_wrong_use(arguments: list[str], text: str) -> None:
    outcome = run("audit", *arguments)
    assert outcome.code == 2
    assert text in outcome.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_peer_by_name_is_an_error_here() -> None:
    outcome = run("audit", "fla-gla")
    assert outcome.code == 2
    assert "needs a CUDA device" in outcome.err


def test_help_loads_no_torch() -> None:
    code = "import sys; from nerode.cli import audit; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
