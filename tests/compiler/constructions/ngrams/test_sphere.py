from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import given, strategies as st

from nerode.compiler.constructions.ngrams.layout import Layout
from nerode.compiler.constructions.ngrams.sharing import share
from nerode.compiler.constructions.ngrams.sphere import choose_axes, sphere_layout
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
