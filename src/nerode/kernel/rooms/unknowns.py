"""Cells with unknowns: infinite or huge state sets, each coordinate known in its own way.

A cell says what is known of the language's configuration, in which class each counter is, the sign of the
scale, and one label for each coordinate. What a label stands for depends on the kind of the coordinate:

    ExactCoordinate    its value
    CappedCoordinate   its value up to a cap, which stands for all larger ones
    LooseCoordinate    the interval that it is in
    AffineCoordinate   nothing: it is a function of the counters, times the scale
    TallyCoordinate    whether it is 0; otherwise it is at least the scale
    StackCoordinate    nothing: it is the code of the open brackets, times the scale
    SlotCoordinate     nothing: it holds a kind of bracket, known where the bracket is the innermost
    ScaleCoordinate    nothing: it starts at 1 and is multiplied by its factor at every letter
    RayCoordinate      its value, up to a positive number that a group of coordinates has in common
    RegisterCoordinate  its sign; unless it is 0, its size is between two scales

What is verified, for every cell and every letter that is read: one step, evaluated on the whole cell as
affine forms over unknowns, takes every coordinate to values that one label stands for, and the answer is the
one of the language on the whole cell. Where a cell is too coarse for a ReLU or the answer, it is cut at
integers of a counter, and each piece is evaluated by itself.

Where layers apply tanh, the scale is one coordinate u ← tanh(c u), and an affine coordinate is its function
of the counters times u, up to an error that never exceeds a tolerance (`squash_errors`).

The scale is 1 at the start and multiplied by a fixed number c at every letter. For 0 < c < 1 a cell knows
that it is positive and at most 1, for c = -1 which sign it has. Brackets of any depth may be the digits of
one coordinate: the code of a stack is the digit of the innermost bracket and the code of the rest divided by
the base. A cell knows the innermost bracket; after a closing one each kind, or none, may be below. Of dead
prefixes nothing is known of the code. The chain of scales is 1 and numbers that shrink, or 4 to the power of
a counter that never falls, and 1. Where such a power stands beside a stack, it is what the code is
multiplied by.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import mul
from typing import Any

from nerode.kernel.languages import BracketStack
from nerode.kernel.letters import LanguageMachine, NextLetters
from nerode.kernel.network import CheckedNetwork, Place
from nerode.kernel.numbers import (
    Irrational,
    Number,
    Rational,
    grid_of,
    plain,
    rational,
    read_interval,
    read_rational,
)
from nerode.kernel.reader import Reader, entries, listing, quoted, record, table, whole
from nerode.kernel.rooms.counters import MAX_STEP, CounterTable
from nerode.kernel.rooms.forms import (
    NEW_SCALE,
    SCALE,
    AffineForm,
    CounterMeter,
    Cut,
    FormRegion,
    Value,
    ValueRange,
)
from nerode.kernel.step import ExactArithmetic, State, States, Stepper
from nerode.kernel.walk import CheckProblem, Domain, Image, WalkCell
from nerode.kernel.work import Undecided, Unreadable, WorkCount

Json = Any

MAX_COUNTERS = 1_000
MAX_POINTS = 100_000
MAX_CAP = 1 << 32
MAX_SCALES = 1_000
MAX_CELLS = 20_000
"""Cells that a walk over counters may visit; more of them and the cover is not one."""

_QUARTER = Fraction(1, 4)

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

    @property
    def numbers(self) -> range:
        """The numbers of all classes."""
        return range(self.low - 1, self.high + 2)

    def class_of(self, value: int) -> int:
        """Returns the class of a value."""
        return min(max(value, self.low - 1), self.high + 1)

    def range_of(self, number: int) -> ValueRange:
        """Returns the values of a class."""
        low = None if number < self.low else number
        return ValueRange(low, None if number > self.high else number, True, 0)

    def by_target(self, known: ValueRange, letter: int) -> Iterator[tuple[int, ValueRange]]:
        """Cuts a range so that a letter moves each part into one class: the classes and the parts before."""
        step = self.increments[letter]
        moved = known.moved(step)
        first = self.low - 1 if moved.low is None else self.class_of(int(moved.low))
        last = self.high + 1 if moved.high is None else self.class_of(int(moved.high))
        for number in range(first, last + 1):
            target = self.range_of(number)
            lows = [end for end in (target.low, moved.low) if end is not None]
            highs = [end for end in (target.high, moved.high) if end is not None]
            part = ValueRange(max(lows, default=None), min(highs, default=None), True, 0)
            yield number, part.moved(-step)


@dataclass(slots=True)
class CellStep:
    """One letter on (a piece of) a cell: the unknowns before it, and what is stated of them after it.

    Attributes:
        region: the unknowns.
        factor: what the letter multiplies the scale by.
        sign: the sign of the scale before the letter, for scales of absolute value 1.
        unit: the scale before the letter.
        counters: the products of the scale and the counters before the letter.
        weight: what the code of the open brackets is multiplied by, before the letter.
        stack: the code of the open brackets before the letter, times this.
        kinds: the kinds of bracket that are known before the letter, by depth.
        scales: the numbers of a chain of scales before the letter, the largest first.
        moved: scale and counters after the letter, `unit` and `counters` in one list.
        code: the code of the open brackets after the letter; None if nothing is known of it.
        kinds_after: the kinds that are known after the letter.
        depth: slots from 1 to this depth hold kinds that matter after the letter.
        scales_after: the numbers of the chain after the letter.
        old: the states before the letter.
        squashes: whether tanh takes the scale to a new one.
    """

    region: FormRegion
    factor: Rational = 1
    sign: int = 1
    unit: Value = 1
    counters: Sequence[Value] = ()
    weight: Value = 1
    stack: Value = 0
    kinds: Mapping[int, int] = field(default_factory=dict)
    scales: Sequence[Value] = ()
    moved: Sequence[Value] = ()
    code: Value | None = 0
    kinds_after: Mapping[int, int] = field(default_factory=dict)
    depth: int = 0
    scales_after: Sequence[Value] = ()
    old: States = ()
    squashes: bool = False

    def unknown(self, name: str, known: ValueRange) -> Value:
        """Returns a value of a range: a number if there is only one, a new unknown otherwise."""
        if known.point is not None:
            return known.point
        self.region.ranges[name] = known
        return AffineForm(0, {name: 1})

    def times_scale(self, name: str, known: ValueRange) -> Value:
        """Returns the product of the scale and a value of a range, "" for 1."""
        if self.factor in (1, -1):
            return self.sign * self.unknown(name, known)
        if known.point is None:
            return self.region.times_scale(name, known)
        return known.point * self.region.times_scale("", ValueRange(1, 1))


class Coordinate(ABC):
    """One coordinate of the state, and what a cell knows of it.

    Attributes:
        place: layer and number.
        name: how it is written.
    """

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = name

    @abstractmethod
    def unfold(self, label: Any, step: CellStep) -> Value:
        """Returns the value before the letter."""

    @abstractmethod
    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the label of the value after the letter (or at the start).

        Raises:
            Undecided: if no label stands for all of its values.
        """

    def squashed(self, value: Value, step: CellStep) -> Value:
        """Returns what is known of tanh of a value after the letter, whose argument is of the old scale.

        Raises:
            Undecided: if nothing is.
        """
        raise self.refuse("has tanh of something else than counters")

    def refuse(self, why: str) -> Undecided:
        """Returns the error that a value has no label."""
        return Undecided(f"{self.name} {why}")


