"""Affine forms over unknowns, against the values that they take at single points."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.kernel.domains.coordinates import AffineCoordinate, CellStep
from nerode.kernel.domains.forms import AffineForm, Cut, FormRegion, Value, ValueRange
from nerode.kernel.domains.roots import Field
from nerode.kernel.numbers import grid_of
from nerode.kernel.work import Undecided, WorkCount

small = st.integers(-4, 4)


@st.composite
def regions(draw: st.DrawFn) -> dict[str, ValueRange]:
    """Up to two counters, which may have no bound on a side, and up to two registers."""
    ranges = {}
    for name in ("c", "d")[: draw(st.integers(0, 2))]:
        low = draw(st.integers(-3, 2))
        ends = draw(st.sampled_from([(low, low + 2), (low, None), (None, low), (None, None)]))
        ranges[name] = ValueRange(*ends, True, 0)
    for name in ("u", "v")[: draw(st.integers(1, 2))]:
        low = draw(small)
        ranges[name] = ValueRange(low, low + draw(st.integers(1, 2)), grid=0)
    return ranges


@st.composite
def points(draw: st.DrawFn, ranges: dict[str, ValueRange]) -> dict[str, Fraction]:
    found = {}
    for name, known in ranges.items():
        low = known.low if known.low is not None else (known.high or 0) - 9
        high = known.high if known.high is not None else low + 9
        found[name] = (
            Fraction(draw(st.integers(int(low), int(high))))
            if known.whole
            else Fraction(draw(st.fractions(low, high, max_denominator=8)))
        )
    return found


@st.composite
def forms(draw: st.DrawFn, names: list[str]) -> AffineForm:
    terms = {name: draw(small.filter(bool)) for name in draw(st.sets(st.sampled_from(names), min_size=1))}
    return AffineForm(draw(small), terms)


def at(value: Value, point: dict[str, Fraction]) -> Fraction:
    if not isinstance(value, AffineForm):
        assert isinstance(value, int | Fraction)
        return Fraction(value)
    return value.constant + sum((a * point[n] for n, a in value.terms.items()), Fraction(0))


@given(st.data())
def test_arithmetic_and_bounds_hold_at_every_point(data: st.DataObject) -> None:
    ranges = data.draw(regions())
    region = FormRegion(dict(ranges))
    one, other = data.draw(forms(list(ranges))), data.draw(forms(list(ranges)))
    factor = data.draw(small)
    point = data.draw(points(ranges))
    assert at(one + other, point) == at(one, point) + at(other, point)
    assert at(one - other, point) == at(one, point) - at(other, point)
    assert at(factor * one + 3, point) == factor * at(one, point) + 3
    assert not isinstance(one - one, AffineForm)
    low, high = region.bounds(one)
    assert low is None or low <= at(one, point)
    assert high is None or at(one, point) <= high


@given(st.data())
def test_relu_and_comparison_hold_on_the_whole_region_or_ask_for_a_cut(data: st.DataObject) -> None:
    ranges = data.draw(regions())
    form = data.draw(forms(list(ranges)))
    point = data.draw(points(ranges))
    region = FormRegion(dict(ranges))
    asked = None
    try:
        value = region.relu(form)
    except Cut as cut:
        asked = cut
    if asked is not None:
        assert ranges[asked.unknown].whole
        halves = ranges[asked.unknown].halves(asked.at)
        assert all(half.low is None or half.high is None or half.low <= half.high for half in halves)
        here = ValueRange(point[asked.unknown], point[asked.unknown])
        assert sum(half.contains(here) for half in halves) == 1
    else:
        new = set(region.ranges) - set(ranges)
        if new:
            known = region.ranges[new.pop()]
            assert known.low == 0
            assert known.high is None or max(at(form, point), 0) <= known.high
        else:
            assert at(value, point) == max(at(form, point), 0)
    try:
        answer = FormRegion(dict(ranges)).above(form, Fraction(1, 2))
    except (Cut, Undecided):
        return
    assert answer == (at(form, point) > Fraction(1, 2))


@pytest.mark.parametrize("slope", [1, -1, 2, Fraction(-1, 2)])
@pytest.mark.parametrize("zero", [0, 1, Fraction(3, 2)])
def test_one_cut_settles_a_comparison(slope: Fraction | int, zero: Fraction | int) -> None:
    known = ValueRange(-3, 5, True, 0)
    form = AffineForm(Fraction(1, 2) - slope * Fraction(zero), {"c": slope})
    with pytest.raises(Cut) as asked:
        FormRegion({"c": known}).above(form, Fraction(1, 2))
    halves = known.halves(asked.value.at)
    answers = [FormRegion({"c": half}).above(form, Fraction(1, 2)) for half in halves]
    assert sorted(answers) == [False, True]


def test_products_of_unknowns_and_irrational_numbers_are_not_forms() -> None:
    form = AffineForm(0, {"c": 1})
    root = Field(12, WorkCount()).root(1)
    with pytest.raises(Undecided):
        form * form
    for refused in (lambda: form + root, lambda: root + form, lambda: form * root, lambda: root * form):
        with pytest.raises(Undecided):
            refused()


@pytest.mark.parametrize("value", [-1, 0, 1])
def test_a_rectified_coordinate_whose_sign_is_open_agrees_with_no_number(value: int) -> None:
    region = FormRegion({"counter0": ValueRange(-5, 5, True, 0)})
    step = CellStep(region, moved=[1, AffineForm(0, {"counter0": 1})])
    with pytest.raises(Undecided, match="stated function"):
        AffineCoordinate((0, 0), "1:c", [0, 1], True).fold(value, step)


def test_grids() -> None:
    assert grid_of(5) == 0
    assert grid_of(Fraction(3, 8)) == 3
    assert grid_of(Fraction(1, 3)) is None
    field = Field(12, WorkCount())
    assert grid_of(field.root(3)) == 0
    assert grid_of(field.root(4)) is None
    region = FormRegion({"u": ValueRange(0, 1, grid=2), "v": ValueRange(0, 1)})
    assert region.grid(AffineForm(Fraction(1, 2), {"u": Fraction(1, 2)})) == 3
    assert region.grid(AffineForm(0, {"v": 1})) is None


def test_equal_keys_mean_equal_bounds() -> None:
    """Also where the terms of a form were added up in another order."""
    wide, narrow = ValueRange(0, 1000, True, 0), ValueRange(0, 1, True, 0)
    ranges = ({"c": wide, "d": narrow}, {"c": narrow, "d": wide})
    orders = ({"c": 1, "d": 2}, {"d": 2, "c": 1})
    cases = [(FormRegion(dict(r)), AffineForm(0, o)) for r, o in itertools.product(ranges, orders)]
    for (one, form), (other, same) in itertools.combinations(cases, 2):
        assert one.key(form) != other.key(same) or one.bounds(form) == other.bounds(same)
        assert one.key(form) == other.key(same) or one.ranges != other.ranges
