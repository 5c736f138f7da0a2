"""Reading the invariants that certificates of infinite state sets carry.

    counters      what they count: start, what each letter adds, and the values that are told apart
    coordinates   state coordinates that are affine functions of the counters
    slots, codes  for brackets: coordinates that hold the kind of the bracket opened last at each depth
    intervals     coordinates of which only an interval is kept
    merged        the number of first layers whose states are merged where no later layer tells them apart

A coordinate is written "layer:name", layers counting from 1. Coordinates that are not mentioned must take
exact values that do not depend on any counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nerode.core import InputError, read_exact
from nerode.proofs.checker_forms import Range, Rational, grid_of
from nerode.proofs.checker_problem import Evidence
from nerode.proofs.checker_records import CheckedNetwork

Place = tuple[int, int]
"""A layer and a coordinate of its state, both counting from 0."""

MAX_POINTS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A number that each letter changes by a fixed amount.

    Attributes:
        start: its value before the first letter.
        increments: what each letter adds.
        low: values from `low` to `high` are told apart; below and above them are two more classes.
        high: see `low`.
    """

    start: int
    increments: tuple[int, ...]
    low: int
    high: int

    def classes(self, known: Range) -> list[tuple[int, Range]]:
        """Returns the classes that a range meets, each with the part of the range in it."""
        if known.low is not None and known.low == known.high:
            value = int(known.low)
            return [(min(max(value, self.low - 1), self.high + 1), known)]
        found = []
        first = self.low - 1 if known.low is None else min(max(int(known.low), self.low - 1), self.high + 1)
        last = self.high + 1 if known.high is None else min(max(int(known.high), self.low - 1), self.high + 1)
        for value in range(first, last + 1):
            whole = self.range_of(value)
            low = _larger(whole.low, known.low)
            high = _smaller(whole.high, known.high)
            found.append((value, Range(low, high, True, 0)))
        return found

    def range_of(self, value: int) -> Range:
        """Returns the class that a value from low - 1 to high + 1 stands for."""
        if value < self.low:
            return Range(None, self.low - 1, True, 0)
        if value > self.high:
            return Range(self.high + 1, None, True, 0)
        return Range(value, value, True, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """What the evidence says about the state coordinates.

    Attributes:
        counters: the counters.
        affine: constant and coefficients of the counters, by coordinate.
        slots: for each depth from 1, the coordinates that hold a kind of bracket.
        codes: for each kind, their values.
        intervals: the intervals that a coordinate may be in.
        merged: the number of first layers whose states are merged.
    """

    counters: tuple[Counter, ...]
    affine: Mapping[Place, tuple[Rational, tuple[Rational, ...]]]
    slots: tuple[tuple[Place, ...], ...]
    codes: tuple[tuple[Rational, ...], ...]
    intervals: Mapping[Place, tuple[Range, ...]]
    merged: int = 0

    def slot_range(self, network: CheckedNetwork, place: Place, position: int) -> Range:
        """Returns the interval that holds every code and the start value of a slot's coordinate."""
        values = [code[position] for code in self.codes]
        start = network.layers[place[0]].start[place[1]]
        if not isinstance(start, int | Fraction):
            raise InputError("a slot starts with an irrational number")
        values.append(start)
        grids = [grid_of(v) for v in values]
        grid = None if None in grids else max(g for g in grids if g is not None)
        return Range(min(values), max(values), grid=grid)


def read_invariant(evidence: Evidence, network: CheckedNetwork) -> Invariant:
    """Returns the invariant of the evidence.

    Raises:
        InputError: with the entry that makes no sense.
    """
    unknown = set(evidence) - {"counters", "coordinates", "slots", "codes", "intervals", "merged"}
    if unknown:
        raise InputError(f"unknown entry {min(unknown)!r}")
    try:
        counters = tuple(_read_counter(c, len(network.alphabet)) for c in evidence.get("counters", []))
        affine = {}
        for name, (constant, coefficients) in _object(evidence.get("coordinates", {})).items():
            if len(coefficients) != len(counters):
                raise InputError(f"{name} has {len(coefficients)} coefficients for {len(counters)} counters")
            affine[_place(name, network)] = (_rational(constant), tuple(map(_rational, coefficients)))
        slots = tuple(tuple(_place(name, network) for name in slot) for slot in evidence.get("slots", []))
        codes = tuple(tuple(map(_rational, code)) for code in evidence.get("codes", []))
        intervals = {
            _place(name, network): tuple(_interval(pair) for pair in pairs)
            for name, pairs in _object(evidence.get("intervals", {})).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{type(error).__name__}: {error}") from None
    if any(len(code) != len(slot) for code in codes for slot in slots):
        raise InputError("a code does not have one value for each coordinate of a slot")
    places = [*affine, *(place for slot in slots for place in slot), *intervals]
    if len(set(places)) != len(places):
        raise InputError("a coordinate is described twice")
    merged = evidence.get("merged", 0)
    if type(merged) is not int or any(layer < merged for layer, _ in places):
        raise InputError("a coordinate of a merged layer is described")
    return Invariant(
        counters=counters, affine=affine, slots=slots, codes=codes, intervals=intervals, merged=merged
    )


def coordinate_name(network: CheckedNetwork, place: Place) -> str:
    """Returns how a coordinate is written."""
    return f"{place[0] + 1}:{network.layers[place[0]].state[place[1]]}"


def _read_counter(data: Any, num_letters: int) -> Counter:
    if set(data) != {"start", "increments", "points"} or len(data["increments"]) != num_letters:
        raise InputError(f"a counter needs start, points and {num_letters} increments")
    low, high = data["points"]
    if not all(type(v) is int for v in (data["start"], low, high, *data["increments"])):
        raise InputError("a counter has a value that is not an integer")
    if not low <= 0 <= high or high - low > MAX_POINTS:
        raise InputError(f"a counter tells the values from {low} to {high} apart; 0 must be among them")
    return Counter(start=data["start"], increments=tuple(data["increments"]), low=low, high=high)


def _place(name: str, network: CheckedNetwork) -> Place:
    number, _, coordinate = name.partition(":")
    if not number.isdecimal() or not 1 <= int(number) <= len(network.layers):
        raise InputError(f"there is no layer for the coordinate {name[:40]!r}")
    layer = int(number) - 1
    if coordinate not in network.layers[layer].state:
        raise InputError(f"there is no coordinate {name[:40]!r}")
    return layer, network.layers[layer].state.index(coordinate)


def _interval(pair: Any) -> Range:
    low, high = map(_rational, pair)
    if low > high:
        raise InputError(f"an interval goes from {low} to {high}")
    return Range(low, high)


def _rational(data: Any) -> Rational:
    value = read_exact(data)
    if not isinstance(value, int | Fraction):
        raise InputError(f"{value} is not a rational number")
    return value


def _object(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise InputError(f"{str(data)[:40]!r} is not an object")
    return data


def _larger(left: Rational | None, right: Rational | None) -> Rational | None:
    return right if left is None else left if right is None else max(left, right)


def _smaller(left: Rational | None, right: Rational | None) -> Rational | None:
    return right if left is None else left if right is None else min(left, right)
