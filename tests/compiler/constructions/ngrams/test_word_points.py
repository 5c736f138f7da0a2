from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.constructions.ngrams import word_points
from nerode.compiler.constructions.ngrams.word_points import WordPoints, place_words, sphere_points
from nerode.core import InputError


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
    monkeypatch.setattr(word_points, "_MOST_WORK", 10)
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
