"""The usual name of a finite permutation group, given only when it is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nerode.algebra.composition_factors import composition_factors, faithful_on_orbit, has_trivial_centre
from nerode.algebra.direct_products import split_by_orbits, split_directly
from nerode.algebra.group_catalogue import catalogue_name
from nerode.algebra.permutation_groups import (
    MOST_ELEMENTS,
    ElementTable,
    PermutationGroup,
    element_table,
    prime_factors,
)
from nerode.algebra.permutations import power


def group_name(group: PermutationGroup) -> str | None:
    """Returns the name of a group, None where it has none here.

    One isomorphism type has one name. Abelian groups are products of cyclic groups, each order dividing
    the next (Z2xZ6; Z1 is the trivial group). S3 stands for D3, D6 for S3xZ2, D10 for D5xZ2 and so on;
    other direct products list their indecomposable factors, largest first, and the abelian part at the
    end (S4xS3, A4xZ5, S3xZ2xZ2). A5 stands for PSL(2,4) and PSL(2,5), A6 for PSL(2,9), S5 for PGL(2,5).
    """
    if group.is_abelian:
        return abelian_name(abelian_invariants(group))
    pieces = split_by_orbits(group)
    if len(pieces) == 1:
        return _undivided_name(pieces[0])
    if group.order <= MOST_ELEMENTS and (name := catalogue_name(element_table(group))):
        return name
    return _product_name(pieces)


def _undivided_name(group: PermutationGroup) -> str | None:
    """The name of a group that is not abelian and is not split by its orbits."""
    if name := natural_name(group) or _almost_simple_name(group):
        return name
    if group.order > MOST_ELEMENTS:
        return None
    if name := catalogue_name(element_table(group)):
        return name
    pieces = split_directly(group)
    return _product_name(pieces) if pieces is not None and len(pieces) > 1 else None


def _product_name(pieces: Sequence[PermutationGroup]) -> str | None:
    """The name of a direct product of groups, each of which may itself be one."""
    names: list[tuple[int, str]] = []
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
        name = _undivided_name(piece)
        if name is None:
            return None
        names.append((-piece.order, name))
    parts = [name for _, name in sorted(names)]
    if invariants:
        parts.append(abelian_name(merge_invariants(invariants)))
    return "x".join(parts)


def _split(group: PermutationGroup) -> list[PermutationGroup]:
    pieces = split_by_orbits(group)
    if len(pieces) == 1:
        pieces = split_directly(group) or [group]
    return pieces


def natural_name(group: PermutationGroup) -> str | None:
    """Returns Sn or An for the full symmetric or alternating group on n ≥ 4 moved points, n = 3 for S3."""
    n = len(group.moved)
    if len(group.moved_orbits) != 1 or n < 3:
        return None
    full = math.factorial(n)
    if group.order == full:
        return f"S{n}"
    return f"A{n}" if group.order == full // 2 and n > 3 else None


def _almost_simple_name(group: PermutationGroup) -> str | None:
    """The name of a simple group, or of one that lies between a simple group and its automorphisms.

    With a trivial centre and a simple derived subgroup S of index 2 or 3, nothing but the identity
    commutes with S, so the group is S extended by an outer automorphism of that order. The alternating
    groups other than A6, and PSL(2,p), have one class of them; PSL(2,8) has one of order 3.
    """
    core = group.derived_series[-1]
    index = group.order // core.order
    if core.order == 1 or index > 3:
        return None
    factors = composition_factors(core)
    if len(factors) != 1 or " " in factors[0]:
        return None
    simple = factors[0]
    if index == 1:
        return simple
    faithful = faithful_on_orbit(group)
    if faithful is None or not has_trivial_centre(faithful):
        return None
    if index == 3:
        return "PΓL(2,8)" if simple == "PSL(2,8)" else None
    if simple == "A6":
        return _above_a6(element_table(faithful))
    if simple.startswith("A"):
        return f"S{simple[1:]}"
    if simple.startswith("PSL(2,") and sum(prime_factors(int(simple[6:-1])).values()) == 1:
        return f"PGL(2,{simple[6:-1]})"
    return None


def _above_a6(table: ElementTable) -> str:
    """Which of the three groups of order 720 above A6: M10 and PGL(2,9) have elements of order 8."""
    orders = set(table.orders.tolist())
    if 8 not in orders:
        return "S6"
    return "PGL(2,9)" if 10 in orders else "M10"


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


def abelian_name(invariants: Sequence[int]) -> str:
    """Returns the name of a product of cyclic groups, Z1 for the trivial group."""
    return "x".join(f"Z{n}" for n in invariants) or "Z1"


def _logarithm(value: int, base: int) -> int:
    exponent = 0
    while value > 1:
        value //= base
        exponent += 1
    return exponent
