"""Composition factors: orders that multiply, cuts along blocks and normal subgroups."""

from __future__ import annotations

import itertools
import math

import pytest

from nerode.algebra import composition_factors as module
from nerode.algebra.composition_factors import composition_factors
from nerode.algebra.group_structure import describe_group
from nerode.algebra.permutation_groups import PermutationGroup
from tests.algebra import named_groups as build


def test_composition_factors_multiply_to_the_order() -> None:
    orders = {"A5": 60, "A6": 360, "A7": 2520, "PSL(2,7)": 168}
    cases = [
        build.wreath(build.symmetric(5), build.symmetric(3)),
        build.wreath(build.symmetric(6), build.cyclic(2)),
        build.product(build.symmetric(7), build.symmetric(5), build.cyclic(6)),
        build.wreath(build.cyclic(3), build.alternating(5)),
        build.wreath(build.invertible_over_2(3), build.cyclic(2)),
    ]
    for generators in cases:
        group = PermutationGroup(generators)
        factors = composition_factors(group)
        assert math.prod(orders.get(f) or int(f[1:]) for f in factors) == group.order


def test_a_primitive_group_that_is_not_simple_is_cut() -> None:
    # Affine maps of the space with 16 vectors: perfect, primitive, 322,560 elements, one translation class.
    vectors = [tuple(k >> i & 1 for i in range(4)) for k in range(16)]
    shift = tuple(k ^ 1 for k in range(16))
    cycle = tuple(vectors.index((v[3], v[0], v[1], v[2])) for v in vectors)
    shear = tuple(vectors.index(((v[0] + v[1]) % 2, v[1], v[2], v[3])) for v in vectors)
    group = PermutationGroup([shift, cycle, shear])
    assert group.order == 322_560
    assert composition_factors(group) == ("Z2", "Z2", "Z2", "Z2", "A8")


def test_two_simple_groups_of_order_20160() -> None:
    field = [(0, 0), (0, 1), (1, 0), (1, 1)]

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        # The field with four elements: (a, b) is a·w + b with w² = w + 1.
        high = x[0] * y[0]
        return (x[0] * y[1] + x[1] * y[0] + high) % 2, (x[1] * y[1] + high) % 2

    points = [
        p for p in itertools.product(field, repeat=3) if next((x for x in p if x != (0, 0)), None) == (0, 1)
    ]
    number = {p: i for i, p in enumerate(points)}

    def act(matrix: list[list[tuple[int, int]]]) -> build.Images:
        images = []
        for p in points:
            moved = []
            for column in range(3):
                total = (0, 0)
                for row in range(3):
                    part = times(p[row], matrix[row][column])
                    total = ((total[0] + part[0]) % 2, (total[1] + part[1]) % 2)
                moved.append(total)
            lead = next(x for x in moved if x != (0, 0))
            inverse = next(x for x in field if times(x, lead) == (0, 1))
            images.append(number[tuple(times(x, inverse) for x in moved)])
        return tuple(images)

    o, i, w = (0, 0), (0, 1), (1, 0)
    psl = PermutationGroup(
        [
            act([[i, i, o], [o, i, o], [o, o, i]]),
            act([[i, w, o], [o, i, o], [o, o, i]]),
            act([[o, i, o], [o, o, i], [i, o, o]]),
        ]
    )
    assert psl.order == 20160
    structure = describe_group(psl)
    assert structure.simple
    assert structure.name == "group of order 20160"
    assert structure.factors == ("simple group of order 20160",)
    assert composition_factors(PermutationGroup(build.on_subsets(build.alternating(8), 2))) == ("A8",)


@pytest.mark.parametrize(
    ("generators", "name"),
    [
        (build.mathieu_11(), "simple group of order 7920"),
        (build.mathieu_12(), "simple group of order 95040"),
        (build.projective_line(23, with_squares_only=True), "PSL(2,23)"),
        (build.projective_line(31, with_squares_only=True), "PSL(2,31)"),
        (build.invertible_over_2(5), "simple group of order 9999360"),
    ],
)
def test_large_simple_groups_are_proved_simple(generators: build.Generators, name: str) -> None:
    assert composition_factors(PermutationGroup(generators)) == (name,)


def test_what_is_not_resolved_is_not_called_simple(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TRIALS", 0)
    structure = describe_group(PermutationGroup(build.relabelled(build.mathieu_11(), 77)))
    assert structure.factors == ("perfect group of order 7920",)
    assert structure.name == "group of order 7920"
    assert not structure.simple
    assert not structure.solvable
