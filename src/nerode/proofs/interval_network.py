"""One step of a network on boxes of states: the images of many boxes at once, rounded outward.

Noise is added to every coordinate of a layer's state after the letter, before anything reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import Exact, InputError
from nerode.network import (
    Affine,
    Decoder,
    Network,
    NetworkStep,
    Numbers,
    PointDecoder,
    Row,
    ScoreDecoder,
    zero_map,
)
from nerode.proofs.intervals import Floats, IntervalMap, Intervals, enclose, fill, stack

Boxes = tuple[Intervals, ...]
"""For each layer an array of shape (boxes, coordinates)."""

Indices = npt.NDArray[np.int64]


class IntervalNetwork:
    """Steps a network on boxes.

    Args:
        network: what is stepped.
        points: whether its decoder may choose the nearest of n points; its scores are then n² differences,
            the product with point i less that with point j in place n·i + j.

    Raises:
        InputError: if the network has a part that this arithmetic is not made for.
    """

    def __init__(self, network: Network, *, points: bool = False) -> None:
        if not isinstance(network.decoder, (ScoreDecoder, PointDecoder) if points else ScoreDecoder):
            raise InputError(f"a decoder of {network.decoder.kind} is not a set of scores compared with 1/2")
        for number, layer in enumerate(network.layers, start=1):
            if layer.complex_state:
                raise InputError(f"layer {number} has a complex state; boxes are for real states")
        self.network = network
        numbers = _IntervalNumbers()
        self._step = NetworkStep(network, numbers)
        units, scores = _decoder_maps(network.decoder)
        self._units, self._scores = numbers.with_units(units, "units"), numbers.map(scores, "scores")

    def start(self) -> Boxes:
        """Returns the states before the first letter, as boxes without width."""
        return tuple(enclose([layer.start]) for layer in self.network.layers)

    def step(
        self, boxes: Boxes, cells: Indices, letters: Indices, noise: Sequence[Floats]
    ) -> tuple[Boxes, Intervals]:
        """Returns the images with noise, and the scores there.

        Args:
            boxes: for each layer the boxes before the letter.
            cells: the numbers of the boxes whose images are wanted.
            letters: a letter for each of them.
            noise: for each layer the noise on each coordinate.
        """
        images: list[Intervals] = []

        def visit(number: int, reads: Intervals) -> Intervals:
            layer, before = self._step.layers[number], _Cells(boxes[number], cells)
            drive = layer.recurrence.drive(layer.seen(reads), letters)
            exact = fill(layer.recurrence.advance(drive, before), len(cells))
            amount = noise[number]
            after = Intervals(
                np.where(amount > 0, np.nextafter(exact.low - amount, -np.inf), exact.low),
                np.where(amount > 0, np.nextafter(exact.high + amount, np.inf), exact.high),
            )
            images.append(after)
            outputs: Intervals = layer.read_out(reads, after, before)
            return outputs

        reads = self._step.decoded(self._step.stream(letters, visit))
        return tuple(images), fill(self._scores(self._units(reads)), len(cells))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Some of the rows of boxes; what is computed of a box is computed once, however often it is picked."""

    boxes: Intervals
    index: Indices

    @property
    def rows(self) -> Intervals:
        return self.boxes[self.index]

    def mapped(self, function: Callable[[Intervals], Intervals]) -> Intervals:
        return function(self.boxes)[self.index]


