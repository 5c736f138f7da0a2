"""Affine forms over unknowns with ranges: how infinitely many states are evaluated at once.

An unknown is a counter (an integer between two bounds, either of which may be missing) or a coordinate of
which only an interval is known. A region says in which ranges the unknowns of a cell are. It answers what the
step of a network asks: bounds, comparisons and ReLUs that hold for all values of the unknowns.

A ReLU of a form whose sign is not settled on the whole region asks for the region to be cut at an integer
(`Cut`). If no counter is involved, its value becomes a new unknown.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from nerode.kernel.domains.meter import ExactnessMeter, size
from nerode.kernel.network import CheckedNetwork
from nerode.kernel.numbers import (
    NUMBERS,
    Number,
    Rational,
    Region,
    grid_of,
    known_rational,
    sign,
)
from nerode.kernel.work import Undecided


class AffineForm:
    """constant + sum of coefficient · unknown; never without unknowns (arithmetic returns numbers then).

    All numbers are rational.
    """

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: Rational, terms: Mapping[str, Rational]) -> None:
        self.constant = constant
        self.terms = terms
        self._hash: int | None = None

    def __add__(self, other: Value) -> Value:
        if isinstance(other, AffineForm):
            terms = dict(self.terms)
            for name, amount in other.terms.items():
                terms[name] = terms.get(name, 0) + amount
            kept = {name: amount for name, amount in terms.items() if amount != 0}
            constant = self.constant + other.constant
            return AffineForm(constant, kept) if kept else constant
        return AffineForm(self.constant + known_rational(other), self.terms)

    __radd__ = __add__

    def __neg__(self) -> AffineForm:
        return AffineForm(-self.constant, {name: -amount for name, amount in self.terms.items()})

    def __sub__(self, other: Value) -> Value:
        return self + (-other)

    def __rsub__(self, other: Value) -> Value:
        return -self + other

    def __mul__(self, other: Value) -> Value:
        if isinstance(other, AffineForm):
            raise Undecided(f"the product of two unknown values, {self} and {other}, is not affine")
        if other == 0:
            return 0
        factor = known_rational(other)
        return AffineForm(self.constant * factor, {name: a * factor for name, a in self.terms.items()})

    __rmul__ = __mul__

    def real_part(self) -> Value:
        """Returns the form itself: unknowns and their coefficients are real."""
        return self

    def imaginary_part(self) -> Value:
        """Returns 0."""
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineForm) and (self.constant, self.terms) == (other.constant, other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        return " + ".join([str(self.constant), *(f"{a}·{n}" for n, a in sorted(self.terms.items()))])


Value = Number | AffineForm
"""What a coordinate of a state may hold in exact arithmetic."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values that an unknown may take; None for no bound.

    Attributes:
        low: the least value.
        high: the greatest value.
        whole: whether it is an integer, so that the range may be cut in two.
        grid: the values are multiples of 2**-grid; None if nothing of the kind is known.
    """

    low: Rational | None
    high: Rational | None
    whole: bool = False
    grid: int | None = None

    @property
    def point(self) -> Rational | None:
        """The value if there is only one."""
        return self.low if self.low is not None and self.low == self.high else None

    def contains(self, other: ValueRange) -> bool:
        """Whether every value of the other range is one of this."""
        low_fits = self.low is None or (other.low is not None and self.low <= other.low)
        high_fits = self.high is None or (other.high is not None and other.high <= self.high)
        return low_fits and high_fits

    def end(self, direction: Rational) -> Rational | None:
        """The end of the range on the side of a number's sign."""
        return self.high if direction > 0 else self.low

    def moved(self, by: int) -> ValueRange:
        """The range of the values plus a whole number."""
        low = None if self.low is None else self.low + by
        high = None if self.high is None else self.high + by
        return ValueRange(low, high, self.whole, self.grid)

    def halves(self, at: int) -> tuple[ValueRange, ValueRange]:
        """The two parts of a range of whole numbers: up to `at`, and above."""
        return replace(self, high=at), replace(self, low=at + 1)

    def some_integer(self) -> int:
        """An integer of the range of a counter."""
        value = self.low if self.low is not None else self.high
        return 0 if value is None else int(value)


class Cut(Exception):
    """Asks for the region to be cut: values of the unknown up to `at`, and values above."""

    def __init__(self, unknown: str, at: int) -> None:
        super().__init__(f"{unknown} at {at}")
        self.unknown = unknown
        self.at = at


