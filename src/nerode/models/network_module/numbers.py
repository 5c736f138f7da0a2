"""Exact numbers and sparse affine maps as tensors: rounded to the nearest of the type, and never silently."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor, nn

from nerode.core import DTYPES, Exact, InputError, imaginary_part, real_part, to_float, write_exact
from nerode.models.kernels.arguments import dtype_name
from nerode.network import Affine, LogSum, Row


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


_DENSE = 1 << 16
"""Up to so many places the map of a whole sequence is a dense product."""

_FULL = 8
"""Beyond that, it still is if one place in so many is taken."""


class AffineMap(nn.Module):
    """y_i = bias_i + Σ_j coefficient_ij x_j.

    One position (batch, inputs) is summed entry after entry, so that its bits do not depend on the batch;
    with `as_product`, as for graphs, it is a matrix product. A sequence (batch, time, inputs) is one, too.

    Args:
        inputs: number of inputs.
        rows: the entries of each row.
        bias: one number per row; None for none.
        numbers: makes the tensors.
        place: what errors call the map.
        is_complex: whether coefficients are complex; the outputs then are, the inputs stay real.
    """

    as_product = False

    def __init__(
        self,
        inputs: int,
        rows: Sequence[Row],
        bias: Sequence[Exact] | None,
        numbers: Converter,
        *,
        place: str,
        is_complex: bool = False,
    ) -> None:
        super().__init__()
        if is_complex:
            rows = [part for row in rows for part in _parts(row)]
            bias = None if bias is None else numbers.parts(bias)
        self.inputs, self.rows, self.is_complex = inputs, len(rows), is_complex
        entries = [(i, j, c) for i, row in enumerate(rows) for j, c in row]
        places = torch.tensor([(i, j) for i, j, _ in entries], dtype=torch.int64).reshape(-1, 2).T
        self.register_buffer("places", places.contiguous())
        self.places: Tensor
        self.values = frozen(numbers.vector((c for _, _, c in entries), place))
        self.bias = None if bias is None else frozen(numbers.vector(bias, f"{place}, bias"))
        size = inputs * self.rows
        self.is_dense = size <= _DENSE or len(entries) * _FULL >= size

    @classmethod
    def of(cls, affine: Affine, numbers: Converter, *, place: str, is_complex: bool = False) -> AffineMap:
        """Returns the module of an exact map."""
        return cls(affine.num_inputs, affine.rows, affine.bias, numbers, place=place, is_complex=is_complex)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the image of one position (batch, inputs) or of a sequence (batch, time, inputs)."""
        y = self._one_position(x) if x.ndim == 2 else self._sequence(x)
        return torch.view_as_complex(y.reshape(*y.shape[:-1], -1, 2)) if self.is_complex else y

    def dense(self) -> Tensor:
        """Returns the matrix (rows, inputs)."""
        matrix = self.values.new_zeros(self.rows, self.inputs)
        return matrix.index_put((self.places[0], self.places[1]), self.values)

    def _one_position(self, x: Tensor) -> Tensor:
        if self.as_product:
            return nn.functional.linear(x, self.dense(), self.bias)
        y = x.new_zeros(len(x), self.rows) if self.bias is None else self.bias.expand(len(x), -1)
        products = x[:, self.places[1]] * self.values
        return y.scatter_add(1, self.places[0].expand(len(x), -1), products)

    def _sequence(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        if self.is_dense:
            weight = self.dense()
            y = flat @ weight.T if self.bias is None else torch.addmm(self.bias, flat, weight.T)
        else:
            weight = torch.sparse_coo_tensor(
                self.places,
                self.values,
                (self.rows, self.inputs),
                check_invariants=False,
                is_coalesced=True,
            )
            y = torch.sparse.mm(weight, flat.T.contiguous()).T
            y = y if self.bias is None else y + self.bias
        return y.reshape(*x.shape[:2], self.rows)


def frozen(tensor: Tensor) -> nn.Parameter:
    """Returns a parameter that is not trained unless somebody asks for it."""
    return nn.Parameter(tensor, requires_grad=False)


def _parts(row: Row) -> tuple[Row, Row]:
    real = tuple((j, real_part(c)) for j, c in row if real_part(c) != 0)
    imaginary = tuple((j, imaginary_part(c)) for j, c in row if imaginary_part(c) != 0)
    return real, imaginary
