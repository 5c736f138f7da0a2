"""Integer-exactness: how far float formats compute a network without any rounding.

Every value of a closed set of configurations is a multiple of some 2**-g. If in every sum neither the
positive nor the negative terms add up to more than 2**p of these units, a format with p significand bits
holds every partial sum, in whatever order the terms are added. For a scan, a group of steps acts as
h -> a·h + b with both ends h, h' in the run, so b = h' - a·h is bounded by the states where |a| ≤ 1.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.certificates.certificate import DTYPES, Claim, FloatFormat, language_claim
from nerode.certificates.closure import JointClosure
from nerode.compiler.affine import Affine
from nerode.compiler.decoders import PointDecoder, ScoreDecoder
from nerode.compiler.network import Layer, Network
from nerode.compiler.recurrences import (
    Diagonal,
    Elman,
    Factor,
    Householder,
    LetterMatrices,
    PermutationDiagonal,
    TimeInvariant,
)
from nerode.core.exact import Cyclotomic, Exact, imaginary_part, inverse, real_part, simplify

METHOD = "integer-exactness"


class _NotDyadicError(Exception):
    """A number has an odd denominator or is irrational."""


def integer_claims(network: Network, closure: JointClosure, task: str) -> tuple[Claim, ...]:
    """Returns the bit-exact claims that hold on a closed set of configurations, strongest first."""
    survey = _Survey(network)
    try:
        weights = [part for number in _stored(network) for part in _parts(number)]
        for states, row in zip(closure.network_states, closure.successors, strict=True):
            for letter, target in enumerate(row):
                if target >= 0:
                    survey.visit(states, letter)
        survey.visit_starts()
    except _NotDyadicError:
        return ()
    found = []
    for dtype, form in DTYPES.items():
        if not all(_holds(weight, form) for weight in weights) or survey.grid > -form.smallest:
            continue
        if survey.units <= 1 << form.bits:
            order = "any" if survey.scans and survey.scan_units() <= 1 << form.bits else "step"
            found.append(language_claim(task=task, method=METHOD, dtype=dtype, order=order))
    return tuple(found)


class _Survey:
    """Walks over the steps of a network and keeps the largest sum of absolute values, in grid units."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.units = 0
        self.grid = 0
        self.scans = True
        self.norms = [Fraction(0)] * network.depth
        self.largest = [[Fraction(0)] * layer.width for layer in network.layers]
        self.state_grid = [0] * network.depth
        self.seen: set[tuple[object, ...]] = set()
        self.outputs: dict[tuple[object, ...], tuple[list[Exact], tuple[Exact, ...]]] = {}
        self.scans = all(_groups_exactly(layer) for layer in network.layers)

    def visit(self, states: Sequence[Sequence[Exact]], letter: int) -> None:
        """Takes one step of the whole network into account."""
        stream = dict(
            zip(self.network.embedding.directions, self.network.embedding.vectors[letter], strict=True)
        )
        for number, (layer, state) in enumerate(zip(self.network.layers, states, strict=True)):
            reads = [stream[name] for name in layer.reads]
            key = (number, letter if layer.recurrence.num_letters else -1, *reads, *state)
            if key not in self.outputs:
                self.outputs[key] = self._layer(number, layer, reads, state, letter)
            stream.update(zip(layer.outputs, self.outputs[key][0], strict=True))
        self._decoder([stream[name] for name in self.network.decoder.reads])

    def visit_starts(self) -> None:
        """Takes the start states into account."""
        for number, layer in enumerate(self.network.layers):
            self._state(number, layer.start)

    def scan_units(self) -> int:
        """Units that any grouping of a scan may take."""
        found = [0]
        for number, layer in enumerate(self.network.layers):
            grid = self.state_grid[number]
            if isinstance(layer.recurrence, Diagonal):
                found.extend(_units(4 * size, grid) for size in self.largest[number])
            elif not isinstance(layer.recurrence, Elman):
                found.append(_units(4 * self.norms[number], grid))
        return max(found)

    def _layer(
        self, number: int, layer: Layer, reads: list[Exact], state: Sequence[Exact], letter: int
    ) -> tuple[list[Exact], tuple[Exact, ...]]:
        seen = [*reads, *_rectified(self._affine(layer.units, reads))]
        new = self._advance(number, layer, seen, state, letter)
        self._state(number, new)
        inside = [*reads, *_shown(new, layer)]
        if layer.exposes_previous:
            inside += _shown(state, layer)
        units = _rectified(self._affine(layer.readout_units, inside))
        return self._affine(layer.readout, [*inside, *units]), new

    def _advance(
        self, number: int, layer: Layer, seen: list[Exact], h: Sequence[Exact], letter: int
    ) -> tuple[Exact, ...]:
        match layer.recurrence:
            case Diagonal(gate=gate, write=write):
                gates, writes = self._affine(gate, seen), self._affine(write, seen)
                self.scans = self.scans and all(g == 0 or _is_unit(g) for g in gates)
                self.state_grid[number] = max(self.state_grid[number], *map(_grid, writes), 0)
                return tuple(self._sum([w, g * v]) for g, v, w in zip(gates, h, writes, strict=True))
            case TimeInvariant(matrix=matrix, write=write):
                writes = self._affine(write, seen)
                return tuple(
                    self._sum([w, *[c * h[j] for j, c in row if h[j] != 0]])
                    for w, row in zip(writes, matrix, strict=True)
                )
            case LetterMatrices(matrices=matrices, writes=vectors):
                rows = zip(vectors[letter], matrices[letter], strict=True)
                return tuple(self._sum([w, *[c * h[j] for j, c in row if h[j] != 0]]) for w, row in rows)
            case PermutationDiagonal() as moves:
                terms: list[list[Exact]] = [[w] for w in moves.writes[letter]]
                for j, i in enumerate(moves.images[letter]):
                    if h[j] != 0:
                        terms[i].append(moves.diagonals[letter][j] * h[j])
                return tuple(map(self._sum, terms))
            case Householder() as moves:
                values = list(h)
                choice = letter
                if moves.selector is not None:
                    choice = self._affine(moves.selector, seen).index(1)
                for factor in moves.factors[choice]:
                    entries = [(i, e) for i, e in enumerate(factor.vector) if e != 0]
                    product = self._sum([e * values[i] for i, e in entries])
                    amount = self._sum([_scale(factor) * product])
                    for i, e in entries:
                        values[i] = self._sum([values[i], -e * amount])
                return tuple(self._sum([w, v]) for w, v in zip(moves.writes[choice], values, strict=True))
            case Elman(activation=activation, update=update):
                values = _rectified(self._affine(update, [*seen, *h]))
                return tuple(min(v, 1) for v in values) if activation == "clip" else tuple(values)
            case _:
                raise _NotDyadicError

    def _decoder(self, reads: list[Exact]) -> None:
        key = ("decoder", *reads)
        if key in self.seen:
            return
        self.seen.add(key)
        decoder = self.network.decoder
        if isinstance(decoder, ScoreDecoder):
            self._affine(decoder.scores, [*reads, *_rectified(self._affine(decoder.units, reads))])
        elif isinstance(decoder, PointDecoder):
            for point in decoder.points:
                self._sum([p * v for p, v in zip(point, reads, strict=True)])
        else:
            raise _NotDyadicError

    def _affine(self, affine: Affine, x: Sequence[Exact]) -> list[Exact]:
        return [
            self._sum([bias, *[c * x[j] for j, c in row if x[j] != 0]])
            for bias, row in zip(affine.bias, affine.rows, strict=True)
        ]

    def _sum(self, terms: Sequence[Exact]) -> Exact:
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
                grid = max(grid, _grid(term))
            if isinstance(term, Cyclotomic):
                up, down = up + _size(term), down + _size(term)
            elif term > 0:
                up = up + term
            else:
                down = down - term
        self.grid = max(self.grid, grid)
        self.units = max(self.units, _units(up, grid), _units(down, grid))
        return simplify(total)

    def _state(self, number: int, state: Sequence[Exact]) -> None:
        key = ("state", number, *state)
        if key in self.seen:
            return
        self.seen.add(key)
        self.state_grid[number] = max([self.state_grid[number], *map(_grid, state)])
        sizes = [Fraction(_size(v)) for v in state]
        self.norms[number] = max(self.norms[number], sum(sizes, Fraction(0)))
        self.largest[number] = [max(a, b) for a, b in zip(self.largest[number], sizes, strict=True)]


