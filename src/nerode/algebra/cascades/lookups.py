"""Finite tables without memory, in a form that is one hidden ReLU layer."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nerode.core import InputError

Cases = dict[int, list[tuple[tuple[tuple[int, int], ...], int]]]
"""First value → the literals of its rows (position among all values, wanted value) and their results."""


class Source(NamedTuple):
    """A source of finitely many values that a lookup can read at one position of a word.

    kind "letter": the current letter; `number` is 0.
    kind "old": the label of level `number` before the current letter.
    kind "new": its label after the current letter.
    kind "lookup": the value of lookup `number`.
    """

    kind: str
    number: int


LETTER = Source("letter", 0)
"""The current letter."""


def old(level: int) -> Source:
    """Returns the source of a level's label before the letter."""
    return Source("old", level)


def new(level: int) -> Source:
    """Returns the source of a level's label after the letter."""
    return Source("new", level)


def lookup(number: int) -> Source:
    """Returns the source of another lookup's value."""
    return Source("lookup", number)


class LookupRow(NamedTuple):
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
    rows: tuple[LookupRow, ...] = ()

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
    def _rows_by_first(self) -> dict[int, list[LookupRow]]:
        grouped: dict[int, list[LookupRow]] = {}
        for row in self.rows:
            first = row.literals[0][1] if self.has_selector else 0
            grouped.setdefault(first, []).append(row)
        return grouped

    def matches(self, values: Sequence[int]) -> list[LookupRow]:
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


def needed_lookups(lookups: Sequence[Lookup], goals: set[int]) -> list[int]:
    """Returns the goals and the lookups that they read, directly or through others, in their order."""
    needed = set(goals)
    for number in range(len(lookups) - 1, -1, -1):
        if number in needed:
            needed.update(s.number for s in lookups[number].reads if s.kind == "lookup")
    return sorted(needed)


class Evaluation:
    """Some lookups, each with the lookups that it reads, over one list of values.

    The list holds the letter if one is given, then the labels, then the values of the lookups as they are
    found.

    Args:
        lookups: all lookups of a cascade.
        goals: the ones that are wanted.
        num_letters: 1 if a letter is given, otherwise 0.
        num_labels: how many labels are given, old ones or new ones.
    """

    def __init__(self, lookups: Sequence[Lookup], goals: set[int], num_letters: int, num_labels: int) -> None:
        first = {"letter": 0, "old": num_letters, "new": num_letters}
        self.place: dict[int, int] = {}
        self._steps: list[tuple[str, int | None, tuple[int, ...], Cases]] = []
        for number in needed_lookups(lookups, goals):
            table = lookups[number]
            places = [
                self.place[s.number] if s.kind == "lookup" else first[s.kind] + s.number for s in table.reads
            ]
            selector = places[0] if table.has_selector else None
            cases: Cases = {}
            for row in table.rows:
                literals = row.literals[1:] if table.has_selector else row.literals
                case = row.literals[0][1] if table.has_selector else 0
                cases.setdefault(case, []).append((tuple((places[p], v) for p, v in literals), row.value))
            self._steps.append((table.name, selector, table.otherwise, cases))
            self.place[number] = num_letters + num_labels + len(self.place)

    def run(self, letters: Sequence[int], labels: Sequence[int]) -> list[int]:
        """Returns the list with all values; lookup i stands at `place[i]`.

        Raises:
            InputError: if several rows of a lookup hold at once.
        """
        values = [*letters, *labels]
        for name, selector, otherwise, cases in self._steps:
            case = 0 if selector is None else values[selector]
            value = otherwise[case]
            if case in cases:
                found = 0
                for literals, result in cases[case]:
                    for place, wanted in literals:
                        if values[place] != wanted:
                            break
                    else:
                        value = result
                        found += 1
                if found > 1:
                    raise InputError(f"{found} rows of the lookup {name} hold at once")
            values.append(value)
        return values
