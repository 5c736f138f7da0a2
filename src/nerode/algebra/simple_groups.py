"""Names of the finite simple groups, found by their order."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

_SPORADIC_AND_OTHER = {
    5_616: "PSL(3,3)",
    6_048: "PSU(3,3)",
    7_920: "M11",
    25_920: "PSp(4,3)",
    29_120: "Sz(8)",
    62_400: "PSU(3,4)",
    95_040: "M12",
    126_000: "PSU(3,5)",
    175_560: "J1",
    372_000: "PSL(3,5)",
    443_520: "M22",
    604_800: "J2",
    979_200: "PSp(4,4)",
    9_999_360: "PSL(5,2)",
    10_200_960: "M23",
    244_823_040: "M24",
}
"""Simple groups that are neither alternating nor PSL(2,q): all below a million, and the ones above it that
act on at most 31 points."""

TWO_SIMPLE_GROUPS = 20_160
"""The only order up to a million of two simple groups, A8 and PSL(3,4)."""

_LARGEST_Q = 125


def simple_group_name(order: int) -> str | None:
    """Returns the name of the simple group of this order, if the table has one and only one.

    Two simple groups that are not isomorphic have different orders, with the exception of A8 and PSL(3,4)
    and of one infinite series that begins above four thousand million.

    Implements: [KimmerleLyonsSandlingTeague1990]
    """
    if order == TWO_SIMPLE_GROUPS:
        return None
    return _alternating_name(order) or _names().get(order)


def _alternating_name(order: int) -> str | None:
    n, half = 5, 60
    while half < order:
        n += 1
        half *= n
    return f"A{n}" if half == order else None


@functools.cache
def _names() -> dict[int, str]:
    names = dict(_SPORADIC_AND_OTHER)
    for q, p in prime_powers(_LARGEST_Q):
        if q > 3:
            order = q * (q * q - 1) // (1 if p == 2 else 2)
            names.setdefault(order, f"PSL(2,{q})")
    return names


def prime_powers(limit: int) -> Iterator[tuple[int, int]]:
    """Yields the prime powers q up to a limit, each with its prime."""
    for q in range(2, limit + 1):
        p = next((d for d in range(2, math.isqrt(q) + 1) if q % d == 0), q)
        rest = q
        while rest % p == 0:
            rest //= p
        if rest == 1:
            yield q, p
