"""Lookups prepared for fast evaluation in order."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.algebra.cascades.lookups import Lookup
from nerode.core import InputError

Cases = dict[int, list[tuple[tuple[tuple[int, int], ...], int]]]
"""First value → the literals of its rows (position among all values, wanted value) and their results."""


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
        needed = set(goals)
        for number in range(len(lookups) - 1, -1, -1):
            if number in needed:
                needed.update(s.number for s in lookups[number].reads if s.kind == "lookup")
        first = {"letter": 0, "old": num_letters, "new": num_letters}
        self.place: dict[int, int] = {}
        self._steps: list[tuple[str, int | None, tuple[int, ...], Cases]] = []
        for number in sorted(needed):
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
