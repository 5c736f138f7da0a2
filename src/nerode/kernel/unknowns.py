"""Cells with unknowns: infinite or huge state sets, by affine functions of counters, slots and intervals.

A cell says what is known of the language's configuration, in which class each counter is, the exact values of
ordinary coordinates and the intervals of others. One step is evaluated on the whole cell, as affine forms.

What is verified, for every cell and every letter that is read:

1. the start has the values that the cover gives it;
2. each affine coordinate is the stated function of the counters again, after the letter has moved them;
3. slots below the innermost open bracket keep what they hold, the innermost holds the code of its kind, and
   slots above stay between the codes;
4. coordinates with intervals lie in one of them, and all others take one value on the whole cell;
5. the answer is the one of the language on the whole cell.

Where a cell is too coarse for a ReLU or the answer, it is cut at integers of a counter, and each piece is
evaluated by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nerode.kernel.forms import AffineForm, Cut, FormRegion, Value, ValueRange, grid_of
from nerode.kernel.languages import MAX_STEP, BracketStack, CounterTable, LanguageMachine, NextLetters
from nerode.kernel.meter import ExactnessMeter
from nerode.kernel.network import CheckedNetwork, Place, all_numbers, read_place
from nerode.kernel.numbers import Number, Rational, RootSum, rational, read_rational
from nerode.kernel.reader import check_keys, quoted, read_list, read_whole
from nerode.kernel.step import ExactArithmetic, State, States, Stepper
from nerode.kernel.walk import CheckProblem, Image, WalkCell
from nerode.kernel.work import Undecided, Unreadable, WorkCount

Json = Any
KEYS = ("counters", "affine", "slots", "codes", "intervals", "merged")

MAX_COUNTERS = 1_000
MAX_POINTS = 100_000
MAX_CELLS = 20_000
"""Cells that a walk may visit; more of them and the cover is not one."""

_MANY_CLASSES = 64
"""Above this number of classes the counters of dead prefixes are first tried without telling them apart."""

_MAX_PIECES = 20_000
"""Pieces that one step on one cell may be cut into."""

_MAX_MERGED = 50_000
"""States of the first layers that are looked at to merge them."""


@dataclass(frozen=True, slots=True)
class CounterClasses:
    """A number that each letter changes by a fixed amount.

    Attributes:
        start: its value before the first letter.
        increments: what each letter adds.
        low: values from `low` to `high` are told apart; below and above them are two more classes, whose
            numbers are low - 1 and high + 1.
        high: see `low`.
    """

    start: int
    increments: tuple[int, ...]
    low: int
    high: int

    def parts(self, known: ValueRange) -> Iterator[tuple[int, ValueRange]]:
        """Yields the classes that a range meets, each with the part of the range in it."""
        first = self.low - 1 if known.low is None else self._class(int(known.low))
        last = self.high + 1 if known.high is None else self._class(int(known.high))
        for number in range(first, last + 1):
            whole = self.range_of(number)
            lows = [end for end in (whole.low, known.low) if end is not None]
            highs = [end for end in (whole.high, known.high) if end is not None]
            yield number, ValueRange(max(lows, default=None), min(highs, default=None), True, 0)

    def _class(self, value: int) -> int:
        return min(max(value, self.low - 1), self.high + 1)

    def range_of(self, number: int) -> ValueRange:
        """Returns the values of a class."""
        if number < self.low:
            return ValueRange(None, self.low - 1, True, 0)
        if number > self.high:
            return ValueRange(self.high + 1, None, True, 0)
        return ValueRange(number, number, True, 0)

    def by_target(self, known: ValueRange, letter: int) -> list[tuple[int, ValueRange]]:
        """Cuts a range so that a letter moves each part into one class: the classes and the parts before."""
        step = self.increments[letter]
        return [(number, part.moved(-step)) for number, part in self.parts(known.moved(step))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateKnowledge:
    """The coordinates as a cover describes them.

    Attributes:
        counters: the counters.
        affine: constant and coefficients of the counters, by coordinate.
        slots: for each depth from 1, the coordinates that hold a kind of bracket.
        codes: for each kind, their values.
        intervals: the intervals that a coordinate may be in.
        merged: the number of first layers whose states are merged.
    """

    counters: tuple[CounterClasses, ...]
    affine: Mapping[Place, tuple[Rational, tuple[Rational, ...]]]
    slots: tuple[tuple[Place, ...], ...]
    codes: tuple[tuple[Rational, ...], ...]
    intervals: Mapping[Place, tuple[ValueRange, ...]]
    merged: int


def read_knowledge(cover: Mapping[str, Json], network: CheckedNetwork) -> CoordinateKnowledge:
    """Returns what a cover says of the coordinates.

    Raises:
        Unreadable: with the entry that makes no sense.
    """
    given = read_list(cover.get("counters", []), "counters", most=MAX_COUNTERS)
    counters = tuple(_read_counter(c, len(network.alphabet.symbols)) for c in given)
    affine = {}
    for name, pair in _read_object(cover, "affine").items():
        constant, coefficients = read_list(pair, f"the function of {quoted(name)}", length=2)
        read_list(coefficients, f"the coefficients of {quoted(name)}", length=len(counters))
        numbers = tuple(_read_number(c, "a coefficient") for c in coefficients)
        affine[read_place(name, network)] = (_read_number(constant, "a constant"), numbers)
    slots = tuple(
        tuple(read_place(name, network) for name in read_list(slot, "a slot"))
        for slot in read_list(cover.get("slots", []), "slots")
    )
    codes = tuple(
        tuple(_read_number(v, "a code") for v in read_list(code, "a code"))
        for code in read_list(cover.get("codes", []), "codes")
    )
    if any(len(code) != len(slot) for code in codes for slot in slots):
        raise Unreadable("a code does not have one value for each coordinate of a slot")
    intervals = {
        read_place(name, network): tuple(map(_read_interval, read_list(pairs, "intervals", most=MAX_POINTS)))
        for name, pairs in _read_object(cover, "intervals").items()
    }
    merged = read_whole(cover.get("merged", 0), "merged", 0, max(0, len(network.layers) - 1))
    places = [*affine, *(place for slot in slots for place in slot), *intervals]
    if len(set(places)) != len(places) or any(layer < merged for layer, _ in places):
        raise Unreadable("a coordinate is described twice, or is in a merged layer")
    return CoordinateKnowledge(
        counters=counters, affine=affine, slots=slots, codes=codes, intervals=intervals, merged=merged
    )


def _read_counter(data: Json, num_letters: int) -> CounterClasses:
    check_keys(data, ("start", "increments", "points"), "a counter")
    increments = read_list(data["increments"], "the increments of a counter", length=num_letters)
    low, high = read_list(data["points"], "the points of a counter", length=2)
    return CounterClasses(
        start=read_whole(data["start"], "the start of a counter", -MAX_STEP, MAX_STEP),
        increments=tuple(read_whole(v, "an increment", -MAX_STEP, MAX_STEP) for v in increments),
        low=read_whole(low, "the first point of a counter", -MAX_POINTS, 0),
        high=read_whole(high, "the last point of a counter", 0, MAX_POINTS),
    )


def _read_interval(pair: Json) -> ValueRange:
    low, high = (_read_number(end, "an interval") for end in read_list(pair, "an interval", length=2))
    if low > high:
        raise Unreadable("an interval ends before it begins")
    return ValueRange(low, high)


def _read_number(data: Json, what: str) -> Rational:
    value = read_rational(data, what)
    return value.numerator if value.denominator == 1 else value


def _read_object(cover: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    data = cover.get(key, {})
    if not isinstance(data, dict):
        raise Unreadable(f"{key} must be an object, not {quoted(data)}")
    return data


class _PlainSide:
    """The side of a language whose configurations are told apart: a cell knows the configuration.

    The two sides below know less of it: the counters are unknowns, or the stack is in the slots.
    """

    def __init__(self, language: LanguageMachine) -> None:
        self.language: Any = language

    def start(self) -> Hashable:
        first: Hashable = self.language.initial()
        return first

    def configuration(self, part: Any, counts: Sequence[int]) -> Any:
        """A configuration of the cell, for one value of each counter from its range."""
        return part

    def legal(self, part: Any, counts: Sequence[int]) -> NextLetters:
        answer: NextLetters = self.language.legal(self.configuration(part, counts))
        return answer

    def cases(
        self, part: Any, counts: Sequence[int], letter: int
    ) -> list[tuple[Hashable, Mapping[int, int]]]:
        """The cases after a letter, with kinds to be assumed at some depths before it."""
        return [(self.language.advance(self.configuration(part, counts), letter), {})]

    def kinds(self, part: Any) -> Mapping[int, int]:
        """The kinds of bracket that are known, by depth."""
        return {}

    def depth(self, part: Any) -> int:
        """Slots from 1 to this depth hold kinds that matter."""
        return 0

    def ignores_counters(self, part: Any) -> bool:
        """Whether what may follow, now and later, is the same for all values of the counters."""
        return True


class _CounterSide(_PlainSide):
    """A counter machine whose counters are the first ones of the cover: the last letter, None once dead.

    Its rules only ask whether a counter is zero or positive, and 0 is a class of its own, so one value of a
    class stands for all.
    """

    def __init__(self, language: CounterTable, counters: Sequence[CounterClasses]) -> None:
        super().__init__(language)
        self.number = len(language.start)
        mine = counters[: self.number]
        columns = tuple(zip(*language.increments, strict=True)) if self.number else ()
        if (tuple(c.start for c in mine), tuple(c.increments for c in mine)) != (language.start, columns):
            raise Unreadable("the first counters are not the counters of the language")

    def start(self) -> Hashable:
        return -1

    def configuration(self, part: Any, counts: Sequence[int]) -> Any:
        return None if part is None else (part, tuple(counts[: self.number]))

    def cases(
        self, part: Any, counts: Sequence[int], letter: int
    ) -> list[tuple[Hashable, Mapping[int, int]]]:
        after = self.language.advance(self.configuration(part, counts), letter)
        return [(None if after is None else after[0], {})]

    def ignores_counters(self, part: Any) -> bool:
        return part is None


class _StackSide(_PlainSide):
    """Brackets of bounded depth: (depth, kind of the innermost), None once dead."""

    def __init__(self, language: BracketStack, known: CoordinateKnowledge) -> None:
        super().__init__(language)
        if language.depth is None or len(known.slots) != language.depth:
            raise Unreadable(f"there are {len(known.slots)} slots for a depth of {language.depth}")
        if len(known.codes) != language.kinds:
            raise Unreadable(f"there are {len(known.codes)} codes for {language.kinds} kinds of brackets")

    def start(self) -> Hashable:
        return (0, -1)

    def configuration(self, part: Any, counts: Sequence[int]) -> Any:
        if part is None:
            return None
        depth, top = part
        return (*(0,) * (depth - 1), top) if depth else ()

    def cases(
        self, part: Any, counts: Sequence[int], letter: int
    ) -> list[tuple[Hashable, Mapping[int, int]]]:
        """After a closing bracket any kind may be the innermost: each is a case of its own."""
        after = self.language.advance(self.configuration(part, counts), letter)
        if after is None:
            return [(None, {})]
        depth = len(after)
        if depth > part[0]:
            return [((depth, after[-1]), {})]
        if depth == 0:
            return [((0, -1), {})]
        return [((depth, kind), {depth: kind}) for kind in range(self.language.kinds)]

    def kinds(self, part: Any) -> Mapping[int, int]:
        return {} if part is None or part[0] == 0 else {part[0]: part[1]}

    def depth(self, part: Any) -> int:
        return 0 if part is None else int(part[0])


def _side_of(language: LanguageMachine, known: CoordinateKnowledge) -> _PlainSide:
    if isinstance(language, CounterTable):
        return _CounterSide(language, known.counters)
    if not known.slots:
        return _PlainSide(language)
    if not isinstance(language, BracketStack):
        raise Unreadable("slots are for bracket languages")
    return _StackSide(language, known)


@dataclass(frozen=True, slots=True)
class UnknownsCell:
    """Knowledge about a set of states; no classes if counters may have any value, for dead prefixes."""

    part: Hashable
    classes: tuple[int, ...] | None
    exact: tuple[Number, ...]
    intervals: tuple[int, ...]


class UnknownsDomain:
    """Cells with unknowns.

    Attributes:
        meter: bounds every sum on the cells that are visited.
    """

    names_words = False

    def __init__(self, problem: CheckProblem, known: CoordinateKnowledge) -> None:
        network = problem.network
        if any(isinstance(v, RootSum) for v in all_numbers(network)):
            raise Undecided("the network has irrational numbers, which forms do not hold")
        self._network = network
        self._known = known
        self._side = _side_of(problem.language, known)
        self._merges_dead = math.prod(c.high - c.low + 3 for c in known.counters) > _MANY_CLASSES
        counters = {f"counter{k}": (c.start, c.increments) for k, c in enumerate(known.counters)}
        self.meter = ExactnessMeter(network, counters)
        self._stepper = Stepper(network, ExactArithmetic(network, self.meter))
        self._slot_at = {p: (d, i) for d, s in enumerate(known.slots, 1) for i, p in enumerate(s)}
        self._slot_ranges = {place: self._slot_range(place, i) for place, (_, i) in self._slot_at.items()}
        described = {*known.affine, *self._slot_at, *known.intervals}
        places = [(n, i) for n, layer in enumerate(network.layers) for i in range(len(layer.state))]
        self._ordinary = [place for place in places if place not in described]
        self._loose = [place for place in places if place in known.intervals]
        # The meter has to see all states of merged layers, not only the one that stands for them.
        self._merged = merge_layers(self._stepper, known.merged, problem.work) if known.merged else {}
        self._images: dict[tuple[UnknownsCell, int], list[Image]] = {}
        self._doubts: tuple[WalkCell, tuple[str, str]] = (None, ("", ""))

    def _slot_range(self, place: Place, position: int) -> ValueRange:
        """The interval that holds every code and the start value of a slot's coordinate."""
        start = rational(self._network.layers[place[0]].start[place[1]])
        values = [start, *(code[position] for code in self._known.codes)]
        grids = [grid_of(v) for v in values]
        grid = None if None in grids else max(g for g in grids if g is not None)
        return ValueRange(min(values), max(values), grid=grid)

    def start(self) -> WalkCell:
        """Returns the cell of the start."""
        starts = [c.start for c in self._known.counters]
        states = self._stepper.start()
        for place, (constant, coefficients) in self._known.affine.items():
            if states[place[0]][place[1]] != _combine(constant, coefficients, starts):
                raise Undecided(f"{self._name(place)} does not start as the cover says")
        classes = tuple(
            next(c.parts(ValueRange(s, s, True, 0)))[0]
            for c, s in zip(self._known.counters, starts, strict=True)
        )
        return self._cell(self._side.start(), classes, states, FormRegion({}))

    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the prefixes of a cell."""
        return self._side.legal(cell.part, [r.some_integer() for r in self._ranges(cell.classes)])

    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns the classes of counters of a cell that does not tell them apart; nothing for others."""
        count = math.prod(c.high - c.low + 3 for c in self._known.counters)
        if cell.classes is not None or count > MAX_CELLS:
            return ()
        self._merges_dead = False
        choices = itertools.product(*(range(c.low - 1, c.high + 2) for c in self._known.counters))
        return [replace(cell, classes=classes) for classes in choices]

    def images(self, cell: Any, letter: int) -> Sequence[Image]:
        """Returns the cells that one letter leads to."""
        known = self._images.get((cell, letter))
        if known is None:
            if cell is not self._doubts[0]:
                self._doubts = (cell, self.meter.doubts)
            try:
                known = self._images[cell, letter] = list(self._step(cell, letter))
            except Undecided:
                if cell.classes is None:
                    # The cell is replaced by smaller ones, on which every sum is measured again.
                    self.meter.forget_doubts(self._doubts[1])
                    self._stepper.forget()
                raise
        return known

    def _step(self, cell: UnknownsCell, letter: int) -> Iterator[Image]:
        for classes, ranges in self._pieces(cell, letter):
            counts = [r.some_integer() for r in ranges]
            for part, assumed in self._side.cases(cell.part, counts, letter):
                after = [r.some_integer() for r in self._ranges(classes)]
                expected = self._side.legal(part, after)
                dead = not expected.letters and not expected.end and self._side.ignores_counters(part)
                kept = None if dead and self._merges_dead else classes
                kinds = {**self._side.kinds(cell.part), **assumed}
                for states, old, region, got, counters in self._evaluate(cell, ranges, kinds, letter):
                    self._check_affine(states, counters, letter)
                    self._check_slots(part, states, old, region)
                    yield Image(self._cell(part, kept, states, region), expected, got)

    def _ranges(self, classes: tuple[int, ...] | None) -> list[ValueRange]:
        if classes is None:
            return [ValueRange(None, None, True, 0) for _ in self._known.counters]
        return [c.range_of(number) for c, number in zip(self._known.counters, classes, strict=True)]

    def _pieces(
        self, cell: UnknownsCell, letter: int
    ) -> Iterator[tuple[tuple[int, ...] | None, list[ValueRange]]]:
        """Cuts the ranges so that each piece moves into one class; the class, and the piece before."""
        ranges = self._ranges(cell.classes)
        if cell.classes is None:
            yield None, ranges
            return
        cut = [c.by_target(r, letter) for c, r in zip(self._known.counters, ranges, strict=True)]
        for pieces in itertools.product(*cut):
            yield tuple(target for target, _ in pieces), [part for _, part in pieces]

    def _evaluate(
        self, cell: UnknownsCell, ranges: list[ValueRange], kinds: Mapping[int, int], letter: int
    ) -> Iterator[tuple[States, States, FormRegion, NextLetters | None, list[Value]]]:
        """One step on every piece that the region has to be cut into."""
        pending = [ranges]
        pieces = 0
        while pending:
            current = pending.pop()
            pieces += 1
            if pieces > _MAX_PIECES:
                raise Undecided(f"one step falls into more than {_MAX_PIECES:,} pieces")
            region, counters, old = self._unfold(cell, current, kinds)
            try:
                new, got = self._stepper.step(old, letter, region)
            except Cut as cut:
                k = int(cut.unknown.removeprefix("counter"))
                pending += [[*current[:k], half, *current[k + 1 :]] for half in current[k].halves(cut.at)]
                continue
            yield new, old, region, got, counters

    def _unfold(
        self, cell: UnknownsCell, ranges: list[ValueRange], kinds: Mapping[int, int]
    ) -> tuple[FormRegion, list[Value], States]:
        """The states of a cell as forms over the unknowns of a region."""
        known, region = self._known, FormRegion({}, lazy=cell.classes is None)
        counters = [_unknown(region, f"counter{k}", r) for k, r in enumerate(ranges)]
        values: dict[Place, Value] = dict(zip(self._ordinary, cell.exact, strict=True))
        for place, (constant, coefficients) in known.affine.items():
            values[place] = _combine(constant, coefficients, counters)
        for place, (depth, position) in self._slot_at.items():
            values[place] = (
                known.codes[kinds[depth]][position]
                if depth in kinds
                else _unknown(region, f"state{place}", self._slot_ranges[place])
            )
        for place, index in zip(self._loose, cell.intervals, strict=True):
            values[place] = _unknown(region, f"state{place}", known.intervals[place][index])
        states = tuple(
            tuple([values[n, i] for i in range(len(layer.state))])
            for n, layer in enumerate(self._network.layers)
        )
        return region, counters, states

    def _check_affine(self, states: States, counters: list[Value], letter: int) -> None:
        moved = [v + c.increments[letter] for v, c in zip(counters, self._known.counters, strict=True)]
        for (layer, i), (constant, coefficients) in self._known.affine.items():
            if states[layer][i] - _combine(constant, coefficients, moved) != 0:
                raise Undecided(f"{self._name((layer, i))} is not the stated function of the counters")

    def _check_slots(self, part: Hashable, states: States, old: States, region: FormRegion) -> None:
        """Slots below the top keep what they hold, the top holds its kind, others stay among the codes."""
        depth, kinds = self._side.depth(part), self._side.kinds(part)
        for (layer, i), (level, position) in self._slot_at.items():
            value = states[layer][i]
            if level in kinds:
                holds = value == self._known.codes[kinds[level]][position]
            elif level < depth:
                holds = value == old[layer][i]
            else:
                known, fine = self._slot_ranges[layer, i], region.grid(value)
                holds = known.contains(ValueRange(*region.bounds(value))) and (
                    known.grid is None or (fine is not None and fine <= known.grid)
                )
            if not holds:
                raise Undecided(
                    f"{self._name((layer, i))} does not hold the kind of bracket at depth {level}"
                )

    def _cell(
        self, part: Hashable, classes: tuple[int, ...] | None, states: States, region: FormRegion
    ) -> UnknownsCell:
        """The cell that holds states."""
        if self._merged:
            count = self._known.merged
            states = (*self._merged[states[:count]], *states[count:])
        exact: list[Number] = []
        for layer, i in self._ordinary:
            value = states[layer][i]
            if isinstance(value, AffineForm):
                raise Undecided(f"{self._name((layer, i))} depends on a counter or an interval")
            exact.append(value)
        found = []
        for place in self._loose:
            range_ = ValueRange(*region.bounds(states[place[0]][place[1]]))
            fitting = (j for j, r in enumerate(self._known.intervals[place]) if r.contains(range_))
            index = next(fitting, None)
            if index is None:
                raise Undecided(f"{self._name(place)} leaves its intervals")
            found.append(index)
        return UnknownsCell(part, classes, tuple(exact), tuple(found))

    def _name(self, place: Place) -> str:
        return f"{place[0] + 1}:{self._network.layers[place[0]].state[place[1]]}"


