"""Actions on blocks and cosets, their kernels, and centres."""

from __future__ import annotations

from nerode.algebra.group_structure import (
    action_on_blocks,
    describe_group,
    find_blocks,
    has_trivial_centre,
    kernel_on_blocks,
    pointwise_stabiliser,
    quotient_group,
)
from nerode.algebra.permutation_groups import ElementTable, PermutationGroup
from tests.algebra import named_groups as build


def test_actions_and_kernels() -> None:
    group = PermutationGroup(build.wreath(build.symmetric(3), build.symmetric(3)))
    blocks = find_blocks(group)
    assert blocks is not None
    assert len(set(blocks)) == 3
    assert action_on_blocks(group, blocks).order == 6
    assert kernel_on_blocks(group, blocks).order == 6**3
    assert find_blocks(PermutationGroup(build.projective_line(7, with_squares_only=True))) is None
    assert pointwise_stabiliser(group, [0]).order == group.order // 9
    assert pointwise_stabiliser(group, [0, 1, 2]).order == 6 * 6 * 2
    assert has_trivial_centre(PermutationGroup(build.symmetric(4)))
    assert not has_trivial_centre(PermutationGroup(build.dihedral(4)))
    assert not has_trivial_centre(PermutationGroup(build.matrices_on_vectors(5, build.SHEARS)))


def test_quotients() -> None:
    group = PermutationGroup(build.symmetric(4))
    table = ElementTable(group)
    four = group.normal_closure([build.cycles(4, (0, 1), (2, 3))])
    assert describe_group(quotient_group(table, four)).name == "S3"
