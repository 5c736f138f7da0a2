"""Affine forms over unknowns with ranges: how infinitely many states are evaluated at once.

An unknown is a counter (an integer between two bounds, either of which may be missing) or a coordinate of
which only an interval is known. A region says in which ranges the unknowns of a cell are. It answers what the
step of a network asks: bounds, comparisons and ReLUs that hold for all values of the unknowns.

A ReLU of a form whose sign is not settled on the whole region asks for the region to be cut at an integer
(`Cut`). If no counter is involved, its value becomes a new unknown.

Where all coordinates shrink together, an unknown may stand for the product of a counter and the scale, which
is positive and at most 1: such a form has the sign of what the scale is multiplied with. Where coordinates
shrink one faster than the other, unknowns are a chain of such scales, and registers between them. A power of
four of a counter is an unknown of at least 1, before the chain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from nerode.kernel.network import CheckedNetwork
from nerode.kernel.numbers import (
    NUMBERS,
    Number,
    Rational,
    Region,
    grid_of,
    imaginary_part,
    known_rational,
    power_of_four,
    real_part,
    sign,
)
from nerode.kernel.rooms.meter import ExactnessMeter, size
from nerode.kernel.work import Undecided

SCALE, NEW_SCALE = "scale", "new scale"
"""The scale before a letter and, where tanh takes it to another number, after it."""


class AffineForm:
    """constant + sum of coefficient · unknown; never without unknowns (arithmetic returns numbers then).

    Coefficients of rays may be irrational, all other numbers are rational.
    """

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: Rational, terms: Mapping[str, Any]) -> None:
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
        constant = self.constant and self.constant * known_rational(other)
        return AffineForm(constant, {name: a * other for name, a in self.terms.items()})

    __rmul__ = __mul__

    def real_part(self) -> Value:
        """Returns the real part, term by term: unknowns are real, a coefficient may be complex."""
        return self._part(real_part)

    def imaginary_part(self) -> Value:
        """Returns the imaginary part, term by term."""
        return self._part(imaginary_part)

    def _part(self, part: Callable[[Any], Any]) -> Value:
        terms = {name: part(amount) for name, amount in self.terms.items()}
        kept = {name: amount for name, amount in terms.items() if amount != 0}
        constant: Rational = part(self.constant)
        return AffineForm(constant, kept) if kept else constant

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

    def halves(self, at: Rational) -> tuple[ValueRange, ValueRange]:
        """The two parts of a range: up to `at`, and above; both have `at` where numbers need not be whole."""
        return replace(self, high=at), replace(self, low=at + 1 if self.whole else at)

    def some_integer(self) -> int:
        """An integer of the range of a counter."""
        value = self.low if self.low is not None else self.high
        return 0 if value is None else int(value)


class Cut(Exception):
    """Asks for the region to be cut: values of the unknown up to `at`, and values above."""

    def __init__(self, unknown: str, at: Rational) -> None:
        super().__init__(f"{unknown} at {at}")
        self.unknown = unknown
        self.at = at


@dataclass(slots=True)
class FormRegion(Region):
    """The ranges of all unknowns; compares forms and takes their ReLU on the whole region.

    Attributes:
        ranges: by unknown.
        scaled: for each unknown that is a product with the scale, a positive number of at most 1, the other
            factor: "" for the scale itself. Where tanh takes the scale to a new one, products with either.
        free: unknowns that are any number, whose ranges may be cut anywhere.
        chain: unknowns s₀ ≥ s₁ ≥ … > 0 with their numbers, among which "" stands for 1.
        registers: unknowns between the numbers of the chain, as (sign, k, low, high): the absolute value is
            at least low · s_k and at most high · s_{k-1}.
        rays: unknowns that are any positive numbers.
        exponent: the counter of which the scale, or else the first number of the chain, is the power of four;
            the scale is any positive number then.
        squashed: the value that a coordinate takes where its layer applies tanh to a form; None if unknown.
    """

    ranges: dict[str, ValueRange]
    scaled: dict[str, str] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)
    chain: Mapping[str, int] = field(default_factory=lambda: {"": 0})
    registers: dict[str, tuple[int, int, Rational, Rational]] = field(default_factory=dict)
    rays: set[str] = field(default_factory=set)
    exponent: str = ""
    squashed: Callable[[tuple[int, int], Value], Value] | None = None
    _named: dict[AffineForm, str] = field(default_factory=dict)

    @property
    def has_unknowns(self) -> bool:  # type: ignore[override]
        """Whether some value may be a form over unknowns."""
        return bool(self.ranges)

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """Whether nothing is unknown but positive numbers, so that equal forms have equal images."""
        return self.ranges.keys() <= self.rays

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
        if len(self.chain) == 1 and not self.scaled:
            return self._end(value, side)
        return max(self._sums(value, side), key=lambda total: side * total, default=None)

    def _end(self, value: AffineForm, side: int) -> Rational | None:
        """The bound of a form from one side where all unknowns have ranges; None if it has no bound."""
        total = value.constant
        for name, given in value.terms.items():
            known, amount = self.ranges[name], given if type(given) is int else known_rational(given)
            end = known.end(amount * side)
            if end is None:
                return None
            total += amount * end
        return total

    def _sums(self, value: AffineForm, side: int) -> list[Rational]:
        """Numbers whose extremes bound a form from one side; none if it has no bound.

        A form is a sum of coefficients times s₀ ≥ s₁ ≥ …, with every other unknown at an end of its range. So
        it is the sum of each partial sum of the coefficients times s_k - s_{k+1} ≥ 0, and of the last one
        times the last s_k, which is positive. Where s₀ is above 1, it is any number, and a form that grows
        with it to the other side has no bound.
        """
        one = self.chain[""]
        coefficients: list[Rational] = [0] * len(self.chain)
        coefficients[one] = value.constant
        products: dict[str, dict[str, Rational]] = {}
        for name, amount in value.terms.items():
            known_rational(amount)
            if name in self.scaled:
                products.setdefault(_scale_of(name), {})[name] = amount
        for scaled in products.values():
            shown = self.direction(AffineForm(0, scaled))
            end = self._bound(shown, side)
            if end is None or (self.exponent and end * side > 0):
                return []
            coefficients[one] += max(end, 0) if side > 0 else min(end, 0)
        for name, amount in value.terms.items():
            if name in self.scaled:
                continue
            if name in self.chain:
                coefficients[self.chain[name]] += amount
            elif name in self.registers:
                sign, k, least, most = self.registers[name]
                wide = amount * sign * side > 0
                coefficients[k - 1 if wide else k] += amount * sign * (most if wide else least)
            else:
                end = self.ranges[name].end(amount * side)
                if end is None:
                    return []
                coefficients[one] += amount * end
        if any(amount * side > 0 for amount in itertools.accumulate(coefficients[:one])):
            return []
        return list(itertools.accumulate(coefficients))[one:]

    def times_scale(self, name: str, known: ValueRange, scale: str = SCALE) -> AffineForm:
        """Returns the product of the scale and an unknown of this range, "" for the scale itself."""
        product = f"{scale}·{name}"
        if name:
            self.ranges[name] = known
        low = None if known.low is None or (self.exponent and known.low < 0) else min(known.low, 0)
        high = None if known.high is None or (self.exponent and known.high > 0) else max(known.high, 0)
        self.ranges[product] = ValueRange(low, high)
        self.scaled[product] = name
        return AffineForm(0, {product: 1})

    def with_scale(self, value: Value, new: str) -> Value:
        """Returns a sum of products with one scale as the same sum of products with another."""
        if not isinstance(value, AffineForm):
            return value
        found: Value = 0
        for product, amount in value.terms.items():
            factor = self.scaled[product]
            known = self.ranges[factor] if factor else ValueRange(1, 1)
            found = found + amount * self.times_scale(factor, known, new)
        return found

    def direction(self, value: Value) -> Value:
        """Returns a form without the scale, or a ray, if that is a factor of all of it; others as they are.

        Since the scale and a ray are positive, the signs are the same.
        """
        if not isinstance(value, AffineForm) or value.constant != 0:
            return value
        if len(value.terms) == 1 and value.terms.keys() <= self.rays:
            amount: Number = next(iter(value.terms.values()))
            return amount
        if not self.scaled.keys() >= value.terms.keys() or len(set(map(_scale_of, value.terms))) > 1:
            return value
        terms = {self.scaled[name]: amount for name, amount in value.terms.items()}
        constant = terms.pop("", 0)
        return AffineForm(constant, terms) if terms else constant

    def relu(self, value: Value) -> Value:
        """Returns max(value, 0)."""
        if not isinstance(value, AffineForm):
            positive: Number = NUMBERS.relu(value)
            return positive
        direction = self.direction(value)
        if not isinstance(direction, AffineForm):
            return value if sign(direction) > 0 else 0
        low = self.least(direction)
        if low is not None and low >= 0:
            return value
        high = self.greatest(direction)
        if high is not None and high <= 0:
            return 0
        self._cut(direction)
        return self._new_unknown(value, high)

    def sign(self, value: Value) -> Value:
        """Returns 1, 0 or -1."""
        if not isinstance(value, AffineForm):
            return sign(value)
        try:
            return 1 if self.above(value, 0) else -1 if self.above(-value, 0) else 0
        except Undecided:
            name = f"sign#{len(self.ranges)}"
            self.ranges[name] = ValueRange(-1, 1)
            return AffineForm(0, {name: 1})

    def power(self, value: Value) -> Value:
        """Returns 4 to the power of a value, where that is known."""
        if not isinstance(value, AffineForm):
            number: Number = NUMBERS.power(value)
            return number
        power = power_of_four(value.constant, value)
        if not self.exponent or value.terms != {self.exponent: 1}:
            raise Undecided(f"4 to the power {value} is not known")
        (whole,) = [name for name, factor in self.scaled.items() if not factor] or [next(iter(self.chain))]
        return AffineForm(0, {whole: power})

    def tanh(self, place: tuple[int, int], value: Value) -> Value:
        """Returns the value that a coordinate takes where its layer applies tanh to a form."""
        squashed = self.squashed or NUMBERS.tanh
        return squashed(place, value)

    def _new_unknown(self, value: AffineForm, high: Rational | None) -> AffineForm:
        """The unknown that stands for the ReLU of a form; the same one for the same form."""
        name = self._named.get(value)
        if name is None:
            name = f"relu#{len(self.ranges)}"
            known = ValueRange(0, high, grid=self.grid(value))
            if self.direction(value) is not value:
                (name,) = self.times_scale(name, known, _scale_of(next(iter(value.terms)))).terms
            self._named[value] = name
            self.ranges.setdefault(name, known)
        return AffineForm(0, {name: 1})

    def above(self, value: Value, threshold: Rational) -> bool:
        """Whether the value is above the threshold, on the whole region."""
        if not isinstance(value, AffineForm):
            return sign(value - threshold) > 0
        direction = self.direction(AffineForm(value.constant - threshold, value.terms))
        if not isinstance(direction, AffineForm):
            return sign(direction) > 0
        least = self._sums(direction, -1)
        if least and min(least) >= 0 and least[-1] > 0:
            return True
        most = self.greatest(direction)
        if most is not None and most <= 0:
            return False
        self._cut(direction)
        raise Undecided(f"{value} is not on one side of {threshold}")

    def _cut(self, value: Value) -> None:
        """Raises Cut where an integer unknown allows to settle the sign of a form."""
        if not isinstance(value, AffineForm):
            return
        whole = [(name, a) for name, a in value.terms.items() if self.ranges[name].whole]
        if len(value.terms) == 1:
            ((name, amount),) = value.terms.items()
            zero = -Fraction(value.constant) / Fraction(amount)
            if name in self.free:
                raise Cut(name, zero)
        if len(value.terms) == 1 and whole:
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


def _scale_of(product: str) -> str:
    return product.partition("·")[0]


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
