"""What a request remembers about its language for the next target."""

from __future__ import annotations

import dataclasses
from unittest.mock import Mock

import pytest

from nerode.core import BudgetExceeded
from nerode.languages import resolve_language
from nerode.verdict import find_architecture
from tests.compiler.requests import star_free_request


@pytest.fixture
def request_for_gla():
    return star_free_request(resolve_language("(ab)*"), "gla")


def test_what_does_not_depend_on_the_target_is_made_once(request_for_gla):
    make = Mock(return_value=[1])
    found = request_for_gla.once("it", make)
    other = dataclasses.replace(request_for_gla, target=find_architecture("mamba"))
    assert other.once("it", make) is found
    assert other.once("another", make) == [1]
    assert make.call_count == 2


def test_a_limit_that_no_budget_sets_is_remembered(request_for_gla):
    make = Mock(side_effect=BudgetExceeded("suffixes", 10))
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match="10 suffixes"):
            request_for_gla.once("it", make)
    assert make.call_count == 1


@pytest.mark.parametrize("resource", ["seconds", "states", "elements", "images"])
def test_with_a_larger_budget_it_is_tried_again(request_for_gla, resource):
    make = Mock(side_effect=[BudgetExceeded(resource, 10), 5])
    with pytest.raises(BudgetExceeded):
        request_for_gla.once("it", make)
    assert request_for_gla.once("it", make) == 5
