"""The meter: where float arithmetic makes no error, whatever the order in which it adds.

What is verified, over all states of all cells that a walk visits:

1. Every term of every sum is a multiple of 2**-g, and neither the positive nor the negative terms add up to
   more than 2**(p-g). Then every partial sum in every order is a multiple of 2**-g of at most that size, and
   a format with p significand bits holds it exactly. So the network computes one letter after the other
   without any error ("step").
2. The same for every grouping of a parallel scan ("any order"): `_scan_needs`.
3. The format holds every weight exactly, and nothing is finer than its smallest normal number.

Where a counter has no bound, sums grow with the length; the claim then says up to which length they fit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from nerode.kernel.claims import DTYPES, BinaryFormat, Claim, language_claim
from nerode.kernel.forms import AffineForm, FormRegion, Value, grid_of
from nerode.kernel.network import (
    CellMove,
    CheckedNetwork,
    ChosenMove,
    FixedMove,
    GatedMove,
    Matrix,
    SquashedMove,
    all_numbers,
)
from nerode.kernel.numbers import Number, Rational, RootSum, gaussian_parts
from nerode.kernel.step import State

METHOD = "integer-exactness"

_MAX_POWERS = 64
"""Powers of a matrix that are multiplied out to see whether they repeat or vanish."""


@dataclass(slots=True)
class UnitNeed:
    """Units of the finest grid that sums may take: flat, or flat + per_letter · length."""

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

    def positive(self) -> _Bound:
        """The bound of the positive part."""
        return self if self.flat >= 0 else _Bound(0, self.growth)


_NOTHING = _Bound(0)


@dataclass(slots=True)
class _CoordinateSize:
    """The largest absolute value of a state coordinate, of its writes, and their finest grid."""

    flat: Rational = 0
    per_letter: Rational = 0
    write: Rational = 0
    grid: int = 0


class ExactnessMeter:
    """Bounds every sum of a network over all the states that it is shown.

    Args:
        network: the network.
        counters: for each counter (by the name of its unknown) its start and what each letter adds.
    """

    def __init__(
        self, network: CheckedNetwork, counters: dict[str, tuple[int, tuple[int, ...]]] | None = None
    ) -> None:
        self._network = network
        self._counters = counters or {}
        self._sums = UnitNeed()
        self._finest = 0
        self._broken = ""
        self._scan_broken = ""
        self._coordinates = [[_CoordinateSize() for _ in layer.state] for layer in network.layers]
        self._norms = [(Fraction(0), 0) for _ in network.layers]
        self._norm_grows = [False for _ in network.layers]
        self._seen: set[Hashable] = set()
        for number, layer in enumerate(network.layers):
            self.state(number, layer.start, FormRegion({}))

    def sum(self, terms: Sequence[tuple[Value, Value]], region: FormRegion) -> None:
        """Takes the factors of the products that are added up.

        A partial sum in any order is the sum of some of the terms, so it lies between the sum of the
        negative ones and the sum of the positive ones.
        """
        if self._broken:
            return
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
                self._broken = self._broken or f"{c} or {v} is not a fraction with a power of two below"
                return
            grid = max(grid, fine_c + fine_v)
            high, low = self._measure(c * v, region)
            above, below = above.plus(high), below.plus(low)
        self._finest = max(self._finest, grid)
        for flat, bound in ((up, above), (down, below)):
            start, slope = self._growth(bound)
            self._sums.add(flat + start, slope, grid)

    def gates(
        self, layer: int, gates: Mapping[int, Value], writes: Mapping[int, Value], region: FormRegion
    ) -> None:
        """Takes the gates and writes of a layer that are not zero."""
        if self._broken:
            return
        for gate in gates.values():
            values = region.values(gate) if isinstance(gate, AffineForm) else (gate,)
            if values is None or not all(v == 0 or is_unit(v) for v in values):
                self._scan_broken = self._scan_broken or f"layer {layer + 1} has the gate {gate}"
        for i, write in writes.items():
            known = self._coordinates[layer][i]
            amounts = region.values(write) if isinstance(write, AffineForm) else (write,)
            if amounts is None:
                self._scan_broken = self._scan_broken or f"layer {layer + 1} writes unknown values"
                continue
            for amount in amounts:
                known.write = max(known.write, size(amount))
                known.grid = max(known.grid, grid_of(amount) or 0)

    def state(self, layer: int, state: State, region: FormRegion) -> None:
        """Takes the state of a layer after a letter."""
        if self._broken or (not region.ranges and not self._is_new((layer, state))):
            return
        norm: Rational = 0
        finest = 0
        gated = isinstance(self._network.layers[layer].move, GatedMove)
        for i, value in enumerate(state):
            # The norm of the whole state only matters where a matrix mixes its coordinates.
            if value == 0 or (gated and not self._is_new((layer, i, region.key(value)))):
                continue
            grid = region.grid(value)
            if grid is None:
                self._broken = self._broken or f"a state of layer {layer + 1} has no power of two below"
                return
            known = self._coordinates[layer][i]
            for bound in self._measure(value, region):
                start, slope = self._growth(bound)
                known.flat = max(known.flat, start)
                known.per_letter = max(known.per_letter, slope)
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
        """Reasons why some sum, or some grouping of a scan, has no bound; empty texts for no reason."""
        return self._broken, self._scan_broken

    def forget_doubts(self, earlier: tuple[str, str]) -> None:
        """Takes back the doubts that came after these; every sum is measured again where it occurs again."""
        self._broken, self._scan_broken = earlier
        self._seen.clear()

    def snapshot(self) -> ExactnessMeter:
        """Returns a meter with the same bounds, which later sums do not change."""
        found = copy.copy(self)
        found._sums = UnitNeed(self._sums.flat, set(self._sums.growing))
        found._coordinates = [[copy.copy(known) for known in layer] for layer in self._coordinates]
        found._norms = list(self._norms)
        found._norm_grows = list(self._norm_grows)
        return found

    def _measure(self, value: Value, region: FormRegion) -> tuple[_Bound, _Bound]:
        """Bounds of the positive and of the negative part of a value, neither of them negative."""
        if isinstance(value, RootSum):
            return _Bound(size(value)), _Bound(size(value))
        if not isinstance(value, AffineForm):
            return (_Bound(value), _NOTHING) if value > 0 else (_NOTHING, _Bound(-value))
        low, high = region.bounds(value)
        above = self._most(value, region) if high is None else _Bound(high)
        below = self._most(-value, region) if low is None else _Bound(-low)
        if low is not None and low >= 0:
            return above, _NOTHING
        if high is not None and high <= 0:
            return _NOTHING, below
        return above.positive(), below.positive()

    def _most(self, value: AffineForm, region: FormRegion) -> _Bound:
        """The greatest value of a form; counters without a bound on that side count by the letter."""
        bound = _Bound(value.constant)
        for name, amount in value.terms.items():
            known = region.ranges[name]
            end = known.high if amount > 0 else known.low
            if end is not None:
                bound = bound.plus(_Bound(amount * end))
            elif name in self._counters:
                bound = bound.plus(_Bound(0, {name: size(amount)}))
            elif name in region.atoms:
                inner = self._most(region.atoms[name][1], region)
                bound = bound.plus(inner.positive().times(amount))
            else:
                self._broken = self._broken or f"the value {value} has no bound"
        return bound

    def _growth(self, bound: _Bound) -> tuple[Rational, Rational]:
        """A bound as a number and a number per letter.

        The unknowns are counters before the last letter of a word, so one letter less has moved them.
        """
        if not bound.growth:
            return bound.flat, 0
        counters = self._counters
        start = sum((a * abs(counters[n][0]) for n, a in bound.growth.items()), Fraction(bound.flat))
        slope = max(
            sum((a * abs(counters[n][1][letter]) for n, a in bound.growth.items()), Fraction(0))
            for letter in range(len(self._network.alphabet.symbols))
        )
        return start - slope, slope

    def _scan_needs(self) -> UnitNeed | None:
        """A bound for every grouping of a scan; None where there is no such bound.

        A group of steps of a scan acts as h -> a·h + b. Both ends of the group are states h, h' of the run,
        so b = h' - a·h is bounded by the states themselves when |a| ≤ 1; without a bound on the states it
        is bounded by the sum of the writes. Joining two groups adds a₂·b₁ and b₂.
        """
        if self._scan_broken:
            return None
        need = UnitNeed()
        for number, layer in enumerate(self._network.layers):
            largest, grid = self._norms[number]
            match layer.move:
                case GatedMove():
                    for known, start in zip(self._coordinates[number], layer.start, strict=True):
                        if known.per_letter:
                            need.add(size(start), known.write, known.grid)
                        else:
                            need.add(4 * known.flat, 0, known.grid)
                case ChosenMove() as move:
                    if self._norm_grows[number] or not _moves_coordinates(move, len(layer.state)):
                        return None
                    need.add(4 * largest, 0, grid)
                case FixedMove(matrix):
                    powers = _bounded_powers(matrix)
                    if self._norm_grows[number] or powers is None:
                        return None
                    row_sum, fine = powers
                    need.add((1 + row_sum) ** 2 * largest, 0, fine + grid)
                    need.add(row_sum * row_sum, 0, 2 * fine)
                case SquashedMove() | CellMove():
                    continue  # never scanned: the state passes through a nonlinear function at every letter
                case unknown:
                    assert_never(unknown)
        return need

    def lengths(self, dtype: str) -> tuple[int | None, int | None]:
        """Returns the lengths up to which a format is exact: in any order, and step by step.

        None stands for no limit, a negative number for never.
        """
        form = DTYPES[dtype]
        if self._broken or -self._finest < form.smallest or not _all_fit(all_numbers(self._network), form):
            return -1, -1
        capacity = 1 << form.bits
        step = self._sums.length(capacity)
        scan = self._scan_needs()
        if scan is None:
            return -1, step
        both = [length for length in (step, scan.length(capacity)) if length is not None]
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


def size(value: Number) -> Rational:
    """Returns the absolute value; of a complex number with rational parts the sum of theirs."""
    if isinstance(value, RootSum):
        parts = gaussian_parts(value)
        if parts is not None:
            real, imaginary = map(Fraction, parts)
            return abs(real) + abs(imaginary)
        return Fraction(sum(map(abs, value.numerators)), value.denominator)
    return value if value >= 0 else -value


def is_unit(value: Number) -> bool:
    """Whether the number is 1, -1, i or -i."""
    return grid_of(value) == 0 and size(value) == 1


def _moves_coordinates(move: ChosenMove, width: int) -> bool:
    """Whether every matrix (every factor of it) has at most one entry per column, of absolute value 1."""
    matrices: list[Matrix] = list(move.matrices)
    for scale, vector in (factor for choice in move.factors or () for factor in choice):
        entries = [(i, v) for i, v in enumerate(vector) if v != 0]
        rows: list[dict[int, Number]] = [{i: 1} for i in range(width)]
        for i, v in entries:
            for j, w in entries:
                rows[i][j] = rows[i].get(j, 0) - scale * v * w
        matrices.append(tuple(tuple((j, c) for j, c in row.items() if c != 0) for row in rows))
    for matrix in matrices:
        used = [j for row in matrix for j, _ in row]
        if len(set(used)) != len(used) or not all(is_unit(c) for row in matrix for _, c in row):
            return False
    return True


def _bounded_powers(matrix: Matrix) -> tuple[Fraction, int] | None:
    """The largest sum of absolute values in a row of a power, and the finest grid; None if powers go on."""
    seen: set[Matrix] = set()
    power: Matrix = tuple(((i, 1),) for i in range(len(matrix)))
    largest = Fraction(1)
    finest = 0
    while power not in seen:
        if len(seen) > _MAX_POWERS:
            return None
        seen.add(power)
        product = []
        for row in matrix:
            entries: dict[int, Number] = {}
            for j, c in row:
                for k, d in power[j]:
                    entries[k] = entries.get(k, 0) + c * d
            product.append(tuple((k, v) for k, v in sorted(entries.items()) if v != 0))
        power = tuple(product)
        for row in power:
            grids = [grid_of(v) for _, v in row]
            if None in grids:
                return None
            finest = max(finest, *(g for g in grids if g is not None), 0)
            largest = max(largest, sum((Fraction(size(v)) for _, v in row), Fraction(0)))
        if not any(power):
            break
    return largest, finest


def _all_fit(numbers: Iterable[Number], form: BinaryFormat) -> bool:
    """Whether a format holds all the numbers exactly, real and imaginary parts alike."""
    for number in set(numbers):
        parts = gaussian_parts(number)
        if parts is None or not all(fits(part, form) for part in parts):
            return False
    return True


def fits(number: Rational, form: BinaryFormat) -> bool:
    """Whether a format holds a rational number exactly."""
    if number == 0:
        return True
    top, below = abs(number.numerator), number.denominator
    if below & (below - 1):
        return False
    low = (top & -top).bit_length() - below.bit_length()
    high = top.bit_length() - below.bit_length()
    return high - low < form.bits and form.smallest <= high <= form.largest
