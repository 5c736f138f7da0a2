"""Dyadic numbers, whose denominators are powers of two: the numbers that floats are made of."""

from __future__ import annotations

from fractions import Fraction

from nerode.core import Cyclotomic, Exact, imaginary_part, real_part
from nerode.proofs.certificate import FloatFormat


class NotDyadicError(Exception):
    """A number has an odd denominator or is irrational."""


def parts(value: Exact) -> tuple[Fraction, ...]:
    """The real and the imaginary part, which must be rational."""
    if not isinstance(value, Cyclotomic):
        return (Fraction(value),)
    real, imaginary = real_part(value), imaginary_part(value)
    if isinstance(real, Cyclotomic) or isinstance(imaginary, Cyclotomic):
        raise NotDyadicError
    return Fraction(real), Fraction(imaginary)


def size(value: Exact) -> Fraction | int:
    """The absolute value; for a complex number the sum of those of its two parts."""
    return abs(value) if type(value) is int else sum(map(abs, parts(value)), Fraction(0))


def is_unit(value: Exact) -> bool:
    """Whether the number is 1, -1, i or -i."""
    if not isinstance(value, Cyclotomic):
        return value in (1, -1)
    return value.order == 4 and size(value) == 1 and grid(value) == 0


def grid(value: Exact) -> int:
    """The least g with 2**g · value an integer."""
    if type(value) is int:
        return 0
    finest = 0
    for part in parts(value):
        if part.denominator & (part.denominator - 1):
            raise NotDyadicError
        finest = max(finest, part.denominator.bit_length() - 1)
    return finest


def holds(number: Fraction, form: FloatFormat) -> bool:
    """Whether a format holds the number exactly."""
    if number == 0:
        return True
    if number.denominator & (number.denominator - 1):
        return False
    numerator = abs(number.numerator)
    trailing = (numerator & -numerator).bit_length() - 1
    significant = numerator.bit_length() - trailing
    exponent = numerator.bit_length() - number.denominator.bit_length()
    return significant <= form.bits and form.smallest <= exponent <= form.largest


def in_units(size: Fraction | int, grid: int) -> int:
    """A size in units of 2**-grid, rounded up."""
    return size << grid if isinstance(size, int) else -int(-size * (1 << grid) // 1)
