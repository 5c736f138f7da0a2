"""Boxes of states as numbers: one step of a network on many of them at once, in floats.

Nothing is rounded outward; a little room is added to the noise instead. What is found with these steps is
proved by the kernel. Noise moves every coordinate of a layer's state after the letter, before it is read.

The states of all layers are treated as one vector.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Cyclotomic, Exact, InputError
from nerode.network import (
    Affine,
    Decoder,
    Network,
    NetworkStep,
    Numbers,
    PointDecoder,
    Recurrence,
    RecurrenceStep,
    Row,
    ScoreDecoder,
    zero_map,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ROOM = 2.0**-40
"""Room on every coordinate for the roundings of float64."""

_LARGEST = 700.0
"""Exponents beyond this overflow."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Arrays of intervals: all reals from `low` to `high`, element by element; one box per row.

    Attributes:
        low, high: the ends.
        origin: fewer boxes, and which of them stands in each row; None if nothing of the kind is known. An
            affine map is computed once for each of these.
    """

    low: Floats
    high: Floats
    origin: tuple[Boxes, Integers] | None = None

    def __getitem__(self, index: Any) -> Boxes:
        return Boxes(self.low[index], self.high[index])

    def take(self, rows: Integers) -> Boxes:
        """Returns some of the boxes, which know where they come from."""
        return Boxes(self.low[rows], self.high[rows], (self, rows) if len(self.low) < len(rows) else None)

    def columns(self, places: Any) -> Boxes:
        """Returns some coordinates of all boxes."""
        if self.origin is None:
            return self[:, places]
        few, rows = self.origin
        return few[:, places].take(rows)

    def __add__(self, other: Boxes) -> Boxes:
        return Boxes(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Boxes) -> Boxes:
        first, second = self.low * other.low, self.low * other.high
        third, fourth = self.high * other.low, self.high * other.high
        low = np.minimum(np.minimum(first, second), np.minimum(third, fourth))
        return Boxes(low, np.maximum(np.maximum(first, second), np.maximum(third, fourth)))

    def written(self, index: Any) -> list[list[str]]:
        """Returns the ends of some intervals of one row of them, as exact numbers."""
        ends = zip(self.low[index].tolist(), self.high[index].tolist(), strict=True)
        return [[str(Fraction(low)), str(Fraction(high))] for low, high in ends]

    def under(self, function: Callable[[Floats], Floats]) -> Boxes:
        """Returns the images under a function that does not fall."""
        if self.origin is not None:
            few, rows = self.origin
            return few.under(function).take(rows)
        return Boxes(function(self.low), function(self.high))


_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "clip": lambda x: np.clip(x, 0.0, 1.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 0.5 + 0.5 * np.tanh(x / 2),
    "exp": lambda x: np.exp(np.minimum(x, _LARGEST)),
}


class BoxNumbers(Numbers[Boxes]):
    """Boxes as the numbers of a step; a choice is an array of one number per row."""

    def map(self, affine: Affine, place: str) -> Callable[[Boxes], Boxes]:
        """Returns an affine map."""
        weight, bias = _dense(affine.rows, affine.num_inputs), _floats(affine.bias)
        return lambda x: _image(x, weight, Boxes(bias, bias))

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[Boxes], Boxes], Callable[[Boxes, Boxes], Boxes]]:
        """Returns the share of what a layer sees, and the sum of that with the share of the state."""
        weight, bias = _dense(affine.rows, affine.num_inputs), _floats(affine.bias)
        seen = affine.num_inputs - affine.num_outputs
        return (
            lambda x: _image(x, weight[:seen], Boxes(bias, bias)),
            lambda share, state: _image(state, weight[seen:], share),
        )

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[Boxes, Boxes], Boxes]:
        """Returns (h, b) ↦ A h + b."""
        weight = _dense(rows, len(rows))
        return lambda h, added: _image(h, weight, added)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[Integers], Boxes]:
        """Returns the map from choices to the vectors of a table."""
        values = np.array([_floats(vector) for vector in table]).reshape(len(table), -1)
        return Boxes(values, values).take

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> Callable[[Integers, Boxes, Boxes], Boxes]:
        """Returns (choice, h, b) ↦ A(choice) h + b."""
        weights = [_dense(rows, len(rows)) for rows in matrices]

        def moved(choice: Integers, h: Boxes, added: Boxes) -> Boxes:
            low, high = np.empty((2, *h.low.shape))
            for number, weight in enumerate(weights):
                rows = choice == number
                image = _image(h[rows], weight, added[rows])
                low[rows], high[rows] = image.low, image.high
            return Boxes(low, high)

        return moved

    def one_hot(self, values: Boxes) -> Integers:
        """Returns the places of the ones.

        Raises:
            InputError: if a selector is not the same on a whole box.
        """
        choice: Integers = values.low.argmax(axis=1)
        wanted = np.eye(values.low.shape[1])[choice]
        if not np.allclose(values.low, wanted) or not np.allclose(values.high, wanted):
            raise InputError("a selector is not the same on a whole box")
        return choice

    def picks(self, places: Sequence[int], place: str) -> Callable[[Boxes], Boxes]:
        """Returns the map that picks some entries."""
        columns = list(places)
        return lambda values: values.columns(columns)

    def join(self, parts: Sequence[Boxes]) -> Boxes:
        """Returns vectors one after the other."""
        if len(parts) == 1:
            return parts[0]
        origins = [part.origin for part in parts if part.origin is not None]
        if len(origins) == len(parts) and all(rows is origins[0][1] for _, rows in origins):
            return self.join([few for few, _ in origins]).take(origins[0][1])
        low = np.concatenate([part.low for part in parts], axis=1)
        return Boxes(low, np.concatenate([part.high for part in parts], axis=1))

    def split(self, values: Boxes, count: int) -> list[Boxes]:
        """Returns a vector in parts of equal length."""
        width = values.low.shape[1] // count
        return [values.columns(slice(i * width, (i + 1) * width)) for i in range(count)]

    def parts(self, values: Boxes) -> list[Boxes]:
        """Raises InputError: boxes are for real states."""
        raise InputError("boxes are for real states")

    def apply(self, function: str, values: Boxes) -> Boxes:
        """Returns the images under a function."""
        return values.under(_FUNCTIONS[function])

    def times(self, left: Boxes, right: Boxes) -> Boxes:
        """Returns products."""
        return left * right

    def gated(self, gate: Boxes, values: Boxes, added: Boxes) -> Boxes:
        """Returns gate · value + added."""
        return gate * values + added

    def over(self, left: Boxes, right: Boxes) -> Boxes:
        """Returns quotients by positive numbers."""
        return left * Boxes(1.0 / right.high, 1.0 / right.low)

    def mix(self, share: Boxes, old: Boxes, new: Boxes) -> Boxes:
        """Returns (1 - share) · old + share · new, which is linear in the share."""
        ends = (share.low, share.high)
        low = np.minimum(*((1 - s) * old.low + s * new.low for s in ends))
        high = np.maximum(*((1 - s) * old.high + s * new.high for s in ends))
        return Boxes(low, high)

    def capped(self, share: Boxes, cap: Exact) -> Boxes:
        """Returns 1 - cap · (1 - share)."""
        most = _float(cap)
        return share.under(lambda s: 1 - most * (1 - s))

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[Boxes]:
        """Returns the step of a recurrence with a real state."""
        if is_complex:
            raise InputError("a layer has a complex state; boxes are for real states")
        return super().recurrence(record, is_complex=is_complex)


class BoxStepper:
    """Steps a network on boxes; the states of all layers are one vector.

    Args:
        network: what is stepped.
        points: whether its decoder may choose the nearest of n points; its scores are then n² differences,
            the product with point i less that with point j in place n·i + j.

    Raises:
        InputError: if the network has a complex state, irrational numbers or another decoder.
    """

    def __init__(self, network: Network, *, points: bool = False) -> None:
        if not isinstance(network.decoder, (ScoreDecoder, PointDecoder) if points else ScoreDecoder):
            raise InputError(f"a decoder of {network.decoder.kind} is not a set of scores compared with 1/2")
        self.network = network
        numbers = BoxNumbers()
        self._step = NetworkStep(network, numbers)
        units, scores = _decoder_maps(network.decoder)
        self._units, self._scores = numbers.with_units(units, "units"), numbers.map(scores, "scores")
        widths = [layer.width for layer in network.layers]
        self._spans = [slice(a, b) for a, b in itertools.pairwise(np.cumsum([0, *widths]).tolist())]

    def start(self) -> Boxes:
        """Returns the state before the first letter, as one box without width."""
        values = _floats([value for layer in self.network.layers for value in layer.start])[None, :]
        return Boxes(values, values)

    def step(self, boxes: Boxes, cells: Integers, letters: Integers, noise: float) -> tuple[Boxes, Boxes]:
        """Returns the images with noise, and the scores there.

        Args:
            boxes: the boxes before the letter, one per row.
            cells: the numbers of the boxes whose images are wanted.
            letters: a letter for each of them.
            noise: on every coordinate.
        """
        images: list[Boxes] = []

        def visit(number: int, reads: Boxes) -> Boxes:
            layer, before = self._step.layers[number], boxes[:, self._spans[number]].take(cells)
            moved = layer.recurrence.advance(layer.recurrence.drive(layer.seen(reads), letters), before)
            room = noise + _ROOM * (1.0 + np.abs(moved.low) + np.abs(moved.high)) if noise else 0.0
            images.append(Boxes(moved.low - room, moved.high + room))
            return layer.read_out(reads, images[-1], before)

        decoded = self._step.decoded(self._step.stream(letters, visit))
        return BoxNumbers().join(images), self._scores(self._units(decoded))


def _image(x: Boxes, weight: Floats, added: Boxes) -> Boxes:
    if x.origin is not None:
        few, rows = x.origin
        if added.low.ndim == 1:
            return _image(few, weight, added).take(rows)
        return _image(few, weight, _NOTHING)[rows] + added
    centre = (x.low + x.high) / 2 @ weight
    radius = (x.high - x.low) / 2 @ np.abs(weight)
    return Boxes(centre - radius + added.low, centre + radius + added.high)


_NOTHING = Boxes(np.zeros(1), np.zeros(1))


def _dense(rows: Sequence[Row], width: int) -> Floats:
    """The matrix that vectors are multiplied with from the left."""
    weight = np.zeros((width, len(rows)))
    for i, row in enumerate(rows):
        for j, coefficient in row:
            weight[j, i] = _float(coefficient)
    return weight


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


def _floats(values: Sequence[Exact]) -> Floats:
    return np.array([_float(value) for value in values], dtype=np.float64)


def _float(value: Exact) -> float:
    if isinstance(value, Cyclotomic):
        raise InputError(f"the irrational number {value} has no place in boxes of reals")
    return float(value)
