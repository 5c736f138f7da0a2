"""Recurrences with a matrix for each choice, which is the letter or made by a selector.

The matrices are stored by rows, as products of Householder factors, or by columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from nerode.core import Exact, InputError, write_exact
from nerode.network.affine import (
    MOST_LINES,
    Affine,
    Factor,
    NamedMap,
    Row,
    StateNames,
    Vector,
    check_map,
    check_matrix,
    check_vectors,
    moved_columns,
    multiplied,
    shorten,
    write_grid,
    write_map,
    write_vector,
)
from nerode.network.moves import Kind, Recurrence, Transition
from nerode.network.numbers import Numbers, RecurrenceStep


class MatrixTable(ABC):
    """Square matrices, one for each choice."""

    __slots__ = ()

    kind: ClassVar[str] = ""
    """The name of a recurrence with this table in files and on pages."""

    headline: ClassVar[tuple[str, ...]] = ()
    most_lines: ClassVar[int] = MOST_LINES
    """The lines of text above the table, and how many lines it may have."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of choices."""

    @property
    @abstractmethod
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""

    @abstractmethod
    def check(self, width: int) -> None:
        """Raises InputError if a matrix is not of this width."""

    @abstractmethod
    def rows(self, choice: int, width: int) -> tuple[Row, ...]:
        """Returns the rows of one matrix of this width, multiplied out."""

    @abstractmethod
    def step(self, numbers: Numbers[Any], width: int) -> Callable[[Any, Any, Any], Any]:
        """Returns (choice, h, b) ↦ A(choice) h + b in some numbers."""

    @abstractmethod
    def lines(self, choice: int, added: str, names: Sequence[str]) -> list[str]:
        """Returns one matrix, and what is added after it, as lines of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTable(MatrixTable):
    """Sparse matrices by their rows."""

    kind: ClassVar[str] = "letter-matrices"
    most_lines: ClassVar[int] = 61

    matrices: tuple[tuple[Row, ...], ...]

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.matrices)

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return sum(len(row) for matrix in self.matrices for row in matrix)

    def check(self, width: int) -> None:
        """Raises InputError if a matrix is not of this width."""
        for matrix in self.matrices:
            check_matrix(matrix, width)

    def rows(self, choice: int, width: int) -> tuple[Row, ...]:
        """Returns the rows of one matrix."""
        return self.matrices[choice]

    def step(self, numbers: Numbers[Any], width: int) -> Callable[[Any, Any, Any], Any]:
        """Returns the product with the matrix of a choice."""
        return numbers.by_rows(self.matrices)

    def lines(self, choice: int, added: str, names: Sequence[str]) -> list[str]:
        """Returns a grid."""
        grid = write_grid(self.matrices[choice], names)
        return [f"h ← A h{added}, A =", *(f"  {line}" for line in grid)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTable(MatrixTable):
    """Products of Householder factors, the first factor applied first."""

    kind: ClassVar[str] = "householder"
    headline: ClassVar[tuple[str, ...]] = ("h ← product of I - β v vᵀ/(vᵀ v), the first factor first",)

    factors: tuple[tuple[Factor, ...], ...]

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.factors)

    @property
    def num_entries(self) -> int:
        """Number of non-zero entries of the vectors, and a beta for each."""
        factors = [f for product in self.factors for f in product]
        return len(factors) + sum(1 for f in factors for e in f.vector if e != 0)

    def check(self, width: int) -> None:
        """Raises InputError if a vector is not of this width."""
        for factor in (f for product in self.factors for f in product):
            if len(factor.vector) != width:
                raise InputError(f"a Householder vector has {len(factor.vector)} entries, not {width}")

    def rows(self, choice: int, width: int) -> tuple[Row, ...]:
        """Returns the product of the factors of one choice."""
        return multiplied(self.factors[choice], width)

    def step(self, numbers: Numbers[Any], width: int) -> Callable[[Any, Any, Any], Any]:
        """Returns the products with the factors of a choice."""
        return numbers.by_factors(self.factors, width)

    def lines(self, choice: int, added: str, names: Sequence[str]) -> list[str]:
        """Returns the factors in one line."""
        factors = self.factors[choice]
        shown = "; ".join(f"β = {write_exact(f.beta)}, v = {write_vector(f.vector)}" for f in factors)
        return [f"{shown or 'identity'}{added}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable(MatrixTable):
    """Matrices P D: column j, times diagonals[choice][j], stands in row images[choice][j]."""

    kind: ClassVar[str] = "permutation-diagonal"

    images: tuple[tuple[int, ...], ...]
    diagonals: tuple[Vector, ...]

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.images)

    @property
    def num_entries(self) -> int:
        """Number of images and of non-zero entries of the diagonals."""
        return sum(map(len, self.images)) + sum(1 for v in self.diagonals for e in v if e != 0)

    def check(self, width: int) -> None:
        """Raises InputError if an image or a diagonal is not of this width."""
        for image in self.images:
            if len(image) != width or not all(0 <= i < width for i in image):
                raise InputError(f"a column-one-hot matrix is not given by {width} rows below {width}")
        check_vectors(self.diagonals, len(self.images), width, "diagonals")

    def rows(self, choice: int, width: int) -> tuple[Row, ...]:
        """Returns the rows of one matrix."""
        return moved_columns(self.images[choice], self.diagonals[choice])

    def step(self, numbers: Numbers[Any], width: int) -> Callable[[Any, Any, Any], Any]:
        """Returns the product with the matrix of a choice."""
        return numbers.by_columns(self.images, self.diagonals)

    def lines(self, choice: int, added: str, names: Sequence[str]) -> list[str]:
        """Returns what moves where, in one line."""
        moves = []
        for j, (i, d) in enumerate(zip(self.images[choice], self.diagonals[choice], strict=True)):
            if d == 0:
                moves.append(f"h[{names[j]}] dropped")
            elif i != j or d != 1:
                factor = "" if d == 1 else f"{write_exact(d)}·"
                moves.append(f"{factor}h[{names[j]}] → h[{names[i]}]")
        return [f"{', '.join(shorten(moves)) or 'h stays'}{added}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByChoice(Recurrence):
    """h = A(choice) h + b(choice).

    The choice is the letter, or with a selector the row of this map of what the layer reads that is 1; all
    other rows must be 0 there.
    """

    table: MatrixTable
    writes: tuple[Vector, ...]
    selector: Affine | None = None

    @classmethod
    def from_rows(
        cls,
        *,
        matrices: tuple[tuple[Row, ...], ...],
        writes: tuple[Vector, ...],
        selector: Affine | None = None,
    ) -> Self:
        """Returns sparse matrices by letter or selector."""
        return cls(table=RowTable(matrices=matrices), writes=writes, selector=selector)

    @classmethod
    def from_factors(
        cls,
        *,
        factors: tuple[tuple[Factor, ...], ...],
        writes: tuple[Vector, ...],
        selector: Affine | None = None,
    ) -> Self:
        """Returns products of Householder factors by letter or selector."""
        return cls(table=FactorTable(factors=factors), writes=writes, selector=selector)

    @classmethod
    def from_images(
        cls,
        *,
        images: tuple[tuple[int, ...], ...],
        diagonals: tuple[Vector, ...],
        writes: tuple[Vector, ...],
    ) -> Self:
        """Returns column-one-hot matrices times diagonal ones, by letter."""
        return cls(table=ColumnTable(images=images, diagonals=diagonals), writes=writes)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The name in files and on pages, which depends on how the matrices are stored."""
        return self.table.kind

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if a matrix, a vector or the selector does not fit the layer."""
        self.table.check(width)
        check_vectors(self.writes, self.table.count, width, "writes")
        if self.selector is not None:
            check_map(self.selector, self.table.count, num_inputs, "selector")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return _ChoiceStep(self, numbers)

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition; None with a selector, which reads the stream."""
        return self.table.count if self.selector is None else None

    @property
    def most_factors(self) -> int | None:
        """n_h: the largest number of Householder factors of one choice; None without factors."""
        factors = self.fields().get("factors")
        return None if factors is None else max(map(len, factors), default=0)

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        written = sum(1 for write in self.writes for e in write if e != 0)
        return self.table.num_entries + written + sum(m.num_entries for m in self.maps())

    def maps(self) -> tuple[Affine, ...]:
        """Returns the selector."""
        return () if self.selector is None else (self.selector,)

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with another selector."""
        return self if self.selector is None else replace(self, selector=change(self.selector))

    def rows(self, choice: int) -> tuple[Row, ...]:
        """Returns the rows of the matrix of one choice."""
        return self.table.rows(choice, len(self.writes[choice]))

    def transition(self, seen: Sequence[Exact], letter: int) -> Transition:
        """Returns the matrix and the write of one letter."""
        choice = letter if self.selector is None else self.selector(seen).index(1)
        return self.rows(choice), self.writes[choice]

    def fields(self) -> dict[str, Any]:
        """Returns the parts of the table, the writes, and the selector if there is one."""
        parts = {f.name: getattr(self.table, f.name) for f in fields(self.table)}  # type: ignore[arg-type]
        selecting = {} if self.selector is None else {"selector": self.selector}
        return {**parts, "writes": self.writes, **selecting}

    def lines(self, names: StateNames) -> list[str]:
        """Returns the selector, and the matrix and the write of each choice."""
        choices, lines = [f"on {symbol}" for symbol in names.letters], list(self.table.headline)
        if self.selector is not None:
            choices = self._choices
            lines += write_map(self.selector, choices, names.marked_inputs)
        for number, (choice, write) in enumerate(zip(choices, self.writes, strict=True)):
            added = f" + {write_vector(write)}" if any(value != 0 for value in write) else ""
            first, *rest = self.table.lines(number, added, names.state)
            lines += [f"{choice}: {first}", *rest]
        most = self.table.most_lines
        return shorten(lines, most, " lines" if most > MOST_LINES else "")

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the selector, and for each choice its matrix with its write."""
        choices, found = list(names.letters), []
        if self.selector is not None:
            choices = self._choices
            found = [NamedMap.of("selector", self.selector, choices, names.inputs)]
        for number, (choice, write) in enumerate(zip(choices, self.writes, strict=True)):
            found.append(
                NamedMap(
                    title="A",
                    rows=self.rows(number),
                    constants=write,
                    outputs=names.state,
                    inputs=names.state,
                    letter=choice,
                    whole=True,
                )
            )
        return found

    @property
    def _choices(self) -> list[str]:
        return [f"choice {i}" for i in range(1, self.table.count + 1)]


class _ChoiceStep:
    def __init__(self, record: ByChoice, numbers: Numbers[Any]) -> None:
        self.move = record.table.step(numbers, len(record.writes[0]) if record.writes else 0)
        self.writes = numbers.vectors(record.writes, "writes")
        self.selector = None if record.selector is None else numbers.selector(record.selector)

    def drive(self, seen: Any, letter: Any) -> tuple[Any, ...]:
        choice = letter if self.selector is None else self.selector(seen)
        return choice, self.writes(choice)

    def advance(self, drive: tuple[Any, ...], state: Any) -> Any:
        choice, write = drive
        return self.move(choice, state, write)

    def shown(self, drive: tuple[Any, ...], state: Any) -> dict[str, Any]:
        return {}


KINDS: dict[str, Kind] = {
    "letter-matrices": (ByChoice.from_rows, ("matrices", "writes"), ("selector",)),
    "householder": (ByChoice.from_factors, ("factors", "writes"), ("selector",)),
    "permutation-diagonal": (ByChoice.from_images, ("images", "diagonals", "writes"), ()),
}
"""The recurrences of this module by their names in files."""
