"""Limits: positive, named, with one clock for all that share a budget."""

from __future__ import annotations

import dataclasses
import math
import time

import pytest

from nerode.core.budget import Budget
from nerode.core.errors import BudgetExceeded, InputError

LIMITS = ("states", "elements", "images", "seconds", "bytes")


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_limits_are_positive(name: str, value: float) -> None:
    with pytest.raises(InputError) as refused:
        Budget(**{name: value})
    assert f"{value} {name}" in str(refused.value)
    assert "above 0" in str(refused.value)


def test_limits_are_listed_without_the_clock() -> None:
    assert set(Budget().limits()) == set(LIMITS)
    assert Budget(states=7).limits()["states"] == 7


def test_budgets_with_the_same_limits_are_equal_whenever_they_were_made() -> None:
    early = Budget(states=7)
    time.sleep(0.01)
    assert early == Budget(states=7)
    assert early != Budget(states=8)


@pytest.mark.parametrize("resource", LIMITS[:3])
def test_the_limit_itself_is_allowed(resource: str) -> None:
    budget = Budget(**{resource: 10})
    budget.check(resource, 10)
    with pytest.raises(BudgetExceeded) as stopped:
        budget.check(resource, 11, states="at least 11", groups="Z2 found")
    assert stopped.value.resource == resource
    assert stopped.value.limit == 10
    assert stopped.value.known_so_far == {"states": "at least 11", "groups": "Z2 found"}


def test_a_resource_that_does_not_exist_is_a_programming_error() -> None:
    with pytest.raises(AttributeError):
        Budget().check("patience", 1)


def test_time_is_checked_together_with_every_resource() -> None:
    budget = Budget(seconds=0.001)
    time.sleep(0.01)
    with pytest.raises(BudgetExceeded) as stopped:
        budget.check("states", 1, states=1)
    assert stopped.value.resource == "seconds"
    assert stopped.value.known_so_far == {"states": 1}
    with pytest.raises(BudgetExceeded):
        budget.check_time()


def test_stages_that_share_a_budget_share_its_clock() -> None:
    budget = Budget(seconds=0.05)
    budget.check_time()

    def stage(shared: Budget) -> None:
        time.sleep(0.03)
        shared.check_time()

    stage(budget)
    with pytest.raises(BudgetExceeded):
        stage(budget)


def test_starting_sets_the_clock_to_zero_and_leaves_the_first_one_running() -> None:
    budget = Budget(seconds=0.02, states=3)
    time.sleep(0.03)
    again = budget.start()
    assert again == budget
    assert again.elapsed() < budget.elapsed()
    again.check_time()
    with pytest.raises(BudgetExceeded):
        budget.check_time()


def test_budgets_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget().states = 5  # type: ignore[misc]