class _IntervalNumbers(Numbers[Any]):
    """Rows of intervals; a state is the cells that are picked of all boxes."""

    def map(self, affine: Affine, place: str) -> Callable[[Any], Intervals]:
        return IntervalMap(affine)

    def stateful(
        self, affine: Affine, place: str, number: int | None = None
    ) -> tuple[Callable[[Any], Intervals], Callable[[Any, Any], Intervals]]:
        first = affine.num_inputs - affine.num_outputs
        left = tuple(tuple((j, c) for j, c in row if j < first) for row in affine.rows)
        right = tuple(tuple((j - first, c) for j, c in row if j >= first) for row in affine.rows)
        read = IntervalMap(Affine(num_inputs=first, bias=affine.bias, rows=left))
        product = self.matrix(right, place)
        return read, lambda seen, state: product(state, seen)

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[Any, Any], Intervals]:
        if not any(rows):
            return lambda state, added: added
        sorted_rows = tuple(tuple(sorted((j, c) for j, c in row if c != 0)) for row in rows)
        product = IntervalMap(Affine(num_inputs=len(rows), bias=(0,) * len(rows), rows=sorted_rows))
        return lambda state, added: added + _mapped(state, product)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[Any], Intervals]:
        enclosed = enclose(table)
        return lambda choice: enclosed[choice]

    def by_rows(self, matrices: Sequence[Sequence[Row]]) -> Callable[[Any, Any, Any], Intervals]:
        products = [self.matrix(rows, "matrices") for rows in matrices]

        def moved(choice: Indices, state: _Cells, added: Intervals) -> Intervals:
            low, high = np.empty((2, *added.shape))
            for number, product in enumerate(products):
                chosen = choice == number
                image = product(_Cells(state.boxes, state.index[chosen]), added[chosen])
                low[chosen], high[chosen] = image.low, image.high
            return Intervals(low, high)

        return moved

    def one_hot(self, values: Any) -> Indices:
        raise InputError("box proofs are not made for selectors")

    def picks(self, places: Sequence[int], place: str) -> Callable[[Any], Intervals]:
        return lambda values: values[:, list(places)]

    def join(self, parts: Sequence[Any]) -> Intervals:
        return stack([_rows(part) for part in parts])

    def split(self, values: Any, count: int) -> list[Any]:
        if isinstance(values, _Cells):
            return [_Cells(part, values.index) for part in self.split(values.boxes, count)]
        width = values.shape[1] // count
        return [values[:, i * width : (i + 1) * width] for i in range(count)]

    def parts(self, values: Any) -> list[Intervals]:
        raise InputError("boxes are for real states")

    def apply(self, function: str, values: Any) -> Intervals:
        image: Intervals = getattr(values, function)()
        return image

    def times(self, left: Any, right: Any) -> Intervals:
        return _rows(left) * _rows(right)

    def gated(self, gate: Any, values: Any, added: Any) -> Intervals:
        return _rows(gate) * _rows(values) + _rows(added)

    def over(self, left: Any, right: Any) -> Intervals:
        return _rows(left) / _rows(right)

    def mix(self, share: Any, old: Any, new: Any) -> Intervals:
        """Returns (1 - share)·old + share·new, which is linear in the share: its ends are enough."""
        one = Intervals(np.ones(share.shape), np.ones(share.shape))
        points = [Intervals(bound, bound) for bound in (share.low, share.high)]
        first, second = ((one - point) * _rows(old) + point * new for point in points)
        return Intervals(np.minimum(first.low, second.low), np.maximum(first.high, second.high))

    def capped(self, share: Intervals, cap: Exact) -> Intervals:
        one = Intervals(np.ones(share.shape), np.ones(share.shape))
        return (one - enclose([cap]) * (one - share)).clip()


def _rows(values: Any) -> Intervals:
    found: Intervals = values.rows if isinstance(values, _Cells) else values
    return found


def _mapped(values: Any, function: Callable[[Intervals], Intervals]) -> Intervals:
    return values.mapped(function) if isinstance(values, _Cells) else function(values)


def _decoder_maps(decoder: Decoder) -> tuple[Affine, Affine]:
    """The units and the scores of a decoder; for points the differences of their products."""
    if isinstance(decoder, ScoreDecoder):
        return decoder.units, decoder.scores
    if not isinstance(decoder, PointDecoder):
        raise InputError(f"boxes are not made for a decoder of {decoder.kind}")
    rows = [
        tuple((d, a - b) for d, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
        for one in decoder.points
        for other in decoder.points
    ]
    width = len(decoder.reads)
    return zero_map(width), Affine(num_inputs=width, bias=(0,) * len(rows), rows=tuple(rows))
