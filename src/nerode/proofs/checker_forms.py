"""Affine forms over unknowns with ranges: how the checker evaluates infinitely many states at once.

An unknown is a counter (an integer between two bounds, either of which may be missing) or a register of
which only an interval is known. A ReLU of a form whose sign is not settled on the whole region asks for the
region to be cut at an integer; if no counter is involved, its value becomes a new unknown. On a lazy region
nothing is cut: the ReLU of a form in one counter becomes an atom, a function of that counter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, sign
from nerode.proofs.checker_profiles import Profile

Rational = int | Fraction


class Form:
    """constant + sum of coefficient · unknown; never without unknowns (arithmetic returns numbers then)."""

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: Rational, terms: Mapping[str, Rational]) -> None:
        self.constant = constant
        self.terms = terms
        self._hash: int | None = None

    def __add__(self, other: Value) -> Value:
        if isinstance(other, Form):
            terms = dict(self.terms)
            for name, amount in other.terms.items():
                terms[name] = terms.get(name, 0) + amount
            return make_form(self.constant + other.constant, terms)
        return Form(self.constant + _rational(other), self.terms)

    __radd__ = __add__

    def __neg__(self) -> Form:
        return Form(-self.constant, {name: -amount for name, amount in self.terms.items()})

    def __sub__(self, other: Value) -> Value:
        return self + (-other)

    def __rsub__(self, other: Value) -> Value:
        return -self + other

    def __mul__(self, other: Value) -> Value:
        if isinstance(other, Form):
            raise Undecided(f"the product of two unknown values, {self} and {other}, is not affine")
        factor = _rational(other)
        if factor == 0:
            return 0
        return Form(self.constant * factor, {name: amount * factor for name, amount in self.terms.items()})

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.constant, self.terms) == (other.constant, other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        return " + ".join([str(self.constant), *(f"{a}·{n}" for n, a in sorted(self.terms.items()))])


Value = Exact | Form


def make_form(constant: Rational, terms: Mapping[str, Rational]) -> Value:
    """Returns the form, or the number if no unknown is left in it."""
    kept = {name: amount for name, amount in terms.items() if amount != 0}
    return Form(constant, kept) if kept else constant


@dataclass(frozen=True, slots=True)
class Range:
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
    def is_point(self) -> bool:
        """Whether there is only one value."""
        return self.low is not None and self.low == self.high

    def contains(self, other: Range) -> bool:
        """Whether every value of the other range is one of this."""
        low_fits = self.low is None or (other.low is not None and self.low <= other.low)
        high_fits = self.high is None or (other.high is not None and other.high <= self.high)
        return low_fits and high_fits


class Undecided(Exception):
    """The evidence does not settle the question on a whole region."""


class Cut(Exception):
    """Asks for the region to be cut: values of the unknown up to `at`, and values above."""

    def __init__(self, unknown: str, at: int) -> None:
        super().__init__(f"{unknown} at {at}")
        self.unknown = unknown
        self.at = at


@dataclass(slots=True)
class Region:
    """The ranges of all unknowns; compares forms and takes their ReLU on the whole region.

    Attributes:
        ranges: by unknown.
        lazy: whether ReLUs become atoms where they would ask for a cut.
        atoms: for each atom its counter and the form whose ReLU it is.
    """

    ranges: dict[str, Range]
    lazy: bool = False
    atoms: dict[str, tuple[str, Form]] = field(default_factory=dict)
    _profiles: dict[str, Profile] = field(default_factory=dict)
    _named: dict[Form, str] = field(default_factory=dict)
    _token: object = field(default_factory=object)

    def bounds(self, value: Value) -> tuple[Rational | None, Rational | None]:
        """Returns the least and the greatest value; None for none."""
        if not isinstance(value, Form):
            number = _rational(value)
            return number, number
        low: Rational | None = value.constant
        high: Rational | None = value.constant
        for least, most in self._parts(value):
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
        return low, high

    def _parts(self, value: Form) -> Iterator[tuple[Rational | None, Rational | None]]:
        """The bounds of the terms of a form; terms in one counter and its atoms count as one."""
        shared: dict[str, dict[str, Rational]] = {}
        for name, amount in value.terms.items():
            base = self.atoms[name][0] if name in self.atoms else name
            if base in self._profiles:
                shared.setdefault(base, {})[name] = amount
                continue
            known = self.ranges[name]
            least, most = (known.low, known.high) if amount > 0 else (known.high, known.low)
            yield (None if least is None else amount * least, None if most is None else amount * most)
        for base, terms in shared.items():
            form = Form(0, terms)
            yield self._profiles[base].bounds(lambda c, form=form: self._at(form, c))  # type: ignore[misc]

    def _at(self, form: Form, count: int) -> Rational:
        """The value of a form in one counter and its atoms where the counter has a value."""
        total = form.constant
        for name, amount in form.terms.items():
            inner = self._at(self.atoms[name][1], count) if name in self.atoms else count
            total = total + amount * (inner if name not in self.atoms or inner > 0 else 0)
        return total

    def _atom(self, value: Form) -> Form | None:
        """The ReLU of a form in one counter as an atom; None for forms of another kind."""
        bases = {self.atoms[name][0] if name in self.atoms else name for name in value.terms}
        base = bases.pop()
        if bases or not self.ranges[base].whole:
            return None
        known = self.ranges[base]
        if base not in self._profiles:
            ends = [None if end is None else int(end) for end in (known.low, known.high)]
            self._profiles[base] = Profile(*ends)
        profile = self._profiles[base]
        profile.bend(lambda c: self._at(value, c))
        name = self._named.get(value)
        if name is None:
            name = self._named[value] = f"relu#{len(self.ranges)}"
            _, high = profile.bounds(lambda c: self._at(value, c))
            self.atoms[name] = (base, value)
            self.ranges[name] = Range(0, high, grid=self.grid(value))
        return Form(0, {name: 1})

    def values(self, value: Value) -> frozenset[Rational] | None:
        """Returns all values of a form in one counter and its atoms if they are few, None otherwise."""
        if not isinstance(value, Form):
            return frozenset({_rational(value)})
        bases = {self.atoms[name][0] if name in self.atoms else name for name in value.terms}
        base = bases.pop()
        if bases or base not in self._profiles:
            return None
        return self._profiles[base].values(lambda c: self._at(value, c))

    def relu(self, value: Value) -> Value:
        """Returns max(value, 0)."""
        if not isinstance(value, Form):
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
        name = self._named.get(value)
        if name is None:
            name = self._named[value] = f"relu#{len(self.ranges)}"
            self.ranges[name] = Range(0, high, grid=self.grid(value))
        return Form(0, {name: 1})

    def above(self, value: Value, threshold: Rational) -> bool:
        """Whether the value is above the threshold, on the whole region."""
        if not isinstance(value, Form):
            return sign(value - threshold) > 0
        low, high = self.bounds(value)
        if low is not None and low > threshold:
            return True
        if high is not None and high <= threshold:
            return False
        moved = value + (-threshold)
        assert isinstance(moved, Form)
        self._cut(moved)
        raise Undecided(f"{value} is not on one side of {threshold}")

    def key(self, value: Value) -> Hashable:
        """Returns what the value and its bounds on this region depend on."""
        if not isinstance(value, Form):
            return value
        if self.lazy:
            return (value, self._token)
        return (value, tuple([self.ranges[name] for name in value.terms]))

    def grid(self, value: Value) -> int | None:
        """Returns g such that the value is a multiple of 2**-g, None if none is known."""
        if not isinstance(value, Form):
            return grid_of(value)
        finest = grid_of(value.constant)
        for name, amount in value.terms.items():
            known, own = self.ranges[name].grid, grid_of(amount)
            if finest is None or known is None or own is None:
                return None
            finest = max(finest, known + own)
        return finest

    def _cut(self, value: Form) -> None:
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


def cut_range(known: Range, at: int) -> tuple[Range, Range]:
    """Returns the two halves of an integer range: up to `at`, and above."""
    return Range(known.low, at, True, known.grid), Range(at + 1, known.high, True, known.grid)


def grid_of(value: Exact) -> int | None:
    """Returns the least g ≥ 0 such that the number (both parts of it) is a multiple of 2**-g."""
    if isinstance(value, int):
        return 0
    if isinstance(value, Fraction):
        denominator = value.denominator
        return denominator.bit_length() - 1 if denominator & (denominator - 1) == 0 else None
    if value.order != 4:
        return None
    parts = [grid_of(c) for c in value.coefficients]
    return None if None in parts else max(p for p in parts if p is not None)


def _rational(value: Value) -> Rational:
    if isinstance(value, Cyclotomic):
        raise Undecided(f"the irrational number {value} meets an unknown value")
    assert not isinstance(value, Form)
    return value
