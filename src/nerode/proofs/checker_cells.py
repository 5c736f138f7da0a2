"""All lengths for infinite or huge state sets: a finite search over cells that each hold many states.

A cell says what is known of the language's configuration, in which class each counter is, the exact values
of ordinary coordinates and the intervals of others. One step of the network is evaluated on the whole cell,
as affine forms; the result has to lie in cells again. When no new cell turns up, every run of every length
stays in the cells seen, and on each of them the answer was right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nerode.core import Cyclotomic, Exact, InputError
from nerode.languages import Legal
from nerode.proofs.certificate import RECOGNISE, VALID_PREFIXES, Claim, language_claim
from nerode.proofs.checker_closure import find_failure, search
from nerode.proofs.checker_dtypes import Exactness
from nerode.proofs.checker_evaluation import Evaluator, States
from nerode.proofs.checker_forms import Cut, Form, Range, Region, Undecided, Value, cut_range
from nerode.proofs.checker_invariants import Counter, Invariant, Place, coordinate_name, read_invariant
from nerode.proofs.checker_problem import (
    LANGUAGE_TASKS,
    Evidence,
    Failure,
    Problem,
    agrees,
    refuse_unless_implied,
)
from nerode.proofs.checker_quotients import merge_layers
from nerode.proofs.checker_records import all_numbers
from nerode.proofs.checker_sides import Part, Side, side_of

METHODS = ("counter-invariant", "stack-invariant", "interval-closure")

_MANY_CLASSES = 64
"""Above this number of classes the counters of dead prefixes are first tried without telling them apart."""

_MAX_CELLS = 20_000
"""Cells that a search may visit; more of them and the invariant is not one."""

_FIRST_LOOK = 1_000
"""Configurations that are searched for a failing word before an invariant is looked at."""

_MAX_PIECES = 20_000
"""Pieces that one step on one cell may be cut into."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """What is known of a set of states; no classes if counters may have any value, for dead prefixes."""

    part: Part
    classes: tuple[int, ...] | None
    exact: tuple[Exact, ...]
    intervals: tuple[int, ...]


def verify_cells(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims that rest on an invariant."""
    method = claims[0].method
    shown = []
    for task in dict.fromkeys(claim.task for claim in claims):
        if task not in LANGUAGE_TASKS:
            return Failure(what=f"this method does not show the task {task!r}", entry="claims")
        failure, _ = search_cells(problem, evidence, task, method)
        if failure is not None:
            return failure
        shown.append(language_claim(task=task, method=method))
    return refuse_unless_implied(claims, shown)


def search_cells(
    problem: Problem, evidence: Evidence, task: str, method: str
) -> tuple[Failure | None, Exactness | None]:
    """Returns why an invariant does not prove a task, or the bounds of all sums on its cells."""
    if (method, task) not in problem.notes:
        failure, found = _run(problem, evidence, task, f"evidence.{method}")
        if failure is not None:
            problem.notes[method, task] = (failure, None)
        for shown, exactness in found.items():
            problem.notes[method, shown] = (None, exactness)
    failure, exactness = problem.notes[method, task]
    return failure, exactness


def _run(
    problem: Problem, evidence: Evidence, task: str, entry: str
) -> tuple[Failure | None, dict[str, Exactness]]:
    try:
        failure = search(problem, task, limit=_FIRST_LOOK).failure
        if failure is not None:
            return failure, {}
        invariant = read_invariant(evidence, problem.network)
        cells = _Search(problem, invariant, side_of(problem.language, invariant), task)
        return None, cells.run()
    except InputError as error:
        return Failure(what=str(error), entry=entry), {}
    except Undecided as doubt:
        failure = find_failure(problem, task)
        return failure or Failure(what=f"the invariant does not prove the claim: {doubt}", entry=entry), {}