def _unknown(region: FormRegion, name: str, known: ValueRange) -> Value:
    """The value of an unknown: a number if its range is a point, a new unknown of the region otherwise."""
    if known.point is not None:
        return known.point
    region.ranges[name] = known
    return AffineForm(0, {name: 1})


def _combine(constant: Rational, coefficients: Sequence[Rational], counters: Sequence[Value]) -> Value:
    total: Value = constant
    for a, c in zip(coefficients, counters, strict=True):
        if a != 0:
            total = total + a * c
    return total


def merge_layers(stepper: Stepper, count: int, work: WorkCount) -> dict[States, States]:
    """Returns for every reachable state of the first layers the first one that does the same.

    The first layers run by themselves. Two of their states are merged if under every word they hand the same
    numbers to the layers above and to the decoder; so what the network says depends on the merged state only.

    Raises:
        Undecided: if they have too many states.
    """
    network = stepper.network
    read = {name for layer in network.layers[count:] for name in layer.reads} | set(stepper.decoder_reads)
    shown = [name for layer in network.layers[:count] for name, _ in layer.outputs if name in read]
    order = [stepper.start()[:count]]
    number = {order[0]: 0}
    successors: list[list[int]] = []
    outputs: list[tuple[State, ...]] = []
    for states in order:
        row: list[int] = []
        said: list[State] = []
        for letter in range(len(network.alphabet.symbols)):
            new, stream = stepper.run_layers(states, letter)
            if new not in number:
                number[new] = len(order)
                order.append(new)
            row.append(number[new])
            said.append(tuple([stream.get(name, 0) for name in shown]))
        successors.append(row)
        outputs.append(tuple(said))
        if len(order) > _MAX_MERGED:
            raise Undecided(f"the first {count} layers have more than {_MAX_MERGED:,} states")
        work.spend(len(row))
    block = _numbered(outputs)
    while True:
        finer = _numbered([(b, *[block[t] for t in row]) for b, row in zip(block, successors, strict=True)])
        if max(finer) == max(block):
            break
        block = finer
        work.spend(len(order))
    first: dict[int, States] = {}
    for states, b in zip(order, finer, strict=True):
        first.setdefault(b, states)
    return {states: first[b] for states, b in zip(order, finer, strict=True)}


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
