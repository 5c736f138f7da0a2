"""Tables in the papers' form, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from nerode.records import VerdictSummary
from nerode.report.tables.runs import ResultTable, success_table, to_csv, to_latex, to_markdown
from nerode.study.runs import TaskGroup, group_runs, read_run_files
from tests.report.run_specimens import fill_store, write_run


def group(folder: Path) -> TaskGroup:
    return group_runs(read_run_files([folder])[0])[0]


def test_model_by_length_with_median_range_and_seeds(tmp_path: Path) -> None:
    task = group(fill_store(tmp_path))
    no = VerdictSummary(status="no", reason="r")
    table = success_table(task, [no if model.label == "mamba" else None for model in task.models])
    assert table.headings == (
        "model",
        "parameters",
        "seeds",
        "40",
        "80",
        "400",
        "passes tests to 400",
        "theory",
    )
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["mamba"] == (
        "1,234",
        "3",
        "100 [100–100]",
        "50 [40–60]",
        "0 [0–0]",
        "0 of 3",
        "impossible",
    )
    assert rows["lstm"] == ("1,234", "3 (1 diverged)", *["100 [0–100]"] * 3, "2 of 3", "–")


def test_without_theory_there_is_no_column_for_it(tmp_path: Path) -> None:
    task = group(fill_store(tmp_path))
    assert "theory" not in success_table(task, [None] * len(task.models)).headings


HOSTILE = ResultTable(
    title="a_b & c",
    caption="50 % of {x} $y$ #1 ^ ~ \\",
    headings=("model", "v|w"),
    rows=(("<b>*m*</b>\n# x", "1 [0–1]"),),
)


def test_latex_has_no_character_that_would_act(tmp_path: Path) -> None:
    text = to_latex([HOSTILE])
    caption = next(line for line in text.splitlines() if line.startswith(r"\caption"))
    assert caption == (
        r"\caption{a\_b \& c. 50 \% of \{x\} \$y\$ \#1 \textasciicircum{} \textasciitilde{} \textbackslash{}}"
    )
    assert r"\begin{tabular}{lr}" in text
    assert r"<b>*m*</b> \# x & 1 [0--1] \\" in text


def test_markdown_has_one_line_a_row_and_no_markup_of_others() -> None:
    lines = to_markdown([HOSTILE]).splitlines()
    assert lines[0] == r"## a\_b \& c"
    assert lines[2] == r"| model | v\|w |"
    assert lines[3] == "| --- | --- |"
    assert lines[4] == r"| \<b\>\*m\*\</b\> # x | 1 \[0–1\] |"


def test_csv_has_every_number_and_no_formula(tmp_path: Path) -> None:
    write_run(tmp_path, title="=HYPERLINK(1)", accuracies=(1.0, 0.25, 0.0))
    rows = list(csv.DictReader(io.StringIO(to_csv([group(tmp_path)]))))
    assert [(row["length"], row["accuracy"]) for row in rows] == [
        ("40", "1.0"),
        ("80", "0.25"),
        ("400", "0.0"),
    ]
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)"}
    assert {row["seed"] for row in rows} == {"0"}
