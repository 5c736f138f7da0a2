"""Affine forms over unknowns with ranges: how infinitely many states are evaluated at once.

An unknown is a counter (an integer between two bounds, either of which may be missing) or a coordinate of
which only an interval is known. A region says in which ranges the unknowns of a cell are. It answers what the
step of a network asks: bounds, comparisons and ReLUs that hold for all values of the unknowns.

A ReLU of a form whose sign is not settled on the whole region asks for the region to be cut at an integer
(`Cut`). If no counter is involved, its value becomes a new unknown. On a lazy region nothing is cut: the ReLU
of a form in one counter becomes an atom, a piecewise affine function of that counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.kernel.numbers import Number, Rational, RootSum, gaussian_parts, sign
from nerode.kernel.work import Undecided

MAX_LISTED = 4_096
"""Integers that are looked at one by one to list all values of a function."""


class AffineForm:
    """constant + sum of coefficient · unknown; never without unknowns (arithmetic returns numbers then)."""

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
        return AffineForm(self.constant + _rational(other), self.terms)

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
        factor = _rational(other)
        if factor == 0:
            return 0
        return AffineForm(self.constant * factor, {name: a * factor for name, a in self.terms.items()})

    __rmul__ = __mul__

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

    def moved(self, by: int) -> ValueRange:
        """The range of the values plus a whole number."""
        low = None if self.low is None else self.low + by
        high = None if self.high is None else self.high + by
        return ValueRange(low, high, self.whole, self.grid)

    def halves(self, at: int) -> tuple[ValueRange, ValueRange]:
        """The two parts of an integer range: up to `at`, and above."""
        return (
            ValueRange(self.low, at, True, self.grid),
            ValueRange(at + 1, self.high, True, self.grid),
        )

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
class FormRegion:
    """The ranges of all unknowns; compares forms and takes their ReLU on the whole region.

    Attributes:
        ranges: by unknown.
        lazy: whether ReLUs become atoms where they would ask for a cut.
        atoms: for each atom its counter and the form whose ReLU it is.
    """

    ranges: dict[str, ValueRange]
    lazy: bool = False
    atoms: dict[str, tuple[str, AffineForm]] = field(default_factory=dict)
    _profiles: dict[str, _Profile] = field(default_factory=dict)
    _named: dict[AffineForm, str] = field(default_factory=dict)
    _token: object = field(default_factory=object)

    def bounds(self, value: Value) -> tuple[Rational | None, Rational | None]:
        """Returns the least and the greatest value; None for none."""
        if not isinstance(value, AffineForm):
            number = _rational(value)
            return number, number
        low: Rational | None = value.constant
        high: Rational | None = value.constant
        for least, most in self._parts(value):
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
        return low, high

    def _parts(self, value: AffineForm) -> Iterator[tuple[Rational | None, Rational | None]]:
        """The bounds of the terms of a form; terms in one counter and its atoms count as one."""
        shared: dict[str, dict[str, Rational]] = {}
        for name, amount in value.terms.items():
            base = self._base(name)
            if base in self._profiles:
                shared.setdefault(base, {})[name] = amount
                continue
            known = self.ranges[name]
            least, most = (known.low, known.high) if amount > 0 else (known.high, known.low)
            yield (None if least is None else amount * least, None if most is None else amount * most)
        for base, terms in shared.items():
            yield self._profiles[base].bounds(self._function(AffineForm(0, terms)))

    def _base(self, name: str) -> str:
        """The counter of an atom; any other unknown itself."""
        return self.atoms[name][0] if name in self.atoms else name

    def _function(self, form: AffineForm) -> Callable[[int], Rational]:
        """A form in one counter and its atoms as a function of the counter."""

        def at(count: int, form: AffineForm = form) -> Rational:
            total = form.constant
            for name, amount in form.terms.items():
                inner = max(at(count, self.atoms[name][1]), 0) if name in self.atoms else count
                total = total + amount * inner
            return total

        return at

    def values(self, value: Value) -> frozenset[Rational] | None:
        """Returns all values of a form in one counter and its atoms if they are few, None otherwise."""
        if not isinstance(value, AffineForm):
            return frozenset({_rational(value)})
        bases = {self._base(name) for name in value.terms}
        base = bases.pop()
        if bases or base not in self._profiles:
            return None
        return self._profiles[base].values(self._function(value))

    def relu(self, value: Value) -> Value:
        """Returns max(value, 0)."""
        if not isinstance(value, AffineForm):
            return value if sign(value) > 0 else 0
        low, high = self.bounds(value)
        if low is not None and low >= 0:
            return value
        if high is not None and high <= 0:
            return 0
        atom = self._atom(value) if self.lazy else None
        if atom is not None:
            return atom
        self._cut(value)
        return self._new_unknown(value, high)

    def _atom(self, value: AffineForm) -> AffineForm | None:
        """The ReLU of a form in one counter as an atom; None for forms of another kind."""
        bases = {self._base(name) for name in value.terms}
        base = bases.pop()
        known = self.ranges[base]
        if bases or not known.whole:
            return None
        if base not in self._profiles:
            ends = [None if end is None else int(end) for end in (known.low, known.high)]
            self._profiles[base] = _Profile(*ends)
        function = self._function(value)
        self._profiles[base].bend(function)
        atom = self._new_unknown(value, self._profiles[base].bounds(function)[1])
        self.atoms[next(iter(atom.terms))] = (base, value)
        return atom

    def _new_unknown(self, value: AffineForm, high: Rational | None) -> AffineForm:
        """The unknown that stands for the ReLU of a form; the same one for the same form."""
        name = self._named.get(value)
        if name is None:
            name = self._named[value] = f"relu#{len(self.ranges)}"
            self.ranges[name] = ValueRange(0, high, grid=self.grid(value))
        return AffineForm(0, {name: 1})

    def above(self, value: Value, threshold: Rational) -> bool:
        """Whether the value is above the threshold, on the whole region."""
        if not isinstance(value, AffineForm):
            return sign(value - threshold) > 0
        low, high = self.bounds(value)
        if low is not None and low > threshold:
            return True
        if high is not None and high <= threshold:
            return False
        self._cut(AffineForm(value.constant - threshold, value.terms))
        raise Undecided(f"{value} is not on one side of {threshold}")

    def _cut(self, value: AffineForm) -> None:
        """Raises Cut where an integer unknown allows to settle the sign of a form."""
        if self.lazy:
            return
        whole = [(name, a) for name, a in value.terms.items() if self.ranges[name].whole]
        if len(value.terms) == 1 and whole:
            name, amount = whole[0]
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
        if self.lazy:
            return (value, self._token)
        # By name: equal forms may have their terms in another order.
        return (value, tuple([self.ranges[name] for name in sorted(value.terms)]))

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


class _Profile:
    """The integers of a range (None for no bound) and those where functions on it may bend.

    Between neighbouring points, and beyond the last ones, every function that the profile has met is affine;
    so bounds over infinitely many integers come from finitely many values.
    """

    def __init__(self, low: int | None, high: int | None) -> None:
        self.low = low
        self.high = high
        middle = low if low is not None else high if high is not None else 0
        self.points = sorted({middle, *(p for p in (low, high) if p is not None)})

    def bend(self, function: Callable[[int], Rational]) -> None:
        """Adds the points where the ReLU of a function bends: the integers around its zeros."""
        found = set(self.points)
        for left, right in zip(self.points, self.points[1:], strict=False):
            one, other = Fraction(function(left)), Fraction(function(right))
            if one * other < 0:
                zero = left + one * (right - left) / (one - other)
                found |= {math.floor(zero), math.ceil(zero)}
        for end, step in self._rays():
            value = Fraction(function(end))
            slope = function(end + step) - value
            if value * slope < 0:
                distance = -value / slope
                found |= {end + step * math.floor(distance), end + step * math.ceil(distance)}
        self.points = sorted(found)

    def _rays(self) -> list[tuple[int, int]]:
        """The ends beyond which the range goes on for ever, with the direction."""
        rays = [(self.points[0], -1)] if self.low is None else []
        return rays + ([(self.points[-1], 1)] if self.high is None else [])

    def bounds(self, function: Callable[[int], Rational]) -> tuple[Rational | None, Rational | None]:
        """Returns the least and the greatest value of a function, None for none."""
        values = [function(p) for p in self.points]
        low: Rational | None = min(values)
        high: Rational | None = max(values)
        for end, step in self._rays():
            slope = function(end + step) - function(end)
            low = None if slope < 0 else low
            high = None if slope > 0 else high
        return low, high

    def values(self, function: Callable[[int], Rational]) -> frozenset[Rational] | None:
        """Returns all values of a function if they are few, None otherwise."""
        first, last = self.points[0], self.points[-1]
        if None in self.bounds(function) or last - first > MAX_LISTED:
            return None
        return frozenset(function(c) for c in range(first, last + 1))


def grid_of(value: Number) -> int | None:
    """Returns the least g ≥ 0 such that the number (both parts of it) is a multiple of 2**-g."""
    if isinstance(value, int):
        return 0
    if isinstance(value, Fraction):
        denominator = value.denominator
        return denominator.bit_length() - 1 if denominator & (denominator - 1) == 0 else None
    parts = gaussian_parts(value)
    grids = [None] if parts is None else [grid_of(part) for part in parts]
    return None if None in grids else max(g for g in grids if g is not None)


def _rational(value: Value) -> Rational:
    if isinstance(value, RootSum):
        raise Undecided(f"the irrational number {value} meets an unknown value")
    assert not isinstance(value, AffineForm)
    return value
