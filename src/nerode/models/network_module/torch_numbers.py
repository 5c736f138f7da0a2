"""Steps of networks in torch: tensors whose last axis is the vector, one row for each word of a batch.

All functions take one position (batch, n) or a whole sequence (batch, time, n). What is converted becomes a
parameter of the module that the numbers belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nerode.core import Exact, InputError, to_float
from nerode.models.network_module.numbers import AffineMap, Converter, frozen
from nerode.network import Affine, Factor, Numbers, Row

_MOST_PLACES = 1 << 27
"""The largest number of places of all matrices of a layer together."""


class TorchNumbers(Numbers[Tensor]):
    """Tensors of one type.

    Args:
        owner: the module whose parameters the weights become.
        converter: makes tensors of exact numbers.
        place: what errors call the owner.
        is_complex: whether the numbers that are converted are complex.
    """

    def __init__(
        self, owner: nn.Module, converter: Converter, place: str, *, is_complex: bool = False
    ) -> None:
        self._owner, self._converter, self._place = owner, converter, place
        self.is_complex = is_complex

    def map(self, affine: Affine, place: str) -> AffineMap:
        """Returns a map that is a part of the owner."""
        return self._part(place, affine.num_inputs, affine.rows, affine.bias, is_complex=self.is_complex)

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[AffineMap, Callable[[Any, Tensor], Tensor]]:
        """Returns the part that reads the inputs, and the part that reads the state."""
        self._require_real("nonlinear")
        first = affine.num_inputs - affine.num_outputs
        inputs = [tuple((j, c) for j, c in row if j < first) for row in affine.rows]
        states = [tuple((j - first, c) for j, c in row if j >= first) for row in affine.rows]
        where = self._place if number is None else f"{self._place}, {place}"
        read = AffineMap(first, inputs, affine.bias, self._converter, place=where)
        recurrent = AffineMap(affine.num_outputs, states, None, self._converter, place=f"{where}, recurrent")
        if number is None:
            self._owner.read, self._owner.recurrent = read, recurrent
        else:
            for name, part in (("reads", read), ("recurrents", recurrent)):
                if number == 0:
                    self._owner.add_module(name, nn.ModuleList())
                getattr(self._owner, name).append(part)
        return read, partial(_complete, recurrent)

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[Tensor, Tensor], Tensor]:
        """Returns (h, b) ↦ A h + b; a diagonal matrix is a vector of gates."""
        if all(j == i for i, row in enumerate(rows) for j, _ in row):
            gates = [row[0][1] if row else 0 for row in rows]
            return partial(_scale, self.table([gates], "diagonal", place))
        if self.is_complex:
            where = f"{self._place}, {place}"
            raise InputError(f"{where}: a fixed complex matrix that is not diagonal is not supported")
        return partial(_multiply, self._part(place, len(rows), rows, None))

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> WeightTable:
        """Returns the rows of a table by number."""
        return self.table(table, place)

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> ChosenMatrices:
        """Returns (choice, h, b) ↦ A(choice) h + b with dense matrices."""
        width = len(matrices[0])
        if len(matrices) * width * width > _MOST_PLACES:
            raise InputError(
                f"{self._place}: {len(matrices)} matrices of {width}x{width} are too large; use "
                f"{_MOST_PLACES:,} places"
            )
        full = []
        for row in (row for matrix in matrices for row in matrix):
            values: list[Exact] = [0] * width
            for j, value in row:
                values[j] = value
            full.append(values)
        return _ChosenMatrix(self.table(full, "matrices"))

    def by_factors(self, factors: Sequence[Sequence[Factor]], width: int) -> ChosenMatrices:
        """Returns (choice, h, b) ↦ A(choice) h + b, one factor after the other."""
        self._require_real("householder")
        most = max(1, *(len(product) for product in factors))
        scales: list[list[Exact]] = []
        vectors: list[Sequence[Exact]] = []
        for product in factors:
            missing = most - len(product)
            scales.append([*(factor.scale for factor in product), *[0] * missing])
            vectors.extend([*(factor.vector for factor in product), *[(0,) * width] * missing])
        kept = self._converter.matrix(scales, most, f"{self._place}, factors")
        self._owner.scales = frozen(kept)
        stacked = self._converter.matrix(vectors, width, f"{self._place}, vectors")
        self._owner.vectors = frozen(stacked.view(-1, most, width))
        return _ChosenFactors(self._owner)

    def by_columns(
        self, images: Sequence[Sequence[int]], diagonals: Sequence[Sequence[Exact]]
    ) -> ChosenMatrices:
        """Returns (choice, h, b) ↦ P D h + b."""
        self._owner.register_buffer("images", torch.tensor(images, dtype=torch.int64))
        return _ChosenColumns(self._owner, self.table(diagonals, "diagonals"))

    def selector(self, affine: Affine) -> Callable[[Tensor], Tensor]:
        """Returns the number of the largest row."""
        return partial(_largest, self._part("selector", affine.num_inputs, affine.rows, affine.bias))

    def one_hot(self, values: Tensor) -> Tensor:
        """Returns the number of the largest entry."""
        return values.argmax(-1)

    def picks(self, places: Sequence[int], place: str) -> Callable[[Tensor], Tensor]:
        """Returns the map that picks some entries."""
        self._owner.register_buffer(place, torch.tensor(places, dtype=torch.int64), persistent=False)
        return partial(_pick, self._owner, place)

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Returns vectors one after the other."""
        return torch.cat(list(parts), dim=-1)

    def split(self, values: Tensor, count: int) -> list[Tensor]:
        """Returns a vector in parts of equal length."""
        return list(values.chunk(count, dim=-1))

    def parts(self, values: Tensor) -> list[Tensor]:
        """Returns the real and the imaginary parts."""
        return [values.real, values.imag]

    def apply(self, function: str, values: Tensor) -> Tensor:
        """Returns the images under a function."""
        return _FUNCTIONS[function](values)

    def times(self, left: Tensor, right: Tensor) -> Tensor:
        """Returns products."""
        return left * right

    def gated(self, gate: Tensor, values: Tensor, added: Tensor) -> Tensor:
        """Returns gate · value + added."""
        return gate * values + added

    def over(self, left: Tensor, right: Tensor) -> Tensor:
        """Returns quotients."""
        return left / right

    def mix(self, share: Tensor, old: Tensor, new: Tensor) -> Tensor:
        """Returns (1 - share) · old + share · new."""
        return (1 - share) * old + share * new

    def capped(self, share: Tensor, cap: Exact) -> Tensor:
        """Returns 1 - cap · (1 - share)."""
        return 1 - to_float(cap) * (1 - share)

    def table(self, rows: Sequence[Sequence[Exact]], name: str, place: str = "") -> WeightTable:
        """Makes rows of numbers a parameter (rows, n) of the owner, or (rows, n, 2) for complex ones."""
        where = f"{self._place}, {place or name}" if self._place else name
        width = len(rows[0])
        if self.is_complex:
            parts = [self._converter.parts(row) for row in rows]
            tensor = self._converter.matrix(parts, 2 * width, where).view(-1, width, 2)
        else:
            tensor = self._converter.matrix(rows, width, where)
        self._owner.register_parameter(name, frozen(tensor))
        return WeightTable(self._owner, name, is_complex=self.is_complex)

    def _part(
        self,
        name: str,
        inputs: int,
        rows: Sequence[Row],
        bias: Sequence[Exact] | None,
        *,
        is_complex: bool = False,
    ) -> AffineMap:
        where = f"{self._place}, {name.replace('_', ' ')}"
        part = AffineMap(inputs, rows, bias, self._converter, place=where, is_complex=is_complex)
        self._owner.add_module(name, part)
        return part

    def _require_real(self, kind: str) -> None:
        if self.is_complex:
            raise InputError(f"{self._place}: a {kind} recurrence has no complex form")


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "clip": lambda values: values.clamp(0, 1),
}


