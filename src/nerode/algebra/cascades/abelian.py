"""Permutation levels with solvable groups, split along the derived series into counters modulo prime powers.

A label is written as an orbit and as coordinates of a group element (`SplitLabel`); the lookups are rewritten
to read the counters.

With transversals t of each group of the series over the next, every element is a product … t₁ t₀, and so is
given by the cosets of t₀, t₁ …, elements of Abelian groups. Multiplying by s on the right adds the coset of s
to the first coordinate; what is left over, t₀ s t₀'⁻¹, lies in the next group of the series and is added to
the next coordinate in the same way. It depends on s and on the first coordinate only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from nerode.algebra.cascades.lookups import Lookup, LookupRow, Source, lookup, old
from nerode.algebra.cascades.records import HOLD, Add, Cascade, Command, Level, Permute, Reset
from nerode.algebra.group_structure import describe_group
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import Permutation, compose, invert
from nerode.algebra.records import GroupStructure
from nerode.core import Budget, BudgetExceeded, InputError, prime_factors, started

Vector = tuple[int, ...]

MOST_ELEMENTS = 20_000
"""The largest group whose elements are listed."""


class AbelianFactor:
    """A group over a normal subgroup with Abelian quotient: cosets as vectors over cyclic groups.

    Attributes:
        orders: the orders of the cyclic groups, prime powers.
    """

    def __init__(self, elements: Sequence[Permutation], normal: Sequence[Permutation]) -> None:
        self._coset: dict[Permutation, int] = {}
        self._leaders: list[Permutation] = []
        for g in elements:
            if g not in self._coset:
                for e in normal:
                    self._coset[compose(e, g)] = len(self._leaders)
                self._leaders.append(g)
        basis = self._basis()
        self.orders = tuple(order for _, order in basis)
        self._vectors: dict[int, Vector] = {}
        self._representatives: dict[Vector, Permutation] = {}
        for vector in itertools.product(*(range(order) for order in self.orders)):
            coset = self._identity
            for (generator, _), times in zip(basis, vector, strict=True):
                for _ in range(times):
                    coset = self._times(coset, generator)
            self._vectors[coset] = vector
            self._representatives[vector] = self._leaders[coset]
        self._representatives[(0,) * len(self.orders)] = tuple(range(len(elements[0])))

    @property
    def _identity(self) -> int:
        return self._coset[tuple(range(len(self._leaders[0])))]

    def _times(self, first: int, second: int) -> int:
        return self._coset[compose(self._leaders[first], self._leaders[second])]

    def _order(self, coset: int) -> int:
        order, power = 1, coset
        while power != self._identity:
            power = self._times(power, coset)
            order += 1
        return order

    def _basis(self) -> list[tuple[int, int]]:
        """Returns cosets whose cyclic groups have the quotient as their direct sum, with their orders.

        In an Abelian group of prime power order, an element of the greatest order among those whose cyclic
        group meets a direct summand trivially spans a larger direct summand with it.
        """
        orders = {coset: self._order(coset) for coset in range(len(self._leaders))}
        basis: list[tuple[int, int]] = []
        for p in dict.fromkeys(prime_factors(len(self._leaders))):
            part = sorted((c for c in orders if _is_power(orders[c], p)), key=lambda c: (-orders[c], c))
            spanned = {self._identity}
            for generator in part:
                multiples = [self._identity]
                for _ in range(orders[generator] - 1):
                    multiples.append(self._times(multiples[-1], generator))
                if len(multiples) > 1 and spanned.isdisjoint(multiples[1:]):
                    spanned = {self._times(x, m) for x in spanned for m in multiples}
                    basis.append((generator, orders[generator]))
                    if len(spanned) == len(part):
                        break
        return basis

    def vector(self, g: Permutation) -> Vector:
        """Returns the coset of an element."""
        return self._vectors[self._coset[g]]

    def representative(self, vector: Vector) -> Permutation:
        """Returns a fixed element of a coset; the identity for the zero vector."""
        return self._representatives[vector]

    def add(self, first: Vector, second: Vector) -> Vector:
        """Returns the sum of two vectors."""
        return tuple((a + b) % m for a, b, m in zip(first, second, self.orders, strict=True))


class GroupCoordinates:
    """A solvable permutation group with an Abelian factor for each step of its derived series.

    Args:
        group: the group.
        budget: its `elements` bound the order of the group, up to MOST_ELEMENTS.

    Raises:
        InputError: if the group is not solvable.
        BudgetExceeded: if it is too large.

    Implements: [KaloujnineKrasner1950]
    """

    def __init__(self, group: PermutationGroup, budget: Budget | None = None) -> None:
        most = min(started(budget).elements, MOST_ELEMENTS)
        if not group.is_solvable:
            raise InputError(
                f"a group of order {group.order} that is not solvable has no Abelian coordinates"
            )
        if group.order > most:
            raise BudgetExceeded("elements", most, known_so_far={"group_order": group.order})
        self.group = group
        listed = [g.chain.elements() for g in group.derived_series]
        self.factors = [AbelianFactor(big, small) for big, small in itertools.pairwise(listed)]

    def vectors(self, g: Permutation) -> tuple[Vector, ...]:
        """Returns the coordinates of an element, one vector for each step of the series."""
        found = []
        for factor in self.factors:
            vector = factor.vector(g)
            found.append(vector)
            g = compose(g, invert(factor.representative(vector)))
        return tuple(found)

    def element(self, vectors: Sequence[Vector]) -> Permutation:
        """Returns the element with these coordinates."""
        g = tuple(range(self.group.degree))
        for factor, vector in zip(self.factors, vectors, strict=True):
            g = compose(factor.representative(vector), g)
        return g

    def carry(self, step: int, vector: Vector, g: Permutation) -> Permutation:
        """Returns what is left for the next step when g is added to a coordinate: t g t'⁻¹."""
        factor = self.factors[step]
        after = factor.add(vector, factor.vector(g))
        t, following = factor.representative(vector), factor.representative(after)
        return compose(compose(t, g), invert(following))


def _is_power(number: int, p: int) -> bool:
    while number % p == 0:
        number //= p
    return number == 1


Literals = tuple[tuple[Source, int], ...]


class NotSolvable(InputError):
    """An automaton with a group that no cascade of cyclic counters runs.

    Attributes:
        group: the group that is not solvable.
    """

    def __init__(self, group: GroupStructure) -> None:
        self.group = group
        super().__init__(
            f"the automaton contains the group {group.name} of order {group.order}, which is not solvable, "
            "so no cascade of cyclic counters runs it; decompose_general keeps it as a permutation component"
        )


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
        rows: list[LookupRow] = []
        for value, row in enumerate(table):
            common = max(dict.fromkeys(row), key=row.count)
            otherwise.append(meanings.setdefault(common, len(meanings)))
            for vector, outcome in zip(vectors, row, strict=True):
                if outcome != common:
                    literals = ((0, value), *((i, label) for i, label in enumerate(vector, 1)))
                    rows.append(LookupRow(literals, meanings.setdefault(outcome, len(meanings))))
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


class SplitLabel:
    """The label of one level, written as an orbit and as coordinates of a group element.

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
        placed.append(LookupRow(positions, value))
    otherwise = (defaults,) if isinstance(defaults, int) else tuple(defaults[v] for v in sorted(defaults))
    return Lookup(
        name=table.name,
        num_values=table.num_values,
        reads=tuple(reads),
        otherwise=otherwise,
        rows=tuple(placed),
    )
