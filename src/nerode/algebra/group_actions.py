"""Smaller actions of a permutation group: on orbits, on blocks, on cosets; their kernels; the centre."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nerode.algebra.element_table import ElementTable
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, compose

Blocks = list[int]
"""For each point the number of its block."""


def pointwise_stabiliser(group: PermutationGroup, points: Sequence[int]) -> PermutationGroup:
    """Returns the subgroup that fixes each of some points."""
    chain = group.chain_with_base(points)
    return group.subgroup(chain.stabiliser_generators(len(points)))


def faithful_on_orbit(group: PermutationGroup) -> PermutationGroup | None:
    """Returns the action on the smallest orbit on which the group is faithful, None if there is none."""
    for orbit in sorted(group.moved_orbits, key=len):
        action = group.restricted_to(orbit)
        if action.order == group.order:
            return action
    return None


def find_blocks(group: PermutationGroup) -> Blocks | None:
    """Returns a block system of a transitive group that is not trivial, None if the group is primitive.

    For each second point the least block that holds it and point 0 is grown by joining the images of
    joined points.

    Implements: [Atkinson1975]
    """
    n = group.degree
    for second in range(1, n):
        parent = list(range(n))

        def find(point: int, parent: list[int] = parent) -> int:
            while parent[point] != point:
                parent[point] = parent[parent[point]]
                point = parent[point]
            return point

        joined = [(0, second)]
        parent[second] = 0
        count = n - 1
        while joined and count > 1:
            p, q = joined.pop()
            for g in group.generators:
                a, b = find(g[p]), find(g[q])
                if a != b:
                    parent[b] = a
                    joined.append((g[p], g[q]))
                    count -= 1
        if count > 1:
            roots = sorted({find(p) for p in range(n)})
            return [roots.index(find(p)) for p in range(n)]
    return None


def action_on_blocks(group: PermutationGroup, blocks: Blocks) -> PermutationGroup:
    """Returns how the group permutes the blocks."""
    return PermutationGroup(
        [_block_images(g, blocks) for g in group.generators], max(blocks) + 1, budget=group.budget
    )


def kernel_on_blocks(group: PermutationGroup, blocks: Blocks) -> PermutationGroup:
    """Returns the subgroup that maps every block to itself."""
    n, count = group.degree, max(blocks) + 1
    extended = PermutationGroup(
        [g + tuple(n + image for image in _block_images(g, blocks)) for g in group.generators],
        n + count,
        budget=group.budget,
    )
    kernel = pointwise_stabiliser(extended, range(n, n + count))
    return group.subgroup(g[:n] for g in kernel.generators)


def _block_images(g: Permutation, blocks: Blocks) -> list[int]:
    images = [0] * (max(blocks) + 1)
    for point, block in enumerate(blocks):
        images[block] = blocks[g[point]]
    return images


def quotient_group(table: ElementTable, normal: PermutationGroup) -> PermutationGroup:
    """Returns the quotient by a normal subgroup, acting on the cosets."""
    inside = np.array([table.index(g) for g in normal.chain.elements()])
    everything = np.arange(table.order)
    coset = np.full(table.order, -1)
    representatives: list[int] = []
    for x in everything.tolist():
        if coset[x] < 0:
            coset[table.products(inside, np.array(x))] = len(representatives)
            representatives.append(x)
    leaders = np.array(representatives)
    generators = [coset[table.products(leaders, np.array(table.index(g)))] for g in table.group.generators]
    return PermutationGroup(generators, len(representatives), budget=table.group.budget)


def has_trivial_centre(group: PermutationGroup) -> bool:
    """Whether only the identity of a transitive group commutes with the group.

    What commutes with a transitive group is known by the image of one point, and that image is fixed by
    the stabiliser of the point.
    """
    start = group.moved[0]
    chain = group.chain_with_base([start])
    reach = chain.transversal(0)
    stabiliser = chain.stabiliser_generators(1)
    for image in reach:
        if image == start or any(g[image] != image for g in stabiliser):
            continue
        images = list(range(group.degree))
        for point, element in reach.items():
            images[point] = element[image]
        candidate = tuple(images)
        if all(compose(candidate, g) == compose(g, candidate) for g in group.generators) and (
            candidate in group
        ):
            return False
    return True
