import itertools

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.tables import ANY, decision_table
from nerode.core import Budget, BudgetExceeded

SIZES = (2, 3, 2, 2)
ASSIGNMENTS = list(itertools.product(*map(range, SIZES)))


@given(st.dictionaries(st.sampled_from(ASSIGNMENTS), st.sampled_from("xyz"), min_size=1))
def test_a_table_agrees_with_its_function_and_its_rows_exclude_each_other(function):
    table = decision_table(list(function), list(function.values()), SIZES)
    for assignment, value in function.items():
        assert table.evaluate(assignment) == value
    for assignment in ASSIGNMENTS:
        matching = [
            literals for literals, _ in table.rows if all(assignment[v] == wanted for v, wanted in literals)
        ]
        assert len(matching) <= 1


@given(st.lists(st.tuples(*(st.integers(-1, size - 1) for size in SIZES)), min_size=1, max_size=6))
def test_a_value_that_does_not_matter_matches_everything(patterns):
    values = [0] * len(patterns)
    table = decision_table(patterns, values, SIZES)
    assert table.otherwise == 0
    assert table.rows == ()
    # The first pattern against the rest of the space: two patterns with different values never meet.
    inside = [a for a in ASSIGNMENTS if _matches(patterns[0], a)]
    outside = [a for a in ASSIGNMENTS if not _matches(patterns[0], a)]
    table = decision_table([patterns[0], *outside], [1, *(2 for _ in outside)], SIZES)
    assert all(table.evaluate(a) == 1 for a in inside)
    assert all(table.evaluate(a) == 2 for a in outside)


def _matches(pattern, assignment):
    return all(p in (ANY, a) for p, a in zip(pattern, assignment, strict=True))


def test_the_variable_that_settles_everything_is_found():
    cases = list(itertools.product((0, 1), repeat=8))
    table = decision_table(cases, [case[6] for case in cases], (2,) * 8)
    assert table.rows in ((((((6, 1),)), 1),), (((((6, 0),)), 0),))
    assert table.literals <= {(6, 0), (6, 1)}


def test_patterns_that_meet_must_agree():
    with pytest.raises(ValueError, match="two patterns meet"):
        decision_table([(0, ANY), (ANY, 1)], [0, 1], (2, 2))
    with pytest.raises(ValueError, match="no patterns"):
        decision_table([], [], (2, 2))


def test_the_budget_bounds_the_work():
    cases = list(itertools.product((0, 1), repeat=8))
    parity = [sum(case) % 2 for case in cases]
    with pytest.raises(BudgetExceeded):
        decision_table(cases, parity, (2,) * 8, Budget(elements=300))
