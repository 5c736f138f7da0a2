"""Coordinates of which a cell does not know the value, but something else: a label.

    ExactCoordinate    its value
    CappedCoordinate   its value up to a cap, which stands for all larger ones
    LooseCoordinate    the interval that it is in
    AffineCoordinate   nothing: it is a function of the counters, times the sign
    TallyCoordinate    whether it is 0; otherwise it is at least 1, times the sign
    SlotCoordinate     nothing: it holds a kind of bracket, known where the bracket is the innermost

`unfold` says which values a label stands for, as forms over the unknowns of a step; `fold` verifies that all
values after the letter have one label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

from nerode.kernel.domains.forms import AffineForm, Cut, FormRegion, Value, ValueRange
from nerode.kernel.network import Place
from nerode.kernel.numbers import Number, Rational, grid_of, plain, rational
from nerode.kernel.step import States
from nerode.kernel.work import Undecided


@dataclass(slots=True)
class CellStep:
    """One letter on (a piece of) a cell: the unknowns before it, and what is stated of them after it.

    Attributes:
        region: the unknowns.
        sign: what counters and tallies are multiples of before the letter, 1 or -1.
        sign_after: the same after the letter.
        counters: 1 and the counters before the letter, times the sign.
        kinds: the kinds of bracket that are known before the letter, by depth.
        moved: 1 and the counters after the letter, times the sign after it.
        kinds_after: the kinds that are known after the letter.
        depth: slots from 1 to this depth hold kinds that matter after the letter.
        old: the states before the letter.
    """

    region: FormRegion
    sign: int = 1
    sign_after: int = 1
    counters: Sequence[Value] = ()
    kinds: Mapping[int, int] = field(default_factory=dict)
    moved: Sequence[Value] = ()
    kinds_after: Mapping[int, int] = field(default_factory=dict)
    depth: int = 0
    old: States = ()

    def unknown(self, name: str, known: ValueRange) -> Value:
        """Returns a value of a range: a number if there is only one, a new unknown otherwise."""
        if known.point is not None:
            return known.point
        self.region.ranges[name] = known
        return AffineForm(0, {name: 1})


@dataclass(frozen=True, slots=True)
class Drawn:
    """Ingredients of a point of a cell: 1 and the counters, times the sign; the sign; the stack."""

    counters: Sequence[int]
    sign: int
    stack: tuple[int, ...]


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

    @abstractmethod
    def draw(self, label: Any, at: Drawn, choose: Random) -> Any:
        """Returns some number that a label stands for, for the guard."""

    @abstractmethod
    def admits(self, label: Any, value: Any, at: Drawn) -> bool:
        """Whether a label stands for a number, for the guard."""

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

    def draw(self, label: Any, at: Drawn, choose: Random) -> Any:
        """Returns the label."""
        return label

    def admits(self, label: Any, value: Any, at: Drawn) -> bool:
        """Whether it is the label."""
        return bool(label == value)


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

    def draw(self, label: Any, at: Drawn, choose: Random) -> Any:
        """Returns the label; for the cap that, or more."""
        return (
            choose.choice((label, label + 1, plain(label + Fraction(1, 2)), label << 40))
            if label == self.cap
            else label
        )

    def admits(self, label: Any, value: Any, at: Drawn) -> bool:
        """Whether it is the label, or at least the cap."""
        return bool(value >= label) if label == self.cap else super().admits(label, value, at)


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

    def draw(self, label: int, at: Drawn, choose: Random) -> Value:
        """Returns an end of the interval, or its middle."""
        low, high = self.intervals[label].low, self.intervals[label].high
        assert low is not None
        assert high is not None
        return choose.choice((low, high, plain(Fraction(low + high) / 2)))

    def admits(self, label: int, value: Any, at: Drawn) -> bool:
        """Whether it is in the interval."""
        return self.intervals[label].contains(ValueRange(value, value))


class AffineCoordinate(Coordinate):
    """An affine function of the counters, or the ReLU of that, times the sign."""

    def __init__(self, place: Place, name: str, coefficients: Sequence[Rational], rectified: bool) -> None:
        super().__init__(place, name)
        self.coefficients = [(k, a) for k, a in enumerate(coefficients) if a != 0]
        self.rectified = rectified

    def unfold(self, label: None, step: CellStep) -> Value:
        """Returns the function of the counters."""
        return self._stated(step.counters, step.region)

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Checks that the value is the stated function of the counters after the letter."""
        try:
            holds = value - self._stated(step.moved, step.region) == 0
        except Cut:
            holds = False
        if not holds:
            raise self.refuse("is not the stated function of the counters")
        return None

    def _stated(self, values: Sequence[Value], region: FormRegion) -> Value:
        total: Value = 0
        for k, a in self.coefficients:
            term = values[k] if a == 1 else a * values[k]
            total = total + term if total != 0 else term
        return region.relu(total) if self.rectified else total

    def draw(self, label: None, at: Drawn, choose: Random) -> Value:
        """Returns the function of the counters."""
        total = plain(sum((Fraction(a) * at.counters[k] for k, a in self.coefficients), Fraction(0)))
        return max(total, 0) if self.rectified else total

    def admits(self, label: None, value: Any, at: Drawn) -> bool:
        """Whether it is the function of the counters."""
        return bool(value == self.draw(label, at, Random(0)))


class TallyCoordinate(Coordinate):
    """A count of errors: 0, or at least 1, times the sign."""

    def unfold(self, label: bool, step: CellStep) -> Value:
        """Returns 0, or the sign times an unknown from 1 on."""
        return 0 if label else step.sign * step.unknown(self.name, ValueRange(1, None))

    def fold(self, value: Value, step: CellStep) -> Hashable:
        """Returns whether the tally is 0."""
        if not isinstance(value, AffineForm) and value == 0:
            return True
        low = step.region.least(step.sign_after * value)
        if low is None or low < 1:
            raise self.refuse("is neither 0 nor at least 1")
        return False

    def draw(self, label: bool, at: Drawn, choose: Random) -> Value:
        """Returns 0, or the sign times 1 or more."""
        return 0 if label else at.sign * choose.choice((1, plain(Fraction(3, 2)), 1_000))

    def admits(self, label: bool, value: Any, at: Drawn) -> bool:
        """Whether it is 0, or the sign times at least 1."""
        return bool(value == 0 if label else at.sign * value >= 1)


class SlotCoordinate(Coordinate):
    """A kind of bracket at one depth, or anything between the codes of kinds above the innermost one."""

    def __init__(self, place: Place, name: str, depth: int, codes: Sequence[Rational], start: Number) -> None:
        super().__init__(place, name)
        self.depth = depth
        self.codes = codes
        self.values = values = [plain(rational(start)), *codes]
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

    def draw(self, label: None, at: Drawn, choose: Random) -> Value:
        """Returns the code of the bracket at this depth; above the stack any code, or the start."""
        if self.depth <= len(at.stack):
            return self.codes[at.stack[self.depth - 1]]
        return choose.choice(self.values)

    def admits(self, label: None, value: Any, at: Drawn) -> bool:
        """Whether it is the code of the bracket at this depth, or above the stack in between."""
        if self.depth <= len(at.stack):
            return bool(value == self.codes[at.stack[self.depth - 1]])
        return self.range.contains(ValueRange(value, value))