class ExactCoordinate(Coordinate):
    """A coordinate of which the value is known."""

    def unfold(self, label: Number, step: CellStep) -> Value:
        """Returns the label."""
        return label

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the value."""
        if isinstance(value, AffineForm):
            raise self.refuse("depends on a counter, an interval or a scale")
        return value


class CappedCoordinate(ExactCoordinate):
    """A tally that never falls and only matters up to a cap, which stands for all values from it on."""

    def __init__(self, place: Place, name: str, cap: int) -> None:
        super().__init__(place, name)
        self.cap = cap

    def unfold(self, label: Number, step: CellStep) -> Value:
        """Returns the label, or an unknown from the cap on."""
        return step.unknown(self.name, ValueRange(self.cap, None)) if label == self.cap else label

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the value or the cap."""
        least = step.region.least
        low = least(value)
        earlier = least(step.old[self.place[0]][self.place[1]]) if step.old else low
        if low is None or earlier is None or low < earlier:
            raise self.refuse("has a cap, and a step lowers it")
        return self.cap if low >= self.cap else super().fold(value, step)


class LooseCoordinate(Coordinate):
    """A coordinate that lies in one of some intervals."""

    def __init__(self, place: Place, name: str, intervals: Sequence[ValueRange]) -> None:
        super().__init__(place, name)
        self.intervals = intervals

    def unfold(self, label: int, step: CellStep) -> Value:
        """Returns an unknown of the interval."""
        return step.unknown(self.name, self.intervals[label])

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the number of the first interval that holds the value."""
        range_ = ValueRange(*step.region.bounds(value))
        fitting = (j for j, interval in enumerate(self.intervals) if interval.contains(range_))
        index = next(fitting, None)
        if index is None:
            raise self.refuse("leaves its intervals")
        return index


class AffineCoordinate(Coordinate):
    """The scale times an affine function of the counters, or the ReLU of that.

    With a tolerance the function has an error of at most this, unless the coordinate is the scale itself.
    """

    def __init__(
        self,
        place: Place,
        name: str,
        coefficients: Sequence[Rational],
        rectified: bool,
        tolerance: Rational | None = None,
    ) -> None:
        super().__init__(place, name)
        self.coefficients = [(k, a) for k, a in enumerate(coefficients) if a != 0]
        self.rectified = rectified
        self.tolerance = tolerance

    def unfold(self, label: None, step: CellStep) -> Value:
        """Returns the function of the counters."""
        return self._stated([step.unit, *step.counters], step.region) + self._error(step, SCALE)

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Checks that the value is the stated function of the counters after the letter."""
        try:
            rest = value - self._stated(step.moved, step.region)
        except Cut:
            rest = 1
        if rest != 0 and rest != self._error(step, NEW_SCALE):
            raise self.refuse("is not the stated function of the counters")
        return None

    def squashed(self, value: Value, step: CellStep) -> Value:
        """Returns the function of the counters, if tanh is applied to c times the old one and the new write.

        The write is the change of the function, times the new scale; the scale itself has no write.
        """
        new, old = self._stated(step.moved, step.region), step.old[self.place[0]][self.place[1]]
        known = self._stated([step.unit, *step.counters], step.region)
        written = value - step.factor * old
        is_scale = known == step.unit and self.tolerance is None and written == 0
        kept = step.region.with_scale(known, NEW_SCALE)
        if is_scale or (self.tolerance is not None and written == new - kept):
            return new + self._error(step, NEW_SCALE)
        raise self.refuse("is not tanh of its multiple and of what the letter adds")

    def _error(self, step: CellStep, scale: str) -> Value:
        """The product of the scale and the error."""
        if self.tolerance is None or not step.squashes:
            return 0
        known = ValueRange(-self.tolerance, self.tolerance)
        return step.region.times_scale(f"error {self.name}", known, scale)

    def _stated(self, values: Sequence[Value], region: FormRegion) -> Value:
        total: Value = 0
        for k, a in self.coefficients:
            term = values[k] if a == 1 else a * values[k]
            total = total + term if total != 0 else term
        return region.relu(total) if self.rectified else total


