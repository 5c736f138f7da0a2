"""Direct products: along orbits, by normal subgroups, and of cyclic groups."""

from __future__ import annotations

from nerode.algebra.direct_products import MOST_SPLIT_ELEMENTS, split_by_orbits, split_directly
from nerode.algebra.group_structure import merge_invariants
from nerode.algebra.permutation_groups import PermutationGroup
from tests.algebra import named_groups as build


def test_direct_factors() -> None:
    pieces = split_directly(
        PermutationGroup(build.regular(build.product(build.symmetric(3), build.symmetric(3))))
    )
    assert pieces is not None
    assert [piece.order for piece in pieces] == [6, 6]
    orbits = split_by_orbits(PermutationGroup(build.product(build.symmetric(5), build.cyclic(4))))
    assert sorted(piece.order for piece in orbits) == [4, 120]
    diagonal = [g + tuple(5 + x for x in g) for g in build.symmetric(5)]
    assert len(split_by_orbits(PermutationGroup(diagonal))) == 1


def test_what_cannot_be_split_is_one_piece() -> None:
    for generators in (build.dicyclic(2), build.symmetric(4), build.affine(5, 2)):
        pieces = split_directly(PermutationGroup(generators))
        assert pieces is not None
        assert len(pieces) == 1


def test_too_large_or_too_many_normal_subgroups_are_left_alone() -> None:
    assert PermutationGroup(build.symmetric(7)).order > MOST_SPLIT_ELEMENTS
    assert split_directly(PermutationGroup(build.symmetric(7))) is None
    assert split_directly(PermutationGroup(build.product(*[build.cyclic(2)] * 7))) is None


def test_invariant_factors() -> None:
    assert merge_invariants([4, 6, 10]) == [2, 2, 60]
    assert merge_invariants([]) == []
    assert merge_invariants([1, 7]) == [7]
