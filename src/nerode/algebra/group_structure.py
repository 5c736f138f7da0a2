"""The structure of a finite permutation group, and its usual name where that is proved.

A name is a product of direct factors of known families (`GroupFactor`); an isomorphism type has one name.
Abelian groups are products of cyclic groups, each order dividing the next (Z2xZ6; Z1 is the trivial group).
S3 stands for D3, D6 for S3xZ2, D10 for D5xZ2 and so on; other direct products list their indecomposable
factors, largest first, and the abelian part at the end (S4xS3, A4xZ5, S3xZ2xZ2). A5 stands for PSL(2,4) and
PSL(2,5), A6 for PSL(2,9), S5 for PGL(2,5).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from nerode.algebra.composition_factors import (
    UNRESOLVED,
    composition_factors,
    faithful_on_orbit,
    has_trivial_centre,
    simple_factor,
)
from nerode.algebra.permutation_groups import (
    MOST_ELEMENTS,
    ElementTable,
    Indices,
    PermutationGroup,
    element_table,
    prime_factors,
)
from nerode.algebra.permutations import conjugate, permutation_order, power
from nerode.algebra.records import GroupFactor, GroupStructure
from nerode.algebra.subgroups import split_by_orbits, split_directly

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
    p = max(prime_factors(table.order), default=2)
    m = table.order // p
    if m < 3 or (p - 1) % m or not (table.orders == m).any():
        return None
    r, s = int(np.argmax(table.orders == p)), int(np.argmax(table.orders == m))
    factor = _conjugation_factor(table, r, s)
    if factor is None or any(pow(factor, m // q, p) == 1 for q in prime_factors(m)):
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
    for p, multiplicity in prime_factors(group.order).items():
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
        for p, k in prime_factors(order).items():
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
