"""One step of a network on boxes of states: the images of many boxes at once, in floats.

Nothing is rounded outward; a little room is added to the noise instead. What is found with these steps is
proved by the kernel. Noise moves every coordinate of a layer's state after the letter, before it is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Cyclotomic, Exact, InputError
from nerode.network import (
    CELL_STATES,
    Affine,
    Decoder,
    Fixed,
    Gated,
    GatedCell,
    Layer,
    LetterMatrices,
    Network,
    PointDecoder,
    Row,
    ScoreDecoder,
    Squashed,
    zero_map,
)

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_ROOM = 2.0**-40
"""Room on every coordinate for the roundings of float64."""

_LARGEST = 700.0
"""Exponents beyond this overflow."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Arrays of intervals: all reals from `low` to `high`, element by element; one box per row."""

    low: Floats
    high: Floats

    def __getitem__(self, index: Any) -> Boxes:
        return Boxes(self.low[index], self.high[index])

    def __add__(self, other: Boxes) -> Boxes:
        return Boxes(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Boxes) -> Boxes:
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Boxes(np.minimum.reduce(products), np.maximum.reduce(products))

    def __truediv__(self, other: Boxes) -> Boxes:
        """The quotients by intervals of positive numbers."""
        return self * Boxes(1.0 / other.high, 1.0 / other.low)

    def written(self, index: Any) -> list[list[str]]:
        """Returns the ends of some intervals of one row of them, as exact numbers."""
        ends = zip(self.low[index].tolist(), self.high[index].tolist(), strict=True)
        return [[str(Fraction(low)), str(Fraction(high))] for low, high in ends]

    def relu(self) -> Boxes:
        """Returns the images under max(·, 0)."""
        return Boxes(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    def clip(self) -> Boxes:
        """Returns the images under min(max(·, 0), 1)."""
        return Boxes(np.clip(self.low, 0.0, 1.0), np.clip(self.high, 0.0, 1.0))

    def tanh(self) -> Boxes:
        """Returns the images under tanh."""
        return Boxes(np.tanh(self.low), np.tanh(self.high))

    def sigmoid(self) -> Boxes:
        """Returns the images under the logistic function."""
        return Boxes(0.5 + 0.5 * np.tanh(self.low / 2), 0.5 + 0.5 * np.tanh(self.high / 2))

    def exp(self) -> Boxes:
        """Returns the images under exp."""
        return Boxes(np.exp(np.minimum(self.low, _LARGEST)), np.exp(np.minimum(self.high, _LARGEST)))


def stack(parts: Sequence[Boxes]) -> Boxes:
    """Returns the coordinates of several arrays side by side; arrays of one row stand for all rows."""
    rows = max(len(part.low) for part in parts)
    ends = [[np.broadcast_to(end, (rows, end.shape[1])) for end in (part.low, part.high)] for part in parts]
    return Boxes(np.concatenate([a for a, _ in ends], axis=1), np.concatenate([b for _, b in ends], axis=1))


class BoxStepper:
    """Steps a network on boxes; the states of all layers are one vector.

    Args:
        network: what is stepped.
        points: whether its decoder may choose the nearest of n points; its scores are then n² differences,
            the product with point i less that with point j in place n·i + j.

    Raises:
        InputError: if the network has a part that boxes are not made for.
    """

    def __init__(self, network: Network, *, points: bool = False) -> None:
        if not isinstance(network.decoder, (ScoreDecoder, PointDecoder) if points else ScoreDecoder):
            raise InputError(f"a decoder of {network.decoder.kind} is not a set of scores compared with 1/2")
        self.network = network
        self._letters = _exactly(network.embedding.vectors)
        self._layers = [_BoxLayer(layer, number) for number, layer in enumerate(network.layers, start=1)]
        self._units, self._scores = map(_BoxMap, _decoder_maps(network.decoder))
        self._place = {name: i for i, name in enumerate(network.embedding.directions)}
        for layer in network.layers:
            for name in layer.outputs:
                self._place[name] = len(self._place)
        widths = [layer.width for layer in network.layers]
        self._spans = [slice(a, b) for a, b in itertools.pairwise(np.cumsum([0, *widths]).tolist())]

    def start(self) -> Boxes:
        """Returns the state before the first letter, as one box without width."""
        return _exactly([[value for layer in self.network.layers for value in layer.start]])

    def step(self, boxes: Boxes, cells: Numbers, letters: Numbers, noise: float) -> tuple[Boxes, Boxes]:
        """Returns the images with noise, and the scores there.

        Args:
            boxes: the boxes before the letter, one per row.
            cells: the numbers of the boxes whose images are wanted.
            letters: a letter for each of them.
            noise: on every coordinate.
        """
        stream = self._letters[letters]
        images = []
        for layer, span in zip(self._layers, self._spans, strict=True):
            reads = self._pick(stream, layer.layer.reads)
            after, outputs = layer.step(reads, boxes[:, span], cells, letters, noise)
            images.append(after)
            stream = stack([stream, outputs])
        reads = self._pick(stream, self.network.decoder.reads)
        return stack(images), self._scores(stack([reads, self._units(reads).relu()]))

    def _pick(self, stream: Boxes, names: Sequence[str]) -> Boxes:
        return stream[:, [self._place[name] for name in names]]


class _BoxMap:
    """An affine map of boxes."""

    def __init__(self, affine: Affine, first: int = 0, *, biased: bool = True) -> None:
        """Takes the inputs from the given one on, with or without the bias."""
        self._weight = np.zeros((affine.num_inputs - first, affine.num_outputs))
        for i, row in enumerate(affine.rows):
            for j, coefficient in row:
                if j >= first:
                    self._weight[j - first, i] = _float(coefficient)
        self._size = np.abs(self._weight)
        self._bias = np.array([_float(b) for b in affine.bias]) if biased else np.zeros(affine.num_outputs)
        self.is_zero = not self._weight.any()

    def __call__(self, x: Boxes) -> Boxes:
        x = x[:, : len(self._weight)]
        centre = (x.low + x.high) / 2 @ self._weight + self._bias
        radius = (x.high - x.low) / 2 @ self._size
        return Boxes(centre - radius, centre + radius)


class _StateMap:
    """A map of what a layer sees and of its state; the share of the state is computed once per cell."""

    def __init__(self, affine: Affine, seen: int) -> None:
        self._seen = _BoxMap(_first_inputs(affine, seen))
        self._state = _BoxMap(affine, seen, biased=False)

    def __call__(self, seen: Boxes, state: Boxes, cells: Numbers | slice = slice(None)) -> Boxes:
        return self._seen(seen) + self._state(state)[cells]


class _BoxLayer:
    """One layer with its maps converted once."""

    def __init__(self, layer: Layer, number: int) -> None:
        if layer.complex_state:
            raise InputError(f"layer {number} has a complex state; boxes are for real states")
        self.layer = layer
        self._units = _BoxMap(layer.units)
        self._readout_units = _BoxMap(layer.readout_units)
        self._readout = _BoxMap(layer.readout)
        seen = len(layer.reads) + layer.units.num_outputs
        match layer.recurrence:
            case Gated() as move:
                maps = [(move.gate, seen), (move.write, seen)]
            case Fixed() as move:
                maps = [(_joined(move.write, move.matrix), seen)]
            case LetterMatrices() as move:
                shifts = [Affine(num_inputs=0, bias=w, rows=((),) * len(w)) for w in move.writes]
                maps = [(_joined(shift, rows), 0) for shift, rows in zip(shifts, move.matrices, strict=True)]
            case Squashed() as move:
                maps = [(move.update, seen)]
            case GatedCell() as move:
                maps = [(gate, seen) for gate in move.gates]
            case other:
                raise InputError(
                    "box proofs support diagonal, fixed and letter matrices, elman and gated cells; layer "
                    f"{number} is {other.kind}"
                )
        self._maps = [_StateMap(affine, width) for affine, width in maps]

    def step(
        self, reads: Boxes, before: Boxes, cells: Numbers, letters: Numbers, noise: float
    ) -> tuple[Boxes, Boxes]:
        """Returns the states after the letter, with noise, and the outputs."""
        seen = stack([reads, self._units(reads).relu()])
        moved = self._move(seen, before, cells, letters)
        room = noise + _ROOM * (1.0 + np.abs(moved.low) + np.abs(moved.high)) if noise else 0.0
        after = Boxes(moved.low - room, moved.high + room)
        inside = stack([reads, after, before[cells]] if self.layer.exposes_previous else [reads, after])
        return after, self._readout(stack([inside, self._readout_units(inside).relu()]))

    def _move(self, seen: Boxes, before: Boxes, cells: Numbers, letters: Numbers) -> Boxes:
        match self.layer.recurrence:
            case Gated():
                gate, write = self._maps
                return gate(seen, before, cells) * before[cells] + write(seen, before, cells)
            case LetterMatrices():
                low, high = np.empty((2, len(cells), self.layer.width))
                for letter, step in enumerate(self._maps):
                    chosen = letters == letter
                    image = step(seen[chosen], before, cells[chosen])
                    low[chosen], high[chosen] = image.low, image.high
                return Boxes(low, high)
            case Squashed() as move:
                argument = self._maps[0](seen, before, cells)
                return {"tanh": argument.tanh, "relu": argument.relu, "clip": argument.clip}[
                    move.activation
                ]()
            case GatedCell() as move:
                return _gated(move, self._maps, seen, before, cells)
            case _:
                return self._maps[0](seen, before, cells)


def _gated(move: GatedCell, gates: list[_StateMap], seen: Boxes, before: Boxes, cells: Numbers) -> Boxes:
    width = before.low.shape[1] // len(CELL_STATES[move.cell])
    h = before[:, :width]
    if move.cell == "gru":
        reset, update = (gate(seen, h, cells).sigmoid() for gate in gates[:2])
        candidate = gates[2](seen, reset * h[cells]).tanh()
        return _between(update, _float(move.cap), h[cells], candidate)
    write, forget, shown, inner = (gate(seen, h, cells) for gate in gates)
    kept = forget.sigmoid()
    c = before[:, width : 2 * width][cells]
    if move.cell == "lstm":
        new = kept * c + write.sigmoid() * inner.tanh()
        return stack([shown.sigmoid() * new.tanh(), new])
    amount = write.exp()
    new = kept * c + amount * inner.tanh()
    normaliser = kept * before[:, 2 * width :][cells] + amount
    return stack([shown.sigmoid() * (new / normaliser), new, normaliser])


def _between(update: Boxes, cap: float, old: Boxes, new: Boxes) -> Boxes:
    """(1 - share)·old + share·new with the share 1 - cap·(1 - update), which is linear in the share."""
    shares = [1 - cap * (1 - end) for end in (update.low, update.high)]
    low = np.minimum(*((1 - share) * old.low + share * new.low for share in shares))
    high = np.maximum(*((1 - share) * old.high + share * new.high for share in shares))
    return Boxes(low, high)


def _decoder_maps(decoder: Decoder) -> tuple[Affine, Affine]:
    """The units and the scores of a decoder; for points the differences of their products."""
    if isinstance(decoder, ScoreDecoder):
        return decoder.units, decoder.scores
    assert isinstance(decoder, PointDecoder)
    rows = [
        tuple((d, a - b) for d, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
        for one in decoder.points
        for other in decoder.points
    ]
    width = len(decoder.reads)
    return zero_map(width), Affine(num_inputs=width, bias=(0,) * len(rows), rows=tuple(rows))


def _joined(write: Affine, matrix: tuple[Row, ...]) -> Affine:
    """A write that reads what the layer sees, and a matrix that reads the state, as one map."""
    width, seen = len(matrix), write.num_inputs
    rows = tuple(
        (*row, *sorted((seen + j, c) for j, c in entries if c != 0))
        for row, entries in zip(write.rows, matrix, strict=True)
    )
    return Affine(num_inputs=seen + width, bias=write.bias, rows=rows)


def _first_inputs(affine: Affine, count: int) -> Affine:
    rows = tuple(tuple((j, c) for j, c in row if j < count) for row in affine.rows)
    return Affine(num_inputs=count, bias=affine.bias, rows=rows)


def _exactly(rows: Sequence[Sequence[Exact]]) -> Boxes:
    """Boxes without width."""
    values = np.array([[_float(value) for value in row] for row in rows]).reshape(len(rows), -1)
    return Boxes(values, values)


def _float(value: Exact) -> float:
    if isinstance(value, Cyclotomic):
        raise InputError(f"the irrational number {value} has no place in boxes of reals")
    return float(value)
