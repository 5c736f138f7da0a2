"""Finite tables without memory, in a form that is one hidden ReLU layer."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nerode.core import InputError


class Source(NamedTuple):
    """Something with finitely many values that a lookup can read at one position of a word.

    kind "letter": the current letter; `number` is 0. kind "old": the label of level `number` before the current letter. kind "new": its
    label after the current letter. kind "lookup": the value of lookup `number`.
    """

    kind: str
    number: int


def letter() -> Source:
    """Returns the source of the current letter."""
    return Source("letter", 0)


def old(level: int) -> Source:
    """Returns the source of a level's label before the letter."""
    return Source("old", level)


def new(level: int) -> Source:
    """Returns the source of a level's label after the letter."""
    return Source("new", level)


def lookup(number: int) -> Source:
    """Returns the source of another lookup's value."""
    return Source("lookup", number)


class Row(NamedTuple):
    """One exception of a lookup: if all literals hold, the value is `value`.

    A literal is a pair (position in `reads`, required value).
    """

    literals: tuple[tuple[int, int], ...]
    value: int


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A function of finitely many sources, given by its default and by its exceptions.

    At most one row matches in any reachable configuration, so the function is affine in one conjunction
    (one ReLU) a row: [value = v] = sum of the rows with value v, plus, for each default d = v, the indicator
    of the default minus the rows that it applies to.

    Attributes:
        name: what it says, for people.
        num_values: its values are 0 … num_values-1.
        reads: the sources, without repetition.
        otherwise: the default where no row matches: one entry (a constant), or one entry for each value of
            `reads[0]`; every row then has a literal on `reads[0]`, which comes first.
        rows: the exceptions.
    """

    name: str
    num_values: int
    reads: tuple[Source, ...]
    otherwise: tuple[int, ...]
    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.reads)) != len(self.reads):
            raise InputError(f"the lookup {self.name} reads a source twice")
        if not self.otherwise or (len(self.otherwise) > 1 and not self.reads):
            raise InputError(
                f"the lookup {self.name} needs one default, or one for each value it reads first"
            )
        for value in (*self.otherwise, *(row.value for row in self.rows)):
            if not 0 <= value < self.num_values:
                raise InputError(
                    f"the lookup {self.name} has the value {value} outside 0…{self.num_values - 1}"
                )
        for row in self.rows:
            positions = [position for position, _ in row.literals]
            if len(set(positions)) != len(positions) or not all(0 <= p < len(self.reads) for p in positions):
                raise InputError(f"a row of the lookup {self.name} has literals on the positions {positions}")
            if self.has_selector and (not positions or positions[0] != 0):
                raise InputError(f"a row of the lookup {self.name} does not begin with what it reads first")

    @property
    def has_selector(self) -> bool:
        """Whether the default depends on the value of the first source."""
        return len(self.otherwise) > 1

    @functools.cached_property
    def _rows_by_first(self) -> dict[int, list[Row]]:
        grouped: dict[int, list[Row]] = {}
        for row in self.rows:
            first = row.literals[0][1] if self.has_selector else 0
            grouped.setdefault(first, []).append(row)
        return grouped

    def matches(self, values: Sequence[int]) -> list[Row]:
        """Returns the rows that match the values of `reads`."""
        rows = self._rows_by_first.get(values[0] if self.has_selector else 0, ())
        return [row for row in rows if all(values[position] == wanted for position, wanted in row.literals)]

    def evaluate(self, values: Sequence[int]) -> int:
        """Returns the value for these values of `reads`.

        Raises:
            InputError: if several rows match.
        """
        matching = self.matches(values)
        if len(matching) > 1:
            raise InputError(f"{len(matching)} rows of the lookup {self.name} match at once")
        if matching:
            return matching[0].value
        return self.otherwise[values[0]] if self.has_selector else self.otherwise[0]
