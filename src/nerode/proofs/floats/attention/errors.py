"""Numbers of a stream with bounds of their errors, and affine maps of them in a float format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(slots=True)
class Values:
    """Nominal values, a row for each case, and bounds of their errors; 1 as the last column.

    Errors of the stream may depend on each other: a soft head returns the greater part of what stands on the
    stream. So the stream is `mix` times a vector whose errors are bounded by `error`.
    """

    nominal: Array
    error: Array
    mix: Array | None = None


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding to a format; nominal values themselves are computed in float64.

    Attributes:
        bits: of a number.
        smallest: exponent of the smallest normal number; what is smaller may be lost.
        largest: exponent of the largest numbers.
    """

    bits: int
    smallest: int
    largest: int

    def room(self, terms: int) -> float:
        """Returns the size up to which so many products are summed up without overflow, in any order."""
        return float(2.0**self.largest * (2 - 2 * self.unit) * (1 + 2 * self.unit) ** -(terms + 1))

    @property
    def unit(self) -> float:
        """Half the distance of 1 to the next number."""
        return 2.0**-self.bits

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0**self.smallest

    @property
    def loose(self) -> float:
        """The same, with room for the float64 in which it is computed."""
        return self.unit * (1 + 2.0**-6) + 2.0**-53

    def apply(self, rows: Array, stream: Values) -> Values:
        """Returns an affine map of the stream; the last column of `rows` is the bias."""
        carried, rounding = self.errors(rows, stream)
        return Values(stream.nominal @ rows.T, carried + rounding)

    def errors(self, rows: Array, stream: Values) -> tuple[Array, Array]:
        """Returns the errors that a map carries on, and those of its own roundings.

        Whole numbers that are small enough for the format are added without any.
        """
        size, used = np.abs(rows), rows != 0
        carried = stream.error @ np.abs(rows if stream.mix is None else rows @ stream.mix).T
        spread = size if stream.mix is None else size @ np.abs(stream.mix)
        total = np.abs(stream.nominal) @ size.T + stream.error @ spread.T
        blurred = ((stream.error > 0) | (stream.nominal != np.rint(stream.nominal))).astype(np.float64)
        terms = (blurred + (stream.nominal != 0)).clip(max=1) @ used.T
        exact = (blurred @ used.T == 0) & self.is_exact(rows, total)
        return carried, np.where(exact, 0.0, (terms + 2) * (self.loose * total + self.tiny))

    def is_exact(self, rows: Array, total: Array) -> npt.NDArray[np.bool_]:
        """Returns whether whole multiples of the numbers in rows, of `total` size, are added exactly."""
        grid = _grid(rows)
        found: npt.NDArray[np.bool_] = (total <= grid * 2.0**self.bits) & (grid >= self.tiny)
        return found

    def add(self, stream: Values, parts: list[Values]) -> None:
        """Adds vectors to the stream; whole numbers are added exactly."""
        for part in parts:
            nominal = stream.nominal[:, :-1] + part.nominal
            error = stream.error[:, :-1] + part.error
            exact = (error == 0) & (nominal == np.rint(nominal)) & (np.abs(nominal) < 2.0**self.bits)
            touched = (part.nominal != 0) | (part.error > 0)
            rounding = np.where(exact | ~touched, 0.0, 2 * self.unit * (np.abs(nominal) + error))
            stream.nominal[:, :-1], stream.error[:, :-1] = nominal, error + rounding


def padded(nominal: Array, error: Array) -> Values:
    """Returns values with a column of ones."""
    rows = len(nominal)
    return Values(np.hstack([nominal, np.ones((rows, 1))]), np.hstack([error, np.zeros((rows, 1))]))


def _grid(rows: Array) -> Array:
    """For each row the largest power of two of which all its entries are multiples."""
    mantissa, exponent = np.frexp(rows)
    whole = np.rint(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = (
        np.where(whole != 0, np.log2((whole & -whole).clip(min=1).astype(np.float64)), 0.0) - 53 + exponent
    )
    found: Array = np.exp2(np.where(rows != 0, lowest, np.inf).min(axis=1, initial=500.0))
    return found
