from fractions import Fraction

from hypothesis import given, strategies as st

from nerode.compiler.forms import (
    DirectionForm,
    conjunction,
    constant,
    direction,
    equals,
    is_positive,
    old_value,
    ramp,
    reduce_one_hot,
    second_digit,
    top_digit,
    total,
)
from tests.compiler.evaluation import Values

NAMES = ("a", "b", "c", "d")
numbers = st.integers(-3, 3) | st.fractions(-2, 2, max_denominator=4)
forms = st.builds(DirectionForm, st.dictionaries(st.sampled_from(NAMES), numbers), numbers)
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


H = direction("h")
bits = st.sampled_from((0, 1))


def at(value, function, *arguments):
    values = Values({"h": value})
    return values.of(function(H, *arguments, values.relu))


@given(st.integers(-20, 20), st.integers(-10, 10))
def test_tests_of_integers_are_exact(value, other):
    assert at(value, is_positive) == int(value > 0)
    assert at(value, equals, other) == int(value == other)


@given(st.lists(bits, min_size=1, max_size=6))
def test_a_conjunction_is_one_where_all_literals_are(values):
    names = {f"l{i}": v for i, v in enumerate(values)}
    point = Values(names)
    assert point.of(conjunction(map(direction, names), point.relu)) == int(all(values))
    assert point.num_units == (len(values) > 1)


def test_trivial_conjunctions_need_no_unit():
    point = Values({"h": 1})
    assert conjunction([], point.relu) == constant(1)
    assert conjunction([constant(1), H, H], point.relu) == H
    assert point.num_units == 0


retentions = st.integers(2, 30).map(lambda k: Fraction(1, 2**k))


@given(bits, st.lists(bits, min_size=1, max_size=30), retentions)
def test_a_delay_shows_the_bit_before(start, written, retain):
    state, before = Fraction(start), start
    for bit in written:
        state = state * retain + bit
        values = Values({"h": state})
        assert values.of(second_digit(H, values.relu, retain)) == before
        assert at(state, top_digit) == bit
        before = bit


@given(bits, st.lists(st.tuples(st.booleans(), bits), max_size=30), retentions)
def test_a_retentive_register_shows_its_value_before_and_after(start, commands, retain):
    state, value = Fraction(start), start
    for write, bit in commands:
        old = value
        if write:
            state, value = state * retain + bit, bit
        values = Values({"h": state, "w": int(write)})
        assert values.of(old_value(H, direction("w"), values.relu, retain)) == old
        assert at(state, top_digit) == value


@given(st.fractions(0, Fraction(1, 100)), bits, bits)
def test_digits_are_read_with_a_margin(noise, top, second):
    largest = Fraction(1, 12)
    for rest in (-noise, largest + noise):
        value = top + Fraction(second, 4) + rest
        assert at(value, top_digit) == top
        assert at(value, second_digit) == second


def test_a_ramp_is_linear_between_its_ends():
    heights = [at(Fraction(v, 8), ramp, Fraction(1, 4), 2) for v in (1, 2, 4, 6, 9)]
    assert heights == [0, 0, Fraction(1, 2), 1, 1]
