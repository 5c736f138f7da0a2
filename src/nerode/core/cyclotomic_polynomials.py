"""Polynomials modulo Φ_m, the minimal polynomial of exp(2πi/m)."""

from __future__ import annotations

import cmath
import functools
import math


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
