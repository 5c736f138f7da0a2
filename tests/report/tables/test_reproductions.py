"""Reproduced tables as text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from nerode.report.pages.claims import claims_page
from nerode.report.tables.reproductions import (
    cell_rows,
    claim_text,
    percentage,
    proof_text,
    reproduction_table,
    share,
    table_markdown,
)
from tests.report.table_specimens import cell, line, table as result

PROVED = {
    "scope": "all lengths in exact arithmetic",
    "dtype": None,
    "length": "all",
    "eps": None,
    "task": "predict",
}


COVERAGE = {"same task": 4, "easier task": 3, "not run": 2, "no spec": 1}


def claims(results):
    return claims_page(results, COVERAGE)


def test_a_row_has_published_ours_theory_and_agreement():
    (row,) = cell_rows(result())
    assert row == (
        "{0,1}*d_",
        "Mamba, 1 layer",
        "51–100",
        "54",
        "60 (50–70; 3)",
        "yes (robust: no)",
        "agrees",
    )


def test_what_repeats_is_left_out():
    rows = cell_rows(result(line(cells=[cell(), cell(column="b")]), line(model="LSTM")))
    assert [row[0] for row in rows] == ["{0,1}*d_", "", ""]
    assert [row[1] for row in rows] == ["Mamba, 1 layer", "", "LSTM"]


def test_compiled_refused_and_diverged():
    empty = cell(values=[], agreement="–")
    rows = cell_rows(
        result(
            line(kind="compiled", cells=[cell(values=[1.0])], claims=[PROVED], seeds=[]),
            line(kind="compiled", cells=[empty], failed=["no"], seeds=[]),
            line(diverged=[1]),
            line(theory=None),
        )
    )
    assert [row[4] for row in rows] == [
        "100 (compiled)",
        "refused",
        "60 (50–70; 3), 1 diverged",
        "60 (50–70; 3)",
    ]
    assert rows[3][5] == "–"


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.99999, "0.9995"), (0.5, "0.5"), (0.0, "0")])
def test_shares_never_round_up_to_one(value, text):
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "100"), (0.99999, "99.95"), (0.626, "62.6"), (0.1, "10"), (0.0, "0")]
)
def test_percentages_never_round_up_to_a_hundred(value, text):
    assert percentage(value) == text


@pytest.mark.parametrize(
    ("published", "printed", "ours"),
    [
        (0.626, "62.6", "60 (50–70; 3)"),
        (1.0, "100.0±0", "60 (50–70; 3)"),
        (0.826, "0.826 (median; best 0.971)", "0.6 (0.5–0.7; 3)"),
        (1.0, "1", "0.6 (0.5–0.7; 3)"),
        (1.0, "✓", "0.6 (0.5–0.7; 3)"),
        (None, "", "0.6 (0.5–0.7; 3)"),
    ],
)
def test_our_numbers_have_the_unit_of_the_paper(published, printed, ours):
    found = result(line(cells=[cell(published=published, printed=printed)]))
    assert cell_rows(found)[0][4] == ours
    assert (" in %; a cell counts as solved from 90." in table_markdown(found)) == ours.startswith("60")


def test_claims():
    assert claim_text(PROVED) == "all lengths in exact arithmetic"
    limit = {**PROVED, "scope": "right up to length N in a dtype", "dtype": "float16", "length": 1024}
    assert claim_text(limit) == "correct up to length 1,024 in float16"
    noise = {**PROVED, "scope": "all lengths under noise below eps", "eps": "1/8"}
    assert claim_text(noise) == "all lengths under noise below eps, eps = 0.125"
    single = {**limit, "dtype": "float32", "length": 100}
    assert proof_text([PROVED, limit, single, noise]) == (
        "all lengths in exact arithmetic; correct up to length 100 in float32; "
        "all lengths under noise below eps, eps = 0.125"
    )


def test_a_claim_says_what_it_is_about():
    assert claim_text({**PROVED, "task": "recognise"}) == "all lengths in exact arithmetic (recognise)"
    fragile = {**PROVED, "task": "fragile", "eps": "1/8"}
    window = {**PROVED, "task": "window"}
    assert proof_text([fragile, PROVED, window]) == "all lengths in exact arithmetic"


def test_the_markdown_of_a_table_has_all_that_is_needed_to_repeat_it():
    text = table_markdown(result())
    for part in ("nerode reproduce tiny:table-1", "90 CPU seconds", "a core", "0123456789", "checked twice"):
        assert part in text
    assert "{0,1}\\*d\\_" in text
    assert "Put together at commit 0123456789, most runs at fedcba9876 and 1 others." in text
    assert "2 lines of the paper have no run at this scale." in text


def test_seeds_and_lines_that_were_not_run_are_said():
    found = result(line(missing=[3, 4]), line(failed=["seed 3: failed: no"]), waiting=["(aa)* · d_2 · GRU"])
    text = table_markdown(found)
    assert "60 (50–70; 3 of 5)" in text
    assert "60 (50–70; 3 of 4)" in text
    assert "2 lines of the paper have no run at this scale, 1 of which can be run here." in text
    assert "- {0,1}\\*d\\_ · Mamba, 1 layer: 3 of 5 seeds have been run." in text
    assert "- Yet to be run: (aa)\\* · d\\_2 · GRU." in text
    page = claims([found])
    assert "| 3 of 5 |" in page
    assert "1 lines have fewer seeds than asked for, and 1 are yet to be run." in page
    assert "- Yet to be run: (aa)\\* · d\\_2 · GRU." in page


def test_the_page_counts_and_lists_what_differs():
    other = line(cells=[cell(agreement="differs"), cell(agreement="–")], model="LSTM")
    text = claims([result(line(), other), result(line(claims=[PROVED], kind="compiled", keys=[]))])
    assert (
        "Of 10 published cells in the registry 7 are compared: 4 on the paper's task and 3 on an easier"
        in text
    )
    assert "By line (one model on one task): 2 compared: 1 agrees, 1 differs." in text
    assert "3 published cells compared: 2 agrees, 1 differs" in text
    assert "In 0 of those that agree the paper solves the task, in 2 it does not" in text
    assert "0 of the cells are compared on an easier task" in text
    assert "3 training runs, 3 CPU minutes; 1 compiled networks" in text
    assert "## Where we disagree" in text
    assert "LSTM: 51–100: 54, ours 60 (50–70) (3 seeds)" in text
    assert "the rule" in text
    assert "proved: all lengths in exact arithmetic" in text


def test_the_page_tells_ticks_from_crosses_and_easier_tasks():
    solved = cell(published=0.95, printed="95", values=[1.0])
    text = claims([result(line(cells=[solved, cell()]), line(here="a smaller one"))])
    assert "3 published cells compared: 3 agrees." in text
    assert "In 1 of those that agree the paper solves the task, in 2 it does not." in text
    assert "1 of the cells are compared on an easier task than the paper's." in text


def test_the_page_shows_compiled_networks_beside_trained_ones():
    right = cell(values=[1.0], agreement="–")
    compiled = line(kind="compiled", cells=[right], claims=[PROVED], seeds=[], architecture="gla")
    text = claims([result(line(), compiled)])
    assert (
        "Mamba, 1 layer: 54 | 60 (50–70) | yes (robust: no) | gla: 100 | all lengths in exact arithmetic"
        in text
    )
    learned = line(cells=[cell(values=[0.95])])
    assert "Compiled beside trained" not in claims([result(learned, compiled)])


def test_split_seeds_and_the_mean_are_shown():
    found = result(line(cells=[cell(values=[0.5, 0.6, 1.0], split=True)]), average="mean")
    assert cell_rows(found)[0][4] == "70 ± 65.7 (split; 3)"  # 4.303 · 0.2646 / √3


def test_a_terminal_shows_the_table():
    console = Console(file=io.StringIO(), width=150)
    console.print(reproduction_table(result()))
    assert "60 (50–70; 3)" in console.file.getvalue()


def test_lines_that_were_not_learned_come_last_in_their_table():
    """The verdict on a line is that of its worst cell; ours, beside no number, come before them."""
    lines = [
        line(model=name, cells=[cell(agreement=own) for own in agreements])
        for name, agreements in (
            ("A", ["not learned here"]),
            ("B", ["agrees", "differs"]),
            ("C", ["the paper fails as well"]),
            ("D", ["–"]),
            ("E", ["agrees"]),
            ("F", ["agrees", "in kind"]),
        )
    ]
    counts = {"same task": 1, "easier task": 0, "not run": 0, "no spec": 0}
    page = claims_page([result(*lines)], counts)
    rows = [text.split(" | ")[1] for text in page.splitlines() if text.startswith("| {0,1}")]
    assert rows == ["E", "F", "B", "D", "C", "A"]
