"""A sparse affine map as a module: entries by index, made dense where that is small."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nerode.core import Exact, imaginary_part, real_part
from nerode.models.compiled.numbers import Converter
from nerode.network import Affine, Row

_DENSE = 1 << 16
"""Up to so many places the map of a whole sequence is a dense product."""

_FULL = 8
"""Beyond that, it still is if one place in so many is taken."""


class AffineMap(nn.Module):
    """y_i = bias_i + Σ_j coefficient_ij x_j.

    One position (batch, inputs) is summed entry after entry, so that its bits do not depend on the batch.
    A sequence (batch, time, inputs) is one matrix product.

    Args:
        inputs: number of inputs.
        rows: the entries of each row.
        bias: one number a row; None for none.
        numbers: makes the tensors.
        place: what errors call the map.
        is_complex: whether coefficients are complex; the outputs then are, the inputs stay real.
    """

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
