"""Exact numbers: whole numbers and fractions, and what the kernel asks of numbers that are neither.

A rational number is an `int` or a `Fraction`. Everything else is `Irrational`: a sum of roots of unity, which
`domains.roots` computes with. The written form is a sum of terms such as `-3/4`, `e(7/60)` or `1/2*e(1/8)`,
where e(k/m) = exp(2πi k/m). No float is used anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from nerode.kernel.reader import MAX_BITS, MAX_DIGITS, entries, quoted
from nerode.kernel.work import Undecided, Unreadable, WorkCount

MAX_TERMS = 2_000
"""Terms of one written number."""

MAX_TEXT = 20_000
"""Characters of one written number."""

_WHOLE = re.compile(r"-?\d{1,18}\Z", re.ASCII)
_TERM = re.compile(r"([+-]?)(?:(\d+)(?:/(\d+))?(?:\*e\((\d+)/(\d+)\))?|e\((\d+)/(\d+)\))", re.ASCII)
_EXAMPLES = "write -3/4, e(7/60) or 1/2*e(1/8)-1"

Rational = int | Fraction
RATIONAL = (int, Fraction)
_Value = TypeVar("_Value")


class Ratio(Fraction):
    """A fraction that is not whole; sums and products with others like it and with ints are quick.

    They do not go through the tests for other kinds of number that `Fraction` makes, and are ints where they
    are whole. Everything else is the `Fraction` that it is.
    """

    __slots__ = ()
    _numerator: int
    _denominator: int

    def __add__(self, other: Any) -> Any:
        n, d = self._numerator, self._denominator
        if type(other) is int:
            return _ratio(n + other * d, d)
        if type(other) is not Ratio:
            return plain(super().__add__(other))
        e = other._denominator
        if d == e:
            return ratio(n + other._numerator, d)
        return ratio(n * e + other._numerator * d, d * e)

    __radd__ = __add__

    def __neg__(self) -> Ratio:
        return _ratio(-self._numerator, self._denominator)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            return ratio(self._numerator * other, self._denominator)
        if type(other) is not Ratio:
            return plain(super().__mul__(other))
        return ratio(self._numerator * other._numerator, self._denominator * other._denominator)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if type(other) is not Ratio:
            return type(other) is not int and super().__eq__(other)
        return self._numerator == other._numerator and self._denominator == other._denominator

    __hash__ = Fraction.__hash__

    def __lt__(self, other: Any) -> bool:
        return bool(self._numerator < other * self._denominator)

    def __le__(self, other: Any) -> bool:
        return bool(self._numerator <= other * self._denominator)

    def __gt__(self, other: Any) -> bool:
        return bool(self._numerator > other * self._denominator)

    def __ge__(self, other: Any) -> bool:
        return bool(self._numerator >= other * self._denominator)


def _ratio(numerator: int, denominator: int) -> Ratio:
    """The fraction of two numbers that have no common divisor; the denominator is above 1."""
    found = object.__new__(Ratio)
    found._numerator, found._denominator = numerator, denominator
    return found


def ratio(numerator: int, denominator: int) -> int | Ratio:
    """Returns the quotient of two whole numbers, the second of which is positive."""
    divisor = math.gcd(numerator, denominator)
    if divisor == denominator:
        return numerator // denominator
    return _ratio(numerator // divisor, denominator // divisor)


class Irrational:
    """A number that is not rational, as the kernel uses it: sums, products, parts, and a sign if it is real.

    `domains/roots.py` has its operations. It is no ABC, whose `isinstance` is slower: every sum asks.

    Attributes:
        numerators: whole numbers that it is written with, over one denominator.
        denominator: see `numerators`.
    """

    __slots__ = ("denominator", "numerators")
    numerators: tuple[int, ...]
    denominator: int

    def __add__(self, other: Number) -> Number:
        raise NotImplementedError

    def __mul__(self, other: Number) -> Number:
        raise NotImplementedError

    def __neg__(self) -> Irrational:
        raise NotImplementedError

    def __radd__(self, other: Number) -> Number:
        return self + other

    def __rmul__(self, other: Number) -> Number:
        return self * other

    def __sub__(self, other: Number) -> Number:
        return self + (-other)

    def __rsub__(self, other: Number) -> Number:
        return (-self) + other

    def conjugate(self) -> Number:
        """The complex conjugate."""
        raise NotImplementedError

    def real_part(self) -> Number:
        """The real part."""
        raise NotImplementedError

    def imaginary_part(self) -> Number:
        """The imaginary part."""
        raise NotImplementedError

    def sign(self) -> int:
        """1 or -1 for a real number; raises Undecided for others, or if it does not show."""
        raise NotImplementedError

    def real_bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Rational bounds of the real part, nearer with more bits."""
        raise NotImplementedError


