"""Integer-exactness: how far float formats compute a network without any rounding.

Every value of a closed set of configurations is a multiple of some 2**-g. If in every sum neither the
positive nor the negative terms add up to more than 2**p of these units, a format with p significand bits
holds every partial sum, in whatever order the terms are added. For a scan, a group of steps acts as
h -> a·h + b with both ends h, h' in the run, so b = h' - a·h is bounded by the states where |a| ≤ 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, simplify
from nerode.network import (
    Affine,
    Layer,
    Network,
    NetworkStep,
    PointDecoder,
    Row,
    ScalarNumbers,
    Scalars,
    ScoreDecoder,
)
from nerode.proofs.certificate import DTYPES, Claim, language_claim
from nerode.proofs.closure import JointClosure
from nerode.proofs.dyadic import NotDyadicError, grid as grid_of, holds, in_units, is_unit, parts, size

METHOD = "integer-exactness"


def integer_claims(network: Network, closure: JointClosure, task: str) -> tuple[Claim, ...]:
    """Returns the bit-exact claims that hold on a closed set of configurations, strongest first."""
    try:
        survey = _Survey(network)
        weights = [part for number in stored_numbers(network) for part in parts(number)]
        for states, row in zip(closure.network_states, closure.successors, strict=True):
            for letter, target in enumerate(row):
                if target >= 0:
                    survey.visit(states, letter)
        survey.visit_starts()
    except NotDyadicError:
        return ()
    found = []
    for dtype, form in DTYPES.items():
        if not all(holds(weight, form) for weight in weights) or survey.numbers.grid > -form.smallest:
            continue
        if survey.numbers.units <= 1 << form.bits:
            order = "any" if survey.scans and survey.scan_units() <= 1 << form.bits else "step"
            found.append(language_claim(task=task, method=METHOD, dtype=dtype, order=order))
    return tuple(found)


class _CountingNumbers(ScalarNumbers):
    """Exact numbers that keep the largest sum of terms of one sign, in units of the finest grid.

    Attributes:
        units: the largest such sum.
        grid: the largest g with a value that is a multiple of 2**-g and of no coarser grid.
    """

    def __init__(self) -> None:
        self.units = 0
        self.grid = 0

    def map(self, affine: Affine, place: str) -> Callable[[Scalars], Scalars]:
        """Returns a map each of whose rows is one sum."""
        return lambda x: [
            self.total([bias, *[c * x[j] for j, c in row if x[j] != 0]])
            for bias, row in zip(affine.bias, affine.rows, strict=True)
        ]

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[int], Scalars]:
        """Returns the vectors of a table, each noted when it is first used."""
        return functools.cache(lambda choice: [self.total([e]) for e in table[choice]])

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> Callable[[int, Scalars, Scalars], Scalars]:
        """Returns (choice, h, b) ↦ A(choice) h + b, each coordinate one sum."""
        columns = self.columns(matrices)

        def moved(choice: int, h: Scalars, added: Scalars) -> Scalars:
            terms = [[b] for b in added]
            for v, column in zip(h, columns(choice), strict=True):
                if v:
                    for i, c in column:
                        terms[i].append(c * v)
            return [self.total(found) for found in terms]

        return moved

    def gated(self, gate: Scalars, values: Scalars, added: Scalars) -> Scalars:
        """Returns gate · value + added, each one sum."""
        return [self.total([b, g * v]) for g, v, b in zip(gate, values, added, strict=True)]

    def function(self, name: str) -> Callable[[Exact], Exact]:
        """Returns relu or clip; the other functions leave the grid."""
        if name not in ("relu", "clip"):
            raise NotDyadicError
        return super().function(name)

    def total(self, terms: Sequence[Exact]) -> Exact:
        """Adds up, noting how far partial sums can get from 0: the sums of terms of one sign."""
        if len(terms) == 1 and type(terms[0]) is int:
            self.units = max(self.units, abs(terms[0]))
            return terms[0]
        total: Exact = 0
        up: Fraction | int = 0
        down: Fraction | int = 0
        grid = 0
        for term in terms:
            total = total + term
            if type(term) is not int:
                grid = max(grid, grid_of(term))
            if isinstance(term, Cyclotomic):
                up, down = up + size(term), down + size(term)
            elif term > 0:
                up = up + term
            else:
                down = down - term
        self.grid = max(self.grid, grid)
        self.units = max(self.units, in_units(up, grid), in_units(down, grid))
        return simplify(total)


class _Survey:
    """Walks over the steps of a network and keeps the largest sum of absolute values, in grid units."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.numbers = _CountingNumbers()
        self.step = NetworkStep(network, self.numbers)
        self.norms = [Fraction(0)] * network.depth
        self.largest = [[Fraction(0)] * layer.width for layer in network.layers]
        self.state_grid = [0] * network.depth
        self.seen: set[tuple[object, ...]] = set()
        self.outputs: dict[tuple[object, ...], Scalars] = {}
        self.shown: dict[tuple[object, ...], Scalars] = {}
        self.scans = all(groups_exactly(layer) for layer in network.layers)
        self.scores = _scores(network, self.numbers)

    def visit(self, states: Sequence[Sequence[Exact]], letter: int) -> None:
        """Takes one step of the whole network into account."""

        def visit_layer(number: int, reads: Scalars) -> Scalars:
            by_letter = self.network.layers[number].recurrence.num_letters
            key = (number, letter if by_letter else -1, *reads, *states[number])
            if key not in self.outputs:
                self.outputs[key] = self._layer(number, reads, states[number], letter)
            return self.outputs[key]

        reads = self.step.decoded(self.step.stream(letter, visit_layer))
        key = ("decoder", *reads)
        if key not in self.seen:
            self.seen.add(key)
            self.scores(reads)

    def visit_starts(self) -> None:
        """Takes the start states into account."""
        for number, layer in enumerate(self.network.layers):
            self._state(number, layer.start)

    def scan_units(self) -> int:
        """Units that any grouping of a scan may take."""
        found = [0]
        for number, layer in enumerate(self.network.layers):
            grid = self.state_grid[number]
            if layer.recurrence.as_fixed() is None and layer.recurrence.as_gated() is not None:
                found.extend(in_units(4 * largest, grid) for largest in self.largest[number])
            elif layer.recurrence.linear:
                found.append(in_units(4 * self.norms[number], grid))
        return max(found)

    def _layer(self, number: int, reads: Scalars, state: Sequence[Exact], letter: int) -> Scalars:
        layer = self.step.layers[number]
        drive = layer.recurrence.drive(layer.seen(reads), letter)
        moved_by = layer.recurrence.shown(drive, state)
        if "gate" in moved_by:
            self.scans = self.scans and all(g == 0 or is_unit(g) for g in moved_by["gate"])
            self.state_grid[number] = max(self.state_grid[number], *map(grid_of, moved_by["write"]), 0)
        new = layer.recurrence.advance(drive, state)
        self._state(number, new)
        before = state if self.network.layers[number].exposes_previous else ()
        key = (number, *reads, *new, "before", *before)
        if key not in self.shown:
            self.shown[key] = layer.read_out(reads, new, state)
        return self.shown[key]

    def _state(self, number: int, state: Sequence[Exact]) -> None:
        key = ("state", number, *state)
        if key in self.seen:
            return
        self.seen.add(key)
        self.state_grid[number] = max([self.state_grid[number], *map(grid_of, state)])
        sizes = [Fraction(size(v)) for v in state]
        self.norms[number] = max(self.norms[number], sum(sizes, Fraction(0)))
        self.largest[number] = [max(a, b) for a, b in zip(self.largest[number], sizes, strict=True)]


