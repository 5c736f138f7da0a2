from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.ngrams import layouts
from nerode.compiler.constructions.ngrams.layouts import (
    Layout,
    WordPoints,
    choose_axes,
    line_layout,
    place_words,
    ramp_weights,
    sphere_layout,
    sphere_points,
)
from nerode.compiler.constructions.ngrams.targets import share
from nerode.core import InputError
from tests.compiler.constructions.ngrams.models import seed

Context = tuple[int, ...]


def detected(layout: Layout, number: int, window: Context) -> Fraction:
    """relu(weights · words + threshold), written out."""
    detector = layout.detectors[number]
    total = detector.threshold
    for weights, word in zip(detector.weights, reversed(window), strict=True):
        total += sum((w * v for w, v in zip(weights, layout.points[word], strict=True)), Fraction(0))
    return max(total, Fraction(0))


@st.composite
def contexts(draw: st.DrawFn) -> tuple[int, tuple[Context, ...]]:
    size = draw(st.integers(2, 4))
    word = st.integers(0, size - 1)
    length = draw(st.integers(1, 3))
    return size, tuple(sorted(draw(st.sets(st.tuples(*[word] * length), min_size=1, max_size=8))))


@given(contexts(), st.integers(2, 4))
def test_a_detector_is_one_on_its_context_and_zero_on_every_other_window(
    found: tuple[int, tuple[Context, ...]], width: int
) -> None:
    size, given_contexts = found
    layout = sphere_layout(given_contexts, size, width)
    assert layout is not None
    assert layout.width == width
    for window in itertools.product(range(size), repeat=len(given_contexts[0])):
        for number, context in enumerate(given_contexts):
            assert detected(layout, number, window) == (window == context)


@given(contexts(), st.integers(2, 3))
def test_a_delay_neuron_fires_where_the_word_of_its_axis_stands(
    found: tuple[int, tuple[Context, ...]], width: int
) -> None:
    size, given_contexts = found
    axes = choose_axes(given_contexts, width)
    if len(axes) < 2:
        return
    layout = sphere_layout(given_contexts, size, len(axes), axes)
    assert layout is not None
    for context, feature in zip(given_contexts, layout.thresholded_features(), strict=True):
        newest_first = context[:0:-1]
        assert feature == {
            age * len(axes) + axes.index(word): 1 for age, word in enumerate(newest_first) if word in axes
        }


@given(contexts(), st.integers(1, 4))
def test_chosen_axes_can_be_shared(found: tuple[int, tuple[Context, ...]], width: int) -> None:
    size, given_contexts = found
    axes = choose_axes(given_contexts, width)
    assert len(axes) <= width
    if len(axes) > 1:
        layout = sphere_layout(given_contexts, size, len(axes), axes)
        assert layout is not None
        assert share(layout.weights, layout.thresholded_features(), layout.num_delays) is not None


def test_in_the_seed_model_each_delay_neuron_stands_for_a_context_of_its_own() -> None:
    for width in (2, 3, 10):
        axes = choose_axes(seed().windows, width)
        assert len(axes) == width
        layout = sphere_layout(seed().windows, 79, width, axes)
        assert layout is not None
        features = layout.thresholded_features()
        sharing = share(layout.weights, features, layout.num_delays)
        assert sharing is not None
        dropped = [i for i in range(145) if i not in sharing.kept]
        assert len(dropped) == 2 * width
        # Every one of them fires exactly one delay neuron, and no two the same.
        assert sorted(d for i in dropped for d in features[i]) == list(range(2 * width))


def test_too_many_words_for_a_circle() -> None:
    assert sphere_layout(((0, 1),), 10_000, 2) is None


def ramps_at(codes: list[int], code: int) -> list[Fraction]:
    """The values of the ramps at a code, from their definition."""
    starts = [codes[0] - 1, *codes[:-1]]
    return [
        max(Fraction(code - start, own - start), Fraction(0))
        for start, own in zip(starts, codes, strict=True)
    ]


@given(st.sets(st.integers(-50, 50), min_size=1, max_size=8), st.data())
def test_ramps_pass_through_any_points(found: set[int], data: st.DataObject) -> None:
    codes = sorted(found)
    values = [data.draw(st.integers(-9, 9)) for _ in codes]
    weights = [sum((c * values[k] for k, c in w.items()), Fraction(0)) for w in ramp_weights(codes)]
    for code, value in zip(codes, values, strict=True):
        assert sum(w * r for w, r in zip(weights, ramps_at(codes, code), strict=True)) == value


def test_on_even_codes_the_weights_are_second_differences() -> None:
    """The one-sided matrix of the spec, relu(i-j+1), has the inverse (1, -2, 1); its condition is 2.42e4."""
    weights = ramp_weights(list(range(145)))
    assert weights[0] == {0: 1}
    assert weights[1] == {1: 1, 0: -2}
    for k in range(2, 145):
        assert weights[k] == {k: 1, k - 1: -2, k - 2: 1}
    matrix = np.array([[max(i - j + 1, 0) for j in range(145)] for i in range(145)], dtype=float)
    assert np.linalg.cond(matrix) == pytest.approx(2.42e4, rel=0.01)


@given(contexts())
def test_detectors_are_ramps_over_a_code(found: tuple[int, tuple[Context, ...]]) -> None:
    size, given_contexts = found
    layout = line_layout(given_contexts, size)
    for place, context in enumerate(given_contexts):
        assert detected(layout, place, context) == 1
        for number in range(place + 1, len(given_contexts)):
            assert detected(layout, number, context) == 0
        # With their weights the detectors add up to what is wanted, here the number of the context.
        total = sum(
            (
                detected(layout, number, context) * sum((c * i for i, c in weight.items()), Fraction(0))
                for number, weight in enumerate(layout.weights)
            ),
            Fraction(0),
        )
        assert total == place


