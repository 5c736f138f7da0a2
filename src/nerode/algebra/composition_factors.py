"""The composition factors of a permutation group, by name."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from nerode.algebra.element_table import MOST_ELEMENTS, element_table, prime_factors
from nerode.algebra.group_actions import (
    action_on_blocks,
    find_blocks,
    kernel_on_blocks,
    pointwise_stabiliser,
    quotient_group,
)
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, permutation_order, power, random_elements
from nerode.algebra.simple_groups import TWO_SIMPLE_GROUPS, simple_group_name

UNRESOLVED = "perfect group of order "
"""How a factor begins that was not taken apart; it may or may not be simple."""

_TRIALS = 40


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
    if group.order == TWO_SIMPLE_GROUPS and _has_order_15(group):
        return "A8"
    return simple_group_name(group.order) or f"simple group of order {group.order}"


def _has_order_15(group: PermutationGroup) -> bool:
    """Whether an element of order 15 turns up; A8 has them, PSL(3,4) has none."""
    sample = itertools.islice(random_elements(group.generators, group.degree), 8 * _TRIALS)
    return any(math.gcd(permutation_order(g), 15) == 15 for g in sample)
