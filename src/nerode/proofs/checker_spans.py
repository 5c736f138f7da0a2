"""The checker's own interval arithmetic: fixed-point integers, rounded outward.

A span is a pair of integers and stands for all reals between them in units of 2**-96. Sums of products with
rational coefficients are exact up to one division at the end. exp comes from its series at a small argument
and repeated squaring, with the rest of the series bounded; tanh and the logistic function from exp.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, InputError, read_exact
from nerode.proofs.checker_records import Row

Span = tuple[int, int]

PLACES = 96
ONE = 1 << PLACES
ZERO: Span = (0, 0)

_GUARD = 48
_WIDE = PLACES + _GUARD
_LARGEST = 1 << 12
"""Arguments of exp above this are refused."""

_FLAT = 100 * ONE
"""Beyond this argument tanh and the logistic function are within 2**-140 of their limits."""


def rational(value: Exact) -> Fraction:
    """Returns the number as a fraction.

    Raises:
        InputError: if it is irrational.
    """
    if isinstance(value, Cyclotomic):
        raise InputError(f"the number {value} is irrational; boxes are for rational networks")
    return Fraction(value)


def read_rational(text: object, what: str) -> Fraction:
    """Returns the number of a written form.

    Raises:
        InputError: if it is none, or irrational; `what` says what has it.
    """
    value = read_exact(text)  # type: ignore[arg-type]
    if isinstance(value, Cyclotomic):
        raise InputError(f"{what} has the irrational number {value}")
    return Fraction(value)


def outer(low: Fraction, high: Fraction) -> Span:
    """Returns the smallest span around an interval."""
    return math.floor(low * ONE), math.ceil(high * ONE)


def inner(low: Fraction, high: Fraction) -> Span:
    """Returns the largest span inside an interval; its ends may be in the wrong order if there is none."""
    return math.ceil(low * ONE), math.floor(high * ONE)


def add(a: Span, b: Span) -> Span:
    """Returns the sums."""
    return a[0] + b[0], a[1] + b[1]


def multiply(a: Span, b: Span) -> Span:
    """Returns the products."""
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(products) >> PLACES, -(-max(products) >> PLACES)


def divide(a: Span, b: Span) -> Span:
    """Returns the quotients; the divisor has to be positive."""
    if b[0] <= 0:
        raise InputError("a divisor is not known to be positive")
    low = (a[0] << PLACES) // (b[1] if a[0] >= 0 else b[0])
    high = -((-a[1] << PLACES) // (b[0] if a[1] >= 0 else b[1]))
    return low, high


def mix(share: Span, old: Span, new: Span) -> Span:
    """Returns (1 - share)·old + share·new.

    Linear in the share and growing in the other two as long as the share is in [0,1], so the extremes are at
    the ends of the share.
    """
    lows = [((ONE - s) * old[0] + s * new[0]) >> PLACES for s in share]
    highs = [-((-((ONE - s) * old[1] + s * new[1])) >> PLACES) for s in share]
    return min(lows), max(highs)


def relu(a: Span) -> Span:
    """Returns the images under max(·, 0)."""
    return max(a[0], 0), max(a[1], 0)


def clip(a: Span) -> Span:
    """Returns the images under min(max(·, 0), 1)."""
    return min(max(a[0], 0), ONE), min(max(a[1], 0), ONE)


def exp(a: Span) -> Span:
    """Returns a span around the exponentials."""
    return _exp_at(a[0])[0], _exp_at(a[1])[1]


def tanh(a: Span) -> Span:
    """Returns a span around the hyperbolic tangents."""
    return _tanh_at(a[0])[0], _tanh_at(a[1])[1]


def sigmoid(a: Span) -> Span:
    """Returns a span around the logistic function 1/(1 + e^-x)."""
    return _sigmoid_at(a[0])[0], _sigmoid_at(a[1])[1]


@functools.lru_cache(maxsize=1 << 17)
def _exp_at(x: int) -> Span:
    if abs(x) > _LARGEST * ONE:
        raise InputError(f"exp of about {x // ONE} is out of reach of this arithmetic")
    low, high = _growth(abs(x))
    if x >= 0:
        return low >> _GUARD, -(-high >> _GUARD)
    return (1 << (_WIDE + PLACES)) // high, -(-(1 << (_WIDE + PLACES)) // low)


def _growth(x: int) -> Span:
    """exp(x) for x ≥ 0 in units of 2**-144, from exp(x/2**n) with x/2**n below 1/64."""
    halvings = max(0, (x >> (PLACES - 6)).bit_length())
    shift = _GUARD - halvings
    small = x << shift if shift >= 0 else x >> -shift
    low, high = _series(small)[0], _series(small + (0 if shift >= 0 else 1))[1]
    for _ in range(halvings):
        low, high = low * low >> _WIDE, -(-high * high >> _WIDE)
    return low, high


def _series(y: int) -> Span:
    """exp(y) for 0 ≤ y < 1/32, term by term; what is left out is below twice the next term."""
    low = high = low_term = high_term = 1 << _WIDE
    n = 0
    while high_term > 1:
        n += 1
        low_term = (low_term * y >> _WIDE) // n
        high_term = -((-high_term * y >> _WIDE) // n)
        low += low_term
        high += high_term
    return low, high + 2 * high_term


@functools.lru_cache(maxsize=1 << 17)
def _tanh_at(x: int) -> Span:
    if x < 0:
        low, high = _tanh_at(-x)
        return -high, -low
    if x > _FLAT:
        return ONE - 1, ONE
    low_e, high_e = _exp_at(-2 * x)
    low = ((ONE - high_e) << PLACES) // (ONE + high_e)
    high = -((-(ONE - low_e) << PLACES) // (ONE + low_e))
    return max(low, 0), min(high, ONE)


@functools.lru_cache(maxsize=1 << 17)
def _sigmoid_at(x: int) -> Span:
    if abs(x) > _FLAT:
        return (0, 1) if x < 0 else (ONE - 1, ONE)
    low_e, high_e = _exp_at(-abs(x))
    if x < 0:
        return (low_e << PLACES) // (ONE + low_e), -((-high_e << PLACES) // (ONE + high_e))
    return (1 << 2 * PLACES) // (ONE + high_e), -(-(1 << 2 * PLACES) // (ONE + low_e))


class SpanRows:
    """Rows of an affine map, each over one common denominator.

    Args:
        rows: the rows, by name.
        late: names whose share may be added later; `early` sums all others.
    """

    def __init__(self, rows: Iterable[Row], late: frozenset[str] = frozenset()) -> None:
        self._rows = []
        for bias, terms in rows:
            numbers = [(name, rational(c)) for name, c in terms]
            below = math.lcm(rational(bias).denominator, *(c.denominator for _, c in numbers))
            whole = [(name, int(c * below)) for name, c in numbers if c != 0]
            start = int(rational(bias) * below) * ONE
            self._rows.append(
                (
                    start,
                    below,
                    [(name, c) for name, c in whole if name not in late],
                    [(name, c) for name, c in whole if name in late],
                )
            )

    def __len__(self) -> int:
        return len(self._rows)

    def early(self, table: Mapping[str, Span]) -> list[Span]:
        """Returns the sums of everything that is not late, times the denominators."""
        return [_total(start, terms, table) for start, _, terms, _ in self._rows]

    def finish(self, early: Sequence[Span], table: Mapping[str, Span]) -> list[Span]:
        """Returns the rows, from the early sums and the late names."""
        found = []
        for (low, high), (_, below, _, terms) in zip(early, self._rows, strict=True):
            more = _total(0, terms, table) if terms else ZERO
            low, high = low + more[0], high + more[1]
            found.append((low, high) if below == 1 else (low // below, -(-high // below)))
        return found

    def __call__(self, table: Mapping[str, Span]) -> list[Span]:
        """Returns the rows."""
        return self.finish(self.early(table), table)


def _total(start: int, terms: Sequence[tuple[str, int]], table: Mapping[str, Span]) -> Span:
    low = high = start
    for name, c in terms:
        span = table[name]
        if c > 0:
            low += c * span[0]
            high += c * span[1]
        else:
            low += c * span[1]
            high += c * span[0]
    return low, high
