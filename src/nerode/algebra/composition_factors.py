"""The composition factors of a permutation group, by name.

The group is cut along orbits, blocks and normal subgroups (the smaller actions at the end of the file); what
is simple is named by its order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from nerode.algebra.permutation_groups import (
    MOST_ELEMENTS,
    ElementTable,
    PermutationGroup,
    element_table,
    prime_factors,
)
from nerode.algebra.permutations import Permutation, compose, permutation_order, power, random_elements
from nerode.algebra.records import GroupFactor

UNRESOLVED = "perfect group of order "
"""How a factor begins that was not taken apart; it may or may not be simple."""

_TRIALS = 40

_TWO_SIMPLE_GROUPS = 20_160
"""The only order up to a million of two simple groups, A8 and PSL(3,4)."""

_LARGEST_Q = 125


def composition_factors(group: PermutationGroup) -> tuple[str, ...]:
    """Returns the names of the composition factors, sorted by order.

    The steps of the derived series give cyclic factors. What is left is perfect and is cut along orbits,
    blocks and normal subgroups. A perfect primitive group of more than MOST_ELEMENTS elements that is
    neither cut nor proved simple stays one entry that begins with UNRESOLVED.
    """
    return tuple(sorted(_factors(group).elements(), key=_by_order))


def _by_order(name: str) -> tuple[int, int, str]:
    cyclic = name.startswith("Z") and name[1:].isdigit()
    return (0, int(name[1:]), name) if cyclic else (1, len(name), name)


def _factors(group: PermutationGroup) -> Counter[str]:
    rest = group.derived_series[-1]
    found = Counter({f"Z{p}": k for p, k in prime_factors(group.order // rest.order).items()})
    if rest.order > 1:
        found += _perfect_factors(rest)
    return found


def _perfect_factors(group: PermutationGroup) -> Counter[str]:
    if len(group.moved_orbits) == 1 and 2 * group.order == math.factorial(len(group.moved)):
        return Counter([f"A{len(group.moved)}"])
    if group.order <= MOST_ELEMENTS:
        return _listed_factors(group)
    orbits = group.moved_orbits
    if len(orbits) > 1:
        kernel = pointwise_stabiliser(group, orbits[0])
        return _factors(group.restricted_to(orbits[0])) + _factors(kernel)
    group = group.restricted_to(group.moved)
    blocks = find_blocks(group)
    if blocks is not None:
        return _factors(action_on_blocks(group, blocks)) + _factors(kernel_on_blocks(group, blocks))
    return _primitive_factors(group)


def _listed_factors(group: PermutationGroup) -> Counter[str]:
    """Factors of a perfect group, by the normal closures of all its elements of prime order."""
    table = element_table(group)
    for x in table.class_representatives.tolist():
        if len(prime_factors(int(table.orders[x]))) == 1 and x:
            normal = group.normal_closure([table.element(x)])
            if normal.order < group.order:
                return _factors(normal) + _factors(quotient_group(table, normal))
    return Counter([_simple_name(group)])


def _primitive_factors(group: PermutationGroup) -> Counter[str]:
    """Factors of a perfect primitive group.

    A normal subgroup N that is not trivial is transitive. If an element of order p has the whole group as
    its normal closure, then a proper N does not contain all elements of order p, so that it contains no
    Sylow p-subgroup, and its order still divides that of the group after a division by p. Once what is
    left over all such p cannot be a multiple of the order of some N, the group is simple.
    """
    multiple = group.order
    divided: set[int] = set()
    for x in _elements_of_prime_order(group):
        normal = group.normal_closure([x])
        if normal.order < group.order:
            above = _factors(pointwise_stabiliser(group, [0]))
            above.subtract(_factors(pointwise_stabiliser(normal, [0])))
            return _factors(normal) + above
        if (p := permutation_order(x)) not in divided:
            divided.add(p)
            multiple //= p
        if not _may_be_normal(multiple, group.degree):
            return Counter([_simple_name(group)])
    return Counter([f"{UNRESOLVED}{group.order}"])


def _elements_of_prime_order(group: PermutationGroup) -> list[Permutation]:
    """Returns elements of as many cycle types of prime order as turn up."""
    found: dict[tuple[int, int], Permutation] = {}
    for g in itertools.islice(random_elements(group.generators, group.degree), _TRIALS):
        order = permutation_order(g)
        for p in prime_factors(order):
            x = power(g, order // p)
            found.setdefault((p, sum(i == j for i, j in enumerate(x))), x)
    return list(found.values())


def _may_be_normal(multiple: int, degree: int) -> bool:
    """Whether a primitive group may have a minimal normal subgroup whose order divides `multiple`.

    Such a subgroup is transitive. It is elementary abelian and then has as many elements as points, or
    it is not solvable and three primes divide its order.

    Implements: [Burnside1904]
    """
    if multiple % degree:
        return False
    return len(prime_factors(degree)) == 1 or len(prime_factors(multiple)) >= 3


def _simple_name(group: PermutationGroup) -> str:
    """Returns the name of a simple group that is not abelian."""
    factor = simple_factor(group)
    return f"simple group of order {group.order}" if factor is None else str(factor)


def simple_factor(group: PermutationGroup) -> GroupFactor | None:
    """Returns An or PSL(2,q) for a simple group that is not abelian, None if it is neither.

    Two simple groups that are not isomorphic have different orders, with the exception of A8 and PSL(3,4)
    and of one infinite series that begins above four thousand million and has neither An nor PSL(2,q).

    Implements: [KimmerleLyonsSandlingTeague1990]
    """
    if group.order == _TWO_SIMPLE_GROUPS and not _has_order_15(group):
        return None
    return _alternating_factor(group.order) or _linear_factors().get(group.order)


def _alternating_factor(order: int) -> GroupFactor | None:
    n, half = 5, 60
    while half < order:
        n += 1
        half *= n
    return GroupFactor(family="A", number=n) if half == order else None


@functools.cache
def _linear_factors() -> dict[int, GroupFactor]:
    """PSL(2,q) by its order, for the prime powers q up to a limit."""
    found: dict[int, GroupFactor] = {}
    for q in range(4, _LARGEST_Q + 1):
        primes = prime_factors(q)
        if len(primes) == 1:
            order = q * (q * q - 1) // (1 if 2 in primes else 2)
            found.setdefault(order, GroupFactor(family="PSL", number=q))
    return found


def _has_order_15(group: PermutationGroup) -> bool:
    """Whether an element of order 15 turns up; A8 has them, PSL(3,4) has none."""
    sample = itertools.islice(random_elements(group.generators, group.degree), 8 * _TRIALS)
    return any(math.gcd(permutation_order(g), 15) == 15 for g in sample)


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
