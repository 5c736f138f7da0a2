from fractions import Fraction

from hypothesis import given, strategies as st

from nerode.compiler.forms import Form, constant, direction, reduce_one_hot, total
from tests.compiler.evaluation import Values

NAMES = ("a", "b", "c", "d")
numbers = st.integers(-3, 3) | st.fractions(-2, 2, max_denominator=4)
forms = st.builds(Form, st.dictionaries(st.sampled_from(NAMES), numbers), numbers)
points = st.fixed_dictionaries(dict.fromkeys(NAMES, numbers))


@given(forms, forms, numbers, points)
def test_forms_add_and_scale_like_their_values(left, right, factor, point):
    at = Values(point).of
    assert at(left + right) == at(left) + at(right)
    assert at(left - right) == at(left) - at(right)
    assert at(factor - left) == factor - at(left)
    assert at(left * factor) == at(factor * left) == factor * at(left)
    assert at(total([left, right, factor])) == at(left) + at(right) + factor
    assert at(-left) == -at(left)


def test_zero_terms_disappear():
    form = direction("a") - direction("a")
    assert form == constant(0)
    assert form.is_constant
    assert hash(form) == hash(constant(0))
    assert (direction("a") * Fraction(1, 2)).terms == {"a": Fraction(1, 2)}


@given(forms, st.sampled_from(NAMES[:3]), numbers)
def test_forms_over_one_hot_directions_keep_their_values(form, hot, other):
    point = {name: int(name == hot) for name in NAMES[:3]} | {"d": other}
    shorter = reduce_one_hot(form, NAMES[:3])
    assert Values(point).of(shorter) == Values(point).of(form)
    assert len(shorter.terms) <= len(form.terms)


def test_the_sum_of_a_one_hot_is_one():
    everything = total(map(direction, NAMES))
    assert reduce_one_hot(1 - everything, NAMES) == constant(0)
    assert reduce_one_hot(everything - direction("a"), NAMES) == 1 - direction("a")
    # Without a gain the form stays as it was written.
    for form in (direction("a") + direction("b"), direction("a") - direction("b")):
        assert reduce_one_hot(form, NAMES[:2] if form.terms["b"] < 0 else NAMES) is form
