"""From a table to its numbers, with tiny runs."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from nerode.core import BudgetExceeded, FormatError, InputError
from nerode.proofs import Unproved
from nerode.records import RunStore, TaskConfig, merge_tables, read_tables, write_table
from nerode.reproduce.measuring import (
    lengths_to_test,
    measure_compiled,
    read_value,
    run_table,
    specs_of,
)
from nerode.reproduce.records import AxisValue, Finding, LengthRange, Noise, TableCell, compare_cells
from nerode.tasks import build_task
from nerode.training import run_key, train
from tests.reproduce.tiny import RUN, compiled, paper, table, trained

BROKEN = {**trained().cpu, "model": {"module": "tests.reproduce.no_such_file:build"}}
DIVERGING = {
    **trained().cpu,
    "optimiser": {"name": "sgd", "rate": 1e30, "clip": 0.0},
    "run": {**RUN, "steps": 50},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    seen = []
    lines = (trained(), compiled(), trained(cpu=BROKEN), trained(cpu=DIVERGING))
    return out, run_table(paper(), table(*lines), out=out, seeds=2, on_line=seen.append), seen


def test_every_seed_is_in_the_cells(done):
    _, result, seen = done
    line = result.lines[0]
    assert line.seeds == (0, 1)
    assert [len(cell.values) for cell in line.cells] == [2, 2]
    assert len(set(line.keys)) == 2
    assert len(seen) == 6
    assert (line.language, line.architecture) == ("parity", "gru")
    assert line.theory is not None
    assert line.theory.status == "yes"


def test_values_are_those_of_the_runs(done):
    out, result, _ = done
    for seed, spec in enumerate(specs_of(trained(), range(2))):
        record, _ = train(spec)
        assert result.lines[0].cells[1].values[seed] == record.at(16).sequence
        assert RunStore(out).is_done(run_key(spec))


def test_nothing_is_run_twice_and_what_is_missing_can_be_left(done):
    out, first, _ = done
    seen = []
    again = run_table(paper(), table(), out=out, seeds=3, jobs=0, on_line=seen.append)
    assert seen == []
    assert again.lines[0].cells == first.lines[0].cells
    nothing = run_table(paper(), table(), out=out / "empty", jobs=0)
    assert [line.kind for line in nothing.lines] == ["compiled"]
    assert nothing.unmeasured == 1
    assert nothing.waiting == ("Parity · GRU",)


def test_seeds_that_have_not_been_run_are_named(done):
    out, first, _ = done
    again = run_table(paper(), table(), out=out, jobs=0)
    assert (again.lines[0].seeds, again.lines[0].missing) == ((0, 1), (2,))
    assert [line.missing for line in first.lines] == [(), (), (), ()]
    assert first.waiting == ()


def test_the_source_of_the_runs_is_kept(done):
    out, result, _ = done
    commits = {json.loads(path.read_text())["environment"]["commit"] for path in out.glob("*/result.json")}
    assert set(result.commits) == {str(commit) for commit in commits}


def test_a_compiled_line_is_right_and_proved(done):
    line = done[1].lines[1]
    assert line.cells[0].values == (1.0,)
    assert line.claims[0]["length"] == "all"
    assert json.dumps(line.to_json())


def test_noise_of_a_claim_is_written_as_a_fraction():
    measured = measure_compiled(compiled(compile_to="elman-tanh", architecture="elman-tanh"))
    assert any(Fraction(claim["eps"]) > 0 for claim in measured.claims if claim["eps"] is not None)


@pytest.mark.parametrize(("eps", "value"), [(0.0, 1.0), (0.01, 1.0), (1.0, 0.0)])
def test_noise_is_read_from_what_is_proved(eps, value):
    line = compiled(
        compile_to="elman-tanh",
        architecture="elman-tanh",
        cells=(TableCell(column="noise", reading=Noise(eps=eps)),),
    )
    assert measure_compiled(line).values == ((value,),)


def test_no_noise_is_survived_without_a_proof_of_it():
    line = compiled(cells=(TableCell(column="noise", reading=Noise()),))
    assert measure_compiled(line).values == ((0.0,),)


def test_a_compiler_out_of_time_is_a_result(monkeypatch):
    def out_of_time(*_):
        raise BudgetExceeded("seconds", 60.0)

    monkeypatch.setattr("nerode.study.networks.compile_language", out_of_time)
    measured = measure_compiled(compiled())
    assert measured.values == ((),)
    assert "budget of 60.0 seconds is used up" in " ".join(measured.problems)


def test_what_was_not_proved_is_said(monkeypatch):
    monkeypatch.setattr("nerode.proofs.certification.certify", lambda *_, **__: Unproved(reason="too hard"))
    measured = measure_compiled(compiled())
    assert measured.values == ((1.0,),)
    assert measured.claims == ()
    assert measured.problems == ("not proved: too hard",)


def test_lengths_of_training_have_their_own_threshold():
    cells = (
        TableCell(column="offset", reading=LengthRange(low=8, high=8), trained=True, threshold=0.995),
        TableCell(column="test", reading=LengthRange(low=16, high=16), published=1.0),
    )
    values = [(0.97, 0.98), (0.0, 0.0)]
    assert compare_cells(table(threshold=0.5), cells, values)[1].agreement == "not learned here"
    plain = (replace(cells[0], threshold=None), cells[1])
    assert compare_cells(table(threshold=0.5), plain, values)[1].agreement == "differs"


def test_a_network_that_cannot_be_is_refused(tmp_path):
    result = run_table(paper(), table(compiled(compile_to="mamba")), out=tmp_path)
    assert result.lines[0].cells[0].values == ()
    assert "star-free" in " ".join(result.lines[0].failed)


def test_a_run_that_fails_is_a_result(done):
    line = done[1].lines[2]
    assert line.cells[0].values == ()
    assert line.failed[0].startswith("seed 0: failed")


def test_divergence_counts_as_nothing(done):
    line = done[1].lines[3]
    assert line.diverged == (0, 1)
    assert line.cells[0].values == (0.0, 0.0)
    assert line.cells[0].agreement == "not learned here"


def test_results_are_kept_and_read_back(done, tmp_path):
    path = write_table(tmp_path, done[1])
    assert path == tmp_path / "tiny" / "table-1.json"
    assert read_tables(tmp_path) == [done[1]]
    assert json.loads(path.read_text()) == json.loads(json.dumps(done[1].to_json()))
    path.write_text('{"format": "other"}')
    with pytest.raises(FormatError, match="no reproduced table"):
        read_tables(tmp_path)
    path.write_text('{"format": "nerode-reproduction", "version": 99}')
    with pytest.raises(FormatError, match="version 99"):
        read_tables(tmp_path)
    path.write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        read_tables(tmp_path)


def test_lengths_without_words_are_replaced_by_shorter_ones():
    task = build_task(TaskConfig(name="predict-aaaa-star"))
    found = lengths_to_test(task, [LengthRange(low=51, high=101), AxisValue(axis="x", value=1)])
    assert found
    assert all(n % 4 == 0 and 51 <= n <= 101 for n in found)


def test_lengths_are_joined_by_their_sequences_and_scaled():
    record, _ = train(specs_of(trained(), [0])[0])
    shares = [score.final for score in record.evaluations if score.length <= 8]
    found = read_value(LengthRange(low=5, high=8, measure="final"), record)
    assert found == pytest.approx(sum(shares) / len(shares))
    assert read_value(LengthRange(low=5, high=8, measure="final", chance=0.5), record) == pytest.approx(
        2 * found - 1
    )
    assert read_value(LengthRange(low=900, high=901), record) is None
    assert read_value(AxisValue(axis="none", value=1), record) is None
    assert read_value(Finding(name="greedy"), record) is None


def test_findings_of_counting_and_flip_flops():
    small = {"on": 3, "off": [6, 12], "length": 60}
    spec = {"task": {"name": "counting", "settings": small}, "model": {"layers": "gru"}, "run": RUN}
    line = trained(cpu=spec, cells=(TableCell(column="a", reading=Finding(name="two-isi")),))
    record, _ = train(specs_of(line, [0])[0])
    passed = {test["name"]: test["passed"] for test in reversed(record.examination["phase_alignment"])}
    assert read_value(Finding(name="two-isi"), record) == passed["two-isi"]
    assert read_value(Finding(name="double-isi"), record) == passed["double-isi"]
    flips = {
        "task": {"name": "flip-flop", "settings": {"streams": 20}},
        "model": {"layers": "gru"},
        "run": RUN,
    }
    record, _ = train(specs_of(trained(cpu=flips), [0])[0])
    survived = [row["survived"] for row in record.examination["streams"]]
    assert read_value(Finding(name="survives", at=min(survived)), record) == 1.0
    assert read_value(Finding(name="survives", at=min(survived) + 1), record) == 0.0


def test_no_judge_takes_part_in_a_table():
    line = trained(cpu=merge_tables(trained().cpu, {"run": {"exact": {}}}))
    with pytest.raises(InputError, match="trained without a judge"):
        specs_of(line, [0])
