"""Labels of permutation levels written in counters, and lookups rewritten to read the counters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from nerode.algebra.cascades.commands import HOLD, Add, Command, Permute, Reset
from nerode.algebra.cascades.group_coordinates import GroupCoordinates, Vector
from nerode.algebra.cascades.lookups import Lookup, Row, Source
from nerode.algebra.cascades.records import Level
from nerode.algebra.permutations import Permutation

Literals = tuple[tuple[Source, int], ...]


class SplitLabel:
    """How the label of one level is written: as an orbit and as coordinates of a group element.

    The label is the image of the first point of the orbit under the element.

    Attributes:
        level: the level that is split.
        coordinates: of its group.
        orbits: of the group on the labels.
        written: for each label one way to write it, as numbers in the order of `parts`.
        parts: how many values each number has; the orbit comes first.
        steps: for each step of the derived series the positions of its numbers in `parts`.
    """

    def __init__(self, level: Level, coordinates: GroupCoordinates) -> None:
        self.level = level
        self.coordinates = coordinates
        self.orbits = coordinates.group.orbits
        orders = [factor.orders for factor in coordinates.factors]
        self.parts = [len(self.orbits), *itertools.chain(*orders)]
        ends = list(itertools.accumulate(map(len, orders), initial=1))
        self.steps = [range(a, b) for a, b in itertools.pairwise(ends)]
        self.written: dict[int, tuple[int, ...]] = {}
        self._ways: dict[int, list[tuple[int, ...]]] = {label: [] for label in range(level.num_labels)}
        for g in coordinates.group.chain.elements():
            numbers = tuple(itertools.chain(*coordinates.vectors(g)))
            for o, orbit in enumerate(self.orbits):
                self.written.setdefault(g[orbit[0]], (o, *numbers))
                self._ways[g[orbit[0]]].append((o, *numbers))

    def vector(self, step: int, numbers: Sequence[int]) -> Vector:
        """Returns the coordinate of one step."""
        return tuple(numbers[i] for i in self.steps[step])

    def command(self, outcome: Command, part: int) -> Command:
        """Returns what the level of one number does when the whole label should do `outcome`.

        For the number of a later step the permutation is what the steps before have left over.
        """
        if isinstance(outcome, Reset):
            return Reset(self.written[outcome.label][part])
        if not isinstance(outcome, Permute) or part == 0:
            return HOLD
        step = next(s for s, positions in enumerate(self.steps) if part in positions)
        amount = self.coordinates.factors[step].vector(outcome.images)[part - self.steps[step].start]
        return Add(amount) if amount else HOLD

    def carry(self, step: int, vector: Vector, outcome: Command) -> Command:
        """Returns what a command leaves over for the step after one with this coordinate."""
        if not isinstance(outcome, Permute):
            return outcome
        rest: Permutation = self.coordinates.carry(step, vector, outcome.images)
        return HOLD if rest == tuple(range(len(rest))) else Permute(rest)

    def ways(self, label: int) -> list[tuple[tuple[int, int], ...]]:
        """Returns alternatives of pairs (position of a number, value): one holds exactly for this label."""
        found = []
        pending: list[tuple[tuple[int, ...], list[tuple[int, ...]]]] = [((), self._ways[label])]
        while pending:
            prefix, inside = pending.pop()
            if len(inside) == math.prod(self.parts[len(prefix) :]):
                found.append(tuple(enumerate(prefix)))
                continue
            by_next: dict[int, list[tuple[int, ...]]] = {}
            for numbers in inside:
                by_next.setdefault(numbers[len(prefix)], []).append(numbers)
            pending.extend(((*prefix, value), part) for value, part in by_next.items())
        return found


def replace_literals(
    table: Lookup,
    num_values: Callable[[Source], int],
    alternatives: Callable[[Source, int], Iterable[Literals] | None],
) -> tuple[Source | None, dict[int, int] | int, list[tuple[Literals, int]]]:
    """Returns a lookup as a selector, its defaults and its rows, with some literals replaced.

    Args:
        table: the lookup.
        num_values: of a source.
        alternatives: for a literal on a source that is replaced, literals on other sources, one of which
            holds exactly when it does; None for a source that stays.

    Returns:
        The selector (None if it was replaced, then there is one default), the defaults, the rows.
    """
    rows = [(tuple((table.reads[p], v) for p, v in row.literals), row.value) for row in table.rows]
    selector = table.reads[0] if table.has_selector else None
    defaults: dict[int, int] | int = dict(enumerate(table.otherwise))
    if selector is None:
        defaults = table.otherwise[0]
    elif alternatives(selector, 0) is not None:
        defaults = max(table.otherwise, key=table.otherwise.count)
        rows = _without_selector(table, num_values, defaults)
        selector = None
    replaced: list[tuple[Literals, int]] = []
    for literals, value in rows:
        options = []
        for source, wanted in literals:
            found = alternatives(source, wanted)
            options.append([((source, wanted),)] if found is None else list(found))
        replaced.extend((tuple(itertools.chain(*c)), value) for c in itertools.product(*options))
    return selector, defaults, replaced


def _without_selector(
    table: Lookup, num_values: Callable[[Source], int], default: int
) -> list[tuple[Literals, int]]:
    """Returns rows for all cases in which the value is not the default, each case in full."""
    found = []
    for first, otherwise in enumerate(table.otherwise):
        rows = [row for row in table.rows if row.literals[0][1] == first]
        positions = sorted({p for row in rows for p, _ in row.literals[1:]})
        domains = [range(num_values(table.reads[p])) for p in positions]
        for values in itertools.product(*domains):
            known: Mapping[int, int] = {0: first, **dict(zip(positions, values, strict=True))}
            matching = [row.value for row in rows if all(known[p] == v for p, v in row.literals)]
            value = matching[0] if matching else otherwise
            if value != default:
                found.append((tuple((table.reads[p], v) for p, v in known.items()), value))
    return found


def make_lookup(
    table: Lookup,
    selector: Source | None,
    defaults: Mapping[int, int] | int,
    rows: Iterable[tuple[Literals, int]],
) -> Lookup:
    """Returns the lookup with the name and the values of another one."""
    rows = list(rows)
    reads: dict[Source, int] = {} if selector is None else {selector: 0}
    placed = []
    for literals, value in rows:
        positions = tuple(
            sorted((reads.setdefault(source, len(reads)), wanted) for source, wanted in literals)
        )
        placed.append(Row(positions, value))
    otherwise = (defaults,) if isinstance(defaults, int) else tuple(defaults[v] for v in sorted(defaults))
    return Lookup(
        name=table.name,
        num_values=table.num_values,
        reads=tuple(reads),
        otherwise=otherwise,
        rows=tuple(placed),
    )
