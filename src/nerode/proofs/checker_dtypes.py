"""When float arithmetic makes no error: a bound on every sum, whatever the order in which it is added.

If every term of a sum is a multiple of 2**-g and neither the positive nor the negative ones add up to more
than 2**(p-g), then every partial sum in every order is a multiple of 2**-g of at most that size, so a format
with p significand bits holds it exactly. `_scan_needs` has the same argument for every grouping of a scan.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.core import Cyclotomic
from nerode.proofs.certificate import DTYPES, Claim, language_claim
from nerode.proofs.checker_columns import State
from nerode.proofs.checker_formats import bounded_powers, is_unit, moves_coordinates, size, weights_fit
from nerode.proofs.checker_forms import Form, Rational, Region, Value, grid_of
from nerode.proofs.checker_records import ByLetter, CheckedNetwork, Fixed, Gated, all_numbers

METHOD = "integer-exactness"


@dataclass(slots=True)
class Need:
    """Units of the finest grid that a sum may take: flat, or flat + per_letter · length."""

    flat: int = 0
    growing: set[tuple[int, int]] = field(default_factory=set)

    def add(self, flat: Rational, per_letter: Rational, grid: int) -> None:
        """Takes one sum into account."""
        units = math.ceil(flat * (1 << grid))
        if per_letter:
            self.growing.add((units, math.ceil(per_letter * (1 << grid))))
        else:
            self.flat = max(self.flat, units)

    def length(self, capacity: int) -> int | None:
        """The length up to which all sums fit: None for no limit, negative if they never do."""
        if self.flat > capacity:
            return -1
        return min(((capacity - flat) // slope for flat, slope in self.growing), default=None)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A number, and multiples of counters that have no bound."""

    flat: Rational
    growth: Mapping[str, Rational] = field(default_factory=dict)

    def plus(self, other: _Bound) -> _Bound:
        """The bound of a sum."""
        if not self.growth and not other.growth:
            return _Bound(self.flat + other.flat)
        names = {**self.growth, **other.growth}
        growth = {name: self.growth.get(name, 0) + other.growth.get(name, 0) for name in names}
        return _Bound(self.flat + other.flat, growth)

    def times(self, factor: Rational) -> _Bound:
        """The bound of a multiple by a factor that is not negative."""
        return _Bound(self.flat * factor, {name: a * factor for name, a in self.growth.items()})


_NOTHING = _Bound(0)


@dataclass(slots=True)
class _Coordinate:
    """The largest absolute value of a state coordinate, of its writes, and their finest grid."""

    flat: Rational = 0
    per_letter: Rational = 0
    write: Rational = 0
    grid: int = 0


