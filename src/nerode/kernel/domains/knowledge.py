"""The description of a cover: what its cells know of counters, slots and single coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nerode.kernel.domains.coordinates import (
    AffineCoordinate,
    CappedCoordinate,
    Coordinate,
    LooseCoordinate,
    SlotCoordinate,
    TallyCoordinate,
)
from nerode.kernel.domains.counters import MAX_STEP
from nerode.kernel.domains.forms import ValueRange
from nerode.kernel.network import CheckedNetwork, Place
from nerode.kernel.numbers import Rational, plain, read_interval, read_rational
from nerode.kernel.reader import Reader, entries, listing, quoted, record, table, whole
from nerode.kernel.work import Unreadable

Json = Any

MAX_COUNTERS = 1_000
MAX_POINTS = 100_000
MAX_CAP = 1 << 32


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
        sign: what every letter multiplies the sign by of which counters and tallies are multiples, 1 or -1.
        num_slots: how many depths have a slot.
        codes: for each kind of bracket, its values in a slot.
        merged: the number of first layers whose states are merged.
        described: the coordinates that are not exact.
    """

    counters: tuple[CounterClasses, ...]
    sign: int
    num_slots: int
    codes: tuple[tuple[Rational, ...], ...]
    merged: int
    described: tuple[Coordinate, ...]


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
        "scale": (whole(-1, 1), 1),
        "tallies": (listing(place), []),
        "intervals": (table(listing(_range, most=MAX_POINTS)), {}),
        "slots": (listing(listing(place)), []),
        "codes": (listing(listing(_number)), []),
        "merged": (whole(0, max(0, len(network.layers) - 1)), 0),
        "caps": (table(whole(1, MAX_CAP)), {}),
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
    if scale == 0:
        raise Unreadable("the scale is multiplied by 1 or by -1")
    if any(len(code) != len(slot) for code in codes for slot in slots):
        raise Unreadable("a code does not have one value for each coordinate of a slot")
    rectified = set(given["rectified"])
    if not rectified <= {at for at, _, _ in placed("affine")}:
        raise Unreadable("a rectified coordinate is not among the affine ones")
    found: list[Coordinate] = [
        AffineCoordinate(at, written, [constant, *rest], at in rectified)
        for at, written, (constant, rest) in placed("affine")
    ]
    found += [TallyCoordinate(at, name(at)) for at in given["tallies"]]
    for depth, slot in enumerate(slots, start=1):
        for i, at in enumerate(slot):
            first = network.layers[at[0]].start[at[1]]
            found.append(SlotCoordinate(at, name(at), depth, [code[i] for code in codes], first))
    found += [LooseCoordinate(at, written, intervals) for at, written, intervals in placed("intervals")]
    found += [CappedCoordinate(at, written, cap) for at, written, cap in placed("caps")]
    places = [coordinate.place for coordinate in found]
    if len(set(places)) != len(places) or any(layer < given["merged"] for layer, _ in places):
        raise Unreadable("a coordinate is described twice, or is in a merged layer")
    return CoordinateKnowledge(
        counters=counters,
        sign=scale,
        num_slots=len(slots),
        codes=tuple(map(tuple, codes)),
        merged=given["merged"],
        described=tuple(found),
    )
