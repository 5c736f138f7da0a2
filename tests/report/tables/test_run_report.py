"""Published values are shown beside the models that they are about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nerode.report.tables.run_report import published_values, reference_points
from nerode.reproduce import LengthRange, TableCell, TableLine
from nerode.reproduce.published.grazzi import GRAZZI, MEDIANS
from nerode.study import MEASURES
from nerode.study.runs import TaskGroup, group_runs, read_run_files
from tests.report.run_specimens import write_run


def group(folder: Path) -> TaskGroup:
    return group_runs(read_run_files([folder])[0])[0]


def test_the_table_of_a_paper_is_found_by_task_and_architecture(tmp_path: Path) -> None:
    write_run(tmp_path, layers=("mamba-signed",), task="parity-last")
    values = published_values(group(tmp_path), [GRAZZI])
    assert [value.value for value in values] == [MEDIANS["Mamba [-1,1]"][0]]
    assert values[0].lengths == (42, 256)
    assert values[0].where.startswith("Grazzi et al. 2025, ")
    # The paper's accuracy is of the last answer, with chance at 0: reports have none like it to draw it with.
    assert values[0].measure == "final, a guess at 0"
    assert not any(reference_points(values, measure) for measure in MEASURES)


def test_a_value_about_many_lengths_is_shown_at_both_ends(tmp_path: Path) -> None:
    cells = (
        TableCell(column="20–60", reading=LengthRange(low=20, high=60, measure="sequence"), published=0.5),
        TableCell(
            column="80", reading=LengthRange(low=80, high=80, measure="token", chance=0.5), published=0.25
        ),
    )
    line = TableLine(
        row="parity", model="M", cells=cells, architecture="mamba", cpu={"task": {"name": "parity"}}
    )
    table = replace(GRAZZI.tables[0], lines=(line,))
    assert not table.ticks
    write_run(tmp_path)
    values = published_values(group(tmp_path), [replace(GRAZZI, tables=(table,))])
    assert [(p.x, p.y) for p in reference_points(values, "sequence")] == [(20, 0.5), (60, 0.5)]
    assert [(p.x, p.y) for p in reference_points(values, "scaled")] == [(80, 0.25)]


def test_other_tasks_and_stacks_of_other_layers_have_none(tmp_path: Path) -> None:
    write_run(tmp_path / "a", layers=("mamba-signed", "lstm"))
    write_run(tmp_path / "b", layers=("mamba-signed",), task="even-pairs")
    assert published_values(group(tmp_path / "a"), [GRAZZI]) == []
    assert published_values(group(tmp_path / "b"), [GRAZZI]) == []


def test_an_easier_task_than_that_of_the_paper_has_no_value_of_the_paper(tmp_path: Path) -> None:
    write_run(tmp_path, layers=("mamba-signed",), task="parity-last")
    table = GRAZZI.tables[0]
    easier = replace(
        table, lines=tuple(replace(line, here="a smaller one", stands_in=True) for line in table.lines)
    )
    assert published_values(group(tmp_path), [replace(GRAZZI, tables=(table,))])
    assert published_values(group(tmp_path), [replace(GRAZZI, tables=(easier,))]) == []
