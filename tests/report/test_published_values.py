"""Published values are shown beside the models that they are about."""

from __future__ import annotations

from pathlib import Path

from nerode.report.published_values import published_values, reference_points
from nerode.report.run_files import read_run_files
from nerode.report.run_groups import TaskGroup, group_runs
from nerode.reproduce.grazzi import GRAZZI, MEDIANS
from tests.report.run_specimens import write_run


def group(folder: Path) -> TaskGroup:
    return group_runs(read_run_files([folder])[0])[0]


def test_the_table_of_a_paper_is_found_by_task_and_architecture(tmp_path: Path) -> None:
    write_run(tmp_path, layers=("mamba-signed",))
    values = published_values(group(tmp_path), [GRAZZI])
    assert [value.value for value in values] == [MEDIANS["Mamba [-1,1]"][0]]
    assert values[0].lengths == (42, 256)
    assert values[0].where.startswith("Grazzi et al. 2025, Table")
    # The paper's accuracy has chance at 0: it is no share of sequences.
    assert reference_points(values, "sequence") == ()
    (point,) = reference_points(values, "scaled")
    assert (point.x, point.y) == (256, MEDIANS["Mamba [-1,1]"][0])


def test_other_tasks_and_stacks_of_other_layers_have_none(tmp_path: Path) -> None:
    write_run(tmp_path / "a", layers=("mamba-signed", "lstm"))
    write_run(tmp_path / "b", layers=("mamba-signed",), task="even-pairs")
    assert published_values(group(tmp_path / "a"), [GRAZZI]) == []
    assert published_values(group(tmp_path / "b"), [GRAZZI]) == []
