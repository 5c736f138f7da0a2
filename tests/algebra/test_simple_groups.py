"""The table of simple groups against the formulas for their orders."""

from __future__ import annotations

import math

from nerode.algebra.composition_factors import _names, prime_powers, simple_group_name


def test_names_of_simple_groups_by_order() -> None:
    orders = {*_names(), *(math.factorial(n) // 2 for n in range(5, 12))}
    below_a_million = {order for order in orders if order < 10**6}
    # 56 simple groups have fewer than a million elements; A8 and PSL(3,4) share an order.
    assert len(below_a_million) == 55
    assert simple_group_name(60) == "A5"
    assert simple_group_name(360) == "A6"
    assert simple_group_name(168) == "PSL(2,7)"
    assert simple_group_name(20160) is None
    assert simple_group_name(61) is None

    def linear(n: int, q: int) -> int:
        product = math.prod(q**n - q**i for i in range(n))
        return product // (q - 1) // math.gcd(n, q - 1)

    def unitary(q: int) -> int:
        return q**3 * (q**2 - 1) * (q**3 + 1) // math.gcd(3, q + 1)

    def symplectic(q: int) -> int:
        return q**4 * (q**2 - 1) * (q**4 - 1) // math.gcd(2, q - 1)

    for q, _ in prime_powers(125):
        if q > 9:
            assert simple_group_name(linear(2, q)) == f"PSL(2,{q})"
    assert simple_group_name(linear(3, 3)) == "PSL(3,3)"
    assert simple_group_name(linear(3, 5)) == "PSL(3,5)"
    assert simple_group_name(linear(5, 2)) == "PSL(5,2)"
    assert [simple_group_name(unitary(q)) for q in (3, 4, 5)] == ["PSU(3,3)", "PSU(3,4)", "PSU(3,5)"]
    assert [simple_group_name(symplectic(q)) for q in (3, 4)] == ["PSp(4,3)", "PSp(4,4)"]
    assert simple_group_name(8**2 * (8**2 + 1) * (8 - 1)) == "Sz(8)"
