"""Coordinates of which a cell does not know the value, but something else: a label.

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

`unfold` says which values a label stands for, as forms over the unknowns of a step; `fold` verifies that all
values after the letter have one label.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nerode.kernel.network import Place
from nerode.kernel.numbers import Irrational, Number, Rational, grid_of, plain, rational
from nerode.kernel.rooms.forms import NEW_SCALE, SCALE, AffineForm, Cut, FormRegion, Value, ValueRange
from nerode.kernel.step import States
from nerode.kernel.work import Undecided, Unreadable


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
