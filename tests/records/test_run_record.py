"""Run records and specs as plain data: the same JSON, the same keys, no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nerode.core import FormatError, from_mapping
from nerode.records import CompleteSpec, RunRecord, read_run, read_tables

OLD_RUNS = sorted((Path(__file__).parent / "old_runs").iterdir())
"""Folders that `nerode train` wrote before specs and records were a stage of their own."""

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("folder", OLD_RUNS, ids=lambda folder: folder.name)
def test_old_run_folders_load_with_the_same_key_and_the_same_json(folder):
    record = read_run(folder)
    assert record.complete.key == record.key
    assert record.key[:16] == folder.name
    plain = record.to_json()
    history = plain.pop("history")
    # Claims are younger; they follow from the scores.
    assert len(plain.pop("claims")) >= 1
    assert plain == json.loads((folder / "result.json").read_text())
    assert history == [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert record.spec.to_mapping() == json.loads((folder / "spec.json").read_text())


def test_the_names_of_the_old_runs_cover_the_ways_a_key_is_made():
    records = [read_run(folder) for folder in OLD_RUNS]
    assert any(record.spec.run.epochs for record in records)
    assert any(record.spec.run.curriculum for record in records)
    assert any(record.spec.optimiser.hold for record in records)
    assert any(record.spec.model.surroundings for record in records)
    assert any(record.divergence for record in records)
    assert any(record.axes for record in records)


def test_a_complete_spec_is_read_back_as_it_was():
    for folder in OLD_RUNS:
        complete = read_run(folder).complete
        assert from_mapping(CompleteSpec, json.loads(json.dumps(complete.to_mapping()))).key == complete.key


def damage(change) -> dict:
    data = json.loads(json.dumps(read_run(OLD_RUNS[0]).to_json()))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=9), "has version 9"),
        (lambda d: d.update(format="else"), "is not the record of a run"),
        (lambda d: d.pop("title"), "title is missing"),
        (lambda d: d.update(steps="many"), "steps is 'many'"),
        (lambda d: d.update(measure="luck"), "measure is 'luck'"),
        (lambda d: d["complete"]["run"].update(seed="x"), "complete.run.seed"),
        (lambda d: d["evaluations"].append(d["evaluations"][0]), "there twice"),
        (lambda d: d["history"].append(d["history"][0]), "there twice"),
        (lambda d: d["evaluations"][0].update(token=float("nan")), "not finite"),
        (lambda d: d["history"][0].update(loss=float("inf")), "not finite"),
    ],
)
def test_damaged_records_are_refused(change, message):
    with pytest.raises(FormatError, match=message):
        RunRecord.from_json(damage(change), path="result.json")


def test_reproduced_tables_are_written_back_byte_for_byte():
    for table in read_tables(EXPERIMENTS / "reproduce"):
        text = json.dumps(table.to_json(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
        path = EXPERIMENTS / "reproduce" / table.paper / f"{table.table}.json"
        assert path.read_text(encoding="utf-8") == text + "\n"


def test_records_sweeps_and_papers_do_not_load_torch():
    code = "import sys, nerode.records, nerode.sweeps, nerode.reproduce; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