class WeightTable:
    """Rows of numbers that a module holds; its parameter is looked up at each use, as it may be replaced."""

    def __init__(self, owner: nn.Module, name: str, *, is_complex: bool) -> None:
        self._owner, self._name, self._is_complex = owner, name, is_complex

    def __call__(self, choice: Tensor) -> Tensor:
        """Returns the rows of some choices."""
        return self.values[choice]

    @property
    def values(self) -> Tensor:
        """All rows, complex ones as such."""
        found: Tensor = getattr(self._owner, self._name)
        return torch.view_as_complex(found) if self._is_complex else found


class ChosenMatrices(Protocol):
    """The product with a matrix by choice."""

    def __call__(self, choice: Tensor, state: Tensor, added: Tensor) -> Tensor:
        """Returns A(choice) h + b."""

    def matrices(self, width: int) -> Tensor:
        """Returns all matrices (choices, n, n)."""


class _ChosenMatrix:
    def __init__(self, matrices: WeightTable) -> None:
        self._matrices = matrices

    def __call__(self, choice: Tensor, state: Tensor, added: Tensor) -> Tensor:
        matrices = self.matrices(state.shape[-1])
        # Not a product of matrices: its bits differ between one word and a batch from a width of 20 on.
        return (matrices[choice] * state[..., None, :]).sum(-1) + added

    def matrices(self, width: int) -> Tensor:
        """Returns the matrices (choices, n, n)."""
        return self._matrices.values.view(-1, width, width)


