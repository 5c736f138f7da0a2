"""Intervals of the kernel hold the functions that they are about."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.kernel.domains import spans
from nerode.kernel.domains.roots import Field
from nerode.kernel.domains.spans import ONE
from nerode.kernel.network import before
from nerode.kernel.work import Undecided, WorkCount

ARGUMENTS = st.fractions(-90, 90, max_denominator=10**12)


def exact(value: int) -> Decimal:
    return Decimal(value) / Decimal(ONE)


def tanh(a: spans.Span) -> spans.Span:
    """The span of one span."""
    return spans.tanhs([a])[0]


def sigmoid(a: spans.Span) -> spans.Span:
    """The span of one span."""
    return spans.sigmoids([a])[0]


@given(ARGUMENTS)
def test_exp_tanh_and_the_logistic_function(x: Fraction) -> None:
    span = spans.outer(x, x)
    with decimal.localcontext() as context:
        context.prec = 120
        low_x, high_x = exact(span[0]), exact(span[1])
        functions = {
            spans.exp: lambda v: v.exp(),
            tanh: lambda v: 1 - 2 / (1 + (2 * v).exp()),
            sigmoid: lambda v: 1 / (1 + (-v).exp()),
        }
        for function, wanted in functions.items():
            low, high = function(span)
            assert exact(low) <= wanted(low_x)
            assert wanted(high_x) <= exact(high)
            # Tight: some units of 2**-96, relative to the size of the value.
            assert high - low <= 4 + (abs(high) >> 80)


@given(*[st.tuples(st.fractions(-5, 5), st.fractions(-5, 5)) for _ in range(2)], st.fractions(0, 1))
def test_products_quotients_and_mixtures(
    a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], share: Fraction
) -> None:
    one, other = spans.outer(min(a), max(a)), spans.outer(min(b), max(b))
    mixed = spans.mix(spans.outer(share, share), one, other)
    for x in a:
        for y in b:
            assert _in(x * y, spans.multiply(one, other))
            assert _in(x + y, spans.add(one, other))
            assert _in((1 - share) * x + share * y, mixed)
            if min(b) > 0:
                assert _in(x / y, spans.divide(one, other))
        assert _in(max(x, Fraction(0)), spans.relu(one))
        assert _in(min(max(x, Fraction(0)), Fraction(1)), spans.clip(one))


def _in(value: Fraction, span: spans.Span) -> bool:
    return span[0] <= value * ONE <= span[1]


def test_what_has_no_bound_is_undecided() -> None:
    with pytest.raises(Undecided, match="exp"):
        spans.exp((0, 5_000 * ONE))
    with pytest.raises(Undecided, match="divisor"):
        spans.divide((0, ONE), (0, ONE))


def test_far_arguments_are_near_the_limits() -> None:
    assert tanh((200 * ONE, 10**6 * ONE)) == (ONE - 1, ONE)
    assert sigmoid((-(10**6) * ONE, -200 * ONE)) == (0, 1)


@pytest.mark.parametrize(
    "x",
    [
        *("0", "1/64", "1/32", "34657359/100000000", "1/1000000000000", "19999999/1000000", "20", "201/10"),
        *("499/10", "50", "501/10", "99", "999/10", "100", "1001/10", "690"),
    ],
)
def test_places_where_the_algorithms_change(x: str) -> None:
    with decimal.localcontext() as context:
        context.prec = 700
        for value in (int(Fraction(x) * ONE), -int(Fraction(x) * ONE)):
            at = exact(value)
            wanted = {
                spans.exp: at.exp(),
                tanh: 1 - 2 / (1 + (2 * at).exp()),
                sigmoid: 1 / (1 + (-at).exp()),
            }
            for function, truth in wanted.items():
                low, high = function((value, value))
                assert exact(low) <= truth <= exact(high)


@given(st.data())
def test_maps_contain_all_images(data: st.DataObject) -> None:
    """Some inputs by name, some as the state; coefficients that 96 places hold and that they do not."""
    numbers = st.fractions(-50, 50, max_denominator=60)
    width, named = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    names = [*(before(i) for i in range(width)), *(f"x{i}" for i in range(named))]
    entries = st.dictionaries(st.sampled_from(names), numbers.filter(bool)) if names else st.just({})
    rows = [(data.draw(numbers), tuple(data.draw(entries).items())) for _ in range(3)]
    lows = {name: data.draw(numbers) for name in names}
    widths = {name: data.draw(st.fractions(0, 3)) for name in names}
    share = data.draw(st.fractions(0, 1))
    point = {name: lows[name] + share * widths[name] for name in names}
    around = {name: spans.outer(lows[name], lows[name] + widths[name]) for name in names}
    table = {name: around[name] for name in names[width:]}
    found = spans.SpanRows(rows, width, WorkCount()).all_values(
        table, tuple(around[name] for name in names[:width])
    )
    for (bias, terms), span in zip(rows, found, strict=True):
        assert _in(bias + sum((c * point[name] for name, c in terms), Fraction(0)), span)


def test_irrational_numbers_have_no_span() -> None:
    with pytest.raises(Undecided, match="rational"):
        spans.around(Field(8, WorkCount()).root(1))
