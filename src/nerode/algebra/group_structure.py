"""The structure of a finite permutation group, and its usual name where that is proved.

A name is a product of direct factors of known families (`GroupFactor`); an isomorphism type has one name.
Abelian groups are products of cyclic groups, each order dividing the next (Z2xZ6; Z1 is the trivial group).
S3 stands for D3, D6 for S3xZ2, D10 for D5xZ2 and so on; other direct products list their indecomposable
factors, largest first, and the abelian part at the end (S4xS3, A4xZ5, S3xZ2xZ2). A5 stands for PSL(2,4) and
PSL(2,5), A6 for PSL(2,9), S5 for PGL(2,5).

For its composition factors a group is cut along orbits, blocks and normal subgroups; what is simple is
named by its order.
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
    Indices,
    PermutationGroup,
    element_table,
    prime_multiplicities,
)
from nerode.algebra.permutations import (
    Permutation,
    compose,
    conjugate,
    permutation_order,
    power,
    random_elements,
)
from nerode.algebra.records import GroupFactor, GroupStructure
from nerode.algebra.subgroups import split_by_orbits, split_directly

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
    found = Counter({f"Z{p}": k for p, k in prime_multiplicities(group.order // rest.order).items()})
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
        if len(prime_multiplicities(int(table.orders[x]))) == 1 and x:
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
        for p in prime_multiplicities(order):
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
    return len(prime_multiplicities(degree)) == 1 or len(prime_multiplicities(multiple)) >= 3


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
        primes = prime_multiplicities(q)
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


_CENTRELESS = {
    6: GroupFactor(family="S", number=3),
    12: GroupFactor(family="A", number=4),
    24: GroupFactor(family="S", number=4),
}
"""Orders of which just one group has a trivial centre, and that group."""


@functools.lru_cache(maxsize=1024)
def describe_group(group: PermutationGroup) -> GroupStructure:
    """Returns order, series, composition factors and name of a permutation group.

    A group without a name is called "group of order n".
    """
    factors = composition_factors(group)
    solvable = group.is_solvable
    direct_factors = _direct_factors(group)
    return GroupStructure(
        name="x".join(map(str, direct_factors)) or f"group of order {group.order}",
        direct_factors=direct_factors,
        order=group.order,
        degree=group.degree,
        cyclic=group.is_abelian and _exponent(group) == group.order,
        abelian=group.is_abelian,
        nilpotent=group.is_nilpotent,
        solvable=solvable,
        simple=len(factors) == 1 and not factors[0].startswith(UNRESOLVED),
        derived_length=len(group.derived_series) - 1 if solvable else None,
        exponent=_exponent(group),
        factors=factors,
    )


def _exponent(group: PermutationGroup) -> int | None:
    """The exponent, None for a large group that is not built from abelian and alternating ones."""
    if group.is_abelian:
        return math.lcm(*map(permutation_order, group.generators))
    if _natural_factor(group) is not None:
        return _natural_exponent(len(group.moved), even_only=group.is_even)
    if group.order <= MOST_ELEMENTS:
        return element_table(group).exponent
    pieces = split_by_orbits(group)
    exponents = [_exponent(piece) for piece in pieces] if len(pieces) > 1 else [None]
    known = [e for e in exponents if e is not None]
    return math.lcm(*known) if len(known) == len(exponents) else None


def _natural_exponent(n: int, *, even_only: bool) -> int:
    """The exponent of the symmetric or alternating group on n points.

    An even permutation whose order is divisible by 2^k needs a second cycle of even length beside the one
    whose length 2^k divides.
    """
    exponent = math.lcm(*range(1, n + 1))
    if not even_only:
        return exponent
    odd_part = exponent // (exponent & -exponent)
    return odd_part * (1 << max(0, (n - 2).bit_length() - 1))


def _direct_factors(group: PermutationGroup) -> tuple[GroupFactor, ...]:
    """The direct factors of a group; none where one of them belongs to no family here."""
    if group.is_abelian:
        return _cyclic_factors(abelian_invariants(group))
    pieces = split_by_orbits(group)
    if len(pieces) == 1:
        if factor := _undivided_factor(pieces[0]):
            return (factor,)
        smaller = split_directly(pieces[0]) if group.order <= MOST_ELEMENTS else None
        return _product_factors(smaller) if smaller is not None and len(smaller) > 1 else ()
    if group.order <= MOST_ELEMENTS and (factor := _family_factor(element_table(group))):
        return (factor,)
    return _product_factors(pieces)


def _product_factors(pieces: Sequence[PermutationGroup]) -> tuple[GroupFactor, ...]:
    """The factors of a direct product of groups, each of which may itself be one."""
    found: list[tuple[int, str, GroupFactor]] = []
    invariants: list[int] = []
    waiting = list(pieces)
    while waiting:
        piece = waiting.pop()
        if piece.is_abelian:
            invariants += abelian_invariants(piece)
            continue
        smaller = _split(piece)
        if len(smaller) > 1:
            waiting += smaller
            continue
        factor = _undivided_factor(piece)
        if factor is None:
            return ()
        found.append((-piece.order, str(factor), factor))
    factors = tuple(factor for _, _, factor in sorted(found, key=lambda row: row[:2]))
    return factors + (_cyclic_factors(merge_invariants(invariants)) if invariants else ())


def _split(group: PermutationGroup) -> list[PermutationGroup]:
    pieces = split_by_orbits(group)
    if len(pieces) == 1:
        pieces = split_directly(group) or [group]
    return pieces


def _undivided_factor(group: PermutationGroup) -> GroupFactor | None:
    """The family of a group that is not abelian and is not split by its orbits."""
    if factor := _natural_factor(group) or _almost_simple_factor(group):
        return factor
    return _family_factor(element_table(group)) if group.order <= MOST_ELEMENTS else None


def _natural_factor(group: PermutationGroup) -> GroupFactor | None:
    """Sn or An for the full symmetric or alternating group on n ≥ 4 moved points, n = 3 for S3."""
    n = len(group.moved)
    if len(group.moved_orbits) != 1 or n < 3:
        return None
    full = math.factorial(n)
    if group.order == full:
        return GroupFactor(family="S", number=n)
    return GroupFactor(family="A", number=n) if group.order == full // 2 and n > 3 else None


def _almost_simple_factor(group: PermutationGroup) -> GroupFactor | None:
    """The name of a simple group of a known family, or Sn, found in any action.

    With a trivial centre and a simple derived subgroup An of index 2, nothing but the identity commutes with
    An, so the group is An extended by an outer automorphism. There is one class of those, except for n = 6:
    of the three groups above A6, only S6 has no element of order 8.
    """
    core = group.derived_series[-1]
    index = group.order // core.order
    if core.order == 1 or index > 2:
        return None
    factors = composition_factors(core)
    is_simple = len(factors) == 1 and not factors[0].startswith(UNRESOLVED)
    simple = simple_factor(core) if is_simple else None
    if simple is None or index == 1:
        return simple
    faithful = faithful_on_orbit(group)
    if simple.family != "A" or faithful is None or not has_trivial_centre(faithful):
        return None
    if simple.number == 6 and (element_table(faithful).orders == 8).any():
        return None
    return GroupFactor(family="S", number=simple.number)


def _family_factor(table: ElementTable) -> GroupFactor | None:
    """The family of a small group by its elements: dihedral, dicyclic, Frobenius, S3, A4 or S4.

    A family is given when elements satisfy the relations of a group of this same order.
    """
    if table.order in _CENTRELESS and table.has_trivial_centre:
        return _CENTRELESS[table.order]
    return _with_large_cyclic_subgroup(table) or _frobenius_factor(table)


def _with_large_cyclic_subgroup(table: ElementTable) -> GroupFactor | None:
    """Dihedral, n ≥ 4, or dicyclic: half of the elements are the powers of one element r.

    In these groups the choice of r does not matter, nor that of s among the elements outside that have the
    least order.
    """
    order, half = table.order, table.order // 2
    if order % 2 or half < 4 or not (table.orders == half).any():
        return None
    r = int(np.argmax(table.orders == half))
    outside = np.setdiff1d(np.arange(order), _powers(table, r))
    s = int(outside[np.argmin(table.orders[outside])])
    if _conjugation_factor(table, r, s) != half - 1:
        return None
    if table.orders[s] == 2:
        return GroupFactor(family="D", number=half)
    # If s has order 4, its square is a power of r of order 2, of which there is one.
    if table.orders[s] != 4:
        return None
    if order & (order - 1) == 0:
        return GroupFactor(family="Q", number=order)
    return GroupFactor(family="Dic", number=order // 4)


def _frobenius_factor(table: ElementTable) -> GroupFactor | None:
    """F with the order: maps x → ax + b modulo a prime p, where a runs over m ≥ 3 numbers.

    An element s of order m acts with order m on the powers of one of order p.
    """
    p = max(prime_multiplicities(table.order), default=2)
    m = table.order // p
    if m < 3 or (p - 1) % m or not (table.orders == m).any():
        return None
    r, s = int(np.argmax(table.orders == p)), int(np.argmax(table.orders == m))
    factor = _conjugation_factor(table, r, s)
    if factor is None or any(pow(factor, m // q, p) == 1 for q in prime_multiplicities(m)):
        return None
    return GroupFactor(family="F", number=table.order)


def _conjugation_factor(table: ElementTable, r: int, s: int) -> int | None:
    """Returns k with s⁻¹rs = rᵏ, None if there is none."""
    target = table.index(conjugate(table.element(r), table.element(s)))
    places = np.flatnonzero(_powers(table, r) == target)
    return int(places[0]) if len(places) else None


def _powers(table: ElementTable, r: int) -> Indices:
    """Returns the numbers of r⁰, r¹ … up to the order of r."""
    found = np.zeros(1, dtype=np.intp)
    step = np.array(r)
    while len(found) < table.orders[r]:
        found = np.concatenate([found, table.products(found, step)])
        step = table.products(step, step)
    return found[: table.orders[r]]


def abelian_invariants(group: PermutationGroup) -> list[int]:
    """Returns orders of cyclic groups whose product an abelian group is, each dividing the next.

    In an abelian group the p^k-th powers form the subgroup generated by the powers of the generators.
    The orders of these subgroups tell how many cyclic factors have an order divisible by p^k.
    """
    cyclic: list[int] = []
    for p, multiplicity in prime_multiplicities(group.order).items():
        rest = group.subgroup(power(g, group.order // p**multiplicity) for g in group.generators)
        sizes = [rest.order]
        while rest.order > 1:
            rest = rest.subgroup(power(g, p) for g in rest.generators)
            sizes.append(rest.order)
        at_least = [_logarithm(sizes[k] // sizes[k + 1], p) for k in range(len(sizes) - 1)]
        for k, count in enumerate(at_least, start=1):
            longer = at_least[k] if k < len(at_least) else 0
            cyclic += [p**k] * (count - longer)
    return merge_invariants(cyclic)


def merge_invariants(orders: Sequence[int]) -> list[int]:
    """Returns the invariant factors of a product of cyclic groups, each dividing the next."""
    powers: dict[int, list[int]] = {}
    for order in orders:
        for p, k in prime_multiplicities(order).items():
            powers.setdefault(p, []).append(p**k)
    length = max(map(len, powers.values()), default=0)
    columns = [sorted([1] * (length - len(parts)) + parts) for parts in powers.values()]
    return [math.prod(column[i] for column in columns) for i in range(length)]


def _cyclic_factors(invariants: Sequence[int]) -> tuple[GroupFactor, ...]:
    """A product of cyclic groups, Z1 for the trivial group."""
    return tuple(GroupFactor(family="Z", number=n) for n in invariants or [1])


def _logarithm(value: int, base: int) -> int:
    exponent = 0
    while value > 1:
        value //= base
        exponent += 1
    return exponent