class TallyCoordinate(Coordinate):
    """A count of errors: 0, or at least the scale."""

    def unfold(self, label: bool, step: CellStep) -> Value:
        """Returns 0, or the scale times an unknown from 1 on."""
        return 0 if label else step.times_scale(self.name, ValueRange(1, None))

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns whether the tally is 0."""
        if not isinstance(value, AffineForm) and value == 0:
            return True
        sign = step.sign if step.factor > 0 else -step.sign
        low = step.region.least(step.region.direction(sign * value))
        if low is None or low < (1 if step.squashes else max(step.factor, -step.factor)):
            raise self.refuse("is neither 0 nor at least the scale")
        return False

    def squashed(self, value: Value, step: CellStep) -> Value:
        """Returns the new scale times an unknown from 1 on, if the argument is at least c times the scale.

        The new scale, tanh of c times the scale, is at least 2/3 of its argument.
        """
        old = step.factor * step.old[self.place[0]][self.place[1]]
        parts = (step.region.direction(old * (1 / step.factor)), step.region.direction(value - old))
        kept, written = (step.region.bounds(part)[0] for part in parts)
        share = Fraction(2, 3)
        if kept is None or written is None or written < 0 or kept + share * written < 1:
            raise self.refuse("is neither 0 nor at least the scale")
        return step.region.times_scale(self.name, ValueRange(1, None), NEW_SCALE)


class StackCoordinate(Coordinate):
    """The digits of all open brackets.

    Where several coordinates hold them in turn, each is 0 or the code, and on dead prefixes at most `most`.
    """

    def __init__(self, place: Place, name: str, most: Rational | None) -> None:
        super().__init__(place, name)
        self.most = most

    def unfold(self, label: int | None, step: CellStep) -> Value:
        """Returns the code of the brackets before the letter, or 0."""
        if label == 0:
            return 0
        if self.most is not None and not step.kinds:
            return step.unknown(self.name, ValueRange(0, self.most))
        return step.stack

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns 0 for 0, and checks that other values are the code of the brackets after the letter."""
        if self.most is not None and value == 0:
            return 0
        if step.code is not None:
            holds = value - step.code == 0
        else:
            holds = self.most is None or ValueRange(0, self.most).contains(
                ValueRange(*step.region.bounds(value))
            )
        if not holds:
            raise self.refuse("is not the code of the open brackets")
        return None


