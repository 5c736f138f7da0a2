"""What kind of group a permutation group is."""

from __future__ import annotations

import functools
import math

from nerode.algebra.composition_factors import UNRESOLVED, composition_factors
from nerode.algebra.direct_products import split_by_orbits
from nerode.algebra.group_names import group_name, natural_name
from nerode.algebra.permutation_groups import MOST_ELEMENTS, PermutationGroup, element_table
from nerode.algebra.permutations import permutation_order
from nerode.algebra.records import GroupStructure


@functools.lru_cache(maxsize=1024)
def describe_group(group: PermutationGroup) -> GroupStructure:
    """Returns order, series, composition factors and name of a permutation group.

    Which names there are is said at `group_name`; a group without one is called "group of order n".
    """
    factors = composition_factors(group)
    solvable = group.is_solvable
    name = group_name(group)
    return GroupStructure(
        name=name or f"group of order {group.order}",
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
    if natural_name(group) is not None:
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
