"""Integer-exactness: how far float formats compute a network without any rounding.

Every value of a closed set of configurations is a multiple of some 2**-g. If in every sum neither the
positive nor the negative terms add up to more than 2**p of these units, a format with p significand bits
holds every partial sum, in whatever order the terms are added. For a scan, a group of steps acts as
h -> a·h + b with both ends h, h' in the run, so b = h' - a·h is bounded by the states where |a| ≤ 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.core import Cyclotomic, Exact, imaginary_part, real_part, simplify
from nerode.network import (
    Affine,
    Fixed,
    Gated,
    Householder,
    Layer,
    LetterMatrices,
    Network,
    PermutationDiagonal,
    PointDecoder,
    Row,
    ScoreDecoder,
    Squashed,
)
from nerode.proofs.certificate import DTYPES, Claim, language_claim
from nerode.proofs.closure import JointClosure
from nerode.proofs.dyadic import NotDyadicError, grid as grid_of, holds, in_units, is_unit, parts, size
from nerode.proofs.transitions import factor_scale, groups_exactly, stored_numbers

METHOD = "integer-exactness"


def integer_claims(network: Network, closure: JointClosure, task: str) -> tuple[Claim, ...]:
    """Returns the bit-exact claims that hold on a closed set of configurations, strongest first."""
    survey = _Survey(network)
    try:
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
        if not all(holds(weight, form) for weight in weights) or survey.grid > -form.smallest:
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
        self.shown: dict[tuple[object, ...], list[Exact]] = {}
        self.columns: dict[tuple[int, int], list[list[tuple[int, Exact]]]] = {}
        self.scans = all(groups_exactly(layer) for layer in network.layers)

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
            if isinstance(layer.recurrence, Gated):
                found.extend(in_units(4 * largest, grid) for largest in self.largest[number])
            elif not isinstance(layer.recurrence, Squashed):
                found.append(in_units(4 * self.norms[number], grid))
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
        key = (number, *inside)
        if key not in self.shown:
            rectified = _rectified(self._affine(layer.readout_units, inside))
            self.shown[key] = self._affine(layer.readout, [*inside, *rectified])
        return self.shown[key], new

    def _advance(
        self, number: int, layer: Layer, seen: list[Exact], h: Sequence[Exact], letter: int
    ) -> tuple[Exact, ...]:
        match layer.recurrence:
            case Gated(gate=gate, write=write):
                gates, writes = self._affine(gate, seen), self._affine(write, seen)
                self.scans = self.scans and all(g == 0 or is_unit(g) for g in gates)
                self.state_grid[number] = max(self.state_grid[number], *map(grid_of, writes), 0)
                return tuple(self._sum([w, g * v]) for g, v, w in zip(gates, h, writes, strict=True))
            case Fixed(matrix=matrix, write=write):
                writes = self._affine(write, seen)
                return tuple(
                    self._sum([w, *[c * h[j] for j, c in row if h[j] != 0]])
                    for w, row in zip(writes, matrix, strict=True)
                )
            case LetterMatrices(matrices=matrices, writes=vectors):
                return self._by_columns(number, letter, matrices[letter], vectors[letter], h)
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
                    amount = self._sum([factor_scale(factor) * product])
                    for i, e in entries:
                        values[i] = self._sum([values[i], -e * amount])
                return tuple(self._sum([w, v]) for w, v in zip(moves.writes[choice], values, strict=True))
            case Squashed(activation=activation, update=update):
                values = _rectified(self._affine(update, [*seen, *h]))
                return tuple(min(v, 1) for v in values) if activation == "clip" else tuple(values)
            case _:
                raise NotDyadicError

    def _by_columns(
        self, number: int, letter: int, matrix: Sequence[Row], write: Sequence[Exact], h: Sequence[Exact]
    ) -> tuple[Exact, ...]:
        """A matrix times a state plus a write; most coordinates of a one-hot state are zero."""
        if (number, letter) not in self.columns:
            columns: list[list[tuple[int, Exact]]] = [[] for _ in matrix]
            for i, row in enumerate(matrix):
                self._sum([write[i]])
                for j, c in row:
                    columns[j].append((i, c))
            self.columns[number, letter] = columns
        terms: dict[int, list[Exact]] = {}
        for v, column in zip(h, self.columns[number, letter], strict=True):
            if v != 0:
                for i, c in column:
                    terms.setdefault(i, [write[i]]).append(c * v)
        new = list(write)
        for i, products in terms.items():
            new[i] = self._sum(products)
        return tuple(new)

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
            raise NotDyadicError

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

    def _state(self, number: int, state: Sequence[Exact]) -> None:
        key = ("state", number, *state)
        if key in self.seen:
            return
        self.seen.add(key)
        self.state_grid[number] = max([self.state_grid[number], *map(grid_of, state)])
        sizes = [Fraction(size(v)) for v in state]
        self.norms[number] = max(self.norms[number], sum(sizes, Fraction(0)))
        self.largest[number] = [max(a, b) for a, b in zip(self.largest[number], sizes, strict=True)]


def _rectified(values: Iterable[Exact]) -> list[Exact]:
    return [v if v > 0 else 0 for v in values]


def _shown(state: Sequence[Exact], layer: Layer) -> list[Exact]:
    if not layer.complex_state:
        return list(state)
    return [real_part(v) for v in state] + [imaginary_part(v) for v in state]
