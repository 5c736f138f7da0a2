"""The description of a cover: what its cells know of counters, scales, stacks and single coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

from nerode.kernel.network import CheckedNetwork, Place
from nerode.kernel.numbers import Rational, plain, read_interval, read_rational
from nerode.kernel.reader import Reader, entries, listing, quoted, record, table, whole
from nerode.kernel.rooms.coordinates import (
    AffineCoordinate,
    CappedCoordinate,
    Coordinate,
    LooseCoordinate,
    RayCoordinate,
    RegisterCoordinate,
    ScaleCoordinate,
    SlotCoordinate,
    StackCoordinate,
    TallyCoordinate,
)
from nerode.kernel.rooms.counters import MAX_STEP
from nerode.kernel.rooms.forms import ValueRange
from nerode.kernel.work import Unreadable

Json = Any

MAX_COUNTERS = 1_000
MAX_POINTS = 100_000
MAX_CAP = 1 << 32
MAX_SCALES = 1_000
_QUARTER = Fraction(1, 4)


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
            first = network.layers[at[0]].start[at[1]]
            found.append(SlotCoordinate(at, name(at), depth, [code[i] for code in codes], first))
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