class SlotCoordinate(Coordinate):
    """A kind of bracket at one depth, or anything between the codes of kinds above the innermost one."""

    def __init__(self, place: Place, name: str, depth: int, codes: Sequence[Rational], start: Number) -> None:
        super().__init__(place, name)
        self.depth = depth
        self.codes = codes
        values = [rational(start), *codes]
        grids = [grid_of(v) for v in values]
        grid = None if None in grids else max(g for g in grids if g is not None)
        self.range = ValueRange(min(values), max(values), grid=grid)

    def unfold(self, label: None, step: CellStep) -> Value:
        """Returns the code of the kind if it is known."""
        known = step.kinds.get(self.depth)
        return step.unknown(self.name, self.range) if known is None else self.codes[known]

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Checks the value: the innermost bracket's kind, what was held before, or between the codes."""
        region, kind = step.region, step.kinds_after.get(self.depth)
        if kind is not None:
            holds = value == self.codes[kind]
        elif self.depth < step.depth:
            holds = value == step.old[self.place[0]][self.place[1]]
        else:
            fine, most = region.grid(value), self.range.grid
            holds = self.range.contains(ValueRange(*region.bounds(value)))
            holds = holds and (most is None or (fine is not None and fine <= most))
        if not holds:
            raise self.refuse(f"does not hold the kind of bracket at depth {self.depth}")
        return None


class ScaleCoordinate(Coordinate):
    """One number of the chain of scales."""

    def __init__(self, place: Place, name: str, number: int) -> None:
        super().__init__(place, name)
        self.number = number

    def unfold(self, label: None, step: CellStep) -> Value:
        """Returns the scale."""
        return step.scales[self.number]

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Checks that the scale was multiplied by its factor."""
        if value != step.scales_after[self.number]:
            raise self.refuse("is not multiplied by its factor")
        return None


class RayCoordinate(Coordinate):
    """One coordinate of a group that is a known vector times an unknown positive number.

    A label before the letter is the entry of the vector; after it an unknown and how many times it is this.
    """

    def __init__(self, place: Place, name: str, group: int) -> None:
        super().__init__(place, name)
        self.group = group

    def unfold(self, label: Number, step: CellStep) -> Value:
        """Returns the product of the label and the unknown of the group."""
        ray = f"ray{self.group}"
        step.region.rays.add(ray)
        return label * step.unknown(ray, ValueRange(0, None))

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the unknown, "" for 1, and the number by which it is multiplied."""
        if not isinstance(value, AffineForm):
            return "", value
        if value.constant != 0 or len(value.terms) != 1 or not value.terms.keys() <= step.region.rays:
            raise self.refuse("is no multiple of a ray")
        ((ray, amount),) = value.terms.items()
        return ray, amount


def common_measure(values: Iterable[Number]) -> Fraction:
    """Returns the greatest rational number of which the entries of all numbers are whole multiples.

    Vectors that are positive rational multiples of each other, divided by theirs, are equal.
    """
    found = Fraction(0)
    for value in values:
        wholes = value.numerators if isinstance(value, Irrational) else (value.numerator,)
        own = Fraction(math.gcd(*wholes), value.denominator)
        common = math.lcm(found.denominator, own.denominator)
        found = Fraction(math.gcd(int(found * common), int(own * common)), common)
    return found


def ray_of(multiples: Sequence[tuple[str, Number]]) -> list[Number]:
    """Returns the vector of a group whose coordinates are these multiples of unknowns, in lowest terms.

    Raises:
        Undecided: if they are not multiples of one unknown.
    """
    if len({unknown for unknown, amount in multiples if amount != 0}) > 1:
        raise Undecided("the coordinates of a ray are not multiples of one number")
    amounts = [amount for _, amount in multiples]
    content = common_measure(amounts)
    return [plain(amount * (1 / content)) for amount in amounts] if content else amounts


