"""Cosines with a bound of their error, in rational arithmetic."""

from __future__ import annotations

import functools
from fractions import Fraction


def cosine_bounds(turns_of_pi: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Returns cos(π x) for 0 ≤ x < 2 with a bound of the error, by its Taylor series."""
    scale = 10 ** (digits + 10)
    x = turns_of_pi * Fraction(_pi_times(scale), scale)
    square = x * x
    term, total, n = Fraction(1), Fraction(1), 0
    tiny = Fraction(1, 10**digits)
    while abs(term) > tiny or n < 8:
        n += 2
        term = -term * square / (n * (n - 1))
        term = Fraction(round(term * scale), scale)
        total += term
    return total, 4 * (n + 4) * tiny


@functools.cache
def _pi_times(scale: int) -> int:
    """Returns π·scale up to a few units, by Machin's formula."""

    def arctan_of_inverse(x: int) -> int:
        term = scale // x
        total, n, alternating = term, 3, -1
        while term:
            term //= x * x
            total += alternating * (term // n)
            n += 2
            alternating = -alternating
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
