"""Sparse affine maps with exact entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nerode.core import Exact, InputError

Row = tuple[tuple[int, Exact], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """y_i = bias_i + sum of coefficient · x_j over the entries (j, coefficient) of row i.

    Attributes:
        num_inputs: dimension of x.
        bias: one number for each row.
        rows: the non-zero coefficients, columns increasing.
    """

    num_inputs: int
    bias: tuple[Exact, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if len(self.bias) != len(self.rows):
            raise InputError(f"an affine map has {len(self.bias)} biases but {len(self.rows)} rows")
        for row in self.rows:
            last = -1
            for column, coefficient in row:
                if not last < column < self.num_inputs:
                    raise InputError(
                        f"an affine map of {self.num_inputs} inputs has columns {[c for c, _ in row]}; they "
                        "must increase and stay below that number"
                    )
                if coefficient == 0:
                    raise InputError("an affine map stores a zero coefficient; leave it out")
                last = column

    @property
    def num_outputs(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def num_entries(self) -> int:
        """Number of stored coefficients and non-zero biases."""
        return sum(map(len, self.rows)) + sum(1 for b in self.bias if b != 0)

    def __call__(self, x: Sequence[Exact]) -> list[Exact]:
        """Returns the image of a vector."""
        values: list[Exact] = []
        for total, row in zip(self.bias, self.rows, strict=True):
            for column, coefficient in row:
                value = x[column]
                if value != 0:
                    total = total + (value if coefficient == 1 else coefficient * value)
            values.append(total)
        return values


def zero_map(num_inputs: int, num_outputs: int = 0) -> Affine:
    """Returns the map that is zero everywhere."""
    return Affine(num_inputs=num_inputs, bias=(0,) * num_outputs, rows=((),) * num_outputs)


def constant_map(num_inputs: int, values: Sequence[Exact]) -> Affine:
    """Returns the map that reads nothing and has these values."""
    return Affine(num_inputs=num_inputs, bias=tuple(values), rows=((),) * len(values))


class AffineBuilder:
    """Collects the rows of an affine map by the names of its inputs and outputs."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.inputs = tuple(inputs)
        self._column = {name: i for i, name in enumerate(self.inputs)}
        if len(self._column) != len(self.inputs):
            raise InputError("two inputs of an affine map have the same name")
        self.outputs: list[str] = []
        self._bias: list[Exact] = []
        self._rows: list[dict[int, Exact]] = []
        self._index: dict[str, int] = {}

    def row(self, output: str, terms: Mapping[str, Exact] | None = None, bias: Exact = 0) -> None:
        """Adds a row; a second row of the same name is added to the first."""
        if output not in self._index:
            self._index[output] = len(self.outputs)
            self.outputs.append(output)
            self._bias.append(0)
            self._rows.append({})
        i = self._index[output]
        self._bias[i] = self._bias[i] + bias
        row = self._rows[i]
        for name, coefficient in (terms or {}).items():
            if name not in self._column:
                raise InputError(f"no input of this map is called {name!r}")
            column = self._column[name]
            row[column] = row.get(column, 0) + coefficient

    def build(self) -> Affine:
        """Returns the map with its rows in the order in which they were first named."""
        rows = tuple(tuple((c, v) for c, v in sorted(row.items()) if v != 0) for row in self._rows)
        return Affine(num_inputs=len(self.inputs), bias=tuple(self._bias), rows=rows)
