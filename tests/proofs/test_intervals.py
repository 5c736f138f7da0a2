"""Both interval arithmetics against 60-digit references, and against exact arithmetic."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from nerode.core import InputError, root_of_unity
from nerode.network import Affine
from nerode.proofs import checker_spans as spans
from nerode.proofs.intervals import IntervalMap, Intervals, enclose, fill, stack

SIXTY = Context(prec=60, Emin=-(10**6), Emax=10**6)


def reference(name: str, x: Decimal) -> Decimal:
    with localcontext(SIXTY):
        if name == "exp":
            return x.exp()
        if name == "sigmoid":
            return 1 / (1 + (-x).exp())
        e = (-2 * abs(x)).exp()
        return ((1 - e) / (1 + e)).copy_sign(x)


def points() -> np.ndarray:
    """Thousands of arguments of all sizes, and the places where the algorithms change."""
    rng = np.random.default_rng(7)
    scales = (1e-12, 1e-4, 0.1, 1.0, 5.0, 30.0, 200.0)
    special = [0.0, -0.0, 1 / 64, 1 / 32, 0.34657359, 0.34657360, 19.999999, 20.0, 20.1, 99.9, 100.1, 690.0]
    return np.concatenate([*(rng.normal(0, s, 600) for s in scales), special, np.negative(special)])


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid"])
def test_float_enclosures_contain_the_truth(name):
    x = points()
    found = getattr(Intervals(x, x), name)()
    for value, low, high in zip(x, found.low, found.high, strict=True):
        truth = reference(name, Decimal(float(value)))
        assert Decimal(float(low)) <= truth <= Decimal(float(high)), value
    width = found.high - found.low
    assert (width <= 1e-13 * (np.abs(found.high) if name == "exp" else 1.0)).all()


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid"])
def test_fixed_point_enclosures_contain_the_truth(name):
    for value in points():
        x = int(Fraction(float(value)) * spans.ONE)
        low, high = getattr(spans, name)((x, x))
        with localcontext(SIXTY):
            truth = reference(name, Decimal(x) / spans.ONE) * spans.ONE
        assert Decimal(low) <= truth <= Decimal(high), value
        assert high - low <= 4 + (high >> 90 if name == "exp" else 0)


def test_extreme_arguments():
    x = np.array([-1e300, -1100.0, -745.2, 701.0, 1e300])
    grown = Intervals(x, x).exp()
    assert (grown.low >= 0).all()
    assert grown.high[-1] == np.inf
    assert grown.low[0] == 0.0 < grown.high[0]
    flat = Intervals(x, x).tanh()
    assert flat.low[0] == -1.0
    assert flat.high[-1] == 1.0
    with pytest.raises(InputError, match="out of reach"):
        spans.exp((5000 * spans.ONE, 5000 * spans.ONE))
    assert spans.tanh((5000 * spans.ONE, 5000 * spans.ONE)) == (spans.ONE - 1, spans.ONE)


fractions = st.fractions(min_value=-50, max_value=50, max_denominator=60)


def between(draw):
    a, b = draw(fractions), draw(fractions)
    return min(a, b), max(a, b)


@st.composite
def boxes(draw):
    """Two intervals, a point in each."""
    (a, b), (c, d) = between(draw), between(draw)
    share, other = draw(st.fractions(0, 1)), draw(st.fractions(0, 1))
    return (a, b, a + share * (b - a)), (c, d, c + other * (d - c))


def as_intervals(low, high):
    ends = enclose([[low], [high]])
    return Intervals(ends.low[:1], ends.high[1:])


def contains(found, value):
    return Fraction(float(found.low[0, 0])) <= value <= Fraction(float(found.high[0, 0]))


@settings(max_examples=300)
@given(boxes())
def test_float_arithmetic_contains_all_results(case):
    (a, b, x), (c, d, y) = case
    left, right = as_intervals(a, b), as_intervals(c, d)
    assert contains(left + right, x + y)
    assert contains(left - right, x - y)
    assert contains(left * right, x * y)
    assert contains(left.relu(), max(x, 0))
    assert contains(left.clip(), min(max(x, 0), 1))
    assert contains(left.widen(0.125), x + Fraction(1, 8))
    if c > 0 or d < 0:
        assert contains(left / right, x / y)


@settings(max_examples=300)
@given(boxes())
def test_fixed_point_arithmetic_contains_all_results(case):
    (a, b, x), (c, d, y) = case
    left, right = spans.outer(a, b), spans.outer(c, d)

    def holds(span, value):
        return span[0] <= value * spans.ONE <= span[1]

    assert holds(spans.add(left, right), x + y)
    assert holds(spans.multiply(left, right), x * y)
    assert holds(spans.relu(left), max(x, 0))
    assert holds(spans.clip(left), min(max(x, 0), 1))
    share = (Fraction(1, 3), Fraction(2, 3))
    assert holds(spans.mix(spans.outer(*share), left, right), x / 2 + y / 2)
    if c > 0:
        assert holds(spans.divide(left, right), x / y)


@settings(max_examples=100)
@given(st.data())
def test_maps_contain_all_images(data):
    """Matrix products and sums entry by entry, with coefficients that are floats and that are not."""
    inputs, outputs = data.draw(st.integers(1, 12)), data.draw(st.sampled_from([2, 9, 12]))
    entries = st.dictionaries(st.integers(0, inputs - 1), fractions.filter(bool), max_size=inputs)
    rows = [tuple(sorted(data.draw(entries).items())) for _ in range(outputs)]
    bias = tuple(data.draw(fractions) for _ in rows)
    affine = Affine(num_inputs=inputs, bias=bias, rows=tuple(rows))
    low = [data.draw(fractions) for _ in range(inputs)]
    width = [data.draw(st.fractions(0, 3)) for _ in range(inputs)]
    share = data.draw(st.fractions(0, 1))
    point = [a + share * w for a, w in zip(low, width, strict=True)]
    ends = enclose([low, [a + w for a, w in zip(low, width, strict=True)]])
    found = IntervalMap(affine)(Intervals(ends.low[:1], ends.high[1:]))
    table = {str(j): spans.outer(a, a + w) for j, (a, w) in enumerate(zip(low, width, strict=True))}
    named = [(b, tuple((str(j), c) for j, c in row)) for b, row in zip(bias, rows, strict=True)]
    late = frozenset(str(j) for j in range(0, inputs, 2))
    checked = spans.SpanRows(named, late)(table)
    for i, truth in enumerate(affine(point)):
        assert Fraction(float(found.low[0, i])) <= truth <= Fraction(float(found.high[0, i]))
        assert checked[i][0] <= truth * spans.ONE <= checked[i][1]


def test_a_map_that_reads_nothing_is_one_row():
    constant = IntervalMap(Affine(num_inputs=3, bias=(Fraction(1, 3), 2), rows=((), ())))
    found = constant(enclose([[1, 2, 3], [4, 5, 6]]))
    assert found.shape == (1, 2)
    assert fill(found, 5).shape == (5, 2)
    assert stack([enclose([[1], [2]]), found]).shape == (2, 3)


def test_what_is_refused():
    with pytest.raises(InputError, match="wrong order"):
        Intervals(np.array([1.0]), np.array([0.0]))
    with pytest.raises(InputError, match="not a number"):
        Intervals(np.array([np.nan]), np.array([np.nan]))
    with pytest.raises(InputError, match="contains 0"):
        as_intervals(1, 2) / as_intervals(-1, 1)
    with pytest.raises(InputError, match="irrational"):
        enclose([root_of_unity(1, 8)])
    with pytest.raises(InputError, match="irrational"):
        spans.rational(root_of_unity(1, 8))
    with pytest.raises(InputError, match="positive"):
        spans.divide((0, 1), (0, 1))


def test_logarithm_of_two_in_two_parts():
    from nerode.proofs import intervals

    with localcontext(SIXTY):
        rest = Decimal(2).ln() - Decimal(intervals._LN2_HIGH) - Decimal(intervals._LN2_LOW)
    assert abs(rest) < Decimal("1e-25")
    mantissa = int(Fraction(intervals._LN2_HIGH) * 2**53)
    assert mantissa % 2**20 == 0