class Exactness:
    """A meter that bounds every sum of a network over all the states that it is shown.

    Args:
        network: the network.
        counters: for each counter (by the name of its unknown) its start and what each letter adds.
    """

    def __init__(
        self, network: CheckedNetwork, counters: dict[str, tuple[int, tuple[int, ...]]] | None = None
    ) -> None:
        self.network = network
        self.counters = counters or {}
        self.sums = Need()
        self.finest = 0
        self.broken = ""
        self._scan_broken = ""
        self._coordinates = [[_Coordinate() for _ in layer.state] for layer in network.layers]
        self._norms = [(Fraction(0), 0) for _ in network.layers]
        self._norm_grows = [False for _ in network.layers]
        self._seen: set[Hashable] = set()
        for number, layer in enumerate(network.layers):
            self.state(number, layer.start, Region({}))

    def sum(self, terms: Sequence[tuple[Value, Value]], region: Region) -> None:
        """Takes the factors of the products that are added up.

        A partial sum in any order is the sum of some of the terms, so it lies between the sum of the
        negative ones and the sum of the positive ones.
        """
        if region.ranges and not self._is_new(tuple([(region.key(c), region.key(v)) for c, v in terms])):
            return
        up: Rational = 0
        down: Rational = 0
        grid = 0
        above, below = _NOTHING, _NOTHING
        for c, v in terms:
            if type(c) is int and type(v) is int:
                product = c * v
                if product > 0:
                    up += product
                else:
                    down -= product
                continue
            fine_c, fine_v = region.grid(c), region.grid(v)
            if fine_c is None or fine_v is None:
                self.broken = self.broken or f"{c} or {v} is not a fraction with a power of two below"
                return
            grid = max(grid, fine_c + fine_v)
            high, low = self._measure(c * v, region)
            above, below = above.plus(high), below.plus(low)
        self.finest = max(self.finest, grid)
        for flat, bound in ((up, above), (down, below)):
            start, slope = self._growth(bound)
            self.sums.add(flat + start, slope, grid)

    def gates(
        self, layer: int, gates: Mapping[int, Value], writes: Mapping[int, Value], region: Region
    ) -> None:
        """Takes the gates and writes of a layer that are not zero."""
        for gate in gates.values():
            values = region.values(gate) if isinstance(gate, Form) else (gate,)
            if values is None or not all(v == 0 or is_unit(v) for v in values):
                self._scan_broken = self._scan_broken or f"layer {layer + 1} has the gate {gate}"
        for i, write in writes.items():
            known = self._coordinates[layer][i]
            amounts = region.values(write) if isinstance(write, Form) else (write,)
            if amounts is None:
                self._scan_broken = self._scan_broken or f"layer {layer + 1} writes unknown values"
                continue
            for amount in amounts:
                known.write = _larger(known.write, size(amount))
                known.grid = max(known.grid, grid_of(amount) or 0)

    def state(self, layer: int, state: State, region: Region) -> None:
        """Takes the state of a layer after a letter."""
        if not region.ranges and not self._is_new((layer, state)):
            return
        norm: Rational = 0
        finest = 0
        gated = isinstance(self.network.layers[layer].moves, Gated)
        for i, value in enumerate(state):
            # The norm of the whole state only matters where a matrix mixes its coordinates.
            if value == 0 or (gated and not self._is_new((layer, i, region.key(value)))):
                continue
            grid = region.grid(value)
            if grid is None:
                self.broken = self.broken or f"a state of layer {layer + 1} has no power of two below"
                return
            known = self._coordinates[layer][i]
            for bound in self._measure(value, region):
                start, slope = self._growth(bound)
                known.flat = _larger(known.flat, start)
                known.per_letter = _larger(known.per_letter, slope)
                norm += start
                self._norm_grows[layer] = self._norm_grows[layer] or slope != 0
            known.grid = max(known.grid, grid)
            finest = max(finest, grid)
        largest, known_grid = self._norms[layer]
        self._norms[layer] = (max(largest, Fraction(norm)), max(known_grid, finest))

    def _is_new(self, key: Hashable) -> bool:
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    @property
    def doubts(self) -> tuple[str, str]:
        """Why some sum, or some grouping of a scan, has no bound; empty texts for no reason."""
        return self.broken, self._scan_broken

    def forget_doubts(self, earlier: tuple[str, str]) -> None:
        """Takes back the doubts that came after these."""
        self.broken, self._scan_broken = earlier

    def copy(self) -> Exactness:
        """Returns a meter that has seen the same and goes on by itself."""
        return copy.deepcopy(self, {id(self.network): self.network})

    def _measure(self, value: Value, region: Region) -> tuple[_Bound, _Bound]:
        """Bounds of the positive and of the negative part of a value, neither of them negative."""
        if isinstance(value, Cyclotomic):
            return _Bound(size(value)), _Bound(size(value))
        if not isinstance(value, Form):
            return (_Bound(value), _NOTHING) if value > 0 else (_NOTHING, _Bound(-value))
        low, high = region.bounds(value)
        above = self._most(value, region) if high is None else _Bound(high)
        below = self._most(-value, region) if low is None else _Bound(-low)
        if low is not None and low >= 0:
            return above, _NOTHING
        if high is not None and high <= 0:
            return _NOTHING, below
        return _Bound(_larger(above.flat, 0), above.growth), _Bound(_larger(below.flat, 0), below.growth)

    def _most(self, value: Form, region: Region) -> _Bound:
        """The greatest value of a form; counters without a bound on that side count by the letter."""
        bound = _Bound(value.constant)
        for name, amount in value.terms.items():
            known = region.ranges[name]
            end = known.high if amount > 0 else known.low
            if end is not None:
                bound = bound.plus(_Bound(amount * end))
            elif name in self.counters:
                bound = bound.plus(_Bound(0, {name: size(amount)}))
            elif name in region.atoms:
                inner = self._most(region.atoms[name][1], region)
                bound = bound.plus(_Bound(_larger(inner.flat, 0), inner.growth).times(amount))
            else:
                self.broken = self.broken or f"the value {value} has no bound"
        return bound

    def _growth(self, bound: _Bound) -> tuple[Rational, Rational]:
        """A bound as a number and a number per letter.

        The unknowns are counters before the last letter of a word, so one letter less has moved them.
        """
        if not bound.growth:
            return bound.flat, 0
        start = sum((a * abs(self.counters[n][0]) for n, a in bound.growth.items()), Fraction(bound.flat))
        slope = max(
            sum((a * abs(self.counters[n][1][letter]) for n, a in bound.growth.items()), Fraction(0))
            for letter in range(len(self.network.alphabet))
        )
        return start - slope, slope

    def _scan_needs(self) -> Need | None:
        """A bound for every grouping of a scan; None where there is no such bound.

        A group of steps of a scan acts as h -> a·h + b. Both ends of the group are states h, h' of the run,
        so b = h' - a·h is bounded by the states themselves when |a| ≤ 1; without a bound on the states it
        is bounded by the sum of the writes. Joining two groups adds a₂·b₁ and b₂.
        """
        if self._scan_broken:
            return None
        need = Need()
        for number, layer in enumerate(self.network.layers):
            largest, grid = self._norms[number]
            match layer.moves:
                case Gated():
                    for known, start in zip(self._coordinates[number], layer.start, strict=True):
                        if known.per_letter:
                            need.add(size(start), known.write, known.grid)
                        else:
                            need.add(4 * known.flat, 0, known.grid)
                case ByLetter() as moves:
                    if self._norm_grows[number] or not moves_coordinates(moves, layer.start):
                        return None
                    need.add(4 * largest, 0, grid)
                case Fixed() as moves:
                    powers = bounded_powers(moves.matrix)
                    if self._norm_grows[number] or powers is None:
                        return None
                    row_sum, fine = powers
                    need.add((1 + row_sum) ** 2 * largest, 0, fine + grid)
                    need.add(row_sum * row_sum, 0, 2 * fine)
                case _:
                    continue
        return need

    def lengths(self, dtype: str) -> tuple[int | None, int | None]:
        """Returns the lengths up to which a format is exact: in any order, and step by step.

        None stands for no limit, a negative number for never.
        """
        form = DTYPES[dtype]
        if self.broken or -self.finest < form.smallest or not weights_fit(all_numbers(self.network), form):
            return -1, -1
        capacity = 1 << form.bits
        step = self.sums.length(capacity)
        scan = self._scan_needs()
        if scan is None:
            return -1, step
        grouped = scan.length(capacity)
        both = [length for length in (step, grouped) if length is not None]
        return min(both, default=None), step

    def claims(self, task: str) -> tuple[Claim, ...]:
        """Returns the bit-exact claims that hold for a task, strongest first."""
        found = []
        for dtype in DTYPES:
            anyhow, step = self.lengths(dtype)
            for order, length in (("any", anyhow), ("step", step)):
                if length is None or length > 0:
                    reach = "all" if length is None else length
                    found.append(
                        language_claim(task=task, method=METHOD, dtype=dtype, order=order, length=reach)
                    )
                if order == "any" and anyhow == step:
                    break
        return tuple(found)


def _larger(left: Rational, right: Rational) -> Rational:
    return left if left >= right else right
