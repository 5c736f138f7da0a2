"""Cells with unknowns: infinite or huge state sets, each coordinate known in its own way.

A cell says what is known of the language's configuration, in which class each counter is, the sign that
counters and tallies are multiples of, and one label for each coordinate (`coordinates`).

What is verified, for every cell and every letter that is read: one step, evaluated on the whole cell as
affine forms over unknowns, takes every coordinate to values that one label stands for, and the answer is the
one of the language on the whole cell. Where a cell is too coarse for a ReLU or the answer, it is cut at
integers of a counter, and each piece is evaluated by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from nerode.kernel.domains.coordinates import CellStep, Drawn, ExactCoordinate
from nerode.kernel.domains.counters import CounterTable
from nerode.kernel.domains.forms import CounterMeter, Cut, FormRegion, ValueRange
from nerode.kernel.domains.knowledge import CoordinateKnowledge, CounterClasses
from nerode.kernel.guard import CellPoint
from nerode.kernel.languages import BracketStack
from nerode.kernel.letters import LanguageMachine, NextLetters
from nerode.kernel.step import ExactArithmetic, State, States, Stepper
from nerode.kernel.walk import CheckProblem, Domain, Image, WalkCell
from nerode.kernel.work import Undecided, Unreadable, WorkCount

MAX_CELLS = 20_000
"""Cells that a walk over counters may visit; more of them and the cover is not one."""

_MANY_CLASSES = 64
"""Above this number of classes the counters of dead prefixes are first tried without telling them apart."""

_MAX_PIECES = 20_000
"""Pieces that one step on one cell may be cut into."""

_MAX_MERGED = 50_000
"""States of the first layers that are looked at to merge them."""


class _PlainSide:
    """The side of a language whose configurations are told apart: a cell knows the configuration.

    The sides below know less of it: the counters are unknowns, or the stack is in slots.
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
        after = self.language.advance(self.configuration(part, counts), letter)
        return [(None, {})] if after is None else self.parts(part, after)

    def parts(self, part: Any, after: Any) -> list[tuple[Hashable, Mapping[int, int]]]:
        """The cases after a letter that leads to a configuration."""
        return [(after, {})]

    def kinds(self, part: Any) -> Mapping[int, int]:
        """The kinds of bracket that are known, by depth."""
        return {}

    def depth(self, part: Any) -> int:
        """Slots from 1 to this depth hold kinds that matter."""
        return 0

    def ignores_counters(self, part: Any) -> bool:
        """Whether what may follow, now and later, is the same for all values of the counters."""
        return True

    def drawn(self, part: Any, counts: Sequence[int], choose: Random) -> Any:
        """Some configuration of the cell with these counters, for the guard."""
        return self.configuration(part, counts)

    def is_of(self, part: Any, configuration: Any) -> bool:
        """Whether a configuration is of the cell, its counters aside; for the guard."""
        return bool(part == configuration)


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

    def parts(self, part: Any, after: Any) -> list[tuple[Hashable, Mapping[int, int]]]:
        return [(after[0], {})]

    def ignores_counters(self, part: Any) -> bool:
        return part is None

    def is_of(self, part: Any, configuration: Any) -> bool:
        return bool(part == (None if configuration is None else configuration[0]))


class _SlotSide(_PlainSide):
    """Brackets of bounded depth: (depth, kind of the innermost), None once dead."""

    def __init__(self, language: BracketStack, known: CoordinateKnowledge) -> None:
        super().__init__(language)
        if language.depth is None or known.num_slots != language.depth:
            raise Unreadable(f"there are {known.num_slots} slots for a depth of {language.depth}")
        if len(known.codes) != language.kinds:
            raise Unreadable(f"there are {len(known.codes)} codes for {language.kinds} kinds of brackets")

    def start(self) -> Hashable:
        return (0, -1)

    def configuration(self, part: Any, counts: Sequence[int]) -> Any:
        if part is None:
            return None
        depth, top = part
        return (*(0,) * (depth - 1), top) if depth else ()

    def parts(self, part: Any, after: Any) -> list[tuple[Hashable, Mapping[int, int]]]:
        """After a closing bracket any kind may be the innermost: each is a case of its own."""
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

    def drawn(self, part: Any, counts: Sequence[int], choose: Random) -> Any:
        if part is None or part[0] == 0:
            return None if part is None else ()
        return (*(choose.randrange(self.language.kinds) for _ in range(part[0] - 1)), part[1])

    def is_of(self, part: Any, configuration: Any) -> bool:
        if part is None or configuration is None:
            return part is configuration
        return bool(part == (len(configuration), configuration[-1] if configuration else -1))


