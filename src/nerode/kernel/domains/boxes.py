"""Cells that are boxes: an interval for every coordinate, closed under every letter and under noise.

What is verified, in interval arithmetic with outward rounding: the start lies in a cell; the image of every
cell under every letter, with the noise added to every coordinate of every layer, lies in a cell; and the
decoder gives the language's answer on all of it. Then the network is correct at every length, whatever noise
of that size does after each letter.

    BoxDomain       a cell is a choice of one interval per coordinate, with a configuration of the language
    NodeDomain      one listed box for each configuration and last letters
    RoundedSpans    steps that hold everything that float32 may compute: roundings are a widening of the step

Implements: [Dankowiakowski2025, Theorem 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from nerode.kernel.claims import DONE, DTYPES, UNDER_NOISE, Claim
from nerode.kernel.domains.meter import fits
from nerode.kernel.domains.spans import ONE, Span, SpanArithmetic, SpanRows, inner, outer
from nerode.kernel.guard import NEAR, CellPoint
from nerode.kernel.letters import NextLetters
from nerode.kernel.network import AffineMove, CheckedNetwork, PointTable, Row, ScoreRows, now
from nerode.kernel.numbers import Number, rational, read_interval, read_rational
from nerode.kernel.reader import entries, listing, quoted, whole
from nerode.kernel.step import States, Stepper
from nerode.kernel.walk import CheckProblem, ConfigurationDomain, Image, PointDomain, WalkCell, walk
from nerode.kernel.work import Undecided, Unreadable

Json = Any

MAX_INTERVALS = 10_000
MAX_LETTERS = 16
"""Last letters that a node may know."""


def read_noise(data: Json) -> Fraction:
    """Returns the noise of a cover.

    Raises:
        Unreadable: if it is not above 0.
    """
    noise = read_rational(data, "noise")
    if noise <= 0:
        raise Unreadable(f"noise is {quoted(data)}, which is not above 0")
    return noise


def _with_noise(problem: CheckProblem, noise: Fraction) -> Stepper:
    return Stepper(problem.network, SpanArithmetic(problem.work, outer(noise, noise)[1]))


class _BoxedDomain(ConfigurationDomain):
    """Cells with an interval for every coordinate, of which the guard draws floats."""

    floats = True
    _noise: float

    def _box(self, cell: Any, boxes: Any) -> Sequence[Sequence[Span]]:
        """The intervals of a cell, from those that all cells have."""
        raise NotImplementedError

    def draw(self, cell: Any, choose: Random) -> CellPoint:
        """Returns ends and middles of the intervals."""
        box = self._box(cell, self._outside)  # type: ignore[attr-defined]
        states = tuple(
            tuple([choose.choice((low, high, (low + high) // 2)) / ONE for low, high in layer])
            for layer in box
        )
        return CellPoint(states, self._configuration(cell))

    def contains(self, cell: Any, point: CellPoint) -> bool:
        """Whether a point lies in the box of a cell, as floats tell."""
        box = self._box(cell, self._inside)  # type: ignore[attr-defined]
        near = NEAR * (1 + max((abs(v) for state in point.states for v in state), default=0.0))
        return self._configuration(cell) == point.configuration and all(
            low / ONE - near <= v <= high / ONE + near
            for layer, state in zip(box, point.states, strict=True)
            for (low, high), v in zip(layer, state, strict=True)
        )

    def noise(self, choose: Random) -> Callable[[], float]:
        """Returns a function that draws the largest noise, up or down, or none."""
        return lambda: self._noise * choose.choice((-1, 0, 1))

    def _configuration(self, cell: Any) -> Any:
        return cell[1]


class BoxDomain(_BoxedDomain):
    """Choices of one interval per coordinate, with configurations of the language."""

    def __init__(self, problem: CheckProblem, cover: Mapping[str, Json]) -> None:
        self._noise = float(read_noise(cover["noise"]))
        super().__init__(problem, _with_noise(problem, read_noise(cover["noise"])))
        run = entries(whole(1, 1 << 32), listing(read_interval, most=MAX_INTERVALS))
        layers = problem.network.layers
        given = []
        for runs, layer in zip(
            listing(listing(run), length=len(layers))(cover["layers"], "layers"), layers, strict=True
        ):
            if sum(count for count, _ in runs) != len(layer.state):
                raise Unreadable(f"the runs of a layer are not for its {len(layer.state)} coordinates")
            given.append([intervals for count, intervals in runs for _ in range(count)])
        # Rounded outward to start from, inward to arrive in.
        self._outside = [[[outer(*ends) for ends in place] for place in layer] for layer in given]
        self._inside = [[[inner(*ends) for ends in place] for place in layer] for layer in given]
        self._moves: dict[tuple[WalkCell, int], tuple[WalkCell, NextLetters | None]] = {}

    def start(self) -> WalkCell:
        """Returns the cell of the start."""
        return self._labels(self.stepper.start()), self.language.initial()

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the cell of the image."""
        labels = cell[0]
        if (labels, letter) not in self._moves:
            box = tuple(map(tuple, self._box(cell, self._outside)))
            new, got = self.stepper.step(box, letter)
            self._moves[labels, letter] = (self._labels(new), got)
        return self.arrival(cell, letter, *self._moves[labels, letter])

    def _box(self, cell: Any, boxes: Any) -> list[list[Span]]:
        return [
            [intervals[k] for intervals, k in zip(layer, chosen, strict=True)]
            for layer, chosen in zip(boxes, cell[0], strict=True)
        ]

    def _labels(self, states: States) -> WalkCell:
        """For each layer the number of the interval that holds each coordinate."""
        found = []
        for n, (places, state) in enumerate(zip(self._inside, states, strict=True), start=1):
            labels: list[int] = []
            for intervals, (low, high) in zip(places, state, strict=True):
                for k, (least, most) in enumerate(intervals):
                    if least <= low and high <= most:
                        labels.append(k)
                        break
                else:
                    shown = _shown((low, high))
                    raise Undecided(f"coordinate {len(labels) + 1} of layer {n} {shown} is in no interval")
            found.append(tuple(labels))
        return tuple(found)


