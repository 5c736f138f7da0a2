"""The meter: where float arithmetic makes no error, whatever the order in which it adds.

What is verified, over all states of all cells that a walk visits:

1. Every term of every sum is a multiple of 2**-g, and neither the positive nor the negative terms add up to
   more than 2**(p-g). Then every partial sum in every order is a multiple of 2**-g of at most that size, and
   a format with p significand bits holds it exactly. So the network computes one letter after the other
   without any error ("step").
2. The same for every grouping of a parallel scan ("any order"): `_scan_needs`.
3. The format holds every weight exactly, and nothing is finer than its smallest normal number.

Where sums grow with the length (`domains.forms`), the claim says up to which length they fit.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from nerode.kernel.claims import DTYPES, INTEGERS, BinaryFormat, Claim, language_claim
from nerode.kernel.network import (
    AffineMove,
    CheckedNetwork,
    Factor,
    GatedMove,
    Matrix,
    all_numbers,
    factor_product,
    split_rows,
)
from nerode.kernel.numbers import (
    NUMBERS,
    Irrational,
    Number,
    Rational,
    Region,
    Value,
    combined,
    gaussian_parts,
    grid_of,
    plain,
)
from nerode.kernel.work import WorkCount

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


@dataclass(slots=True)
class _CoordinateSize:
    """The largest absolute value of a state coordinate, of its writes, and their finest grid."""

    flat: Rational = 0
    per_letter: Rational = 0
    write: Rational = 0
    grid: int = 0


class ExactnessMeter:
    """Bounds every sum of a network over all the states that it is shown."""

    def __init__(self, network: CheckedNetwork) -> None:
        self._network = network
        self._sums = UnitNeed()
        self._finest = 0
        heads = any(isinstance(layer.move, GatedMove) and layer.move.heads for layer in network.layers)
        # Softmax is no sum of products.
        self._broken = heads
        self._scan_broken = False
        self._coordinates = [[_CoordinateSize() for _ in layer.state] for layer in network.layers]
        self._norms = [(Fraction(0), 0) for _ in network.layers]
        self._norm_grows = [False for _ in network.layers]
        self._seen: set[Hashable] = set()
        for number, layer in enumerate(network.layers):
            self.state(number, layer.start, NUMBERS)

    @property
    def is_open(self) -> bool:
        """Whether some format may still be exact, so that sums matter."""
        return not self._broken

    def give_up(self) -> None:
        """Says that something is computed that is no sum of products, so that no format is exact."""
        self._broken = True

    def sum(self, terms: Sequence[tuple[Value, Value]], region: Region) -> None:
        """Takes the factors of the products that are added up.

        A partial sum in any order is the sum of some of the terms, so it lies between the sum of the
        negative ones and the sum of the positive ones.
        """
        if self._broken:
            return
        if region.has_unknowns:
            key = region.key
            seen = [(c if type(c) is int else key(c), v if type(v) is int else key(v)) for c, v in terms]
            if not self._is_new(tuple(seen)):
                return
        up = 0
        down = 0
        grid = 0
        above: Value = 0
        below: Value = 0
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
                self._broken = True
                return
            grid = max(grid, fine_c + fine_v)
            high, low = self._measure(c * v, region)
            above, below = above + high, below + low
        if grid == 0 and above == 0 and below == 0:
            self._sums.flat = max(self._sums.flat, up, down)
            return
        self._finest = max(self._finest, grid)
        for flat, bound in ((up, above), (down, below)):
            start, slope = self._growth(bound)
            self._sums.add(flat + start, slope, grid)

    def rows(
        self,
        bias: Sequence[Number],
        inputs: Sequence[tuple[Sequence[tuple[int, Number]], Value]],
        region: Region,
    ) -> None:
        """Takes the rows that some input adds to, from pairs (what it adds to which rows, its value)."""
        terms: dict[int, list[tuple[Value, Value]]] = {}
        for column, v in inputs:
            for i, c in column:
                if i in terms:
                    terms[i].append((c, v))
                else:
                    terms[i] = [(1, bias[i]), (c, v)]
        for products in terms.values():
            self.sum(products, region)

    def factors(self, factors: Sequence[Factor], state: Sequence[Value], region: Region) -> None:
        """Takes a product of factors I - scale·v vᵀ that is computed one factor after the other."""
        values = list(state)
        for scale, vector in factors:
            terms = [(e, v) for e, v in zip(vector, values, strict=True) if e != 0]
            self.sum(terms, region)
            product: Value = sum((e * v for e, v in terms), 0)
            self.sum([(scale, product)], region)
            amount = plain(scale * product)
            for i, e in enumerate(vector):
                if e != 0:
                    self.sum([(1, values[i]), (-e, amount)], region)
                    values[i] = plain(values[i] - e * amount)

    def gates(self, layer: int, gates: Mapping[int, Value], writes: Mapping[int, Value]) -> None:
        """Takes the gates and writes of a layer that are not zero."""
        if self._broken:
            return
        for gate in gates.values():
            if not isinstance(gate, Number) or not is_unit(gate):
                self._scan_broken = True
        for i, write in writes.items():
            if not isinstance(write, Number):
                self._scan_broken = True
                continue
            known = self._coordinates[layer][i]
            known.write = max(known.write, size(write))
            known.grid = max(known.grid, grid_of(write) or 0)

    def state(self, layer: int, state: tuple[Value, ...], region: Region) -> None:
        """Takes the state of a layer after a letter."""
        if self._broken or (not region.has_unknowns and not self._is_new((layer, state))):
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
                self._broken = True
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

    def _measure(self, value: Value, region: Region) -> tuple[Value, Value]:
        """Bounds of the positive and of the negative part of a value, neither of them negative."""
        if isinstance(value, Irrational):
            return size(value), size(value)
        return (value, 0) if value > 0 else (0, -value)

    def _growth(self, bound: Value) -> tuple[Rational, Rational]:
        """A bound as a number and a number per letter."""
        return bound, 0

    def _scan_needs(self) -> UnitNeed | None:
        """A bound for every grouping of a scan; None where there is no such bound.

        A group of steps of a scan acts as h -> a·h + b. Both ends of the group are states h, h' of the run,
        so b = h' - a·h is bounded by the states themselves when |a| ≤ 1; without a bound on the states it
        is bounded by the sum of the writes. Joining two groups adds a₂·b₁ and b₂.
        """
        if self._scan_broken:
            return None
        need, work = UnitNeed(), self._network.field.work
        for number, layer in enumerate(self._network.layers):
            largest, grid = self._norms[number]
            match layer.move:
                case GatedMove():
                    for known, start in zip(self._coordinates[number], layer.start, strict=True):
                        if known.per_letter:
                            need.add(size(start), known.write, known.grid)
                        else:
                            need.add(4 * known.flat, 0, known.grid)
                case AffineMove(activation="") as move:
                    bounds = None if self._norm_grows[number] else _product_bounds(move, layer.state, work)
                    if bounds is None:
                        return None
                    row_sum, fine = bounds
                    need.add((1 + row_sum) ** 2 * largest, 0, fine + grid)
                    need.add(row_sum * row_sum, 0, 2 * fine)
                case _:
                    continue  # never scanned: the state passes through a nonlinear function at every letter
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
                        language_claim(task=task, method=INTEGERS, dtype=dtype, order=order, length=reach)
                    )
                if order == "any" and anyhow == step:
                    break
        return tuple(found)


def size(value: Number) -> Rational:
    """Returns the absolute value; of a complex number with rational parts the sum of theirs."""
    if isinstance(value, Irrational):
        parts = gaussian_parts(value)
        if parts is not None:
            real, imaginary = map(Fraction, parts)
            return abs(real) + abs(imaginary)
        return Fraction(sum(map(abs, value.numerators)), value.denominator)
    return value if value >= 0 else -value


def is_unit(value: Number) -> bool:
    """Whether the number is 1, -1, i or -i."""
    return grid_of(value) == 0 and size(value) == 1


def _product_bounds(move: AffineMove, state: Sequence[str], work: WorkCount) -> tuple[Fraction, int] | None:
    """The largest sum of absolute values in a row of a product of matrices, and the finest grid.

    Matrices (factors of them) with at most one entry per column, of absolute value 1, have products of the
    same kind. Of other moves only one matrix and its powers are looked at.
    """
    matrices = [split_rows(rows)[0] for rows in move.maps]
    factors = (factor for part in move.factors or () for factor in part)
    parts = [*matrices, *(factor_product([factor], len(state), work) for factor in factors)]
    if move.chosen:
        return (Fraction(1), 0) if all(map(_moves_coordinates, parts)) else None
    return _bounded_powers(matrices[0])


def _moves_coordinates(matrix: Matrix) -> bool:
    used = [j for row in matrix for j, _ in row]
    return len(set(used)) == len(used) and all(is_unit(c) for row in matrix for _, c in row)


def _bounded_powers(matrix: Matrix) -> tuple[Fraction, int] | None:
    """The largest sum of absolute values in a row of a power, and the finest grid; None if powers go on."""
    seen: set[Hashable] = set()
    power: Sequence[dict[int, Number]] = [{i: 1} for i in range(len(matrix))]
    largest = Fraction(1)
    finest = 0
    while (key := tuple(frozenset(row.items()) for row in power)) not in seen:
        if len(seen) > _MAX_POWERS:
            return None
        seen.add(key)
        power = [combined(row, power) for row in matrix]
        for row in power:
            grids = [grid_of(v) for v in row.values()]
            if None in grids:
                return None
            finest = max(finest, *(g for g in grids if g is not None), 0)
            largest = max(largest, sum((Fraction(size(v)) for v in row.values()), Fraction(0)))
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