class RegisterCoordinate(Coordinate):
    """A coordinate of known sign that is 0 or of a size from low · s_k to high · s_{k-1}."""

    def __init__(self, place: Place, name: str, number: int, low: Rational, high: Rational) -> None:
        super().__init__(place, name)
        if not 0 < low <= high:
            raise Unreadable(f"the bounds of {name} are not positive")
        self.number, self.low, self.high = number, low, high

    def unfold(self, label: int, step: CellStep) -> Value:
        """Returns 0 or an unknown of the sign."""
        if label == 0:
            return 0
        bounds = (label, self.number, self.low, self.high)
        step.region.registers[self.name] = bounds
        return step.unknown(self.name, ValueRange(None, None))

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns the sign, if the value is 0 or between its bounds."""
        if value == 0:
            return 0
        own, wider = step.scales_after[self.number], step.scales_after[self.number - 1]
        for sign, size in ((1, value), (-1, -value)):
            if self._never_negative(size - self.low * own, step) and self._never_negative(
                self.high * wider - size, step
            ):
                return sign
        raise self.refuse("leaves its bounds")

    def _never_negative(self, value: Value, step: CellStep) -> bool:
        least = step.region.least(value)
        return least is not None and least >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateKnowledge:
    """The coordinates as a cover describes them.

    Attributes:
        counters: the counters.
        scale: what the scale is multiplied by at every letter; 1 if there is none.
        digits: the digit of each kind of bracket; none without a stack.
        base: of the digits.
        num_slots: how many depths have a slot.
        codes: for each kind of bracket, its values in a slot.
        factors: what each number of the chain of scales is multiplied by; 1 is one of them.
        exponent: the counter of which the chain begins with the power of four, None if it begins with 1.
        merged: the number of first layers whose states are merged.
        described: the coordinates that are not exact.
        start: the scale before the first letter.
        squashes: whether tanh takes the scale to a new one.
    """

    counters: tuple[CounterClasses, ...]
    scale: Rational
    digits: tuple[Rational, ...]
    base: Rational
    num_slots: int
    codes: tuple[tuple[Rational, ...], ...]
    factors: tuple[Rational, ...]
    exponent: int | None
    merged: int
    described: tuple[Coordinate, ...]
    start: Fraction
    squashes: bool


def squash_errors(start: Rational, most: Rational) -> Rational:
    """Returns a bound of all errors together of h ← tanh(c h + s u) beside u ← tanh(c u), for c up to 1/4.

    Let q = h/u, z = c u before a letter and u' = tanh z after it, so that q' = tanh(z q + s u')/u'. Since
    |tanh x - x| ≤ |x|³/3, z/u' ≤ 1 + z²/3 and u' ≥ 2z/3, the quotient q' is q + s up to z² M³ for every
    M ≥ 1 that is at least |q| + |s|. At letter t, from 0 on, z is at most u₀ c^(t+1), and |q| + |s| at most
    m (t + 3), m the largest of 1, the first count and what one letter adds, as long as the errors so far are
    at most 1/4. The sum of (t + 3)³ c^(2t+2) over all t is below 2 for c ≤ 1/4.

    Args:
        start: u₀, at most 1.
        most: m.
    """
    return 2 * start * start * most * most * most


def _number(data: Json, what: str) -> Rational:
    return plain(read_rational(data, what))


def _range(data: Json, what: str) -> ValueRange:
    low, high = read_interval(data, what)
    return ValueRange(plain(low), plain(high))


_AMOUNT = whole(-MAX_STEP, MAX_STEP)
_COUNTER = record(
    {
        "start": _AMOUNT,
        "increments": listing(_AMOUNT),
        "points": entries(whole(-MAX_POINTS, 0), whole(0, MAX_POINTS)),
    }
)


def read_place(network: CheckedNetwork) -> Reader:
    """Returns a reader of coordinates, which are written "layer:name"."""

    def read(data: Json, what: str) -> Place:
        number, _, coordinate = str(data).partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 9):
            raise Unreadable(f"the coordinate {quoted(data)} is not written layer:name")
        layer = int(number) - 1
        if not 0 <= layer < len(network.layers) or coordinate not in network.layers[layer].state:
            raise Unreadable(f"there is no coordinate {quoted(data)}")
        return layer, network.layers[layer].state.index(coordinate)

    return read


def read_knowledge(cover: Mapping[str, Json], network: CheckedNetwork) -> CoordinateKnowledge:
    """Returns what a cover says of the coordinates.

    Raises:
        Unreadable: with the entry that makes no sense.
    """
    place = read_place(network)
    forms: dict[str, tuple[Reader, Json]] = {
        "counters": (listing(_COUNTER, most=MAX_COUNTERS), []),
        "affine": (table(entries(_number, listing(_number))), {}),
        "rectified": (listing(place), []),
        "scale": (_number, 1),
        "squashed": (entries(place, _number), None),
        "tallies": (listing(place), []),
        "stack": (entries(place, listing(_number), _number), None),
        "stacks": (listing(place), []),
        "slots": (listing(listing(place)), []),
        "codes": (listing(listing(_number)), []),
        "intervals": (table(listing(_range, most=MAX_POINTS)), {}),
        "merged": (whole(0, max(0, len(network.layers) - 1)), 0),
        "caps": (table(whole(1, MAX_CAP)), {}),
        "scales": (listing(entries(place, _number), most=MAX_SCALES), []),
        "power": (whole(0, MAX_COUNTERS), None),
        "rays": (listing(listing(place), most=MAX_SCALES), []),
        "registers": (table(entries(whole(1, MAX_SCALES), _number, _number)), {}),
    }
    given = {k: read(cover[k], k) if k in cover else default for k, (read, default) in forms.items()}

    def name(at: Place) -> str:
        return f"{at[0] + 1}:{network.layers[at[0]].state[at[1]]}"

    def placed(key: str) -> Iterator[tuple[Place, str, Any]]:
        return ((place(written, key), written, value) for written, value in given[key].items())

    counters = tuple(
        CounterClasses(c["start"], tuple(c["increments"]), *c["points"]) for c in given["counters"]
    )
    if any(len(c.increments) != len(network.alphabet.symbols) for c in counters):
        raise Unreadable("the increments of a counter are not one for each letter")
    if any(len(coefficients) != len(counters) for _, coefficients in given["affine"].values()):
        raise Unreadable("the coefficients of a coordinate are not one for each counter")
    scale, slots, codes = given["scale"], given["slots"], given["codes"]
    if not (0 < scale <= 1 or scale == -1):
        raise Unreadable("the scale is multiplied by a number between 0 and 1, or by -1")
    if any(len(code) != len(slot) for code in codes for slot in slots):
        raise Unreadable("a code does not have one value for each coordinate of a slot")
    stack, digits, base = given["stack"] or (None, [], 2)
    if base <= 1 or any(digit <= 0 for digit in digits):
        raise Unreadable("digits must be positive, and the base above 1")
    factors = (1, *(factor for _, factor in given["scales"]))
    if any(not 0 < b <= a for a, b in itertools.pairwise(factors)):
        raise Unreadable("the factors of the scales do not fall from 1 on")
    exponent = given["power"]
    if exponent is not None:
        if given["scales"] or given["rays"] or exponent >= len(counters) or scale != 1:
            raise Unreadable("a power is of a counter, and beside it nothing shrinks")
        if counters[exponent].start != 0 or (not digits and min(counters[exponent].increments) < 0):
            raise Unreadable("a power is of a counter that starts at 0 and, without a stack, never falls")
        factors = (1,) if digits else (1, 1)
    if any(k >= len(factors) for k, _, _ in given["registers"].values()):
        raise Unreadable("a register is of a scale that there is not")
    unit, tolerance, start = None, None, Fraction(1)
    if given["squashed"] is not None:
        unit, tolerance = given["squashed"]
        start = _first_scale(network, unit)
        if digits or exponent is not None or given["rectified"] or not 0 < scale <= _QUARTER:
            raise Unreadable("tanh is known of counters alone whose scale has a factor of at most 1/4")
        sizes = [max(v, -v) for row in given["affine"].values() for v in _amounts(counters, *row)]
        if not squash_errors(start, max([1, *sizes])) <= tolerance <= _QUARTER:
            raise Unreadable("the errors of tanh may be above the tolerance, or that is above 1/4")
    rectified = set(given["rectified"])
    if not rectified <= {at for at, _, _ in placed("affine")}:
        raise Unreadable("a rectified coordinate is not among the affine ones")
    found: list[Coordinate] = [
        AffineCoordinate(at, written, [constant, *rest], at in rectified, None if at == unit else tolerance)
        for at, written, (constant, rest) in placed("affine")
    ]
    found += [TallyCoordinate(at, name(at)) for at in given["tallies"]]
    holders = [] if stack is None else [stack, *given["stacks"]]
    most = base * base if len(holders) > 1 else None
    found += [StackCoordinate(at, name(at), most) for at in holders]
    for depth, slot in enumerate(slots, start=1):
        for i, at in enumerate(slot):
            start = network.layers[at[0]].start[at[1]]
            found.append(SlotCoordinate(at, name(at), depth, [code[i] for code in codes], start))
    found += [LooseCoordinate(at, written, intervals) for at, written, intervals in placed("intervals")]
    found += [CappedCoordinate(at, written, cap) for at, written, cap in placed("caps")]
    found += [ScaleCoordinate(at, name(at), k) for k, (at, _) in enumerate(given["scales"], start=1)]
    found += [RayCoordinate(at, name(at), k) for k, group in enumerate(given["rays"]) for at in group]
    found += [RegisterCoordinate(at, written, *entry) for at, written, entry in placed("registers")]
    places = [coordinate.place for coordinate in found]
    if len(set(places)) != len(places) or any(layer < given["merged"] for layer, _ in places):
        raise Unreadable("a coordinate is described twice, or is in a merged layer")
    return CoordinateKnowledge(
        counters=counters,
        scale=scale,
        digits=tuple(digits),
        base=base,
        num_slots=len(slots),
        codes=tuple(map(tuple, codes)),
        factors=factors,
        exponent=exponent,
        merged=given["merged"],
        described=tuple(found),
        start=start,
        squashes=unit is not None,
    )


def _first_scale(network: CheckedNetwork, unit: Place) -> Fraction:
    """The value of the coordinate that is the scale, before the first letter."""
    first = network.layers[unit[0]].start[unit[1]]
    if not isinstance(first, int | Fraction) or not 0 < first <= 1:
        raise Unreadable("the scale does not start between 0 and 1")
    return Fraction(first)


def _amounts(
    counters: Sequence[CounterClasses], constant: Rational, weights: Sequence[Rational]
) -> Iterator[Rational]:
    """The first value of an affine function of counters, and what each letter adds to it."""
    yield constant + sum(w * c.start for w, c in zip(weights, counters, strict=True))
    for increments in zip(*(c.increments for c in counters), strict=True):
        yield sum(map(mul, weights, increments))


class _PlainSide:
    """The side of a language whose configurations are told apart: a cell knows the configuration.

    The sides below know less of it: the counters are unknowns, or the stack is in slots or digits.
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


class _DigitSide(_PlainSide):
    """Brackets of any depth in one coordinate: the kind of the innermost, -1 for none, None once dead."""

    def __init__(self, language: BracketStack, known: CoordinateKnowledge) -> None:
        super().__init__(language)
        if language.depth is not None or len(known.digits) != language.kinds:
            raise Unreadable(f"{len(known.digits)} digits do not fit the brackets of the language")

    def start(self) -> Hashable:
        return -1

    def configuration(self, part: Any, counts: Sequence[int]) -> Any:
        return None if part is None else () if part == -1 else (part,)

    def parts(self, part: Any, after: Any) -> list[tuple[Hashable, Mapping[int, int]]]:
        """After a closing bracket any kind, or none, may be below: each is a case of its own."""
        if after:
            return [(after[-1], {})]
        return [(below, {2: below}) for below in range(-1, self.language.kinds)]

    def kinds(self, part: Any) -> Mapping[int, int]:
        """The innermost bracket as 1; the one below it is 2."""
        return {} if part is None else {1: part}


def _side_of(language: LanguageMachine, known: CoordinateKnowledge) -> _PlainSide:
    if isinstance(language, CounterTable):
        return _CounterSide(language, known.counters)
    if not known.num_slots and not known.digits:
        return _PlainSide(language)
    if not isinstance(language, BracketStack):
        raise Unreadable("slots and digits are for bracket languages")
    return _DigitSide(language, known) if known.digits else _SlotSide(language, known)


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
        self._rays: dict[int, list[int]] = {}
        for at, coordinate in enumerate(itertools.chain(*self._layers)):
            if isinstance(coordinate, RayCoordinate):
                self._rays.setdefault(coordinate.group, []).append(at)
        # The meter has to see all states of merged layers, not only the one that stands for them.
        self._merged = merge_layers(self._stepper, known.merged, problem.work) if known.merged else {}
        self._images: dict[tuple[UnknownsCell, int], list[Image]] = {}

    def start(self) -> WalkCell:
        """Returns the cell of the start."""
        counters = self._known.counters
        scales, first = [1 for _ in self._known.factors], self._known.start
        step = CellStep(
            FormRegion({}),
            moved=[plain(first), *(plain(first * c.start) for c in counters)],
            scales_after=scales,
        )
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

    def _step(self, cell: UnknownsCell, letter: int) -> Iterator[Image]:
        for classes, ranges in self._pieces(cell, letter):
            counts = [r.some_integer() for r in ranges]
            for part, assumed in self._side.cases(cell.part, counts, letter):
                after = [r.some_integer() for r in self._ranges(classes)]
                expected = self._side.legal(part, after)
                dead = not expected.letters and not expected.end and self._side.ignores_counters(part)
                kept = None if dead and self._merges_dead else classes
                kinds = {**self._side.kinds(cell.part), **assumed}
                sign = cell.sign if self._known.scale > 0 else -cell.sign
                for states, got, step in self._evaluate(cell, ranges, kinds, letter):
                    step.kinds_after, step.depth = self._side.kinds(part), self._side.depth(part)
                    step.code = None if part is None else step.code
                    yield Image(UnknownsCell(part, kept, self._fold(states, step), sign), expected, got)

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
        # Of dead prefixes the digits of a stack are one more number, whose range may be cut.
        free = self._known.digits and not kinds
        pending = [[*ranges, ValueRange(None, None)] if free else ranges]
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
        known, region = self._known, FormRegion({})
        step = CellStep(region, known.scale, cell.sign, kinds=kinds)
        # Powers are known for all values of their counter at once.
        any_power = ValueRange(None, None, True, 0)
        named = [(f"counter{k}", any_power if k == known.exponent else r) for k, r in enumerate(ranges)]
        region.free |= {name for name, r in named if not r.whole}
        step.unit = step.times_scale("", ValueRange(1, 1))
        values = [step.times_scale(name, r) for name, r in named]
        step.counters = values[: len(known.counters)]
        moved = [
            v + c.increments[letter] * step.unit for v, c in zip(step.counters, known.counters, strict=True)
        ]
        step.moved = [known.scale * v for v in (step.unit, *moved)]
        if known.squashes:
            step.squashes = True
            step.moved = [region.with_scale(v, NEW_SCALE) for v in (step.unit, *moved)]
            region.squashed = lambda place, value: self._layers[place[0]][place[1]].squashed(value, step)
        region.chain = {f"scale{k}" if k else "": k for k in range(len(known.factors))}
        factors, power, step.weight = known.factors, known.scale, step.unit
        if known.exponent is not None:
            region.exponent = f"counter{known.exponent}"
            power = plain(Fraction(4) ** known.counters[known.exponent].increments[letter])
            if known.digits:
                step.weight = region.times_scale("", ValueRange(1, 1))
            else:
                region.chain, factors = {"power": 0, "": 1}, (power, 1)
        step.scales = [step.unknown(name, ValueRange(None, None)) if name else 1 for name in region.chain]
        step.scales_after = [f * s for f, s in zip(factors, step.scales, strict=True)]
        if known.digits:
            inner = [kinds[level] for level in (1, 2) if level in kinds]
            step.stack = self._code(step, inner) if kinds else values[-1]
            kind, closes = divmod(letter, 2)
            digit, base = known.digits[kind] * step.weight, known.base
            below = plain(1 / Fraction(base))
            step.code = power * (base * (step.stack - digit) if closes else digit + step.stack * below)
        return step

    def _code(self, step: CellStep, inner: Sequence[int]) -> Value:
        """The code of a stack, times the scale, of which the innermost brackets are known (-1 for none)."""
        base, digits = self._known.base, self._known.digits
        if not inner:
            rest = ValueRange(0, max(digits) * Fraction(base) / (base - 1))
            powers = self._known.exponent is not None
            return step.region.times_scale("rest", rest) if powers else step.times_scale("rest", rest)
        if inner[0] == -1:
            return 0
        return digits[inner[0]] * step.weight + self._code(step, inner[1:]) * plain(1 / Fraction(base))

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
        labels: list[Any] = [
            c.fold(value, step) for layer, state in pairs for c, value in zip(layer, state, strict=True)
        ]
        for places in self._rays.values():
            for at, entry in zip(places, ray_of([labels[at] for at in places]), strict=True):
                labels[at] = entry
        return tuple(labels)


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