def _some(known: ValueRange, choose: Random) -> int:
    """Some integer of a range: an end, one beside it, or one far away."""
    if known.low is not None and known.high is not None:
        return choose.choice((int(known.low), int(known.high)))
    away = choose.choice((0, 1, 2, 1_000, 1 << 40))
    if known.low is not None:
        return int(known.low) + away
    return (0 if known.high is None else int(known.high)) - away


def _side_of(language: LanguageMachine, known: CoordinateKnowledge) -> _PlainSide:
    if isinstance(language, CounterTable):
        return _CounterSide(language, known.counters)
    if not known.num_slots:
        return _PlainSide(language)
    if not isinstance(language, BracketStack):
        raise Unreadable("slots are for bracket languages")
    return _SlotSide(language, known)


@dataclass(frozen=True, slots=True)
class UnknownsCell:
    """Knowledge about a set of states; no classes if counters may have any value, for dead prefixes."""

    part: Hashable
    classes: tuple[int, ...] | None
    labels: tuple[Hashable, ...]
    sign: int


class UnknownsDomain(Domain):
    """Cells with unknowns.

    Attributes:
        meter: bounds every sum on the cells that are visited, if they are to be metered.
    """

    names_words = False

    def __init__(self, problem: CheckProblem, known: CoordinateKnowledge, *, metered: bool = True) -> None:
        network = problem.network
        self._known = known
        self._side = _side_of(problem.language, known)
        self._merges_dead = math.prod(len(c.numbers) for c in known.counters) > _MANY_CLASSES
        counters = {f"counter{k}": (c.start, c.increments) for k, c in enumerate(known.counters)}
        self.meter = CounterMeter(network, counters)
        self._stepper = Stepper(network, ExactArithmetic(network, self.meter if metered else None))
        described = {coordinate.place: coordinate for coordinate in known.described}
        self._layers = [
            [
                described.get((n, i)) or ExactCoordinate((n, i), f"{n + 1}:{name}")
                for i, name in enumerate(layer.state)
            ]
            for n, layer in enumerate(network.layers)
        ]
        # The meter has to see all states of merged layers, not only the one that stands for them.
        self._merged = merge_layers(self._stepper, known.merged, problem.work) if known.merged else {}
        self._images: dict[tuple[UnknownsCell, int], list[Image]] = {}

    def start(self) -> WalkCell:
        """Returns the cell of the start."""
        counters = self._known.counters
        step = CellStep(FormRegion({}), moved=[1, *(c.start for c in counters)])
        classes = tuple(c.class_of(c.start) for c in counters)
        try:
            labels = self._fold(self._stepper.start(), step)
        except Undecided as doubt:
            raise Undecided(f"at the start {doubt}") from None
        return UnknownsCell(self._side.start(), classes, labels, 1)

    def legal(self, cell: Any) -> NextLetters:
        """Returns what may follow the prefixes of a cell."""
        return self._side.legal(cell.part, [r.some_integer() for r in self._ranges(cell.classes)])

    def refine(self, cell: Any) -> Sequence[WalkCell]:
        """Returns the classes of counters of a cell that does not tell them apart; nothing for others."""
        count = math.prod(len(c.numbers) for c in self._known.counters)
        if cell.classes is not None or count > MAX_CELLS:
            return ()
        self._merges_dead = False
        choices = itertools.product(*(c.numbers for c in self._known.counters))
        return [replace(cell, classes=classes) for classes in choices]

    def images(self, cell: Any, letter: int) -> Sequence[Image]:
        """Returns the cells that one letter leads to."""
        known = self._images.get((cell, letter))
        if known is None:
            known = list(self._step(cell, letter))
            if cell.classes is None and len(set(known)) > 1:
                raise Undecided("the counters of dead prefixes make a difference")
            self._images[cell, letter] = known
        return known

    def first_counts(self) -> tuple[int, ...]:
        """Returns the counters at the start."""
        return tuple(c.start for c in self._known.counters)

    def draw(self, cell: UnknownsCell, choose: Random) -> CellPoint:
        """Returns some point of a cell: counters of its classes, a stack, and a number for each label."""
        counts = tuple(_some(r, choose) for r in self._ranges(cell.classes))
        configuration = self._side.drawn(cell.part, counts, choose)
        point = CellPoint((), configuration, counts, cell.sign)
        at, labels = self._drawn(point), iter(cell.labels)
        states = tuple(tuple([c.draw(next(labels), at, choose) for c in layer]) for layer in self._layers)
        return replace(point, states=states)

    def moved(self, point: CellPoint, states: States, letter: int) -> CellPoint:
        """Returns the point after a letter."""
        counters = zip(point.counts, self._known.counters, strict=True)
        counts = tuple(n + c.increments[letter] for n, c in counters)
        after = self._side.language.advance(point.configuration, letter)
        return CellPoint(states, after, counts, self._known.sign * point.sign)

    def contains(self, cell: UnknownsCell, point: CellPoint) -> bool:
        """Whether a point lies in a cell."""
        classes = tuple(c.class_of(n) for c, n in zip(self._known.counters, point.counts, strict=True))
        if not self._side.is_of(cell.part, point.configuration) or cell.classes not in (None, classes):
            return False
        at, count, states = self._drawn(point), self._known.merged, point.states
        states = (*self._merged[states[:count]], *states[count:]) if self._merged else states
        pairs = [
            pair
            for layer, state in zip(self._layers, states, strict=True)
            for pair in zip(layer, state, strict=True)
        ]
        admitted = (c.admits(label, v, at) for (c, v), label in zip(pairs, cell.labels, strict=True))
        return cell.sign == point.sign and all(admitted)

    def _drawn(self, point: CellPoint) -> Drawn:
        stack = point.configuration if self._known.num_slots else None
        return Drawn([point.sign * n for n in (1, *point.counts)], point.sign, stack or ())

    def _step(self, cell: UnknownsCell, letter: int) -> Iterator[Image]:
        for classes, ranges in self._pieces(cell, letter):
            counts = [r.some_integer() for r in ranges]
            for part, assumed in self._side.cases(cell.part, counts, letter):
                after = [r.some_integer() for r in self._ranges(classes)]
                expected = self._side.legal(part, after)
                dead = not expected.letters and not expected.end and self._side.ignores_counters(part)
                kept = None if dead and self._merges_dead else classes
                kinds = {**self._side.kinds(cell.part), **assumed}
                for states, got, step in self._evaluate(cell, ranges, kinds, letter):
                    step.kinds_after, step.depth = self._side.kinds(part), self._side.depth(part)
                    after_step = UnknownsCell(part, kept, self._fold(states, step), step.sign_after)
                    yield Image(after_step, expected, got)

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
    ) -> Iterator[tuple[States, NextLetters | None, CellStep]]:
        """One step on every piece that the region has to be cut into."""
        pending = [ranges]
        pieces = 0
        while pending:
            current = pending.pop()
            pieces += 1
            if pieces > _MAX_PIECES:
                raise Undecided(f"one step falls into more than {_MAX_PIECES:,} pieces")
            step = self._unknowns(cell, current, kinds, letter)
            try:
                step.old = self._unfold(cell, step)
                new, got = self._stepper.step(step.old, letter, step.region)
            except Cut as cut:
                k = int(cut.unknown.removeprefix("counter"))
                pending += [[*current[:k], half, *current[k + 1 :]] for half in current[k].halves(cut.at)]
                continue
            yield new, got, step

    def _unknowns(
        self, cell: UnknownsCell, ranges: list[ValueRange], kinds: Mapping[int, int], letter: int
    ) -> CellStep:
        """The unknowns of a piece of a cell before and after a letter."""
        known = self._known
        step = CellStep(FormRegion({}), cell.sign, known.sign * cell.sign, kinds=kinds)
        values = [step.unknown(f"counter{k}", r) for k, r in enumerate(ranges)]
        moved = [v + c.increments[letter] for v, c in zip(values, known.counters, strict=True)]
        step.counters = [step.sign * v for v in (1, *values)]
        step.moved = [step.sign_after * v for v in (1, *moved)]
        return step

    def _unfold(self, cell: UnknownsCell, step: CellStep) -> States:
        """The states of a cell as forms over the unknowns of a step."""
        labels = iter(cell.labels)
        return tuple(
            tuple([coordinate.unfold(next(labels), step) for coordinate in layer]) for layer in self._layers
        )

    def _fold(self, states: States, step: CellStep) -> tuple[Hashable, ...]:
        """The labels of states after a letter."""
        if self._merged:
            count = self._known.merged
            states = (*self._merged[states[:count]], *states[count:])
        pairs = zip(self._layers, states, strict=True)
        return tuple(
            c.fold(value, step) for layer, state in pairs for c, value in zip(layer, state, strict=True)
        )


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
