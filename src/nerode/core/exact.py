"""Exact numbers: integers, fractions, and sums of roots of unity; and the float formats they are rounded to.

A number that is rational is always an `int` or a `Fraction`; everything else is a `Cyclotomic`, an element
of a cyclotomic field. Square roots of 2, 3 and 5, and the entries of rotation matrices by rational angles,
are among them. The written form is a sum of terms such as `-3/4`, `e(7/60)` or `1/2*e(1/8)`, where `e(k/m)`
is the root of unity exp(2πi k/m).

`DTYPES` has the binary floating-point formats that verdicts, networks and certificates speak of.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from nerode.core.budget import charge
from nerode.core.errors import InputError
from nerode.core.roots_of_unity import cosine_bounds, float_roots, prime_factors, reduce_modulo

_TERM = re.compile(r"([+-]?)(?:(\d+(?:/\d+)?)(?:\*(e)\((\d+)/(\d+)\))?|(e)\((\d+)/(\d+)\))")
_MOST_DIGITS = 4_300
"""Python reads and writes no longer whole numbers."""

_LONG = 100
"""Terms of a factor from which on a product charges the budget in its middle."""

_SMALL = 1e-280
"""Below this a product of floats may lose digits."""

MAX_ORDER = 5_000
"""Largest m for which arithmetic with e(1/m) is offered."""


class Cyclotomic:
    """An irrational element of the field of m-th roots of unity, in the power basis modulo Φ_m.

    Made by `root_of_unity` and by arithmetic, which returns plain rationals where the result is one. The
    coefficients are whole numbers over one common denominator, in lowest terms: whole numbers are many
    times faster than fractions.
    """

    __slots__ = ("denominator", "numerators", "order")

    def __init__(self, order: int, numerators: tuple[int, ...], denominator: int) -> None:
        self.order = order
        self.numerators = numerators
        self.denominator = denominator

    @property
    def coefficients(self) -> tuple[Fraction, ...]:
        """The coefficients of 1, ζ, ζ² and so on, ζ = exp(2πi/m)."""
        return tuple(Fraction(n, self.denominator) for n in self.numerators)

    def __add__(self, other: Exact) -> Exact:
        m, left, a, right, b = _common(self, other)
        if a == b:
            return _normal(m, [x + y for x, y in zip(left, right, strict=True)], a)
        return _normal(m, [x * b + y * a for x, y in zip(left, right, strict=True)], a * b)

    __radd__ = __add__

    def __neg__(self) -> Cyclotomic:
        return Cyclotomic(self.order, tuple([-n for n in self.numerators]), self.denominator)

    def __sub__(self, other: Exact) -> Exact:
        return self + (-other)

    def __rsub__(self, other: Exact) -> Exact:
        return (-self) + other

    def __mul__(self, other: Exact) -> Exact:
        if isinstance(other, int | Fraction):
            scaled = [n * other.numerator for n in self.numerators]
            return _normal(self.order, scaled, self.denominator * other.denominator)
        m, left, a, right, b = _common(self, other)
        product = [0] * (len(left) + len(right) - 1)
        sparse = [(j, y) for j, y in enumerate(right) if y]
        long = len(sparse) > _LONG
        for i, x in enumerate(left):
            if long:
                charge()
            if x:
                for j, y in sparse:
                    product[i + j] += x * y
        charge()
        return _normal(m, reduce_modulo(product, m), a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Exact) -> Exact:
        return self * inverse(other)

    def __rtruediv__(self, other: Exact) -> Exact:
        return other * inverse(self)

    def conjugate(self) -> Exact:
        """The complex conjugate."""
        turned = [0] * self.order
        for k, n in enumerate(self.numerators):
            turned[-k] = n
        return _normal(self.order, reduce_modulo(turned, self.order), self.denominator)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Cyclotomic):
            _, left, a, right, b = _common(self, other)
            return a == b and left == right
        return False

    def __hash__(self) -> int:
        # Equal numbers may be written in different fields, so only a value that all of them share is used.
        try:
            value = complex(self)
        except OverflowError:
            return 0
        return hash((round(value.real, 6), round(value.imag, 6)))

    def __complex__(self) -> complex:
        roots = float_roots(self.order)
        try:
            found = sum([n * roots[k] for k, n in enumerate(self.numerators) if n], 0j) / self.denominator
            if cmath.isfinite(found):
                return found
        except OverflowError:
            pass
        # Numerators beyond the largest float; if the quotients are so too, this raises OverflowError.
        found = sum([float(c) * roots[k] for k, c in enumerate(self.coefficients) if c], 0j)
        if not cmath.isfinite(found):
            raise OverflowError("the number is beyond the largest float")
        return found

    def __lt__(self, other: Exact) -> bool:
        return sign(self - other) < 0

    def __gt__(self, other: Exact) -> bool:
        return sign(self - other) > 0

    def __le__(self, other: Exact) -> bool:
        return sign(self - other) <= 0

    def __ge__(self, other: Exact) -> bool:
        return sign(self - other) >= 0

    def __repr__(self) -> str:
        return write_exact(self)


Exact = int | Fraction | Cyclotomic


def root_of_unity(k: int, m: int) -> Exact:
    """Returns exp(2πi k/m)."""
    if not 1 <= m <= MAX_ORDER:
        raise InputError(f"roots of unity of order {m} are outside 1…{MAX_ORDER}")
    k %= m
    divisor = math.gcd(k, m)
    k, m = k // divisor, m // divisor
    if m == 1:
        return 1
    if m == 2:
        return -1
    power = [0] * (k + 1)
    power[k] = 1
    return _normal(m, reduce_modulo(power, m), 1)


def cosine(k: int, m: int) -> Exact:
    """Returns cos(2π k/m)."""
    return simplify((root_of_unity(k, m) + root_of_unity(-k, m)) * Fraction(1, 2))


def sine(k: int, m: int) -> Exact:
    """Returns sin(2π k/m)."""
    return simplify((root_of_unity(k, m) - root_of_unity(-k, m)) * root_of_unity(-1, 4) * Fraction(1, 2))


def square_root(n: int) -> Exact:
    """Returns the square root of a non-negative integer as a sum of roots of unity (Gauss sums)."""
    if n < 0:
        raise InputError(f"the square root of {n} is not real")
    whole, rest = 1, n
    for p in range(2, math.isqrt(n) + 1):
        while rest and rest % (p * p) == 0:
            rest //= p * p
            whole *= p
    if n == 0:
        return 0
    result: Exact = whole
    for p in prime_factors(rest):
        result = result * _prime_root(p)
    return result


def _prime_root(p: int) -> Exact:
    if p == 2:
        return root_of_unity(1, 8) + root_of_unity(-1, 8)
    gauss: Exact = 0
    for k in range(p):
        gauss = gauss + root_of_unity(k * k, p)
    return gauss if p % 4 == 1 else gauss * root_of_unity(-1, 4)


def inverse(value: Exact) -> Exact:
    """Returns 1/value."""
    if isinstance(value, int | Fraction):
        return simplify(1 / Fraction(value))
    # The norm of a field element is the product of its conjugates under ζ -> ζ^j, a rational number.
    m = value.order
    others: Exact = 1
    for j in range(2, m):
        if math.gcd(j, m) == 1:
            conjugate: Exact = 0
            for k, c in enumerate(value.coefficients):
                if c:
                    charge()
                    conjugate = conjugate + c * root_of_unity(j * k, m)
            others = others * conjugate
    norm = value * others
    if not isinstance(norm, int | Fraction):
        raise ArithmeticError("the norm of a cyclotomic number is irrational")
    return others * (1 / Fraction(norm))


def sign(value: Exact) -> int:
    """Returns -1, 0 or 1 for a real number.

    An irrational number is never zero, so its sign shows once enough digits are computed.
    """
    if isinstance(value, int | Fraction):
        return (value > 0) - (value < 0)
    if not is_real(value):
        raise InputError(f"{value} is not real and has no sign")
    try:
        approximate = complex(value).real
        size = sum(abs(float(c)) for c in value.coefficients)
    except OverflowError:
        # Too large for floats; digits tell.
        approximate, size = 0.0, 1.0
    # Each term, and each partial sum, is off by a few units in the last place of the sum of all sizes; among
    # the smallest floats that is no longer true.
    if size > _SMALL and abs(approximate) > (len(value.numerators) + 8) * 2.0**-50 * size:
        return 1 if approximate > 0 else -1
    digits = 50
    while True:
        low, high = _real_bounds(value, digits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        digits *= 2


def real_part(value: Exact) -> Exact:
    """Returns the real part."""
    if isinstance(value, int | Fraction):
        return value
    return (value + value.conjugate()) * Fraction(1, 2)


def imaginary_part(value: Exact) -> Exact:
    """Returns the imaginary part."""
    if isinstance(value, int | Fraction):
        return 0
    return (value - value.conjugate()) * root_of_unity(-1, 4) * Fraction(1, 2)


def simplify(value: Exact) -> Exact:
    """Returns the same number as an int where it is one."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def is_rational(value: Exact) -> bool:
    """Whether the number is rational."""
    return isinstance(value, int | Fraction)


