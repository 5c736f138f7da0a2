"""Numbers and matrices as float formats see them: sizes, what a format holds, which products are exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.core import Cyclotomic, Exact
from nerode.proofs.certificate import FloatFormat
from nerode.proofs.checker_forms import Rational, grid_of
from nerode.proofs.checker_records import ByLetter, Matrix

_MAX_POWERS = 64
"""Powers of a matrix that are multiplied out to see whether they repeat or vanish."""


def size(value: Exact) -> Rational:
    """The absolute value; for a complex number the sum of those of its two parts."""
    if isinstance(value, Cyclotomic):
        return sum((abs(c) for c in value.coefficients), Fraction(0))
    return value if value >= 0 else -value


def is_unit(value: Exact) -> bool:
    """Whether the number is 1, -1, i or -i."""
    return grid_of(value) == 0 and size(value) == 1


def moves_coordinates(moves: ByLetter, start: Sequence[Exact]) -> bool:
    """Whether every matrix (every factor of it) has at most one entry a column, of absolute value 1."""
    matrices: list[Matrix] = list(moves.matrices)
    width = len(start)
    for letter in moves.factors or ():
        for scale, vector in letter:
            entries = [(i, v) for i, v in enumerate(vector) if v != 0]
            columns: dict[int, dict[int, Exact]] = {j: {j: 1} for j in range(width)}
            for i, v in entries:
                for j, w in entries:
                    columns[j][i] = columns[j].get(i, 0) - scale * v * w
            matrices.append(
                tuple(
                    tuple((j, columns[j][i]) for j in columns if columns[j].get(i, 0) != 0)
                    for i in range(width)
                )
            )
    for matrix in matrices:
        used = [j for row in matrix for j, c in row]
        if len(set(used)) != len(used) or not all(is_unit(c) for row in matrix for _, c in row):
            return False
    return True


def bounded_powers(matrix: Matrix) -> tuple[Fraction, int] | None:
    """The largest sum of absolute values in a row of a power, and the finest grid; None if powers go on."""
    seen: list[Matrix] = []
    power: Matrix = tuple(((i, 1),) for i in range(len(matrix)))
    largest = Fraction(1)
    finest = 0
    while power not in seen:
        if len(seen) > _MAX_POWERS:
            return None
        seen.append(power)
        product = []
        for row in matrix:
            entries: dict[int, Exact] = {}
            for j, c in row:
                for k, d in power[j]:
                    entries[k] = entries.get(k, 0) + c * d
            product.append(tuple((k, v) for k, v in sorted(entries.items()) if v != 0))
        power = tuple(product)
        for row in power:
            grids = [grid_of(v) for _, v in row]
            if None in grids:
                return None
            finest = max(finest, *(g for g in grids if g is not None), 0)
            largest = max(largest, sum((Fraction(size(v)) for _, v in row), Fraction(0)))
        if not any(power):
            break
    return largest, finest


def weights_fit(numbers: Iterable[Exact], form: FloatFormat) -> bool:
    """Whether a format holds all the numbers exactly, real and imaginary parts alike."""
    return all(_fits(part, form) for number in numbers for part in _parts(number))


def _parts(number: Exact) -> tuple[Rational | None, ...]:
    if isinstance(number, Cyclotomic):
        return number.coefficients if number.order == 4 else (None,)
    return (number,)


def _fits(number: Rational | None, form: FloatFormat) -> bool:
    """Whether a format holds the number exactly."""
    if number is None:
        return False
    if number == 0:
        return True
    exact = Fraction(number)
    top, below = abs(exact.numerator), exact.denominator
    if below & (below - 1):
        return False
    low = (top & -top).bit_length() - below.bit_length()
    high = top.bit_length() - below.bit_length()
    return high - low < form.bits and form.smallest <= high <= form.largest
