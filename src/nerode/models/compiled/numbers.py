"""Exact numbers as tensors: rounded to the nearest of the type, and never silently."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from nerode.core import DTYPES, Exact, InputError, imaginary_part, real_part, to_float, write_exact
from nerode.models.kernels.arguments import dtype_name
from nerode.network import LogSum


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedWeight:
    """A weight that a type of floats cannot hold exactly.

    Attributes:
        place: where it stands in the network.
        exact: the number, as the network writes it.
        rounded: what the module has instead.
    """

    place: str
    exact: str
    rounded: float


class Converter:
    """Makes tensors of one type from exact numbers, and remembers what it had to round.

    Attributes:
        dtype: the type of all tensors.
        rounded: the weights that the type cannot hold, in the order in which they were met.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        if dtype_name(dtype) not in DTYPES:
            allowed = ", ".join(DTYPES)
            raise InputError(
                f"a compiled model cannot have the type {dtype_name(dtype)}; allowed are {allowed}"
            )
        self.dtype = dtype
        self.rounded: list[RoundedWeight] = []
        self._known: dict[Exact, tuple[float, bool]] = {}

    def vector(self, values: Iterable[Exact], place: str) -> Tensor:
        """Returns real numbers as a tensor (n)."""
        return self._tensor([self._convert(value, place) for value in values])

    def matrix(self, rows: Sequence[Sequence[Exact]], columns: int, place: str) -> Tensor:
        """Returns rows of real numbers as a tensor (rows, columns)."""
        return self.vector((e for row in rows for e in row), place).reshape(len(rows), columns)

    def logarithms(self, weights: Iterable[LogSum], place: str) -> Tensor:
        """Returns sums of logarithms as a tensor (n)."""
        return self._tensor([self._convert_logarithm(weight, place) for weight in weights])

    def parts(self, values: Iterable[Exact]) -> list[Exact]:
        """Returns the real and the imaginary part of each number, one after the other."""
        return [part for value in values for part in (real_part(value), imaginary_part(value))]

    def _tensor(self, numbers: list[float]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.float64).to(self.dtype)

    def _convert(self, value: Exact, place: str) -> float:
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._round(value, place)
        number, exact = known
        if not exact:
            self.rounded.append(RoundedWeight(place=place, exact=write_exact(value), rounded=number))
        return number

    def _round(self, value: Exact, place: str) -> tuple[float, bool]:
        try:
            if isinstance(value, int | Fraction):
                number = self._nearest_rational(Fraction(value))
            else:
                number = self._nearest(to_float(value))
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._too_large(write_exact(value), place)
        return number, isinstance(value, int | Fraction) and Fraction(number) == value

    def _convert_logarithm(self, weight: LogSum, place: str) -> float:
        total = math.fsum(float(scale) * _logarithm(ratio) for scale, ratio in weight)
        number = self._nearest(total)
        text = " + ".join(f"{scale}·ln({ratio})" for scale, ratio in weight)
        if not math.isfinite(number):
            raise self._too_large(text, place)
        if number != 0:
            self.rounded.append(RoundedWeight(place=place, exact=text, rounded=number))
        return number

    def _nearest_rational(self, value: Fraction) -> float:
        """The nearest number of the type, or the even one of two; float64 on the way would round twice."""
        form = torch.finfo(self.dtype)
        exponent = max(_exponent(value), _exponent(Fraction(form.tiny)))
        unit = Fraction(2) ** exponent * Fraction(form.eps)
        return self._nearest(float(round(value / unit) * unit))

    def _nearest(self, number: float) -> float:
        return float(torch.tensor(number, dtype=torch.float64).to(self.dtype))

    def _too_large(self, text: str, place: str) -> InputError:
        shown = text if len(text) <= 40 else f"{text[:37]}…"
        name = dtype_name(self.dtype)
        return InputError(
            f"{place}: the weight {shown} is beyond the largest {name}, {torch.finfo(self.dtype).max:.4g}; "
            "use a wider type"
        )


def _logarithm(ratio: Fraction) -> float:
    try:
        return math.log(ratio)
    except (OverflowError, ValueError):
        return math.log(ratio.numerator) - math.log(ratio.denominator)


def _exponent(value: Fraction) -> int:
    """The e with 2^e ≤ |value| < 2^(e + 1); that of 0 is below all others that matter."""
    if value == 0:
        return -10_000
    size = abs(value)
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if size >= Fraction(2) ** guess else guess - 1
