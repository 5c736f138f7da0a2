"""Arithmetic behind exact numbers: polynomials modulo Φ_m, the minimal polynomial of e(1/m), and cosines."""

from __future__ import annotations

import cmath
import functools
import math
from fractions import Fraction

from nerode.core.budget import charge


@functools.cache
def cyclotomic_polynomial(m: int) -> tuple[int, ...]:
    """Returns the coefficients of Φ_m, constant term first."""
    polynomial = [-1] + [0] * (m - 1) + [1]
    for d in range(1, m):
        if m % d == 0:
            polynomial = _divide(polynomial, cyclotomic_polynomial(d))
    return tuple(polynomial)


def _divide(dividend: list[int], divisor: tuple[int, ...]) -> list[int]:
    rest = list(dividend)
    quotient = [0] * (len(dividend) - len(divisor) + 1)
    for i in range(len(quotient) - 1, -1, -1):
        charge()
        quotient[i] = rest[i + len(divisor) - 1]
        if quotient[i]:
            for j, c in enumerate(divisor):
                rest[i + j] -= quotient[i] * c
    return quotient


def reduce_modulo(numbers: list[int], m: int) -> list[int]:
    """Returns the rest of a polynomial after division by Φ_m, constant term first."""
    degree, terms = _low_terms(m)
    rest = list(numbers)
    for i in range(len(rest) - 1, degree - 1, -1):
        top = rest[i]
        if i % 256 == 0:
            charge()
        if top:
            for j, c in terms:
                rest[i - degree + j] -= top * c
    rest = rest[:degree]
    return rest + [0] * (degree - len(rest))


@functools.cache
def _low_terms(m: int) -> tuple[int, list[tuple[int, int]]]:
    """The degree of Φ_m and its non-zero terms below the leading one."""
    phi = cyclotomic_polynomial(m)
    return len(phi) - 1, [(j, c) for j, c in enumerate(phi[:-1]) if c]


@functools.cache
def float_roots(m: int) -> list[complex]:
    """Returns the m-th roots of unity as floats."""
    return [cmath.exp(2j * math.pi * k / m) for k in range(m)]


def prime_factors(n: int) -> list[int]:
    """Returns the primes whose product is n, in order, with repetitions."""
    factors = []
    p = 2
    while p * p <= n:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1
    if n > 1:
        factors.append(n)
    return factors


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
