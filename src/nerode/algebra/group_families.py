"""Families of groups that a short presentation defines: dihedral, dicyclic, semidihedral, Frobenius."""

from __future__ import annotations

import numpy as np

from nerode.algebra.permutation_groups import ElementTable, Indices, prime_factors
from nerode.algebra.permutations import conjugate


def family_name(table: ElementTable) -> str | None:
    """Returns D, Q, Dic, SD or F with its number, None if the group is in none of these families.

    Dn is the dihedral group of order 2n (n ≥ 4). Dic_n is the dicyclic group of order 4n, called Q8, Q16 …
    when the order is a power of two. SD16, SD32 … are semidihedral. F20, F21 … are the Frobenius groups
    of maps x → ax + b modulo a prime p where a runs over a subgroup of order at least 3; the number is
    the order. A name is given when elements satisfy the relations of a group of this same order.
    """
    return _with_large_cyclic_subgroup(table) or _frobenius_name(table)


def _frobenius_name(table: ElementTable) -> str | None:
    """F and the order, if an element s of order m acts with order m on the powers of one of order p."""
    p = max(prime_factors(table.order), default=2)
    m = table.order // p
    if m < 3 or (p - 1) % m or not (table.orders == m).any():
        return None
    r, s = int(np.argmax(table.orders == p)), int(np.argmax(table.orders == m))
    factor = _conjugation_factor(table, r, s)
    if factor is None or any(pow(factor, m // q, p) == 1 for q in prime_factors(m)):
        return None
    return f"F{table.order}"


def _with_large_cyclic_subgroup(table: ElementTable) -> str | None:
    """The name of a group half of whose elements are the powers of one element r.

    In the groups named here the choice of r does not matter, nor that of s among the elements outside
    that have the least order.
    """
    order, half, quarter = table.order, table.order // 2, table.order // 4
    if order % 2 or half < 4 or not (table.orders == half).any():
        return None
    is_power_of_two = order & (order - 1) == 0
    r = int(np.argmax(table.orders == half))
    outside = np.setdiff1d(np.arange(order), _powers(table, r))
    s = int(outside[np.argmin(table.orders[outside])])
    factor = _conjugation_factor(table, r, s)
    if factor == half - 1 and table.orders[s] == 2:
        return f"D{half}"
    if factor == half - 1 and table.orders[s] == 4:
        # The square of s is a power of r of order 2, of which there is one.
        return f"Q{order}" if is_power_of_two else f"Dic{quarter}"
    if factor == quarter - 1 and table.orders[s] == 2 and is_power_of_two and order >= 16:
        return f"SD{order}"
    return None


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
