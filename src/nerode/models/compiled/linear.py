"""The linear recurrences of compiled layers: diagonal, fixed matrix, and a matrix for each letter."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nerode.core import Exact, InputError, inverse
from nerode.models.compiled.affine_map import AffineMap, frozen
from nerode.models.compiled.choice_scan import WIDEST, choice_scan
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.recurrence import CompiledRecurrence, Drive, longest_path
from nerode.models.kernels.scan import diagonal_scan
from nerode.models.parts.dense import dense_states
from nerode.network import recurrences as exact

_LONGEST_WINDOW = 64
"""Up to so many rounds a fixed matrix without cycles is applied to all positions at once."""

_MOST_PLACES = 1 << 27
"""The largest number of places of all matrices of a layer together."""


class DiagonalRecurrence(CompiledRecurrence):
    """h = gate ∘ h + write."""

    def __init__(self, record: exact.Gated, numbers: Converter, *, place: str, is_complex: bool) -> None:
        super().__init__()
        self.gate = AffineMap.of(record.gate, numbers, place=f"{place}, gate", is_complex=is_complex)
        self.write = AffineMap.of(record.write, numbers, place=f"{place}, write", is_complex=is_complex)

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns the gate and the write."""
        return self.gate(seen), self.write(seen)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        gate, write = drive
        return gate * state + write

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        gate, write = drive
        return diagonal_scan(gate, write, start)[0]


class FixedMatrix(CompiledRecurrence):
    """h = A h + write with one fixed sparse matrix."""

    def __init__(self, record: exact.Fixed, numbers: Converter, *, place: str, is_complex: bool) -> None:
        super().__init__()
        self.write = AffineMap.of(record.write, numbers, place=f"{place}, write", is_complex=is_complex)
        rows = record.matrix
        self.is_diagonal = all(j == i for i, row in enumerate(rows) for j, _ in row)
        self.window = longest_path([[j for j, _ in row] for row in rows], limit=_LONGEST_WINDOW)
        where = f"{place}, matrix"
        if self.is_diagonal:
            self.diagonal = table([[row[0][1] if row else 0 for row in rows]], numbers, where, is_complex)
        elif is_complex:
            raise InputError(f"{where}: a fixed complex matrix that is not diagonal is not supported")
        else:
            self.matrix = AffineMap(len(rows), rows, None, numbers, place=where)
        self.is_complex = is_complex

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns the write."""
        return (self.write(seen),)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        moved = self._gate() * state if self.is_diagonal else self.matrix(state)
        return moved + drive[0]

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        if self.is_diagonal:
            return diagonal_scan(self._gate(), drive[0], start)[0]
        if self.window is not None:
            return self.settle(drive, start, self.window)
        if start.shape[1] <= WIDEST:
            return dense_states(self.matrix.dense(), drive[0], start)
        return super().scan(drive, start)

    def _gate(self) -> Tensor:
        return entries(self.diagonal, self.is_complex)[0]


class MatrixByLetter(CompiledRecurrence):
    """h = A(letter) h + b(letter)."""

    def __init__(
        self, record: exact.LetterMatrices, numbers: Converter, *, place: str, is_complex: bool
    ) -> None:
        super().__init__()
        letters, width = len(record.matrices), len(record.writes[0])
        if letters * width * width > _MOST_PLACES:
            raise InputError(
                f"{place}: {letters} matrices of {width}x{width} are too large; use {_MOST_PLACES:,} places"
            )
        rows = [_full(row, width) for matrix in record.matrices for row in matrix]
        self.matrices = table(rows, numbers, f"{place}, matrices", is_complex)
        self.writes = table(record.writes, numbers, f"{place}, writes", is_complex)
        self.is_complex = is_complex

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns the letters and the writes."""
        return letters, entries(self.writes, self.is_complex)[letters]

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        letters, write = drive
        # Not a product of matrices: its bits differ between one word and a batch from a width of 20 on.
        return (self._matrices(state)[letters] * state[..., None, :]).sum(-1) + write

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        if start.shape[1] > WIDEST:
            return super().scan(drive, start)
        return choice_scan(self._matrices(start), drive[0], drive[1], start)

    def _matrices(self, state: Tensor) -> Tensor:
        width = state.shape[-1]
        return entries(self.matrices, self.is_complex).view(-1, width, width)


