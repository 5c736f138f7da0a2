"""Runs are read from folders; damaged ones are left out with the reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nerode.core import InputError, MissingExtra
from nerode.study import Runs, find_runs
from nerode.study.runs import read_run_files
from tests.report.run_specimens import fill_store, write_run


def test_a_store_and_its_runs_are_read_once(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "runs")
    single = sorted(store.iterdir())[0]
    runs, left_out = read_run_files([store, single])
    assert len(runs) == 6
    assert left_out == []
    assert read_run_files([single])[0][0].folder == single


def test_no_folder_and_no_run_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder of runs"):
        read_run_files([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="no finished run"):
        read_run_files([tmp_path])


def break_file(folder: Path, change: Any) -> None:
    path = folder / "result.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.update(format="other"), "is not the record of a run"),
        (lambda d: d.pop("evaluations"), "the setting evaluations is missing"),
        (lambda d: d["evaluations"].append(d["evaluations"][0]), "there twice"),
        (lambda d: d["evaluations"][0].update(token=float("nan")), "no number of JSON"),
        (lambda d: d["evaluations"][0].pop("sequence"), "evaluations[0].sequence is missing"),
        (lambda d: d.update(measure="beauty"), "measure is 'beauty'"),
        (lambda d: d.update(title=["a"]), "title is ['a']"),
        (lambda d: d["complete"]["task"].update(settings=[]), "complete.task.settings is []"),
        (lambda d: d["complete"]["run"].update(seed="x"), "complete.run.seed is 'x'"),
        (lambda d: d.pop("key"), "the setting key is missing"),
    ],
)
def test_damaged_runs_are_left_out_with_the_reason(tmp_path: Path, change: Any, why: str) -> None:
    store = fill_store(tmp_path / "runs")
    folder = sorted(store.iterdir())[2]
    break_file(folder, change)
    runs, left_out = read_run_files([store])
    assert len(runs) == 5
    assert [item.path for item in left_out] == [str(folder)]
    assert why in left_out[0].why


def test_analyses_beside_runs_are_read_if_they_are_analyses(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "analysis").mkdir()
    path = folder / "analysis" / "analysis.json"
    for text, found in (("{", None), ('{"format": "x"}', None), ('{"format": "nerode-analysis-1"}', {})):
        path.write_text(text)
        analysis = read_run_files([folder])[0][0].analysis
        assert (analysis is None) == (found is None)


def test_runs_have_tidy_columns(tmp_path: Path) -> None:
    fill_store(tmp_path)
    found = find_runs(str(tmp_path))
    columns = found.columns()
    assert len(found) == 6
    # One of the six diverged and was not tested.
    assert {len(values) for values in columns.values()} == {5 * 3}
    assert set(columns["model"]) == {"lstm", "mamba"}
    rows = list(zip(columns["model"], columns["seed"], columns["length"], columns["sequence"], strict=True))
    assert ("mamba", 1, 80, 0.5) in rows
    assert repr(found) == "<6 runs on 1 task>"
    with pytest.raises(MissingExtra, match=r"nerode\[frames\].*columns\(\) gives the same"):
        to_frame_without_pandas(found)


def to_frame_without_pandas(found: Runs) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        found.frame()
