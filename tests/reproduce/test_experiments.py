"""What is committed under `experiments/`: the page says what the files say, for tables that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import findings, polish
from nerode.records import read_tables
from nerode.report import claims_page, table_markdown
from nerode.reproduce import PAPERS, find_tables
from nerode.reproduce.measuring import seeds_of, specs_of
from nerode.reproduce.records import RULE, compare_cells, count_coverage, judge_again
from nerode.training import run_key

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RESULTS = read_tables(EXPERIMENTS / "reproduce")
TABLES = [(paper, table) for paper in PAPERS.values() for table in paper.tables]


def test_the_page_is_made_from_the_files():
    assert (EXPERIMENTS / "README.md").read_text(encoding="utf-8") == claims_page(
        RESULTS, count_coverage(RESULTS, TABLES)
    )


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r.paper}:{r.table}")
def test_the_files_are_of_the_tables_that_there_are(result):
    ((_, table),) = find_tables(f"{result.paper}:{result.table}")
    rows = {(line.row, line.model): line for line in table.lines}
    for line in result.lines:
        own = rows[line.row, line.model]
        assert [c.published for c in line.cells] == [c.published for c in own.cells]
        assert [c.column for c in line.cells] == [c.column for c in own.cells]
    assert result.rule == RULE
    text = (EXPERIMENTS / "reproduce" / result.paper / f"{result.table}.md").read_text(encoding="utf-8")
    assert text == table_markdown(result)


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r.paper}:{r.table}")
def test_agreement_follows_from_the_values(result):
    ((_, table),) = find_tables(f"{result.paper}:{result.table}")
    rows = {(line.row, line.model): line for line in table.lines}
    for line in result.lines:
        own = rows[line.row, line.model]
        values = [cell.values for cell in line.cells]
        expected = [cell.agreement for cell in compare_cells(table, own.cells, values)]
        assert [cell.agreement for cell in line.cells] == expected


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r.paper}:{r.table}")
def test_every_line_and_every_seed_is_reported_or_said_to_be_missing(result):
    ((_, table),) = find_tables(f"{result.paper}:{result.table}")
    kept = {(line.row, line.model): line for line in result.lines}
    for own in table.lines:
        if not own.runs_here:
            continue
        if (own.row, own.model) not in kept:
            assert f"{own.row} · {own.model}" in result.waiting
            continue
        line = kept[own.row, own.model]
        if own.compile_to:
            continue
        assert sorted([*line.seeds, *line.missing]) == list(seeds_of(own))
        assert all(len(cell.values) == len(line.seeds) for cell in line.cells)
        assert list(line.keys) == [run_key(spec) for spec in specs_of(own, line.seeds)]


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r.paper}:{r.table}")
def test_the_files_are_judged_by_the_present_rule(result):
    ((_, table),) = find_tables(f"{result.paper}:{result.table}")
    assert judge_again(result, table) == result


def test_table_2_is_on_the_groups_of_the_paper():
    ((_, table),) = find_tables("memory:table-2")
    assert not any(line.here for line in table.lines)
    trained = {line.cpu["task"]["settings"]["monoid"] for line in table.lines if line.cpu is not None}
    compiled = {line.language for line in table.lines if line.compile_to}
    assert trained == compiled == {"Z60", "A4xZ5", "A5"}


def test_every_paper_has_been_run():
    assert {result.paper for result in RESULTS} == {
        "ngram-ssm",
        "sarrof",
        "metric-automata",
        "memory",
        "grazzi",
        "merrill",
        "deletang",
    }


def test_the_page_of_polished_groups_is_made_from_its_file_and_the_marks_of_table_2():
    rows = polish.read_rows()
    assert [(row["group"], row["seed"]) for row in rows] == [
        (g, s) for g in polish.GROUPS for s in polish.SEEDS
    ]
    assert (EXPERIMENTS / "polish" / "README.md").read_text(encoding="utf-8") == polish.page(rows)


def test_the_page_of_findings_is_made_from_the_kept_results_and_has_its_figures():
    assert findings.PAGE.read_text(encoding="utf-8") == findings.page()
    for make in findings.FINDINGS:
        told = make()
        assert (EXPERIMENTS / told.kept).exists()
        assert (findings.FIGURES / f"finding-{told.name}.svg").is_file()
