"""Recurrences: how the state of a layer moves at one letter.

    Gated      h = gate ∘ h + write              gate and write affine in what the layer reads
    Fixed      h = A h + write                   one matrix for all letters
    ByChoice   h = A(choice) h + b(choice)       see choices.py
    Squashed   h = f(update(reads, units, h))    Elman networks, see cells.py
    GatedCell  LSTM, GRU, sLSTM                  see cells.py

All maps of a recurrence read the layer's `reads` followed by its ReLU units. A recurrence says everything
about itself that other modules need: its shape, its step in any numbers, its text and its tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from nerode.core import Exact, write_exact
from nerode.network.affine import (
    Affine,
    NamedMap,
    Row,
    StateNames,
    check_map,
    check_matrix,
    constant_map,
    shorten,
    write_grid,
    write_map,
    write_row,
)
from nerode.network.numbers import Numbers, RecurrenceStep

Transition = tuple[Sequence[Row], Sequence[Exact]]
"""A matrix and a vector: h ↦ A h + b."""


Kind = tuple[Callable[..., "Recurrence"], tuple[str, ...], tuple[str, ...]]
"""A recurrence in a file: how it is made, of which parts, and which may be left out."""


class Recurrence(ABC):
    """A recurrence: the move of a layer's state at one letter."""

    __slots__ = ()

    kind: ClassVar[str] = ""
    """The name in files and on pages."""

    linear: ClassVar[bool] = True
    """Whether the new state is linear in the old one."""

    @abstractmethod
    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the recurrence does not fit the layer."""

    @abstractmethod
    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""

    @property
    def exact(self) -> bool:
        """Whether a step needs no tanh, sigmoid or exp."""
        return True

    @property
    def blocks(self) -> int:
        """Number of parts of equal length that the state consists of."""
        return 1

    @property
    def num_letters(self) -> int | None:
        """Number of letters with a transition of their own; None if the letter itself is not looked at."""
        return None

    @property
    def most_factors(self) -> int | None:
        """n_h: the largest number of Householder factors of one choice; None without factors."""
        return None

    @abstractmethod
    def maps(self) -> tuple[Affine, ...]:
        """Returns the affine maps of what the layer reads."""

    @abstractmethod
    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the same recurrence with all of its maps changed."""

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(m.num_entries for m in self.maps())

    def transition(self, seen: Sequence[Exact], letter: int) -> Transition | None:
        """Returns the matrix and the vector of one letter; None for a recurrence that is not linear."""
        return None

    def fields(self) -> dict[str, Any]:
        """Returns the parts of the record by their names in files; those with their default are left out."""
        values = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, (value, default) in values.items() if value != default}

    @abstractmethod
    def lines(self, names: StateNames) -> list[str]:
        """Returns the recurrence as lines of text."""

    @abstractmethod
    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the weights of the recurrence as tables."""

    def as_gated(self) -> Gated | None:
        """Returns the recurrence as gates, None unless every coordinate moves by itself."""
        return None

    def as_fixed(self) -> Fixed | None:
        """Returns the recurrence with its fixed matrix, None if it is not stored as one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(Recurrence):
    """h = gate ∘ h + write, gate and write affine in what the layer reads."""

    kind: ClassVar[str] = "diagonal"

    gate: Affine
    write: Affine

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the maps do not fit the layer."""
        check_map(self.gate, width, num_inputs, "gate")
        check_map(self.write, width, num_inputs, "write")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return _GatedStep(self, numbers)

    def maps(self) -> tuple[Affine, ...]:
        """Returns the gates and the write."""
        return self.gate, self.write

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with both maps changed."""
        return replace(self, gate=change(self.gate), write=change(self.write))

    def transition(self, seen: Sequence[Exact], letter: int) -> Transition:
        """Returns the diagonal matrix and the write of one letter."""
        gates = self.gate(seen)
        return [((i, g),) if g != 0 else () for i, g in enumerate(gates)], self.write(seen)

    def as_gated(self) -> Gated:
        """Returns the recurrence itself."""
        return self

    def lines(self, names: StateNames) -> list[str]:
        """Returns one line per coordinate."""
        rows = zip(self.gate.rows, self.gate.bias, strict=True)
        gates = [write_row(row, bias, names.marked_inputs) for row, bias in rows]
        return _gate_lines(gates, self.write, names)

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the gates and the write."""
        return [
            NamedMap.of("gate", self.gate, names.state, names.inputs),
            NamedMap.of("write", self.write, names.state, names.inputs),
        ]


class _GatedStep:
    def __init__(self, record: Gated, numbers: Numbers[Any]) -> None:
        self.numbers = numbers
        self.gate = numbers.map(record.gate, "gate")
        self.write = numbers.map(record.write, "write")

    def drive(self, seen: Any, letter: Any) -> tuple[Any, ...]:
        return self.gate(seen), self.write(seen)

    def advance(self, drive: tuple[Any, ...], state: Any) -> Any:
        gate, write = drive
        return self.numbers.gated(gate, state, write)

    def shown(self, drive: tuple[Any, ...], state: Any) -> dict[str, Any]:
        return dict(zip(("gate", "write"), drive, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Recurrence):
    """h = A h + write with one fixed sparse matrix A."""

    kind: ClassVar[str] = "time-invariant"

    matrix: tuple[Row, ...]
    write: Affine

    def check(self, *, width: int, num_inputs: int) -> None:
        """Raises InputError if the matrix or the map does not fit the layer."""
        check_matrix(self.matrix, width)
        check_map(self.write, width, num_inputs, "write")

    def step(self, numbers: Numbers[Any]) -> RecurrenceStep[Any]:
        """Returns the step in some numbers."""
        return _FixedStep(self, numbers)

    def maps(self) -> tuple[Affine, ...]:
        """Returns the write."""
        return (self.write,)

    def with_maps(self, change: Callable[[Affine], Affine]) -> Self:
        """Returns the recurrence with another write."""
        return replace(self, write=change(self.write))

    @property
    def num_entries(self) -> int:
        """Number of stored non-zero numbers."""
        return sum(map(len, self.matrix)) + self.write.num_entries

    @property
    def is_diagonal(self) -> bool:
        """Whether the matrix is diagonal."""
        return all(j == i for i, row in enumerate(self.matrix) for j, _ in row)

    def sources(self) -> list[set[int]]:
        """Returns for each coordinate those that its next value may depend on."""
        return [{j for j, _ in row} for row in self.matrix]

    def transition(self, seen: Sequence[Exact], letter: int) -> Transition:
        """Returns the matrix and the write of one letter."""
        return self.matrix, self.write(seen)

    def as_gated(self) -> Gated | None:
        """Returns constant gates if the matrix is diagonal."""
        if not self.is_diagonal:
            return None
        gates = [row[0][1] if row else 0 for row in self.matrix]
        return Gated(gate=constant_map(self.write.num_inputs, gates), write=self.write)

    def as_fixed(self) -> Fixed:
        """Returns the recurrence itself."""
        return self

    def lines(self, names: StateNames) -> list[str]:
        """Returns one line per coordinate for a diagonal matrix, otherwise a grid and the writes."""
        if self.is_diagonal:
            gates = [write_exact(row[0][1]) if row else "0" for row in self.matrix]
            return _gate_lines(gates, self.write, names)
        grid = [f"  {line}" for line in write_grid(self.matrix, names.state)]
        writes = write_map(self.write, [f"write {name}" for name in names.state], names.marked_inputs)
        return ["h ← A h + write, A =", *grid, *(line for line in writes if not line.endswith(" = 0"))]

    def tables(self, names: StateNames) -> list[NamedMap]:
        """Returns the matrix and the write."""
        matrix = NamedMap(title="A", rows=self.matrix, outputs=names.state, inputs=names.state, whole=True)
        return [matrix, NamedMap.of("write", self.write, names.state, names.inputs)]


class _FixedStep:
    def __init__(self, record: Fixed, numbers: Numbers[Any]) -> None:
        self.write = numbers.map(record.write, "write")
        self.matrix = numbers.matrix(record.matrix, "matrix")

    def drive(self, seen: Any, letter: Any) -> tuple[Any, ...]:
        return (self.write(seen),)

    def advance(self, drive: tuple[Any, ...], state: Any) -> Any:
        return self.matrix(state, drive[0])

    def shown(self, drive: tuple[Any, ...], state: Any) -> dict[str, Any]:
        return {"write": drive[0]}


def _gate_lines(gates: Sequence[str], write: Affine, names: StateNames) -> list[str]:
    """One line per coordinate, gate times state plus write; trivial gates are left out."""
    lines = []
    for name, gate, row, bias in zip(names.marked_state, gates, write.rows, write.bias, strict=True):
        parts = [] if gate == "0" else [name if gate == "1" else f"{_factor(gate)}·{name}"]
        added = write_row(row, bias, names.marked_inputs)
        if added != "0" or not parts:
            parts.append(added)
        lines.append(f"{name} ← {' + '.join(parts).replace(' + -', ' - ')}")
    return shorten(lines)


def _factor(gate: str) -> str:
    """A sum in parentheses, a single term without."""
    return f"({gate})" if " + " in gate or " - " in gate or gate.startswith("-") else gate


KINDS: dict[str, Kind] = {
    "diagonal": (Gated, ("gate", "write"), ()),
    "time-invariant": (Fixed, ("matrix", "write"), ()),
}
"""The recurrences of this module by their names in files."""
