"""Runs that differ in the seed alone belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerode.study.runs import TaskGroup, group_runs, read_run_files
from tests.report.run_specimens import fill_store, write_run


def groups(store: Path) -> list[TaskGroup]:
    return group_runs(read_run_files([store])[0])


def test_seeds_are_put_together_and_counted(tmp_path: Path) -> None:
    (task,) = groups(fill_store(tmp_path))
    assert {model.label: model.seeds for model in task.models} == {"mamba": [0, 1, 2], "lstm": [0, 1, 2]}
    lstm = next(model for model in task.models if model.label == "lstm")
    mamba = next(model for model in task.models if model.label == "mamba")
    assert lstm.diverged == [0]
    assert task.lengths == [40, 80, 400]
    assert task.trained == (3, 60)
    found = mamba.summary(80, "sequence")
    assert found is not None
    assert (found.median, found.low, found.high, found.seeds) == (0.5, 0.4, pytest.approx(0.6), 3)
    counted = lstm.summary(80, "sequence")
    assert counted is not None
    # The run that diverged counts as 0.
    assert (counted.median, counted.low, counted.high, counted.seeds) == (1.0, 0.0, 1.0, 3)
    assert lstm.points(lstm.runs[0], "sequence") == ()
    assert lstm.counted(lstm.runs[0], "sequence") == ((40, 0.0), (80, 0.0), (400, 0.0))
    assert mamba.summary(81, "sequence") is None
    assert lstm.mastering(400, "sequence", 0.9) == 2
    assert mamba.mastering(40, "sequence", 0.9) == 3
    assert mamba.mastering(400, "sequence", 0.9) == 0


def test_a_length_counts_only_with_all_shorter_ones(tmp_path: Path) -> None:
    write_run(tmp_path, accuracies=(1.0, 0.2, 1.0))
    (task,) = groups(tmp_path)
    assert task.models[0].mastering(400, "sequence", 0.9) == 0


def test_models_of_one_name_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    write_run(tmp_path, rate=0.001)
    write_run(tmp_path, rate=0.002, seed=5)
    (task,) = groups(tmp_path)
    assert {model.label for model in task.models} == {"mamba · rate 0.001", "mamba · rate 0.002"}


def test_tasks_with_other_settings_are_other_tasks(tmp_path: Path) -> None:
    write_run(tmp_path, task="language-recognition", settings={"language": "(aa)*"})
    write_run(tmp_path, task="language-recognition", settings={"language": "(ab)*"})
    found = groups(tmp_path)
    assert {task.title for task in found} == {"language-recognition · (aa)*", "language-recognition · (ab)*"}
    assert [task.trained for task in found] == [None, None]
