from fractions import Fraction

from hypothesis import given, strategies as st

from nerode.compiler.forms import constant, direction
from nerode.compiler.piecewise import (
    conjunction,
    equals,
    is_positive,
    old_value,
    ramp,
    second_digit,
    top_digit,
)
from tests.compiler.evaluation import Values

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
