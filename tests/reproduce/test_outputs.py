"""What figures need beside records: outputs along signals, and states."""

from __future__ import annotations

import pytest

from nerode.records import RunStore, read_run
from nerode.reproduce.measuring import read_outputs, read_states, run_table
from nerode.reproduce.records import Finding, TableCell
from tests.reproduce.tiny import RUN, paper, table, trained

COUNTING = trained(
    row="length 80",
    model="RNN",
    cells=(TableCell(column="offset", reading=Finding(name="offset"), trained=True),),
    language="",
    architecture="",
    cpu={
        "task": {"name": "counting", "settings": {"on": 4, "off": [8, 14], "length": 80}},
        "model": {"layers": "elman-tanh", "width": 4, "settings": {"hidden": 4}},
        "run": RUN,
    },
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return out, run_table(paper(), table(COUNTING), out=out, seeds=2)


def test_outputs_are_what_the_tests_of_the_run_saw(runs):
    out, result = runs
    found = read_outputs(result, ("double-isi", "training"), out)
    assert [(one.seed, one.signal) for one in found] == [
        (0, "double-isi"),
        (0, "training"),
        (1, "double-isi"),
        (1, "training"),
    ]
    for seed, key in enumerate(result.lines[0].keys):
        tests = read_run(RunStore(out).folder(key)).examination["phase_alignment"]
        double = next(test for test in tests if test["name"] == "double-isi")
        own = next(one for one in found if (one.seed, one.signal) == (seed, "double-isi"))
        assert own.bits == double["signal"]
        assert "".join(str(int(value > 0.5)) for value in own.outputs) == double["answers"]


def test_all_runs_read_the_same_signal_of_training(runs):
    out, result = runs
    first, second = read_outputs(result, ("training",), out)
    assert first.bits == second.bits
    assert len(first.bits) == 80
    assert "1111" in first.bits
    assert "11111" not in first.bits
    assert first.outputs != second.outputs


def test_states_are_those_of_the_first_run_of_each_model(tmp_path):
    result = run_table(paper(), table(trained()), out=tmp_path, seeds=2)
    ((model, analysis),) = read_states(result, tmp_path)
    assert model == "GRU"
    assert analysis["spectra"]
    assert analysis["clusters"][0]["labelled_by"] == "last 3 symbols"