Number = int | Fraction | Irrational
_Number = TypeVar("_Number", int, Fraction, Number)


Value = Any
"""What a coordinate may hold in exact arithmetic: a number or, in `domains.forms`, a form over unknowns."""


class NumberReader:
    """Reads written numbers, rational ones unless the order says otherwise.

    Attributes:
        order: the orders of the roots of unity that may be written divide it.
        work: counts the operations.
    """

    def __init__(self, work: WorkCount, order: int = 1) -> None:
        self.work = work
        self.order = order
        self._known: dict[str, Number] = {}

    def read(self, data: Any, what: str = "a number") -> Number:
        """Returns the number of a written form.

        Raises:
            Unreadable: if it is none, or larger than the bounds allow.
        """
        if type(data) is int:
            if data.bit_length() > MAX_BITS:
                raise Unreadable(f"{what} has more than {MAX_DIGITS:,} digits")
            return data
        known = self._known.get(data) if type(data) is str else None
        if known is None:
            known = self._known[data] = self._read(data, what)
        return known

    def _read(self, data: Any, what: str) -> Number:
        if not isinstance(data, str) or not data or len(data) > MAX_TEXT:
            raise Unreadable(f"{what} is {quoted(data)}; {_EXAMPLES}")
        if _WHOLE.match(data):
            return int(data)
        powers: dict[int, Fraction] = {}
        position = terms = 0
        while position < len(data):
            match = _TERM.match(data, position)
            if match is None or (position > 0 and not match.group(1)):
                raise Unreadable(f"{what} is {quoted(data)}; {_EXAMPLES}")
            minus, above, below, *roots = match.groups()
            if any(part is not None and len(part) > MAX_DIGITS for part in match.groups()):
                raise Unreadable(f"{what} has more than {MAX_DIGITS:,} digits")
            if below is not None and int(below) == 0:
                raise Unreadable(f"{what} is {quoted(data)}, which divides by zero")
            amount = Fraction(int(above or 1), int(below or 1))
            k, m = (int(roots[0] or roots[2] or 0), int(roots[1] or roots[3] or 1))
            if m == 0 or self.order % m:
                raise Unreadable(f"{what} is {quoted(data)}, which has a root of unity of order {m:,}")
            place = k * (self.order // m) % self.order
            powers[place] = powers.get(place, Fraction(0)) + (-amount if minus == "-" else amount)
            position = match.end()
            terms += 1
            if terms > MAX_TERMS:
                raise Unreadable(f"{what} is a sum of more than {MAX_TERMS:,} terms")
        self.work.spend(terms * (1 + len(data) // 64))
        return self._sum_of(powers, what)

    def _sum_of(self, powers: dict[int, Fraction], what: str) -> Number:
        """The sum of amount · e(k/order), from amounts by k."""
        return plain(powers[0])

    def inverse(self, value: Number) -> Number:
        """Returns 1/value, for a number that is not zero."""
        return plain(1 / rational(value))


def sign(value: Number) -> int:
    """Returns -1, 0 or 1 for a real number.

    Raises:
        Undecided: if the number is not real, or nearer to zero than any network needs.
    """
    if isinstance(value, Irrational):
        return value.sign()
    above = value.numerator
    return (above > 0) - (above < 0)


def real_part(value: Any) -> Any:
    """Returns the real part of a number, a form or a span; spans are real."""
    return value if isinstance(value, int | Fraction | tuple) else value.real_part()


def imaginary_part(value: Any) -> Any:
    """Returns the imaginary part of a number, a form or a span; spans are real."""
    return 0 if isinstance(value, int | Fraction | tuple) else value.imaginary_part()


def conjugate(value: Number) -> Number:
    """Returns the complex conjugate."""
    return value.conjugate() if isinstance(value, Irrational) else value


def gaussian_parts(value: Number) -> tuple[Rational, Rational] | None:
    """Returns real and imaginary part if both are rational, None otherwise."""
    real, imaginary = real_part(value), imaginary_part(value)
    if isinstance(real, Irrational) or isinstance(imaginary, Irrational):
        return None
    return real, imaginary


def rational(value: object, what: str = "this method") -> Fraction:
    """Returns a number as a fraction.

    Raises:
        Undecided: if it is irrational; `what` needs rational numbers.
    """
    if not isinstance(value, RATIONAL):
        raise Undecided(f"{what} needs rational numbers, not {quoted(value)}")
    return Fraction(value)


def num_bits(value: Value) -> int:
    """Returns the bits of the largest whole number that a number is written with; 0 for other values."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return max(value.numerator.bit_length(), value.denominator.bit_length())
    if isinstance(value, Irrational):
        return max(value.denominator.bit_length(), *(n.bit_length() for n in value.numerators))
    return 0


def grid_of(value: Number) -> int | None:
    """Returns the least g ≥ 0 such that the number (both parts of it) is a multiple of 2**-g."""
    if isinstance(value, int):
        return 0
    if isinstance(value, Fraction):
        denominator = value.denominator
        return denominator.bit_length() - 1 if denominator & (denominator - 1) == 0 else None
    parts = gaussian_parts(value)
    grids = [None] if parts is None else [grid_of(part) for part in parts]
    return None if None in grids else max(g for g in grids if g is not None)


def read_rational(data: Any, what: str) -> Fraction:
    """Returns the rational number of a written form such as -3 or "3/4".

    Raises:
        Unreadable: if it is something else, or larger than the bounds allow.
    """
    if type(data) is int and data.bit_length() <= MAX_BITS:
        return Fraction(data)
    if isinstance(data, str) and len(data) <= 2 * MAX_DIGITS + 2:
        match = re.fullmatch(r"([+-]?\d+)(?:/(\d+))?", data, re.ASCII)
        if match and all(part is None or len(part) <= MAX_DIGITS for part in match.groups()):
            above, below = int(match.group(1)), int(match.group(2) or 1)
            if below:
                return Fraction(above, below)
    raise Unreadable(
        f"{what} is {quoted(data)}, not a rational number such as -3/4 with at most {MAX_DIGITS:,} digits"
    )


def read_interval(data: Any, what: str) -> tuple[Fraction, Fraction]:
    """Returns the two ends of an interval.

    Raises:
        Unreadable: if it is something else, or ends before it begins.
    """
    low, high = entries(read_rational, read_rational)(data, what)
    if low > high:
        raise Unreadable(f"{what} has an interval that ends before it begins")
    return low, high


def write_number(value: Rational) -> str:
    """Returns the written form of a rational number."""
    return str(plain(Fraction(value)))


def plain(value: _Value) -> _Value | int | Ratio:
    """Returns a whole number as an int, any other fraction as a `Ratio`, any other value as it is."""
    return ratio(value.numerator, value.denominator) if isinstance(value, Fraction) else value


def combined(
    factors: Sequence[tuple[int, _Number]], vectors: Sequence[Mapping[int, _Number]]
) -> dict[int, _Number]:
    """Returns a sum of multiples of sparse vectors, from pairs (number of the vector, factor)."""
    if len(factors) == 1 and factors[0][1] == 1:
        return dict(vectors[factors[0][0]])
    total: dict[int, Any] = {}
    for j, c in factors:
        for k, v in vectors[j].items():
            total[k] = total.get(k, 0) + c * v
    return {k: v for k, v in total.items() if v != 0}


class Region:
    """Answers about values that are numbers; `domains.forms` has regions where they depend on unknowns."""

    __slots__ = ()

    has_unknowns = False
    """Whether some value may be a form over unknowns."""

    repeats = True
    """Whether equal values have equal images, so that a step may be remembered."""

    def around(self, *vectors: Sequence[Value]) -> Region:
        """Returns the region that some values live in: this one, or the one of numbers if they all are."""
        return self

    def above(self, value: Value, threshold: Rational) -> bool:
        """Whether the value is above the threshold, on the whole region."""
        return sign(value - threshold) > 0

    def relu(self, value: Value) -> Value:
        """Returns max(value, 0)."""
        if type(value) is int:
            return value if value > 0 else 0
        return value if sign(value) > 0 else 0

    def grid(self, value: Value) -> int | None:
        """Returns g such that the value is a multiple of 2**-g, None if none is known."""
        return grid_of(value)

    def key(self, value: Value) -> Any:
        """Returns what the value and its bounds on this region depend on."""
        return value


NUMBERS = Region()
"""The region of numbers."""


def known_rational(value: Value) -> Rational:
    """Returns a rational number.

    Raises:
        Undecided: if it is irrational.
    """
    if isinstance(value, Irrational):
        raise Undecided(f"the irrational number {value} meets an unknown value")
    found: Rational = value
    return found
