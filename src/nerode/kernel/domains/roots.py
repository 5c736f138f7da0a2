"""Irrational numbers: sums of roots of unity, with signs that are proved.

A `RootSum` is an element of the field of m-th roots of unity, in which all numbers of one network live, so
equal numbers have equal entries. e(k/m) is written for exp(2πi k/m).

No float is used anywhere. The sign of a real irrational number comes from an interval of integers around it
(`Field.cosines`), which is narrowed until zero is outside; an irrational number is not zero, so this ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction

from nerode.kernel.numbers import MAX_TEXT, RATIONAL, Irrational, Number, NumberReader, plain, ratio
from nerode.kernel.reader import MAX_BITS
from nerode.kernel.work import Undecided, Unreadable, WorkCount

MAX_ORDER = 5_000
"""Largest m for which the field of m-th roots of unity is offered."""

MAX_SIGN_BITS = 1 << 15
"""Bits of the cosines that a sign may take."""

_ROOT = re.compile(r"e\(\d{1,5}/(\d{1,5})\)", re.ASCII)


class RootSum(Irrational):
    """An irrational number of a field: whole multiples of 1, ζ, ζ², … over one denominator, in lowest terms.

    Made by a field and by arithmetic, which returns plain rationals where the result is one.
    """

    __slots__ = ("_hash", "_real", "field")

    def __init__(self, field: Field, numerators: tuple[int, ...], denominator: int) -> None:
        self.field = field
        self.numerators = numerators
        self.denominator = denominator
        self._hash: int | None = None
        self._real: bool | None = None

    def __add__(self, other: Number) -> Number:
        a = self.denominator
        if isinstance(other, RATIONAL):
            b = other.denominator
            numerators = [n * b for n in self.numerators]
            numerators[0] += other.numerator * a
            return self.field.number(numerators, a * b)
        if not isinstance(other, RootSum):
            return NotImplemented
        b = self.field.same(other).denominator
        pairs = zip(self.numerators, other.numerators, strict=True)
        if a == b:
            return self.field.number([x + y for x, y in pairs], a)
        return self.field.number([x * b + y * a for x, y in pairs], a * b)

    def __neg__(self) -> RootSum:
        return RootSum(self.field, tuple([-n for n in self.numerators]), self.denominator)

    def __mul__(self, other: Number) -> Number:
        if isinstance(other, RATIONAL):
            scaled = [n * other.numerator for n in self.numerators]
            return self.field.number(scaled, self.denominator * other.denominator)
        if not isinstance(other, RootSum):
            return NotImplemented
        self.field.same(other)
        right = [(j, y) for j, y in enumerate(other.numerators) if y]
        product = [0] * (2 * len(self.numerators) - 1)
        for i, x in enumerate(self.numerators):
            if x:
                for j, y in right:
                    product[i + j] += x * y
        self.field.work.spend(len(right) * len(self.numerators))
        return self.field.number(self.field.reduce(enumerate(product)), self.denominator * other.denominator)

    def conjugate(self) -> Number:
        """The complex conjugate."""
        order = self.field.order
        turned = ((order - k if k else 0, n) for k, n in enumerate(self.numerators))
        return self.field.number(self.field.reduce(turned), self.denominator)

    def is_real(self) -> bool:
        """Whether the number is real."""
        if self._real is None:
            self._real = self == self.conjugate()
        return self._real

    def sign(self) -> int:
        """1 or -1 for a real number."""
        if not self.is_real():
            raise Undecided(f"{self} is not real and has no sign")
        bits = 64
        while bits <= MAX_SIGN_BITS:
            low, high = self._scaled_bounds(bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2
        raise Undecided(f"the sign of {self} does not show in {MAX_SIGN_BITS:,} bits")

    def real_bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Rational bounds of the real part, nearer with more bits."""
        low, high = self._scaled_bounds(bits)
        return Fraction(low, self.denominator << bits), Fraction(high, self.denominator << bits)

    def _scaled_bounds(self, bits: int) -> tuple[int, int]:
        """Bounds of the real part times its denominator, in units of 2**-bits.

        The real part is the sum of n_k cos(2πk/m) over the denominator; each cosine is known up to one unit.
        """
        cosines = self.field.cosines(bits)
        total = slack = 0
        for k, n in enumerate(self.numerators):
            if n:
                total += n * cosines[k]
                slack += abs(n)
        self.field.work.spend(len(self.numerators) * (1 + bits // 64))
        return total - slack, total + slack

    def real_part(self) -> Number:
        """The real part."""
        return self if self.is_real() else (self + self.conjugate()) * Fraction(1, 2)

    def imaginary_part(self) -> Number:
        """The imaginary part."""
        if self.is_real():
            return 0
        minus_i = self.field.root(-(self.field.order // 4))
        return (self - self.conjugate()) * minus_i * Fraction(1, 2)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RootSum)
            and self.field is other.field
            and self.denominator == other.denominator
            and self.numerators == other.numerators
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.numerators, self.denominator))
        return self._hash

    def __repr__(self) -> str:
        terms = [
            f"{Fraction(n, self.denominator)}*e({k}/{self.field.order})"
            for k, n in enumerate(self.numerators)
            if n
        ]
        return "+".join(terms)[:80]


class Field(NumberReader):
    """The field of m-th roots of unity, in the basis 1, ζ, …, ζ^(d-1) modulo the polynomial Φ_m of degree d.

    Attributes:
        order: m.
        degree: d.
        work: counts the operations.
    """

    def __init__(self, order: int, work: WorkCount) -> None:
        super().__init__(work, order)
        polynomial = cyclotomic_polynomial(order)
        self.degree = len(polynomial) - 1
        self._low = [(j, c) for j, c in enumerate(polynomial[:-1]) if c]
        self._powers: dict[int, list[tuple[int, int]]] = {}
        self._cosines: dict[int, tuple[int, ...]] = {}

    @classmethod
    def around(cls, texts: Iterable[str], work: WorkCount) -> Field:
        """Returns the smallest field that holds i and every number that is written in some texts.

        Raises:
            Unreadable: if it is too large.
        """
        order = 4
        for text in texts:
            for match in _ROOT.finditer(text[: MAX_TEXT + 1]):
                m = int(match.group(1))
                if not 1 <= m <= MAX_ORDER:
                    raise Unreadable(f"roots of unity of order {m:,} are outside 1…{MAX_ORDER:,}")
                order = math.lcm(order, m)
                if order > MAX_ORDER:
                    raise Unreadable(
                        f"the numbers need roots of unity of order {order:,}, above {MAX_ORDER:,}"
                    )
        return cls(order, work)

    def same(self, other: RootSum) -> RootSum:
        """Returns a number that must be of this field."""
        if other.field is not self:
            raise ArithmeticError("numbers of two fields are mixed")
        return other

    def root(self, k: int) -> Number:
        """Returns exp(2πi k/m)."""
        return self.number(self.reduce([(k % self.order, 1)]), 1)

    def number(self, numerators: list[int], denominator: int) -> Number:
        """Returns the number with these entries, in lowest terms; an int or a Fraction where it is one."""
        self.work.spend(len(numerators))
        if not any(numerators[1:]):
            return ratio(numerators[0], denominator)
        divisor = math.gcd(denominator, *numerators) if denominator > 1 else 1
        if divisor > 1:
            numerators = [n // divisor for n in numerators]
        return RootSum(self, tuple(numerators), denominator // divisor)

    def reduce(self, terms: Iterable[tuple[int, int]]) -> list[int]:
        """Returns the entries of a sum of amount · ζ^k, from pairs (k, amount)."""
        rest = [0] * self.degree
        count = 0
        for k, amount in terms:
            if not amount:
                continue
            if k < self.degree:
                rest[k] += amount
                continue
            power = self._powers.get(k) or self._power(k)
            count += len(power)
            for j, c in power:
                rest[j] += amount * c
        self.work.spend(count)
        return rest

    def _power(self, k: int) -> list[tuple[int, int]]:
        """The entries of ζ^k that are not zero.

        From the top down, what is at the degree d or above is replaced by ζ^d = -(Φ_m without its top term).
        """
        power = {k: 1}
        for i in range(k, self.degree - 1, -1):
            top = power.pop(i, 0)
            if top:
                for j, c in self._low:
                    power[i - self.degree + j] = power.get(i - self.degree + j, 0) - top * c
                self.work.spend(len(self._low))
        self._powers[k] = [(j, c) for j, c in power.items() if c]
        return self._powers[k]

    def _sum_of(self, powers: dict[int, Fraction], what: str) -> Number:
        if powers.keys() <= {0}:
            return plain(powers.get(0, Fraction(0)))
        denominator = 1
        for amount in powers.values():
            denominator = math.lcm(denominator, amount.denominator)
            if denominator.bit_length() > 4 * MAX_BITS:
                raise Unreadable(f"{what} has a common denominator of too many digits")
        terms = ((k, a.numerator * (denominator // a.denominator)) for k, a in powers.items())
        return self.number(self.reduce(terms), denominator)

    def cosines(self, bits: int) -> tuple[int, ...]:
        """Returns cos(2πk/m) for all k below m in units of 2**-bits, each off by at most one unit.

        They are computed with more bits, so that the error before the last rounding is below half a unit.
        """
        if bits not in self._cosines:
            m, guard = self.order, 16 + bits.bit_length()
            turn, slack = _two_pi(bits + guard)
            half = []
            for k in range(m // 2 + 1):
                value, error = _cosine(turn * k // m, bits + guard, slack + 1)
                if error >= 1 << (guard - 1):
                    raise ArithmeticError("the guard bits of a cosine do not suffice")
                half.append((value + (1 << (guard - 1))) >> guard)
                self.work.spend(bits * (1 + bits // 256))
            self._cosines[bits] = tuple(half[min(k, m - k)] for k in range(m))
        return self._cosines[bits]

    def inverse(self, value: Number) -> Number:
        """Returns 1/value, for a number that is not zero.

        The product of all conjugates (under ζ -> ζ^j, j prime to m) is rational; so the product of all but
        the number itself, divided by it, is the inverse.
        """
        if not isinstance(value, RootSum):
            return super().inverse(value)
        others: Number = 1
        for j in range(2, self.order):
            if math.gcd(j, self.order) == 1:
                turned = [(j * k % self.order, n) for k, n in enumerate(value.numerators)]
                others = others * self.number(self.reduce(turned), value.denominator)
        norm = value * others
        if isinstance(norm, Irrational):
            raise ArithmeticError("the norm of a sum of roots of unity came out irrational")
        return others * (1 / Fraction(norm))


def cyclotomic_polynomial(m: int) -> tuple[int, ...]:
    """Returns the coefficients of Φ_m, constant term first: the product of (x^(m/d) - 1)^μ(d) over d | m."""
    polynomial, below = [1], []
    for d in range(1, m + 1):
        moebius = _moebius(d) if m % d == 0 else 0
        if moebius == 1:
            shifted = [0] * (m // d) + polynomial
            polynomial = [s - p for s, p in zip(shifted, polynomial + [0] * (m // d), strict=True)]
        elif moebius == -1:
            below.append(m // d)
    for n in below:
        # Division by x^n - 1, which leaves no rest: q[i] = q[i - n] - p[i].
        quotient: list[int] = []
        for i, c in enumerate(polynomial[: len(polynomial) - n]):
            quotient.append((quotient[i - n] if i >= n else 0) - c)
        polynomial = quotient
    return tuple(polynomial)


def _moebius(n: int) -> int:
    value = 1
    for p in range(2, n + 1):
        if n % p == 0:
            n //= p
            value = -value
            if n % p == 0:
                return 0
    return value


def _cosine(x: int, bits: int, slack: int) -> tuple[int, int]:
    """cos(x) for x from 0 to 3.2 in units of 2**-bits, with a bound of the error if x is off by the slack.

    Term n of the series is term n-2 times x²/(n(n-1)), x² < 10.25. Two shifts and a division round down,
    each by less than one unit; so with an error of e before, the error is below 10.25·e/(n(n-1)) + 8 after.
    From n = 8 on each term is below a quarter of the one before, so all terms that are left out are
    together below the last error. |cos'| ≤ 1, so the slack of x adds itself.
    """
    term = total = 1 << bits
    error, errors, n = 0, 0, 0
    while abs(term) > error or n < 8:
        n += 2
        term = -((((term * x) >> bits) * x >> bits) // (n * (n - 1)))
        error = 41 * error // (4 * n * (n - 1)) + 9
        total += term
        errors += error
    return total, errors + 2 * error + slack


def _two_pi(bits: int) -> tuple[int, int]:
    """2π in units of 2**-bits with a bound of its error: π = 16 atan(1/5) - 4 atan(1/239) (Machin).

    Each term of atan(1/x) = 1/x - 1/(3x³) + … is rounded down once, as repeated whole divisions round like
    one, and the first term that is zero bounds all that follow; so the error is at most the number of terms
    plus 1.
    """

    def arctan_of_inverse(x: int) -> tuple[int, int]:
        power = (1 << bits) // x
        total, n = 0, 0
        while power:
            total += (-1) ** n * (power // (2 * n + 1))
            power //= x * x
            n += 1
        return total, n + 1

    (a, a_error), (b, b_error) = arctan_of_inverse(5), arctan_of_inverse(239)
    return 32 * a - 8 * b, 32 * a_error + 8 * b_error
