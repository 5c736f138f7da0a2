"""Affine maps by columns: only what is not zero is touched, which is little with one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from nerode.core import Exact
from nerode.proofs.checker_forms import Region, Value
from nerode.proofs.checker_records import Row

Table = dict[str, Value]
"""Values by name; a name that is missing stands for zero."""

State = tuple[Value, ...]


class Meter(Protocol):
    """Sees every sum of products, and how the states of the layers move."""

    def sum(self, terms: Sequence[tuple[Value, Value]], region: Region) -> None:
        """Takes the factors of the products that are added up."""

    def gates(
        self, layer: int, gates: Mapping[int, Value], writes: Mapping[int, Value], region: Region
    ) -> None:
        """Takes the gates and writes of a layer that are not zero, by coordinate."""

    def state(self, layer: int, state: State, region: Region) -> None:
        """Takes the state of a layer after a letter."""


class Columns:
    """An affine map, stored by what each input adds to which rows."""

    def __init__(self, rows: Iterable[Row], meter: Meter | None = None) -> None:
        self.meter = meter
        self.bias: list[Exact] = []
        self.columns: dict[str, list[tuple[int, Exact]]] = {}
        for i, (bias, terms) in enumerate(rows):
            self.bias.append(bias)
            for name, c in terms:
                if c != 0:
                    self.columns.setdefault(name, []).append((i, c))
        self._resting: dict[int, Value] = {i: b for i, b in enumerate(self.bias) if b != 0}
        self._resting_relus: dict[int, Value] | None = None
        if meter is not None:
            for b in self.bias:
                meter.sum([(1, b)], Region({}))

    def values(self, table: Mapping[str, Value], region: Region) -> dict[int, Value]:
        """Returns the rows that are not zero."""
        found = {**self._resting, **self._touched(table, region)}
        return {i: v for i, v in found.items() if v != 0}

    def relus(self, table: Mapping[str, Value], region: Region) -> dict[int, Value]:
        """Returns the ReLUs of the rows, where they are not zero."""
        if self._resting_relus is None:
            self._resting_relus = {i: region.relu(b) for i, b in self._resting.items()}
        touched = {i: region.relu(v) for i, v in self._touched(table, region).items()}
        found = {**self._resting_relus, **touched}
        return {i: v for i, v in found.items() if v != 0}

    def all_values(self, table: Mapping[str, Value], region: Region) -> list[Value]:
        """Returns all rows."""
        touched = self._touched(table, region)
        return [touched.get(i, b) for i, b in enumerate(self.bias)]

    def _touched(self, table: Mapping[str, Value], region: Region) -> dict[int, Value]:
        """The rows that some input adds to."""
        sums: dict[int, Value] = {}
        terms: dict[int, list[tuple[Value, Value]]] = {}
        for name, v in table.items():
            for i, c in self.columns.get(name, ()):
                sums[i] = sums.get(i, self.bias[i]) + (v if c == 1 else c * v)
                if self.meter is not None:
                    terms.setdefault(i, [(1, self.bias[i])]).append((c, v))
        if self.meter is not None:
            for products in terms.values():
                self.meter.sum(products, region)
        return sums