def _units(size: Fraction | int, grid: int) -> int:
    """A size in units of 2**-grid, rounded up."""
    return size << grid if isinstance(size, int) else -int(-size * (1 << grid) // 1)


def _groups_exactly(layer: Layer) -> bool:
    """Whether products of the layer's transitions stay exact: they only move coordinates and change signs."""
    match layer.recurrence:
        case Diagonal() | Elman():
            return True
        case TimeInvariant(matrix=matrix):
            return _moves_only([list(enumerate(matrix))])
        case LetterMatrices(matrices=matrices):
            return _moves_only([list(enumerate(matrix)) for matrix in matrices])
        case PermutationDiagonal(diagonals=diagonals):
            return all(d == 0 or _is_unit(d) for diagonal in diagonals for d in diagonal)
        case Householder(factors=factors):
            return all(_swaps_only(f) for letter in factors for f in letter)
        case _:
            return False


def _moves_only(matrices: Iterable[list[tuple[int, Sequence[tuple[int, Exact]]]]]) -> bool:
    for matrix in matrices:
        columns = [j for _, row in matrix for j, _ in row]
        if len(set(columns)) < len(columns) or not all(_is_unit(c) for _, row in matrix for _, c in row):
            return False
    return True


def _swaps_only(factor: Factor) -> bool:
    """Whether I - beta v vᵀ/(vᵀv) has at most one entry a column, of absolute value 1."""
    scale = _scale(factor)
    support = [(j, v) for j, v in enumerate(factor.vector) if v != 0]
    for j, v in support:
        column = [int(i == j) - scale * w * v for i, w in support]
        entries = [c for c in column if c != 0]
        if len(entries) > 1 or not all(map(_is_unit, entries)):
            return False
    return True


def _stored(network: Network) -> Iterable[Exact]:
    """Every number that a model has to store."""
    maps: list[Affine] = []
    for vector in network.embedding.vectors:
        yield from vector
    for layer in network.layers:
        yield from layer.start
        maps += [layer.units, layer.readout_units, layer.readout]
        match layer.recurrence:
            case Diagonal(gate=gate, write=write):
                maps += [gate, write]
            case TimeInvariant(matrix=matrix, write=write):
                maps.append(write)
                yield from (c for row in matrix for _, c in row)
            case LetterMatrices(matrices=matrices, writes=writes):
                yield from (c for m in matrices for row in m for _, c in row)
                yield from (c for w in writes for c in w)
            case PermutationDiagonal(diagonals=diagonals, writes=writes):
                yield from (c for v in (*diagonals, *writes) for c in v)
            case Householder(factors=factors, writes=writes, selector=selector):
                maps += [] if selector is None else [selector]
                yield from (c for w in writes for c in w)
                for factor in (f for letter in factors for f in letter):
                    yield _scale(factor)
                    yield from factor.vector
            case Elman(update=update):
                maps.append(update)
            case _:
                raise _NotDyadicError
    decoder = network.decoder
    if isinstance(decoder, ScoreDecoder):
        maps += [decoder.units, decoder.scores]
    elif isinstance(decoder, PointDecoder):
        yield from (c for point in decoder.points for c in point)
    for affine in maps:
        yield from affine.bias
        yield from (c for row in affine.rows for _, c in row)


@functools.lru_cache(maxsize=4096)
def _scale(factor: Factor) -> Exact:
    """The factor beta/(vᵀv)."""
    square: Exact = 0
    for entry in factor.vector:
        square = square + entry * entry
    return simplify(factor.beta * inverse(square))


def _rectified(values: Iterable[Exact]) -> list[Exact]:
    return [v if v > 0 else 0 for v in values]


def _shown(state: Sequence[Exact], layer: Layer) -> list[Exact]:
    if not layer.complex_state:
        return list(state)
    return [real_part(v) for v in state] + [imaginary_part(v) for v in state]


def _parts(value: Exact) -> tuple[Fraction, ...]:
    """The real and the imaginary part, which must be rational."""
    if not isinstance(value, Cyclotomic):
        return (Fraction(value),)
    real, imaginary = real_part(value), imaginary_part(value)
    if isinstance(real, Cyclotomic) or isinstance(imaginary, Cyclotomic):
        raise _NotDyadicError
    return Fraction(real), Fraction(imaginary)


def _size(value: Exact) -> Fraction | int:
    return abs(value) if type(value) is int else sum(map(abs, _parts(value)), Fraction(0))


def _is_unit(value: Exact) -> bool:
    return value in (1, -1) or (isinstance(value, Cyclotomic) and value.order == 4 and _size(value) == 1)


def _grid(value: Exact) -> int:
    """The least g with 2**g · value an integer."""
    if type(value) is int:
        return 0
    finest = 0
    for part in _parts(value):
        if part.denominator & (part.denominator - 1):
            raise _NotDyadicError
        finest = max(finest, part.denominator.bit_length() - 1)
    return finest


def _holds(number: Fraction, form: FloatFormat) -> bool:
    """Whether a format holds the number exactly."""
    if number == 0:
        return True
    if number.denominator & (number.denominator - 1):
        return False
    numerator = abs(number.numerator)
    trailing = (numerator & -numerator).bit_length() - 1
    significant = numerator.bit_length() - trailing
    exponent = numerator.bit_length() - number.denominator.bit_length()
    return significant <= form.bits and form.smallest <= exponent <= form.largest