class _ChosenFactors:
    def __init__(self, owner: nn.Module) -> None:
        self._owner = owner

    def __call__(self, choice: Tensor, state: Tensor, added: Tensor) -> Tensor:
        scales, vectors = self._owner.scales[choice], self._owner.vectors[choice]  # type: ignore[index]
        for i in range(scales.shape[-1]):
            vector = vectors[..., i, :]
            amount = scales[..., i, None] * (vector * state).sum(-1, keepdim=True)
            state = state - amount * vector
        return state + added

    def matrices(self, width: int) -> Tensor:
        """Returns the products of the factors (choices, n, n)."""
        scales: Tensor = self._owner.scales  # type: ignore[assignment]
        axes = torch.eye(width, dtype=scales.dtype, device=scales.device)
        choices = [torch.full((width,), i, device=scales.device) for i in range(len(scales))]
        return torch.stack([self(choice, axes, torch.zeros_like(axes)).T for choice in choices])


class _ChosenColumns:
    def __init__(self, owner: nn.Module, diagonals: WeightTable) -> None:
        self._owner, self._diagonals = owner, diagonals

    def __call__(self, choice: Tensor, state: Tensor, added: Tensor) -> Tensor:
        images: Tensor = self._owner.images[choice]  # type: ignore[index]
        return torch.zeros_like(state).scatter_add(-1, images, self._diagonals(choice) * state) + added

    def matrices(self, width: int) -> Tensor:
        """Returns the matrices (choices, n, n)."""
        images: Tensor = self._owner.images  # type: ignore[assignment]
        diagonals = self._diagonals.values
        empty = diagonals.new_zeros(len(diagonals), width, width)
        return empty.scatter(1, images[:, None], diagonals[:, None])


# Parts of modules are bound by `partial` and not by closures: a copy of the module then has parts of its own.


def _complete(recurrent: AffineMap, read: Tensor, state: Tensor) -> Tensor:
    return torch.add(read, recurrent(state))


def _scale(gates: WeightTable, state: Tensor, added: Tensor) -> Tensor:
    return gates.values[0] * state + added


def _multiply(matrix: AffineMap, state: Tensor, added: Tensor) -> Tensor:
    return torch.add(matrix(state), added)


def _largest(rows: AffineMap, seen: Tensor) -> Tensor:
    chosen: Tensor = rows(seen).argmax(-1)
    return chosen


def _pick(owner: nn.Module, name: str, values: Tensor) -> Tensor:
    places: Tensor = getattr(owner, name)
    return values[..., places]
