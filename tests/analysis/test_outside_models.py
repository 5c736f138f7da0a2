"""An own model is looked at, extracted, settled and held against its declaration like one of the zoo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nerode.analysis import AnalysisOptions, analyse, compare_standing, load_subject, require_own_models
from nerode.analysis.extraction import extract
from nerode.analysis.settle import settle_folder
from nerode.core import InputError
from nerode.models import DiagonalTransition, as_layered, is_stateful, measure_transitions
from nerode.records import ModelSpec, TrainSpec
from nerode.study import read_runs
from nerode.training import make_spec, run_in

MODULE = """
import torch
from torch import nn

class Flip(nn.Module):
    '''The sign of one number is the parity; its weights are right from the start.'''
    theory = "diagonal-signed"

    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.tensor([1.0, -1.0]))

    def initial_state(self, batch):
        return {"h": torch.ones(batch, 1)}

    def step(self, x, state):
        h = self.gate.clamp(-1, 1)[x][:, None] * state["h"]
        return torch.cat([h, -h], 1), {"h": h}

    def forward(self, x, state=None):
        state = self.initial_state(len(x)) if state is None else state
        outputs = []
        for letter in x.unbind(1):
            output, state = self.step(letter, state)
            outputs.append(output)
        return torch.stack(outputs, 1), state


class Undeclared(Flip):
    theory = ""


class Wrong(Flip):
    theory = "diagonal"


def build(task):
    return Flip()

def undeclared(task):
    return Undeclared()

def wrong(task):
    return Wrong()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("own")
    (folder / "flipping_cell.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def _spec(function: str, **model: Any) -> TrainSpec:
    run = {"steps": 1, "batch": 4, "validation": 4, "test_lengths": [10, 40], "test_sequences": 8}
    settings = {"shortest": 4, "longest": 10}
    return make_spec(
        {
            "task": {"name": "parity", "settings": settings},
            "model": {"module": f"flipping_cell:{function}", **model},
            "optimiser": {"rate": 1e-9},
            "run": run,
        }
    )


@pytest.fixture(scope="module")
def run(place: Path) -> Path:
    record = run_in(place / "runs", _spec("build"))
    assert record.theory == "diagonal-signed"
    assert (record.transitions["least"], record.transitions["form"]) == (-1.0, "derivative")
    return next(path.parent for path in (place / "runs").glob("*/result.json"))


def test_it_is_analysed_extracted_and_proved(run: Path) -> None:
    subject = load_subject(run, trust_code=True)
    found = analyse(subject, AnalysisOptions(length=10))
    assert not {"spectra", "trace", "context", "clusters by answer"} & found.left_out.keys()
    assert {s.label for s in found.spectra[0].spectra} == {"0", "1"}
    assert found.trace is not None
    assert found.trace.strips[0].name == "h"
    extraction = extract(subject)
    assert extraction.equal
    assert len(extraction.machine.rows) == 2
    assert settle_folder(run, trust_code=True).status == "proved"


def test_theory_is_in_compare_report_and_atlas(run: Path) -> None:
    _, (row,) = compare_standing("parity", [run], trust_code=True)
    assert row.architecture == "flipping_cell:build (diagonal-signed)"
    assert (row.theory, row.disagreements) == ("yes", ())
    (outcome,) = read_runs(run.parent)
    assert (outcome.architecture, outcome.model) == ("diagonal-signed", "flipping_cell:build")


def test_refusals_come_before_training(place: Path) -> None:
    require_own_models([_spec("build")])
    with pytest.raises(InputError, match=r"contradicts its declaration: .* but a gate of -1 was measured"):
        require_own_models([_spec("wrong")])
    with pytest.raises(InputError, match="--certify trains layers of the zoo"):
        require_own_models([_spec("build")], certify=True)
    with pytest.raises(InputError, match="unknown architecture"):
        require_own_models([_spec("undeclared", theory="nothing-such")])
    with pytest.raises(InputError, match="leave one out"):
        require_own_models([_spec("build", theory="diagonal")])
    with pytest.raises(InputError, match="only a model of your own"):
        ModelSpec(theory="diagonal")


def test_a_contradiction_is_said_after_training(place: Path) -> None:
    run_in(place / "wrong", _spec("wrong"))
    run_in(place / "wrong", _spec("undeclared"))
    _, rows = compare_standing("parity", [place / "wrong"])
    said = {row.architecture: (row.theory, row.disagreements) for row in rows}
    assert said["flipping_cell:undeclared (undeclared)"] == ("open", ())
    theory, (text,) = said["flipping_cell:wrong (diagonal)"]
    assert theory == "open"
    assert "a gate of -1 was measured" in text
    assert read_runs(place / "wrong") == []


class Gated(nn.Module):
    """A transition that is given out, by a module that has no class here."""

    grows = False

    def initial_state(self, batch: int) -> dict[str, Tensor]:
        return {"h": torch.zeros(batch, 3)}

    def step(self, x: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return state["h"], {"h": 0.5 * state["h"] + 1}

    def transition(self, x: Tensor, state: Any = None) -> Any:
        return DiagonalTransition(state="h", gate=torch.full((*x.shape, 3), 0.5))


def test_views_of_own_models() -> None:
    letters = torch.zeros(2, 5, dtype=torch.int64)
    found = measure_transitions(Gated(), letters)
    assert found == {
        "form": "diagonal",
        "least": 0.5,
        "largest": 0.5,
        "imaginary": 0.0,
        "modulus": 0.5,
        "varies": False,
    }
    assert as_layered(Gated()).trace(letters).states["0.h"].shape == (2, 5, 3)
    assert not is_stateful(nn.LSTM(2, 2))
    assert measure_transitions(nn.LSTM(2, 2), letters) == {}
    with pytest.raises(InputError, match="needs `step"):
        as_layered(nn.LSTM(2, 2))
    wrong = Gated()
    wrong.transition = lambda x, state=None: 3  # type: ignore[method-assign]
    with pytest.raises(InputError, match="gave int"):
        as_layered(wrong).layers[0].transition(letters)