def is_real(value: Exact) -> bool:
    """Whether the number is real."""
    return isinstance(value, int | Fraction) or value == value.conjugate()


def to_float(value: Exact) -> float:
    """Returns the nearest float of a real number, up to the rounding of a short sum."""
    if isinstance(value, int | Fraction):
        return float(value)
    number = complex(value)
    if abs(number.imag) > 1e-9 and not is_real(value):
        raise InputError(f"{value} is not real")
    return number.real


def to_complex(value: Exact) -> complex:
    """Returns a complex float close to the number."""
    return complex(float(value)) if isinstance(value, int | Fraction) else complex(value)


def write_exact(value: Exact) -> str:
    """Returns the written form of a number; `read_exact` reads it back.

    Equal numbers have the same written form, in whatever field they were computed.
    """
    if isinstance(value, int | Fraction):
        return _written(value)
    value = _in_smallest_field(value)
    terms: list[str] = []
    for k, c in enumerate(value.coefficients):
        if not c:
            continue
        if k == 0:
            text = _written(c)
        else:
            size = "" if abs(c) == 1 else f"{_written(abs(c))}*"
            text = ("-" if c < 0 else "") + f"{size}e({k}/{value.order})"
        terms.append(text if not terms or text.startswith("-") else "+" + text)
    return "".join(terms) or "0"


