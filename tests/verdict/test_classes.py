import itertools

import pytest

from nerode.core import BudgetExceeded
from nerode.verdict.classes import Condition

VALUES = (True, False, None)


def constant(value):
    return Condition(str(value), lambda subject: value)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(VALUES, repeat=2)))
def test_and_or_follow_kleene(left, right):
    both = (constant(left) & constant(right))(0)
    either = (constant(left) | constant(right))(0)
    if left is False or right is False:
        assert both is False
    elif left is None or right is None:
        assert both is None
    else:
        assert both is True
    if left is True or right is True:
        assert either is True
    elif left is None or right is None:
        assert either is None
    else:
        assert either is False


@pytest.mark.parametrize(("value", "negated"), [(True, False), (False, True), (None, None)])
def test_not(value, negated):
    assert (~constant(value))(0) is negated


def test_what_does_not_fit_the_budget_is_not_known():
    def exceed(subject):
        raise BudgetExceeded("seconds", 1.0)

    over = Condition("over", exceed)
    assert over(0) is None
    assert (over & constant(False))(0) is False
    assert (over | constant(True))(0) is True
    assert (~over)(0) is None


def test_text_reads_like_a_sentence():
    condition = constant(True) & ~constant(False)
    assert condition.text == "True, not False"
