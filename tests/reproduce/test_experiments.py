"""What is committed under `experiments/`: the page says what the files say, for tables that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerode.report.claims_page import claims_page
from nerode.report.reproductions import table_markdown
from nerode.reproduce.agreement import RULE, compare
from nerode.reproduce.committed import read_results
from nerode.reproduce.papers import find_tables

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RESULTS = read_results(EXPERIMENTS / "reproduce")


def test_the_page_is_made_from_the_files():
    assert (EXPERIMENTS / "README.md").read_text(encoding="utf-8") == claims_page(RESULTS)


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r['paper']}:{r['table']}")
def test_the_files_are_of_the_tables_that_there_are(result):
    ((_, table),) = find_tables(f"{result['paper']}:{result['table']}")
    rows = {(line.row, line.model): line for line in table.lines}
    for line in result["lines"]:
        if line["kind"] == "polished":
            continue
        own = rows[line["row"], line["model"]]
        assert [c["published"] for c in line["cells"]] == [c.published for c in own.cells]
        assert [c["column"] for c in line["cells"]] == [c.column for c in own.cells]
    assert result["rule"] == RULE
    text = (EXPERIMENTS / "reproduce" / result["paper"] / f"{result['table']}.md").read_text(encoding="utf-8")
    assert text == table_markdown(result)


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: f"{r['paper']}:{r['table']}")
def test_agreement_follows_from_the_values(result):
    for line in result["lines"]:
        for cell in line["cells"]:
            outcomes = {
                compare(
                    cell["published"],
                    cell["values"],
                    threshold=result["threshold"],
                    tick=result["unit"] == "tick",
                    learned=learned,
                ).value
                for learned in (False, True)
            }
            assert cell["agreement"] in outcomes


def test_every_paper_has_been_run():
    assert {result["paper"] for result in RESULTS} == {
        "ngram-ssm",
        "sarrof",
        "metric-automata",
        "memory",
        "grazzi",
        "merrill",
        "deletang",
    }