def _written(value: int | Fraction) -> str:
    try:
        return str(simplify(Fraction(value)))
    except ValueError:
        raise InputError(
            f"a number of more than {_MOST_DIGITS:,} digits cannot be written; use smaller numbers"
        ) from None


def read_exact(text: str | int) -> Exact:
    """Returns the number of a written form."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if not isinstance(text, str) or not text or len(text) > 20_000:
        raise InputError(f"{str(text)[:40]!r} is not an exact number; write -3/4, e(7/60) or 1/2*e(1/8)-1")
    if len(text) > _MOST_DIGITS and any(len(d) > _MOST_DIGITS for d in re.findall(r"\d+", text)):
        raise InputError(f"{text[:40]!r}… has a number of more than {_MOST_DIGITS:,} digits")
    terms: dict[int, dict[int, Fraction]] = {}
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position or (position > 0 and not match.group(1)):
            raise InputError(f"{text[:40]!r} is not an exact number; write -3/4, e(7/60) or 1/2*e(1/8)-1")
        sign, amount, with_root, k1, m1, alone, k2, m2 = match.groups()
        numerator, _, denominator = (amount or "1").partition("/")
        if denominator and int(denominator) == 0:
            raise InputError(f"{text[:40]!r} divides by zero")
        amount_of_term = Fraction(int(numerator), int(denominator or 1))
        k, m = (int(k1 or k2), int(m1 or m2)) if with_root or alone else (0, 1)
        if not 1 <= m <= MAX_ORDER:
            raise InputError(f"roots of unity of order {m} are outside 1…{MAX_ORDER}")
        divisor = math.gcd(k, m)
        same_order = terms.setdefault(m // divisor, {})
        power = k // divisor % (m // divisor)
        same_order[power] = same_order.get(power, Fraction(0)) + (
            -amount_of_term if sign == "-" else amount_of_term
        )
        position = match.end()
    return simplify(exact_sum(_sum_of_powers(m, powers) for m, powers in terms.items()))


def _sum_of_powers(m: int, powers: dict[int, Fraction]) -> Exact:
    """Returns the sum of multiples of e(k/m): one reduction for all of them."""
    denominator = math.lcm(*(c.denominator for c in powers.values()))
    spread = [0] * m
    for k, c in powers.items():
        spread[k] = c.numerator * (denominator // c.denominator)
    charge()
    return _normal(m, reduce_modulo(spread, m), denominator)


_DECIMAL = re.compile(r"\s*[+-]?(?=\.?\d)(\d*)(?:/(\d+)|(?:\.(\d*))?(?:[eE]([+-]?\d+))?)\s*", re.ASCII)


def read_fraction(text: str, *, name: str) -> Fraction:
    """Returns a number above 0 that a user gave as 1/1000, 0.001 or 1e-3.

    Digits and exponents are bounded before they are computed with.

    Args:
        text: what the user gave.
        name: of the option.
    """
    match = _DECIMAL.fullmatch(text)
    digits = 0 if match is None else max(len(part or "") for part in match.groups()[:3])
    exponent = 0 if match is None else _exponent(match.group(4))
    if digits > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise InputError(f"{name} is {text[:40]!r}; digits and exponents above {_MOST_DIGITS:,} are not read")
    try:
        value = Fraction(0) if match is None else Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value <= 0:
        raise InputError(f"{name} is {text[:40]!r}; give a number above 0, as 1/1000 or 1e-3")
    return value


def _exponent(text: str | None) -> int:
    """The exponent; one of very many digits is only large."""
    return 0 if not text else int(text) if len(text) <= 10 else 10**10


def exact_sum(values: Iterable[Exact]) -> Exact:
    """Returns the sum; an int 0 for none."""
    total: Exact = 0
    for value in values:
        total = total + value
    return total


def _common(left: Cyclotomic, right: Exact) -> tuple[int, list[int], int, list[int], int]:
    """Both numbers in one field: its order, then numerators and denominator of each."""
    if isinstance(right, int | Fraction):
        lifted = [right.numerator] + [0] * (len(left.numerators) - 1)
        return left.order, list(left.numerators), left.denominator, lifted, right.denominator
    m = left.order if left.order == right.order else math.lcm(left.order, right.order)
    if m > MAX_ORDER:
        raise InputError(f"this needs roots of unity of order {m}, above {MAX_ORDER}")
    return m, _lift(left, m), left.denominator, _lift(right, m), right.denominator


def _lift(value: Cyclotomic, m: int) -> list[int]:
    if value.order == m:
        return list(value.numerators)
    step = m // value.order
    spread = [0] * ((len(value.numerators) - 1) * step + 1)
    spread[::step] = value.numerators
    return reduce_modulo(spread, m)


def _in_smallest_field(value: Cyclotomic) -> Cyclotomic:
    """Returns the same number over the smallest order of roots of unity that has it."""
    for p in sorted(set(prime_factors(value.order))):
        while value.order % p == 0:
            smaller = _in_subfield(value, p)
            if smaller is None:
                break
            value = smaller
    return value


def _in_subfield(value: Cyclotomic, p: int) -> Cyclotomic | None:
    """Returns the number over roots of unity of order m/p, None if it is not there; p is a prime factor of m.

    Where p² divides m, the powers of ζ that p divides span the subfield. Otherwise a number of the subfield
    is its trace divided by p - 1, and ζ_m^k = ζ_p^u · ζ_{m/p}^w has the trace p - 1 (for u = 0) or -1 times
    ζ_{m/p}^w.
    """
    m = value.order
    rest = m // p
    if rest % p == 0:
        if any(n for k, n in enumerate(value.numerators) if k % p):
            return None
        found = _normal(rest, list(value.numerators[::p]), value.denominator)
    else:
        trace = [0] * rest
        for k, n in enumerate(value.numerators):
            w = k * pow(p, -1, rest) % rest if rest > 1 else 0
            trace[w] += n * (p - 1 if k % p == 0 else -1)
        found = _normal(rest, reduce_modulo(trace, rest), value.denominator * (p - 1))
    if not isinstance(found, Cyclotomic) or found != value:
        return None
    return found


def _normal(m: int, numerators: list[int], denominator: int) -> Exact:
    if not any(numerators[1:]):
        return simplify(Fraction(numerators[0], denominator))
    divisor = math.gcd(denominator, *numerators) if denominator > 1 else 1
    if divisor > 1:
        numerators = [n // divisor for n in numerators]
        denominator //= divisor
    return Cyclotomic(m, tuple(numerators), denominator)


def _real_bounds(value: Cyclotomic, digits: int) -> tuple[Fraction, Fraction]:
    """Returns rational bounds of the real part, about 10^-digits apart."""
    total, slack = Fraction(0), Fraction(0)
    for k, c in enumerate(value.coefficients):
        if c:
            charge()
            cos, error = cosine_bounds(Fraction(2 * k, value.order), digits)
            total += c * cos
            slack += abs(c) * error
    return total - slack, total + slack


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        bits: bits of the significand, the leading one included.
        smallest: exponent of the smallest normal number.
        largest: exponent of the largest power of two.
    """

    bits: int
    smallest: int
    largest: int


DTYPES: Mapping[str, FloatFormat] = {
    "float64": FloatFormat(bits=53, smallest=-1022, largest=1023),
    "float32": FloatFormat(bits=24, smallest=-126, largest=127),
    "bfloat16": FloatFormat(bits=8, smallest=-126, largest=127),
    "float16": FloatFormat(bits=11, smallest=-14, largest=15),
}
"""The formats by the name that torch and safetensors use, the widest first."""