@given(contexts())
def test_delay_neurons_are_ramps_over_one_word(found: tuple[int, tuple[Context, ...]]) -> None:
    size, given_contexts = found
    layout = line_layout(given_contexts, size)
    for context, feature in zip(given_contexts, layout.thresholded_features(), strict=True):
        for age, (threshold,) in enumerate(layout.thresholds):
            assert feature.get(age, 0) == max(context[-1 - age] + threshold, 0)


def test_the_seed_model_can_be_shared() -> None:
    layout = line_layout(seed().windows, 79)
    sharing = share(layout.weights, layout.thresholded_features(), layout.num_delays)
    assert sharing is not None
    assert len(sharing.kept) == 143


def test_contexts_that_differ_in_the_oldest_word_only_cannot_be_shared() -> None:
    layout = line_layout(((0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1)), 4)
    assert share(layout.weights, layout.thresholded_features(), layout.num_delays) is None


def product(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def largest_product(words: WordPoints) -> int:
    return max(product(p, q) for p, q in itertools.combinations(words.points, 2))


@given(st.integers(2, 40), st.integers(2, 6), st.data())
def test_words_are_apart_on_one_sphere(num_words: int, width: int, data: st.DataObject) -> None:
    most = min(width, num_words)
    axes = tuple(data.draw(st.lists(st.integers(0, num_words - 1), unique=True, max_size=most)))
    words = place_words(num_words, width, axes)
    assert words is not None
    assert len(words.points) == len(set(words.points)) == num_words
    assert {product(p, p) for p in words.points} == {words.norm}
    assert words.norm == words.radius**2
    assert words.gap == words.norm - largest_product(words) >= 1
    for c, word in enumerate(axes):
        assert words.points[word] == tuple(words.radius if i == c else 0 for i in range(width))


@pytest.mark.parametrize(("width", "least"), [(2, 0.001), (3, 0.03), (10, 0.4)])
def test_words_are_spread_out(width: int, least: float) -> None:
    """The largest gap of 79 words on a circle is 1 - cos(2π/79) = 0.003 of the norm."""
    words = place_words(79, width, tuple(range(width)))
    assert words is not None
    assert words.gap / words.norm > least


def test_one_word() -> None:
    words = place_words(1, 2)
    assert words is not None
    assert words.gap == words.norm


def test_large_coordinates_are_multiplied_exactly() -> None:
    words = place_words(1500, 2)
    assert words is not None
    assert words.norm > 2**53
    by_angle = sorted(
        words.points, key=lambda p: (p[1] < 0 or (p[1] == 0 and p[0] < 0), -p[0] if p[1] >= 0 else p[0])
    )
    nearest = max(product(p, q) for p, q in zip(by_angle, [*by_angle[1:], by_angle[0]], strict=True))
    assert words.gap == words.norm - nearest


def test_a_vocabulary_too_large_to_choose_from_takes_points_as_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layouts, "_MOST_WORK", 10)
    words = place_words(30, 4, (3, 5))
    assert words is not None
    assert words.gap == words.norm - largest_product(words) >= 1
    assert words.points[5] == (0, words.radius, 0, 0)


def test_no_sphere() -> None:
    assert place_words(10_000, 2) is None


@pytest.mark.parametrize(
    ("width", "axes"), [(1, ()), (0, ()), (2, (0, 0)), (2, (0, 1, 2)), (3, (5,)), (3, (-1,))]
)
def test_what_is_not_possible(width: int, axes: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        place_words(5, width, axes)


def test_the_record_checks_itself() -> None:
    with pytest.raises(InputError, match="sphere"):
        WordPoints(points=((1, 0), (1, 1)), radius=1, gap=1)
    with pytest.raises(InputError, match="same point"):
        WordPoints(points=((1, 0), (1, 0)), radius=1, gap=1)


def all_points(radius: int, width: int) -> set[tuple[int, ...]]:
    sides = range(-radius, radius + 1)
    return {p for p in itertools.product(sides, repeat=width) if sum(v * v for v in p) == radius**2}


@pytest.mark.parametrize(
    ("num_points", "width"), [(4, 2), (5, 2), (13, 2), (29, 2), (7, 3), (40, 3), (30, 4)]
)
def test_the_smallest_sphere_with_enough_points(num_points: int, width: int) -> None:
    found = sphere_points(num_points, width, 10**6)
    assert found is not None
    radius, points = found
    assert len(points) >= num_points
    assert sorted(points) == sorted(all_points(radius, width))
    assert all(len(all_points(smaller, width)) < num_points for smaller in range(1, radius))


def test_the_list_may_be_cut() -> None:
    found = sphere_points(100, 10, 120)
    assert found is not None
    radius, points = found
    assert len(points) == 120
    assert len(set(points)) == 120
    assert {sum(v * v for v in p) for p in points} == {radius**2}


@pytest.mark.parametrize("width", [2, 3])
def test_many_points_lie_on_a_circle(width: int) -> None:
    found = sphere_points(6000, width, 10)
    assert found is not None
    radius, points = found
    assert len(points) == 6000
    assert len(set(points)) == 6000
    assert all(p[0] ** 2 + p[1] ** 2 == radius**2 and not any(p[2:]) for p in points)
    # Products must fit into 64 bits.
    assert radius**2 < 2**62


def test_there_is_an_end() -> None:
    assert sphere_points(10_000, 2, 10) is None
    assert sphere_points(10_000, 4, 10) is not None