class NodeDomain(_BoxedDomain):
    """One listed box for each configuration of the language with the last letters.

    Nodes are numbered as the walk finds them. Rounded steps are those of float32, with half of the noise.
    """

    def __init__(self, problem: CheckProblem, cover: Mapping[str, Json], *, rounded: bool = False) -> None:
        noise = read_noise(cover["noise"])
        self._noise = float(noise / 2 if rounded else noise)
        super().__init__(problem, _rounded(problem, noise / 2) if rounded else _with_noise(problem, noise))
        self._letters = whole(0, MAX_LETTERS)(cover["letters"], "letters")
        box = entries(*(listing(read_interval, length=len(layer.state)) for layer in problem.network.layers))
        given = listing(box)(cover["boxes"], "boxes")
        self._outside = [tuple(tuple(outer(*ends) for ends in layer) for layer in box) for box in given]
        self._inside = [[[inner(*ends) for ends in layer] for layer in box] for box in given]
        self._number: dict[WalkCell, int] = {}

    def start(self) -> WalkCell:
        """Returns the node of the empty word, whose box must hold the start."""
        return self._node(((), self.language.initial()), self.stepper.start())

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the node that the letter leads to, whose box must hold the image."""
        new, got = self.stepper.step(self._outside[self._number[cell]], letter)
        recent = (*cell[0], letter)
        found = self.arrival(cell, letter, recent[max(0, len(recent) - self._letters) :], got)
        self._node(found[0].cell, new)
        return found

    def _box(self, cell: Any, boxes: Any) -> Any:
        return boxes[self._number[cell]]

    def _node(self, node: Any, states: States) -> WalkCell:
        number = self._number.setdefault(node, len(self._number))
        if number >= len(self._inside):
            raise Undecided(f"there are more than {len(self._inside)} nodes, which is the number of boxes")
        for n, (layer, state) in enumerate(zip(self._inside[number], states, strict=True), start=1):
            for i, (interval, span) in enumerate(zip(layer, state, strict=True), start=1):
                if not _holds(interval, span):
                    raise Undecided(f"coordinate {i} of layer {n} {_shown(span)} leaves the box of its node")
        result: WalkCell = node
        return result


class SearchDomain(PointDomain):
    """Spans around the runs of single words, to find one that surely fails: open answers pass as correct."""

    def __init__(self, problem: CheckProblem) -> None:
        super().__init__(problem, Stepper(problem.network, SpanArithmetic(problem.work)))

    def images(self, cell: Any, letter: int) -> list[Image]:
        """Returns the next span and configuration."""
        found = super().images(cell, letter)
        return [replace(i, got=i.expected) if i.got is None else i for i in found]


def _holds(interval: Span, span: Span) -> bool:
    return interval[0] <= span[0] and span[1] <= interval[1]


def _shown(span: Span) -> str:
    """A span in a message; the decimal places are for the reader alone."""
    low, high = (f"{end * 10**6 // ONE / 10**6:g}" if abs(end) < ONE << 60 else "…" for end in span)
    return f"[{low}, {high}]"


_TANH_ERROR = ONE >> 20
_LARGEST = 1 << 100
_MOST_TERMS = 1 << 16


class RoundedRows(SpanRows):
    """An affine map on spans, with all that float32 may compute.

    A sum of n products, in any order and with or without fused operations, is off by at most
    γ = (n+3)·u / (1 - (n+3)·u) times the sum of the absolute values, u = 2**-24, and by 2**-120 for what
    underflows. A row that copies one number, or is a constant, is not off at all.
    """

    def all_values(self, table: Mapping[str, Span], state: Sequence[Span] = ()) -> list[Span]:
        """Returns all rows."""
        found, errors = super().all_values(table, state), self.errors(table, state)
        return [(low - error, high + error) for (low, high), error in zip(found, errors, strict=True)]

    def errors(self, table: Mapping[str, Span], state: Sequence[Span] = ()) -> list[int]:
        """Returns the error of each row; 1/2 is added to biases, as scores are computed less 1/2."""
        found = []
        for start, below, held, named in self._rows:
            count = len(held) + len(named)
            values = [(c, state[i]) for i, c in held] + [(c, table.get(name, (0, 0))) for name, c in named]
            if count == 0 or (count == 1 and start == 0 and values[0][0] == below == 1):
                found.append(0)
                continue
            total = abs(start) + below * ONE // 2 + sum(abs(c) * max(map(abs, span)) for c, span in values)
            if total > below * ONE * _LARGEST or count > _MOST_TERMS:
                raise Undecided("a sum may leave the range of float32, or has too many terms for a bound")
            found.append((total // below + 1) * (count + 3) // ((1 << 24) - (count + 3)) + 2)
        return found


class RoundedSpans(SpanArithmetic):
    """Spans around all that float32 may compute; its tanh is off by at most 2**-20."""

    def rows(self, rows: Iterable[Row], width: int = 0) -> RoundedRows:
        """Returns an affine map of names and of a state of this width."""
        return RoundedRows(rows, width, self.work)

    def squash(self, activation: str, values: Sequence[Span], layer: int) -> list[Span]:
        """Returns the activations of values."""
        found = super().squash(activation, values, layer)
        return [(low - _TANH_ERROR, high + _TANH_ERROR) for low, high in found]

    def leads(
        self, points: PointTable, best: int, products: Sequence[Span], table: Mapping[str, Span]
    ) -> list[Span]:
        """Returns how far one product is above each; both are computed by themselves."""
        rows: list[Row] = [(0, tuple(zip(points.reads, point, strict=True))) for point in points.points]
        errors = self.rows(rows).errors(table)
        pairs = zip(super().leads(points, best, products, table), errors, strict=True)
        return [(low - errors[best] - e, high + errors[best] + e) for (low, high), e in pairs]


def _rounded(problem: CheckProblem, noise: Fraction) -> Stepper:
    """The steps of float32, for one tanh layer whose outputs are its state, which alone the decoder reads.

    Raises:
        Undecided: if the network is of another kind, or has a number that float32 does not hold.
    """
    network = problem.network
    decoder, layer = network.decoder, network.layers[0] if len(network.layers) == 1 else None
    if (
        layer is None
        or not isinstance(layer.move, AffineMove)
        or layer.move.activation != "tanh"
        or layer.move.chosen
        or layer.units
        or layer.seen_units
        or not isinstance(decoder, ScoreRows | PointTable)
        or (isinstance(decoder, ScoreRows) and decoder.units)
    ):
        raise Undecided("roundings are bounded for one tanh layer and a decoder, both without units")
    state = {now(i) for i in range(len(layer.state))}
    for _, (bias, terms) in layer.outputs:
        if terms and (bias != 0 or len(terms) > 1 or terms[0][1] != 1 or terms[0][0] not in state):
            raise Undecided("roundings are bounded for outputs that are the state")
    stepper = Stepper(network, RoundedSpans(problem.work, outer(noise, noise)[1]))
    if not {name for name, _ in layer.outputs} >= set(stepper.decoder_reads):
        raise Undecided("roundings are bounded for a decoder that reads the outputs of the layer alone")
    if not all(fits(v, DTYPES["float32"]) and abs(v) <= _LARGEST for v in _numbers(network, layer.move)):
        raise Undecided("float32 does not hold every number of the network")
    return stepper


def _numbers(network: CheckedNetwork, move: AffineMove) -> list[Fraction]:
    """All numbers that float32 computes with; the scores without their 1/2."""
    decoder, layer = network.decoder, network.layers[0]
    found: list[Number] = [v for letter in network.embedding for v in letter.values()]
    found += [*layer.start, *(bias for _, (bias, _) in layer.outputs)]
    rows = [*move.maps[0]]
    if isinstance(decoder, PointTable):
        found += [v for point in decoder.points for v in point]
    elif isinstance(decoder, ScoreRows):
        rows += [(rational(bias) - Fraction(1, 2), terms) for bias, terms in decoder.rows]
    for bias, terms in rows:
        found += [bias, *(c for _, c in terms)]
    return [rational(v, "the bound of roundings") for v in found]


_NOISY = "computed in exact arithmetic"
_ROUNDED = (
    "computed in float32 one letter after the other, where every operation rounds to nearest, sums are taken "
    "in any order with or without fused operations, tanh is off by at most 2**-20 and answers are taken from "
    "the computed outputs (above 0, or the largest)"
)


def noise_claim(*, task: str, method: str, eps: Fraction) -> Claim:
    """Returns the claim that a network does a language whatever a bounded noise does."""
    return Claim(
        scope=UNDER_NOISE,
        method=method,
        task=task,
        covers=(
            f"{DONE[task]}, {_NOISY}, even if after every letter every coordinate of "
            "the state is moved by any amount of at most eps."
        ),
        eps=eps,
    )


def rounded_claim(*, task: str, method: str, eps: Fraction) -> Claim:
    """Returns the claim that a network does a language in float32, even under noise of eps on top."""
    claim = noise_claim(task=task, method=method, eps=eps)
    return replace(claim, dtype="float32", covers=claim.covers.replace(_NOISY, _ROUNDED))


def claims_under_noise(
    problem: CheckProblem,
    method: str,
    cover: Mapping[str, Json],
    task: str,
    stated: Sequence[Claim] | None,
    cells: int,
) -> list[Claim]:
    """Returns the claims that follow from boxes which are closed under noise.

    Of listed boxes also that in float32, if they are closed under its roundings as well, unless other claims
    are stated.

    Raises:
        Undecided: if a float32 claim is stated, and they are not; or if a listed box belongs to no node.
    """
    if method == "state-boxes" and len(cover["boxes"]) != cells:
        raise Undecided(f"there are {len(cover['boxes'])} boxes for {cells} nodes")
    noise = read_noise(cover["noise"])
    claims = [noise_claim(task=task, method=method, eps=noise)]
    if method != "state-boxes" or not (stated is None or any(c.dtype is not None for c in stated)):
        return claims
    try:
        result = walk(problem, NodeDomain(problem, cover, rounded=True), task, guarded=True)
        if result.failure is not None:
            raise Undecided(f"in float32, {result.failure.what}")
    except Undecided:
        if stated is not None:
            raise
        return claims
    return [*claims, rounded_claim(task=task, method=method, eps=noise / 2)]
