"""Each invariant of the records of papers, broken once."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.reproduce.records import (
    TOLERANCE,
    Agreement,
    LengthRange,
    TableCell,
    compare,
    compare_cells,
    count_coverage,
    judge_again,
    percent_cells,
    tick_cells,
)
from tests.report.table_specimens import cell, line, table as table_result
from tests.reproduce.tiny import compiled, paper, table, trained


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LengthRange(low=0, high=3), "range from 1"),
        (lambda: LengthRange(low=4, high=3), "range from 1"),
        (lambda: LengthRange(low=1, high=3, chance=1.0), "chance is 1.0"),
        (lambda: TableCell(column="a", reading=LengthRange(low=1, high=2), published=54.0), "give a share"),
        (lambda: trained(cells=()), "has no cell"),
        (lambda: trained(seeds=2), "3 or more"),
        (lambda: trained(stands_in=True), "say in what way"),
        (lambda: compiled(language=""), "needs a language"),
        (lambda: trained(compile_to="gla"), "no spec"),
        (lambda: paper(table(), table()), "have to differ"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_columns_of_a_table_come_in_order_of_first_appearance():
    assert table().columns == ("≤ 8", "16")
    assert table().ticks
    assert not trained(cpu=None).runs_here
    assert compiled().runs_here


READINGS = [LengthRange(low=1, high=50), LengthRange(low=51, high=100), LengthRange(low=101, high=150)]


def test_percentages_are_shares():
    cells = percent_cells(("a", "b", "c"), READINGS, "100/53.95/–")
    assert [cell.published for cell in cells] == [1.0, pytest.approx(0.5395), None]
    assert [cell.printed for cell in cells] == ["100", "53.95", "–"]
    assert [cell.trained for cell in cells] == [True, False, False]


def test_ticks():
    cells = tick_cells(("a", "b", "c"), READINGS, "✓✗–")
    assert [cell.published for cell in cells] == [1.0, 0.0, None]


def test_a_number_too_few_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        percent_cells(("a", "b", "c"), READINGS, "100/10")


SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("published", "values", "tick", "learned", "expected"),
    [
        (1.0, [1.0, 0.95, 0.8], True, True, "agrees"),
        (1.0, [0.2, 0.95, 0.3], True, True, "differs"),
        (1.0, [0.2, 0.95, 0.3], True, False, "not learned here"),
        (0.0, [1.0, 1.0, 1.0], True, True, "differs"),
        (0.0, [0.89, 0.1, 1.0], True, True, "agrees"),
        (0.0, [0.89, 0.1, 1.0], True, False, "not learned here"),
        (0.54, [0.5, 0.6], False, True, "agrees"),
        (0.54, [0.1, 0.8], False, True, "in kind"),  # a wide range is no agreement
        (0.54, [0.95, 0.97], False, True, "differs"),
        (1.0, [0.5, 0.6], False, False, "not learned here"),
        (1.0, [1.0, 0.0, 0.0], False, True, "differs"),
        (0.826, [0.0, 0.02], False, True, "in kind"),
        (0.26, [0.64, 0.65], False, False, "not learned here"),
        (0.88, [0.85, 0.91, 0.95], False, True, "differs"),
        (None, [1.0], True, True, "–"),
        (1.0, [], True, True, "–"),
    ],
)
def test_cases_by_hand(published, values, tick, learned, expected):
    assert compare(published, values, threshold=0.9, tick=tick, learned=learned) == expected


@given(SHARES, st.lists(SHARES, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_what_agrees_is_near_and_on_the_same_side(published, values, tick, learned):
    found = compare(published, values, threshold=0.9, tick=tick, learned=learned)
    same_side = (fmean(values) >= 0.9) == (published >= 0.9)
    if found in (Agreement.AGREES, Agreement.IN_KIND):
        assert same_side
    if found is Agreement.AGREES and not tick:
        assert abs(fmean(values) - published) <= TOLERANCE
    assert (found is Agreement.NOT_LEARNED) == (not learned)
    if found is Agreement.DIFFERS:
        assert not same_side
    assert compare(values[0], values[:1], threshold=0.9, tick=tick, learned=True) is Agreement.AGREES


def test_the_average_is_that_of_the_paper():
    values = [1.0, 1.0, 0.4]
    median_of_paper = compare(1.0, values, threshold=0.9, tick=True, learned=True, mean=False)
    assert median_of_paper is Agreement.AGREES
    assert compare(1.0, values, threshold=0.9, tick=True, learned=True) is Agreement.DIFFERS


def test_what_fails_in_a_paper_that_prints_no_training_accuracy_has_a_class_of_its_own():
    trained_cell, beyond = trained().cells
    hidden = replace(trained_cell, published=None, printed="")
    values = [(0.5, 0.6, 0.6), (0.0, 0.1, 0.0)]

    def agreements(first, share):
        cells = (first, replace(beyond, published=share))
        return [cell.agreement for cell in compare_cells(table(), cells, values)]

    assert agreements(hidden, 0.3) == ["–", "the paper fails as well"]
    assert agreements(hidden, 1.0) == ["–", "not learned here"]
    assert agreements(replace(hidden, elsewhere=1.0), 0.3) == ["–", "not learned here"]
    assert agreements(replace(hidden, elsewhere=0.2), 0.3) == ["–", "agrees"]


def test_a_line_with_another_spec_is_yet_to_be_run():
    cells = [cell(column="≤ 8", values=[1.0]), cell(column="16", values=[1.0])]
    kept = table_result(line(row="Parity", model="GRU", cells=cells, spec={"run": {"steps": 1}}))
    assert judge_again(kept, table(trained())).waiting == ("Parity · GRU",)
    assert judge_again(kept, table(trained(cpu={"run": {"steps": 1}}))).waiting == ()


def test_a_line_that_was_not_learned_says_nothing_about_ticks_or_crosses():
    found = compare_cells(table(), trained().cells, [(0.5, 1.0, 0.6), (0.0, 0.1, 0.0)])
    assert [cell.agreement for cell in found] == ["not learned here", "not learned here"]
    assert [cell.split for cell in found] == [True, False]
    same = replace(trained().cells[0], published=0.0)
    found = compare_cells(table(), (same, trained().cells[1]), [(0.5, 1.0, 0.6), (0.0, 0.1, 0.0)])
    assert [cell.agreement for cell in found] == ["agrees", "agrees"]


def test_cells_are_counted_by_what_is_known_of_them():
    easier = trained(model="A", here="shorter words")
    waiting, far = trained(model="B"), trained(model="C", cpu=None)
    rows = table(trained(), easier, waiting, far)
    kept = judge_again(table_result(line(row="Parity", model="GRU"), line(row="Parity", model="A")), rows)
    assert kept.lines == ()
    cells = [cell(column="≤ 8", values=[1.0]), cell(column="16", values=[])]
    spec = trained().cpu
    kept = judge_again(
        table_result(
            line(row="Parity", model="GRU", cells=cells, spec=spec),
            line(row="Parity", model="A", cells=cells, spec=spec),
            line(row="Old", model="GRU", cells=cells, spec=spec),
        ),
        rows,
    )
    assert [x.task for x in kept.lines] == ["Parity", "Parity (here shorter words)"]
    assert kept.waiting == ("Parity · B",)
    assert kept.unmeasured == 2
    kept = replace(kept, paper=paper().name, table=rows.name)
    assert count_coverage([kept], [(paper(), rows)]) == {
        "same task": 1,
        "easier task": 1,
        "not run": 4,
        "no spec": 2,
    }