def _scores(network: Network, numbers: _CountingNumbers) -> Callable[[Scalars], object]:
    """The scores of the decoder as sums."""
    decoder = network.decoder
    if isinstance(decoder, ScoreDecoder):
        units, scores = numbers.with_units(decoder.units, "units"), numbers.map(decoder.scores, "scores")
        return lambda reads: scores(units(reads))
    if not isinstance(decoder, PointDecoder):
        raise NotDyadicError
    points = decoder.points
    return lambda reads: [
        numbers.total([p * v for p, v in zip(point, reads, strict=True)]) for point in points
    ]


def groups_exactly(layer: Layer) -> bool:
    """Whether products of the layer's transitions stay exact: they only move coordinates and change signs.

    Of gates this is seen only at each step.
    """
    return all(map(_moves_only, layer.recurrence.applied()))


def _moves_only(matrix: Sequence[Row]) -> bool:
    """Whether a matrix has at most one entry per column, of absolute value 1."""
    columns = [j for row in matrix for j, _ in row]
    return len(set(columns)) == len(columns) and all(is_unit(c) for row in matrix for _, c in row)


def stored_numbers(network: Network) -> Iterable[Exact]:
    """Every number that a model has to store."""
    maps: list[Affine] = []
    for vector in network.embedding.vectors:
        yield from vector
    for layer in network.layers:
        if not layer.recurrence.exact:
            raise NotDyadicError
        yield from layer.start
        yield from layer.recurrence.constants()
        maps += [layer.units, *layer.recurrence.maps(), layer.readout_units, layer.readout]
    decoder = network.decoder
    if isinstance(decoder, ScoreDecoder):
        maps += [decoder.units, decoder.scores]
    elif isinstance(decoder, PointDecoder):
        yield from (c for point in decoder.points for c in point)
    for affine in maps:
        yield from affine.bias
        yield from (c for row in affine.rows for _, c in row)