class _Search:
    def __init__(self, problem: Problem, invariant: Invariant, side: Side, task: str) -> None:
        network = problem.network
        if any(isinstance(v, Cyclotomic) for v in all_numbers(network)):
            raise Undecided("the network has irrational numbers, which forms do not hold")
        self.problem = problem
        self.network = network
        self.invariant = invariant
        self.side = side
        self.task = task
        self.merges_dead = math.prod(c.high - c.low + 3 for c in invariant.counters) > _MANY_CLASSES
        self.exactness = Exactness(
            network, {f"counter{k}": (c.start, c.increments) for k, c in enumerate(invariant.counters)}
        )
        self.evaluator = Evaluator(network, self.exactness)
        self.slot_at = {p: (d, i) for d, s in enumerate(invariant.slots, 1) for i, p in enumerate(s)}
        self.ranges = {p: invariant.slot_range(network, p, i) for p, (_, i) in self.slot_at.items()}
        described = {*invariant.affine, *self.slot_at, *invariant.intervals}
        places = [(n, i) for n, layer in enumerate(network.layers) for i in range(len(layer.state))]
        self.ordinary = [place for place in places if place not in described]
        self.loose = [place for place in places if place in invariant.intervals]
        # The meter has to see all states of merged layers, not only the one that stands for them.
        self.merged = (
            merge_layers(self.evaluator, invariant.merged, problem.budget) if invariant.merged else {}
        )
        names = {(n, i): f"state{n}:{i}" for n, i in places}
        self.unknowns = {place: (name, Form(0, {name: 1})) for place, name in names.items()}

    def run(self) -> dict[str, Exactness]:
        """Searches all cells; returns the bounds of all sums for the task (and for valid prefixes).

        Raises:
            Undecided: if a step leaves the invariant or its answer is not right all over a cell.
        """
        first = self._first()
        cells = {first: 0}
        self._spread(cells, only_legal=True)
        if self.task == VALID_PREFIXES:
            return {self.task: self.exactness}
        shown = {} if self.task == RECOGNISE else {VALID_PREFIXES: self.exactness.copy()}
        self._spread(cells, only_legal=False)
        return {**shown, self.task: self.exactness}

    def _spread(self, cells: dict[_Cell, int], *, only_legal: bool) -> None:
        """Adds all cells that legal letters lead to; then, on a second call, those that others lead to."""
        pending = list(cells)
        for cell in pending:
            doubts = self.exactness.doubts
            try:
                reached = self._all_successors(cell, done=cells[cell] == 1, only_legal=only_legal)
            except Undecided:
                if cell.classes is not None:
                    raise
                # Counters of dead prefixes have to be told apart after all; what was measured without that
                # is no bound that matters.
                self.merges_dead = False
                self.exactness.forget_doubts(doubts)
                reached = self._told_apart(cell)
            for new in reached:
                if new not in cells:
                    cells[new] = 0
                    pending.append(new)
            if len(cells) > _MAX_CELLS:
                raise Undecided(f"there are more than {_MAX_CELLS} cells")
            self.problem.budget.check("elements", len(cells), cells=len(cells))
            cells[cell] = 1

    def _all_successors(self, cell: _Cell, *, done: bool, only_legal: bool) -> list[_Cell]:
        values = self._ranges(cell.classes)
        legal = self.side.legal(cell.part, [_representative(r) for r in values]).symbols
        found: list[_Cell] = []
        for letter in range(len(self.network.alphabet)):
            if not (done if letter in legal else only_legal):
                found.extend(self._successors(cell, values, letter))
        return found

    def _told_apart(self, cell: _Cell) -> list[_Cell]:
        choices = itertools.product(*(range(c.low - 1, c.high + 2) for c in self.invariant.counters))
        return [replace(cell, classes=classes) for classes in choices]

    def _ranges(self, classes: tuple[int, ...] | None) -> list[Range]:
        if classes is None:
            return [Range(None, None, True, 0) for _ in self.invariant.counters]
        return [c.range_of(v) for c, v in zip(self.invariant.counters, classes, strict=True)]

    def _first(self) -> _Cell:
        starts = [c.start for c in self.invariant.counters]
        states = self.evaluator.start()
        for place, (constant, coefficients) in self.invariant.affine.items():
            wanted = constant + sum(a * s for a, s in zip(coefficients, starts, strict=True))
            if states[place[0]][place[1]] != wanted:
                raise Undecided(f"{self._name(place)} does not start as the invariant says")
        classes = tuple(
            c.classes(Range(s, s, True, 0))[0][0]
            for c, s in zip(self.invariant.counters, starts, strict=True)
        )
        return self._cell(self.side.start(), classes, states, Region({}))

    def _successors(self, cell: _Cell, values: list[Range], letter: int) -> Iterator[_Cell]:
        """The cells that one letter leads to, each with a right answer."""
        for classes, ranges in self._pieces(cell, values, letter):
            for part, assumed in self.side.cases(cell.part, [_representative(r) for r in ranges], letter):
                expected = self.side.legal(part, [_representative(r) for r in self._ranges(classes)])
                dead = self.merges_dead and not expected.symbols and not expected.end
                dead = dead and self.side.ignores_counters(part)
                kinds = {**self.side.kinds(cell.part), **assumed}
                for states, old, region, answer, own in self._evaluate(cell, ranges, kinds, letter):
                    if not agrees(self.task, expected, answer):
                        alphabet = self.network.alphabet
                        raise Undecided(
                            f"the answer {answer.names(alphabet)} after {alphabet.symbols[letter]} is not "
                            f"{expected.names(alphabet)}"
                        )
                    self._check_affine(states, own, letter)
                    self._check_slots(part, states, old, region)
                    yield self._cell(part, None if dead else classes, states, region)

    def _pieces(
        self, cell: _Cell, values: list[Range], letter: int
    ) -> Iterator[tuple[tuple[int, ...] | None, list[Range]]]:
        """Cuts the ranges so that each piece moves into one class; the class, and the piece before."""
        if cell.classes is None:
            yield None, values
            return
        counters = self.invariant.counters
        cut = [_by_target(c, r, c.increments[letter]) for c, r in zip(counters, values, strict=True)]
        for pieces in itertools.product(*cut):
            yield tuple(target for target, _ in pieces), [r for _, r in pieces]

    def _evaluate(
        self, cell: _Cell, ranges: list[Range], kinds: Mapping[int, int], letter: int
    ) -> Iterator[tuple[States, States, Region, Legal, list[Value]]]:
        """One step on every piece that the region has to be cut into."""
        pending = [ranges]
        pieces = 0
        while pending:
            current = pending.pop()
            pieces += 1
            if pieces > _MAX_PIECES:
                raise Undecided(f"one step falls into more than {_MAX_PIECES} pieces")
            region, counters, old = self._unfold(cell, current, kinds)
            try:
                new, answer = self.evaluator.step(old, letter, region)
            except Cut as cut:
                if not cut.unknown.startswith("counter"):
                    raise Undecided(f"{cut.unknown} cannot be cut") from None
                k = int(cut.unknown.removeprefix("counter"))
                halves = cut_range(current[k], cut.at)
                pending.extend([*current[:k], half, *current[k + 1 :]] for half in halves)
                continue
            yield new, old, region, answer, counters

    def _unfold(
        self, cell: _Cell, ranges: list[Range], kinds: Mapping[int, int]
    ) -> tuple[Region, list[Value], States]:
        """The states of a cell as forms."""
        region = Region({}, lazy=cell.classes is None)
        counters: list[Value] = []
        for k, known in enumerate(ranges):
            if known.is_point:
                assert known.low is not None
                counters.append(known.low)
            else:
                region.ranges[f"counter{k}"] = known
                counters.append(Form(0, {f"counter{k}": 1}))
        values: dict[Place, Value] = dict(zip(self.ordinary, cell.exact, strict=True))
        for place, (constant, coefficients) in self.invariant.affine.items():
            values[place] = _combine(constant, coefficients, counters)
        for place, (depth, position) in self.slot_at.items():
            if depth in kinds:
                values[place] = self.invariant.codes[kinds[depth]][position]
            else:
                values[place] = self._unknown(region, place, self.ranges[place])
        for place, index in zip(self.loose, cell.intervals, strict=True):
            values[place] = self._unknown(region, place, self.invariant.intervals[place][index])
        states = tuple(
            tuple([values[n, i] for i in range(len(layer.state))])
            for n, layer in enumerate(self.network.layers)
        )
        return region, counters, states

    def _unknown(self, region: Region, place: Place, known: Range) -> Value:
        if known.is_point:
            assert known.low is not None
            return known.low
        name, form = self.unknowns[place]
        region.ranges[name] = known
        return form

    def _check_affine(self, states: States, counters: list[Value], letter: int) -> None:
        moved = [v + c.increments[letter] for v, c in zip(counters, self.invariant.counters, strict=True)]
        for (layer, i), (constant, coefficients) in self.invariant.affine.items():
            if states[layer][i] - _combine(constant, coefficients, moved) != 0:
                symbol = self.network.alphabet.symbols[letter]
                raise Undecided(f"{self._name((layer, i))} is not as the invariant says after {symbol}")

    def _check_slots(self, part: Part, states: States, old: States, region: Region) -> None:
        """Slots below the top keep what they hold, the top holds its kind, others stay among the codes."""
        depth = self.side.depth(part)
        kinds = self.side.kinds(part)
        for (layer, i), (level, position) in self.slot_at.items():
            value = states[layer][i]
            if level in kinds:
                right = value == self.invariant.codes[kinds[level]][position]
            elif level < depth:
                right = value == old[layer][i]
            else:
                known = self.ranges[layer, i]
                fine = region.grid(value)
                right = known.contains(Range(*region.bounds(value))) and (
                    known.grid is None or (fine is not None and fine <= known.grid)
                )
            if not right:
                raise Undecided(
                    f"{self._name((layer, i))} does not hold the kind of bracket at depth {level}"
                )

    def _cell(self, part: Part, classes: tuple[int, ...] | None, states: States, region: Region) -> _Cell:
        exact: list[Exact] = []
        if self.merged:
            count = self.invariant.merged
            states = (*self.merged[states[:count]], *states[count:])
        for layer, i in self.ordinary:
            value = states[layer][i]
            if isinstance(value, Form):
                raise Undecided(
                    f"{self._name((layer, i))} takes values that depend on a counter or an interval"
                )
            exact.append(value)
        found = []
        for place in self.loose:
            known = Range(*region.bounds(states[place[0]][place[1]]))
            fitting = (j for j, r in enumerate(self.invariant.intervals[place]) if r.contains(known))
            index = next(fitting, None)
            if index is None:
                raise Undecided(f"{self._name(place)} leaves its intervals ({known.low} to {known.high})")
            found.append(index)
        return _Cell(part, classes, tuple(exact), tuple(found))

    def _name(self, place: Place) -> str:
        return coordinate_name(self.network, place)


def _by_target(counter: Counter, known: Range, increment: int) -> list[tuple[int, Range]]:
    """Cuts a range so that each part moves into one class; returns the classes and the parts before."""
    return [(value, _shift(part, -increment)) for value, part in counter.classes(_shift(known, increment))]


def _shift(known: Range, by: int) -> Range:
    low = None if known.low is None else known.low + by
    high = None if known.high is None else known.high + by
    return Range(low, high, known.whole, known.grid)


def _representative(known: Range) -> int:
    value = known.low if known.low is not None else known.high
    return 0 if value is None else int(value)


def _combine(constant: Exact, coefficients: Sequence[Exact], counters: Sequence[Value]) -> Value:
    total: Value = constant
    for a, c in zip(coefficients, counters, strict=True):
        if a != 0:
            total = total + a * c
    return total
