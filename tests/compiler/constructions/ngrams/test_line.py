from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.ngrams.line import line_layout, ramp_weights
from nerode.compiler.constructions.ngrams.sharing import share
from tests.compiler.constructions.ngrams.models import seed
from tests.compiler.constructions.ngrams.test_sphere import contexts, detected

Context = tuple[int, ...]


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