class Reflections(CompiledRecurrence):
    """h = (product of the factors, first factor first) h + b, both by letter or by a selector."""

    def __init__(self, record: exact.Householder, numbers: Converter, *, place: str) -> None:
        super().__init__()
        width, most = len(record.writes[0]), max(1, record.most_factors)
        scales: list[list[Exact]] = []
        vectors: list[Sequence[Exact]] = []
        for factors in record.factors:
            missing = most - len(factors)
            scales.append([*(_scale(factor) for factor in factors), *[0] * missing])
            vectors.extend([*(factor.vector for factor in factors), *[(0,) * width] * missing])
        self.scales = frozen(numbers.matrix(scales, most, f"{place}, factors"))
        stacked = numbers.matrix(vectors, width, f"{place}, vectors")
        self.vectors = frozen(stacked.view(-1, most, width))
        self.writes = frozen(numbers.matrix(record.writes, width, f"{place}, writes"))
        selector = record.selector
        self.selector: AffineMap | None = None
        if selector is not None:
            self.selector = AffineMap.of(selector, numbers, place=f"{place}, selector")

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns the choice of factors and the writes."""
        choice = letters if self.selector is None else self.selector(seen).argmax(-1)
        return choice, self.writes[choice]

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        choice, write = drive
        scales, vectors = self.scales[choice], self.vectors[choice]
        for i in range(scales.shape[-1]):
            vector = vectors[..., i, :]
            amount = scales[..., i, None] * (vector * state).sum(-1, keepdim=True)
            state = state - amount * vector
        return state + write

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions, with the factors of each choice multiplied before."""
        width = start.shape[1]
        if width > WIDEST:
            return super().scan(drive, start)
        axes = torch.eye(width, dtype=start.dtype, device=start.device)
        images = []
        for choice in range(len(self.scales)):
            chosen = torch.full((width,), choice, device=start.device)
            images.append(self.advance((chosen, torch.zeros_like(axes)), axes).T)
        return choice_scan(torch.stack(images), drive[0], drive[1], start)


class Permutations(CompiledRecurrence):
    """h = P(letter) D(letter) h + b(letter)."""

    def __init__(
        self, record: exact.PermutationDiagonal, numbers: Converter, *, place: str, is_complex: bool
    ) -> None:
        super().__init__()
        self.register_buffer("images", torch.tensor(record.images, dtype=torch.int64))
        self.images: Tensor
        self.diagonals = table(record.diagonals, numbers, f"{place}, diagonals", is_complex)
        self.writes = table(record.writes, numbers, f"{place}, writes", is_complex)
        self.is_complex = is_complex

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns the letters and the writes."""
        return letters, entries(self.writes, self.is_complex)[letters]

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""
        letters, write = drive
        scaled = entries(self.diagonals, self.is_complex)[letters] * state
        return torch.zeros_like(state).scatter_add(-1, self.images[letters], scaled) + write

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions."""
        width = start.shape[1]
        if width > WIDEST:
            return super().scan(drive, start)
        diagonals = entries(self.diagonals, self.is_complex)
        matrices = diagonals.new_zeros(len(diagonals), width, width)
        return choice_scan(
            matrices.scatter(1, self.images[:, None], diagonals[:, None]), drive[0], drive[1], start
        )


def table(
    rows: Sequence[Sequence[Exact]], numbers: Converter, place: str, is_complex: bool
) -> torch.nn.Parameter:
    """Returns rows of numbers as a parameter (rows, n), or (rows, n, 2) for complex ones."""
    width = len(rows[0])
    if not is_complex:
        return frozen(numbers.matrix(rows, width, place))
    parts = numbers.matrix([numbers.parts(row) for row in rows], 2 * width, place)
    return frozen(parts.view(-1, width, 2))


def entries(parameter: Tensor, is_complex: bool) -> Tensor:
    """Returns the numbers of a table, complex ones as such."""
    return torch.view_as_complex(parameter) if is_complex else parameter


def _scale(factor: exact.Factor) -> Exact:
    norm: Exact = 0
    for entry in factor.vector:
        norm = norm + entry * entry
    return factor.beta * inverse(norm)


def _full(row: Sequence[tuple[int, Exact]], width: int) -> list[Exact]:
    values: list[Exact] = [0] * width
    for j, value in row:
        values[j] = value
    return values