@dataclass(slots=True)
class FormRegion(Region):
    """The ranges of all unknowns; compares forms and takes their ReLU on the whole region.

    Attributes:
        ranges: by unknown.
    """

    ranges: dict[str, ValueRange]
    _named: dict[AffineForm, str] = field(default_factory=dict)

    @property
    def has_unknowns(self) -> bool:  # type: ignore[override]
        """Whether some value may be a form over unknowns."""
        return bool(self.ranges)

    repeats = False
    """Equal forms may have other images on another region."""

    def around(self, *vectors: Sequence[Value]) -> Region:
        """Returns this region if some value is a form, the region of numbers otherwise."""
        return self if any(AffineForm in map(type, vector) for vector in vectors) else NUMBERS

    def bounds(self, value: Value) -> tuple[Rational | None, Rational | None]:
        """Returns the least and the greatest value; None for none."""
        return self.least(value), self.greatest(value)

    def least(self, value: Value) -> Rational | None:
        """Returns the least value; None for none."""
        return self._bound(value, -1)

    def greatest(self, value: Value) -> Rational | None:
        """Returns the greatest value; None for none."""
        return self._bound(value, 1)

    def _bound(self, value: Value, side: int) -> Rational | None:
        """The extreme value on one side; None for none."""
        if not isinstance(value, AffineForm):
            return known_rational(value)
        total = value.constant
        for name, amount in value.terms.items():
            end = self.ranges[name].end(amount * side)
            if end is None:
                return None
            total += amount * end
        return total

    def relu(self, value: Value) -> Value:
        """Returns max(value, 0)."""
        if not isinstance(value, AffineForm):
            positive: Number = NUMBERS.relu(value)
            return positive
        low = self.least(value)
        if low is not None and low >= 0:
            return value
        high = self.greatest(value)
        if high is not None and high <= 0:
            return 0
        self._cut(value)
        return self._new_unknown(value, high)

    def _new_unknown(self, value: AffineForm, high: Rational | None) -> AffineForm:
        """The unknown that stands for the ReLU of a form; the same one for the same form."""
        name = self._named.get(value)
        if name is None:
            name = f"relu#{len(self.ranges)}"
            self._named[value] = name
            self.ranges[name] = ValueRange(0, high, grid=self.grid(value))
        return AffineForm(0, {name: 1})

    def above(self, value: Value, threshold: Rational) -> bool:
        """Whether the value is above the threshold, on the whole region."""
        if not isinstance(value, AffineForm):
            return sign(value - threshold) > 0
        difference = AffineForm(value.constant - threshold, value.terms)
        least, most = self.bounds(difference)
        if least is not None and least > 0:
            return True
        if most is not None and most <= 0:
            return False
        self._cut(difference)
        raise Undecided(f"{value} is not on one side of {threshold}")

    def _cut(self, value: AffineForm) -> None:
        """Raises Cut where an integer unknown allows to settle the sign of a form."""
        whole = [(name, a) for name, a in value.terms.items() if self.ranges[name].whole]
        if len(value.terms) == 1 and whole:
            ((name, amount),) = whole
            zero = -Fraction(value.constant) / Fraction(amount)
            # All values above 0 on one side, all others on the other.
            raise Cut(name, math.floor(zero) if amount > 0 else math.ceil(zero) - 1)
        for name, _ in whole:
            known = self.ranges[name]
            if known.low is not None:
                raise Cut(name, int(known.low))
            raise Cut(name, 0 if known.high is None else int(known.high) - 1)

    def key(self, value: Value) -> Hashable:
        """Returns what the value and its bounds on this region depend on."""
        if not isinstance(value, AffineForm):
            return value
        ranges = self.ranges
        parts = []
        for name, amount in value.terms.items():
            known = ranges[name]
            parts.append((name, amount, known.low, known.high, known.grid))
        # By name: equal forms may have their terms in another order.
        return (value.constant, *(sorted(parts) if len(parts) > 1 else parts))

    def grid(self, value: Value) -> int | None:
        """Returns g such that the value is a multiple of 2**-g, None if none is known."""
        if not isinstance(value, AffineForm):
            return grid_of(value)
        finest = grid_of(value.constant)
        for name, amount in value.terms.items():
            known, own = self.ranges[name].grid, grid_of(amount)
            if finest is None or known is None or own is None:
                return None
            finest = max(finest, known + own)
        return finest


class CounterMeter(ExactnessMeter):
    """A meter of values that may be forms; where a counter has no bound, sums grow with the length.

    Args:
        network: the network.
        counters: for each counter (by the name of its unknown) its start and what each letter adds.
    """

    def __init__(self, network: CheckedNetwork, counters: Mapping[str, tuple[int, tuple[int, ...]]]) -> None:
        self._counters = counters
        self._growths: dict[AffineForm, tuple[Rational, Rational]] = {}
        super().__init__(network)

    def _measure(self, value: Value, region: Any) -> tuple[Value, Value]:
        """Bounds of the positive and of the negative part of a value, neither of them negative.

        Where a counter has no bound, they are forms in which its name stands for its absolute value.
        """
        if not isinstance(value, AffineForm):
            return super()._measure(value, region)
        low, high = region.bounds(value)
        above = self._most(value, region) if high is None else high
        below = self._most(-value, region) if low is None else -low
        if low is not None and low >= 0:
            return above, 0
        if high is not None and high <= 0:
            return 0, below
        return _positive(above), _positive(below)

    def _most(self, value: AffineForm, region: FormRegion) -> Value:
        """The greatest value of a form; counters without a bound on that side count by the letter."""
        bound: Value = value.constant
        for name, amount in value.terms.items():
            end = region.ranges[name].end(amount)
            if end is not None:
                bound = bound + amount * end
            elif name in self._counters:
                bound = bound + AffineForm(0, {name: size(amount)})
            else:
                self.give_up()
        return bound

    def _growth(self, bound: Value) -> tuple[Rational, Rational]:
        """A bound as a number and a number per letter.

        The unknowns are counters before the last letter of a word, so one letter less has moved them.
        """
        if not isinstance(bound, AffineForm):
            return super()._growth(bound)
        if bound not in self._growths:
            self._growths[bound] = self._growth_of(bound)
        return self._growths[bound]

    def _growth_of(self, bound: AffineForm) -> tuple[Rational, Rational]:
        growing = [(amount, *self._counters[name]) for name, amount in bound.terms.items()]
        start = sum((amount * abs(first) for amount, first, _ in growing), bound.constant)
        slope: Rational = max(
            sum((amount * abs(steps[letter]) for amount, _, steps in growing), 0)
            for letter in range(len(self._network.alphabet.symbols))
        )
        return start - slope, slope


def _positive(bound: Value) -> Value:
    """The bound of the positive part of what a bound is for."""
    if isinstance(bound, AffineForm):
        return AffineForm(max(bound.constant, 0), bound.terms)
    return bound if sign(bound) > 0 else 0
