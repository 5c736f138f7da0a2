"""Permutation levels with solvable groups, split into counters that add modulo prime powers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from nerode.algebra.cascades.commands import Command, Permute
from nerode.algebra.cascades.group_coordinates import GroupCoordinates
from nerode.algebra.cascades.lookups import Lookup, Row, Source, lookup, old
from nerode.algebra.cascades.records import Cascade, Level
from nerode.algebra.cascades.refusals import NotSolvable
from nerode.algebra.cascades.split_labels import Literals, SplitLabel, make_lookup, replace_literals
from nerode.algebra.group_structure import describe_group
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.core import Budget


def abelian_levels(cascade: Cascade, budget: Budget | None = None, *, keep_others: bool = False) -> Cascade:
    """Returns the cascade with every permutation level replaced by counters modulo prime powers.

    The label becomes a group element g, of which the old label is the image of a fixed point of its orbit; if
    there are several orbits a further level says which. The counters of one step of the derived series are
    parallel, so a level of depth d takes the depths d … d + derived length - 1, or fewer.

    Args:
        cascade: as the constructions with groups make it.
        budget: its `elements` bound the order of one group.
        keep_others: whether levels whose group is not solvable stay as they are.

    Raises:
        NotSolvable: if a group is not solvable and is not to be kept.
        BudgetExceeded: if a group is too large.

    Implements: [KaloujnineKrasner1950], [Shakerinava2026]
    """
    splits: dict[int, SplitLabel] = {}
    for number, level in enumerate(cascade.levels):
        if level.kind == "permutation":
            permutations = [c.images for c in level.commands if isinstance(c, Permute)]
            group = PermutationGroup(permutations, level.num_labels, budget=budget)
            if group.is_solvable:
                splits[number] = SplitLabel(level, GroupCoordinates(group, budget))
            elif not keep_others:
                raise NotSolvable(describe_group(group))
    return _Rewriter(cascade, splits).rewrite() if splits else cascade


class _Rewriter:
    """Writes a cascade anew, with some labels split."""

    def __init__(self, cascade: Cascade, splits: dict[int, SplitLabel]) -> None:
        self.cascade = cascade
        self.splits = splits
        self.lookups: list[Lookup] = []
        self.new_lookup: dict[int, int] = {}
        # The new number of a level that stays, the numbers of the parts of a split one (None: one value).
        self.new_level: dict[int, int] = {}
        self.parts: dict[int, list[int | None]] = {}
        self.contexts: dict[int, list[tuple[int, list[Command]]]] = {}
        numbers = itertools.count()
        for number in range(len(cascade.levels)):
            if (split := splits.get(number)) is None:
                self.new_level[number] = next(numbers)
            else:
                self.parts[number] = [next(numbers) if count > 1 else None for count in split.parts]

    def rewrite(self) -> Cascade:
        """Returns the new cascade."""
        for number, table in enumerate(self.cascade.lookups):
            self.new_lookup[number] = self._add(self._translate(table))
            for level, split in self.splits.items():
                if split.level.context == number:
                    self.contexts[level] = self._step_contexts(level, split)
        return Cascade(
            num_letters=self.cascade.num_letters,
            levels=tuple(self._levels()),
            lookups=tuple(self.lookups),
            state=self.new_lookup[self.cascade.state],
            num_states=self.cascade.num_states,
            route=f"{self.cascade.route}, its groups split into counters along their derived series",
        )

    def _add(self, table: Lookup) -> int:
        self.lookups.append(table)
        return len(self.lookups) - 1

    def _step_contexts(self, level: int, split: SplitLabel) -> list[tuple[int, list[Command]]]:
        """Returns for each step the lookup that commands its counters, and what its values command."""
        number, outcomes = self.new_lookup[split.level.context], list(split.level.commands)
        found = [(number, outcomes)]
        for step in range(len(split.steps) - 1):
            number, outcomes = self._carried(level, step, number, outcomes)
            found.append((number, outcomes))
        return found

    def _carried(
        self, level: int, step: int, number: int, outcomes: list[Command]
    ) -> tuple[int, list[Command]]:
        """Returns the context of the next step; the same lookup if the old coordinate does not matter."""
        split = self.splits[level]
        vectors = list(itertools.product(*(range(split.parts[i]) for i in split.steps[step])))
        table = [[split.carry(step, vector, outcome) for vector in vectors] for outcome in outcomes]
        if all(len(set(row)) == 1 for row in table):
            return number, [row[0] for row in table]
        meanings: dict[Command, int] = {}
        otherwise: list[int] = []
        rows: list[Row] = []
        for value, row in enumerate(table):
            common = max(dict.fromkeys(row), key=row.count)
            otherwise.append(meanings.setdefault(common, len(meanings)))
            for vector, outcome in zip(vectors, row, strict=True):
                if outcome != common:
                    literals = ((0, value), *((i, label) for i, label in enumerate(vector, 1)))
                    rows.append(Row(literals, meanings.setdefault(outcome, len(meanings))))
        counters = [self.parts[level][i] for i in split.steps[step]]
        carried = Lookup(
            name=f"carry of {split.level.name} to step {step + 2}",
            num_values=len(meanings),
            reads=(lookup(number), *(old(c) for c in counters if c is not None)),
            otherwise=tuple(otherwise),
            rows=tuple(rows),
        )
        return self._add(carried), list(meanings)

    def _levels(self) -> Iterator[Level]:
        for number, level in enumerate(self.cascade.levels):
            if number in self.splits:
                yield from self._counters(number)
                continue
            yield Level(
                name=level.name,
                num_labels=level.num_labels,
                start=level.start,
                context=self.new_lookup[level.context],
                commands=level.commands,
            )

    def _counters(self, number: int) -> Iterator[Level]:
        split = self.splits[number]
        step_of = {part: step for step, positions in enumerate(split.steps) for part in positions}
        for part, count in enumerate(split.parts):
            if count == 1:
                continue
            context, outcomes = self.contexts[number][step_of.get(part, 0)]
            kind = f"part {part} mod {count}" if part else "orbit"
            yield Level(
                name=f"{split.level.name} {kind}",
                num_labels=count,
                start=split.written[split.level.start][part],
                context=context,
                commands=tuple(split.command(outcome, part) for outcome in outcomes),
            )

    def _translate(self, table: Lookup) -> Lookup:
        selector, defaults, rows = replace_literals(table, self.cascade.num_values, self._alternatives)
        selector = None if selector is None else self._renumber(selector)
        renumbered = [(tuple((self._renumber(s), v) for s, v in literals), value) for literals, value in rows]
        return make_lookup(table, selector, defaults, renumbered)

    def _alternatives(self, source: Source, wanted: int) -> list[Literals] | None:
        """Returns how a literal on a split label reads in its parts, marked as sources of the new cascade."""
        if source.kind not in ("old", "new") or source.number not in self.splits:
            return None
        parts = self.parts[source.number]
        ways = []
        for way in self.splits[source.number].ways(wanted):
            numbers = ((parts[position], value) for position, value in way)
            ways.append(tuple((Source(f"split {source.kind}", n), v) for n, v in numbers if n is not None))
        return ways

    def _renumber(self, source: Source) -> Source:
        if source.kind == "lookup":
            return lookup(self.new_lookup[source.number])
        if source.kind == "letter":
            return source
        if source.kind.startswith("split "):
            return Source(source.kind.removeprefix("split "), source.number)
        return Source(source.kind, self.new_level[source.number])
