"""The least power of a rational matrix that is zero, found modulo enough primes to be sure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from nerode.core import InputError
from nerode.proofs.checker_records import Matrix

MOST_COLUMNS = 512
"""Matrices with more columns that are not zero are not multiplied out."""

MOST_BITS = 1_000_000
"""Powers with larger entries are not multiplied out either."""

Floats = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def nilpotency(matrix: Matrix) -> int | None:
    """Returns the least n with matrix**n = 0, None if there is none.

    Only the columns that are not zero matter: with C the matrix of these columns and D the square part of C
    that they meet, the power n is zero exactly when C Dⁿ⁻¹ is. Multiplied by a common denominator all is
    whole; a whole number below a bound is zero if it is zero modulo primes whose product is above it.

    Raises:
        InputError: if an entry is irrational, too many columns are not zero, or the powers get too large.
    """
    columns = sorted({j for row in matrix for j, c in row if c != 0})
    if not columns:
        return 1
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"a matrix with {len(columns)} columns that are not zero is not multiplied out")
    whole = _whole_columns(matrix, columns)
    largest = max(abs(int(v)) for v in whole.flat)
    powers = _Powers(whole, columns)
    for n in range(1, len(columns) + 2):
        bound = largest**n * len(columns) ** (n - 1)
        if all(powers.vanishes(n, prime) for prime in _primes_beyond(bound, len(columns))):
            return n
    return None


class _Powers:
    """C Dⁿ⁻¹ modulo primes, each kept for the next n."""

    def __init__(self, whole: np.ndarray[tuple[int, int], np.dtype[np.object_]], columns: list[int]) -> None:
        self._whole = whole
        self._columns = columns
        self._known: dict[int, tuple[int, Floats, Floats]] = {}

    def vanishes(self, n: int, prime: int) -> bool:
        if prime not in self._known:
            first = (self._whole % prime).astype(np.float64)
            self._known[prime] = (1, first, first[self._columns])
        power, value, square = self._known[prime]
        for _ in range(n - power):
            value = (value @ square) % prime
        self._known[prime] = (n, value, square)
        return not value.any()


def _whole_columns(matrix: Matrix, columns: list[int]) -> np.ndarray[tuple[int, int], np.dtype[np.object_]]:
    """The columns that are not zero, times a common denominator."""
    place = {j: k for k, j in enumerate(columns)}
    entries = []
    for i, row in enumerate(matrix):
        for j, c in row:
            if not isinstance(c, int | Fraction):
                raise InputError("the powers of an irrational matrix are not computed")
            if c:
                entries.append((i, place[j], c))
    scale = math.lcm(*(c.denominator for _, _, c in entries))
    whole = np.zeros((len(matrix), len(columns)), dtype=object)
    for i, k, c in entries:
        whole[i, k] = c.numerator * (scale // c.denominator)
    return whole


def _primes_beyond(bound: int, size: int) -> Iterator[int]:
    """Yields primes until their product is above twice a bound.

    They are small enough that floats hold a sum of `size` products of residues exactly.

    Raises:
        InputError: if that takes more primes than there are so small, or more than anybody waits for.
    """
    if bound.bit_length() > MOST_BITS:
        raise InputError(f"the powers of a matrix have entries of more than {MOST_BITS:,} bits")
    product = 1
    prime = math.isqrt((1 << 53) // size)
    while product <= 2 * bound:
        prime -= 1
        if _is_prime(prime):
            product *= prime
            yield prime


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))
