"""Groups with a name of their own, and isomorphism by images of generators."""

from __future__ import annotations

from nerode.algebra.group_catalogue import _NAMED, is_isomorphic
from nerode.algebra.group_structure import describe_group
from nerode.algebra.permutation_groups import ElementTable, PermutationGroup
from tests.algebra import named_groups as build


def test_the_catalogue_holds_what_it_says() -> None:
    names = set()
    for order, rows in _NAMED.items():
        for name, generators in rows:
            assert PermutationGroup(generators).order == order
            assert describe_group(PermutationGroup(generators)).name == name
            names.add(name)
    assert len(names) == sum(map(len, _NAMED.values()))


def test_isomorphism_is_decided_both_ways() -> None:
    dihedral = ElementTable(PermutationGroup(build.dihedral(4)))
    quaternion = ElementTable(PermutationGroup(build.dicyclic(2)))
    other = ElementTable(PermutationGroup(build.regular(build.dihedral(4))))
    assert is_isomorphic(other, dihedral)
    assert not is_isomorphic(quaternion, dihedral)
    # Two groups of order 16 whose elements have the same orders and classes of the same sizes.
    modular = ElementTable(PermutationGroup(build.affine(8, 5)))
    assert is_isomorphic(ElementTable(PermutationGroup(build.regular(build.affine(8, 5)))), modular)
    assert not is_isomorphic(ElementTable(PermutationGroup(build.affine(8, 3))), modular)
