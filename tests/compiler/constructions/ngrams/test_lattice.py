from __future__ import annotations

import itertools

import pytest

from nerode.compiler.constructions.ngrams.lattice import sphere_points


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
