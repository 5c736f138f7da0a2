"""One step of a network on boxes of states: the images of many boxes at once, rounded outward.

Noise is added to every coordinate of a layer's state after the letter, before anything reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nerode.core import Exact, InputError
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
from nerode.proofs.intervals import Floats, IntervalMap, Intervals, enclose, fill, stack

Boxes = tuple[Intervals, ...]
"""For each layer an array of shape (boxes, coordinates)."""

Numbers = npt.NDArray[np.int64]


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
        self.network = network
        self._embedding = enclose(network.embedding.vectors)
        self._layers = [_IntervalLayer(layer, number) for number, layer in enumerate(network.layers, start=1)]
        units, scores = _decoder_maps(network.decoder)
        self._units, self._scores = IntervalMap(units), IntervalMap(scores)
        self._place = {name: i for i, name in enumerate(network.embedding.directions)}
        for layer in network.layers:
            for name in layer.outputs:
                self._place[name] = len(self._place)

    def start(self) -> Boxes:
        """Returns the states before the first letter, as boxes without width."""
        return tuple(enclose([layer.start]) for layer in self.network.layers)

    def step(
        self, boxes: Boxes, cells: Numbers, letters: Numbers, noise: Sequence[Floats]
    ) -> tuple[Boxes, Intervals]:
        """Returns the images with noise, and the scores there.

        Args:
            boxes: for each layer the boxes before the letter.
            cells: the numbers of the boxes whose images are wanted.
            letters: a letter for each of them.
            noise: for each layer the noise on each coordinate.
        """
        stream = self._embedding[letters]
        images = []
        for layer, before, amount in zip(self._layers, boxes, noise, strict=True):
            reads = self._pick(stream, layer.layer.reads)
            after, outputs = layer.step(reads, before, cells, letters, amount)
            images.append(after)
            stream = stack([stream, outputs])
        decoder = self.network.decoder
        reads = self._pick(stream, decoder.reads)
        return tuple(images), fill(self._scores(stack([reads, self._units(reads).relu()])), len(cells))

    def _pick(self, stream: Intervals, names: Sequence[str]) -> Intervals:
        return stream[:, [self._place[name] for name in names]]


class _IntervalLayer:
    """One layer with its maps converted once."""

    def __init__(self, layer: Layer, number: int) -> None:
        if layer.complex_state:
            raise InputError(f"layer {number} has a complex state; boxes are for real states")
        known = (Gated, Fixed, LetterMatrices, Squashed, GatedCell)
        if not isinstance(layer.recurrence, known):
            raise InputError(f"layer {number} is {layer.recurrence.kind}, which boxes are not made for")
        self.layer = layer
        self._units = IntervalMap(layer.units)
        self._readout_units = IntervalMap(layer.readout_units)
        self._readout = IntervalMap(layer.readout)
        seen = len(layer.reads) + layer.units.num_outputs
        match layer.recurrence:
            case Gated() as move:
                self._maps = [_StatefulMap(move.gate, seen), _StatefulMap(move.write, seen)]
            case Fixed() as move:
                self._maps = [_StatefulMap(_joined(move.write, move.matrix), seen)]
            case LetterMatrices() as move:
                shifts = [Affine(num_inputs=0, bias=w, rows=((),) * len(w)) for w in move.writes]
                joined = [_joined(shift, rows) for shift, rows in zip(shifts, move.matrices, strict=True)]
                self._maps = [_StatefulMap(step, 0) for step in joined]
            case Squashed() as move:
                self._maps = [_StatefulMap(move.update, seen)]
            case GatedCell() as move:
                self._maps = [_StatefulMap(gate, seen) for gate in move.gates]

    def step(
        self, reads: Intervals, before: Intervals, cells: Numbers, letters: Numbers, noise: Floats
    ) -> tuple[Intervals, Intervals]:
        """Returns the states after the letter, with noise, and the outputs."""
        seen = stack([reads, self._units(reads).relu()])
        exact = fill(self._move(seen, before, cells, letters), len(cells))
        after = Intervals(
            np.where(noise > 0, np.nextafter(exact.low - noise, -np.inf), exact.low),
            np.where(noise > 0, np.nextafter(exact.high + noise, np.inf), exact.high),
        )
        inside = stack([reads, after, before[cells]] if self.layer.exposes_previous else [reads, after])
        return after, self._readout(stack([inside, self._readout_units(inside).relu()]))

    def _move(self, seen: Intervals, before: Intervals, cells: Numbers, letters: Numbers) -> Intervals:
        match self.layer.recurrence:
            case Gated():
                gate, write = self._maps
                return gate(seen, before, cells) * before[cells] + write(seen, before, cells)
            case Fixed():
                return self._maps[0](seen, before, cells)
            case LetterMatrices():
                low, high = np.empty((2, len(cells), self.layer.width))
                for letter, step in enumerate(self._maps):
                    chosen = letters == letter
                    image = step(seen[:, :0], before, cells[chosen])
                    low[chosen], high[chosen] = image.low, image.high
                return Intervals(low, high)
            case Squashed() as move:
                argument = self._maps[0](seen, before, cells)
                if move.activation == "tanh":
                    return argument.tanh()
                return argument.relu() if move.activation == "relu" else argument.clip()
            case GatedCell() as move:
                return _gated(move, self._maps, seen, before, cells)
            case other:
                raise InputError(f"boxes are not made for {other.kind}")


class _StatefulMap:
    """A map of what a layer sees and of its state; the share of the state is computed once for each cell."""

    def __init__(self, affine: Affine, seen: int) -> None:
        left = tuple(tuple((j, c) for j, c in row if j < seen) for row in affine.rows)
        right = tuple(tuple((j - seen, c) for j, c in row if j >= seen) for row in affine.rows)
        self._seen = IntervalMap(Affine(num_inputs=seen, bias=affine.bias, rows=left))
        self._state: IntervalMap | None = None
        if any(right):
            width = affine.num_inputs - seen
            nothing = (0,) * affine.num_outputs
            self._state = IntervalMap(Affine(num_inputs=width, bias=nothing, rows=right))

    def __call__(self, seen: Intervals, before: Intervals, cells: Numbers) -> Intervals:
        if self._state is None:
            return self._seen(seen)
        return self._seen(seen) + self._state(before)[cells]

    def with_state(self, seen: Intervals, state: Intervals) -> Intervals:
        """Returns the images for states that are already those of each pair."""
        return self._seen(seen) if self._state is None else self._seen(seen) + self._state(state)


def _gated(
    move: GatedCell, gates: list[_StatefulMap], seen: Intervals, before: Intervals, cells: Numbers
) -> Intervals:
    cell = move.cell
    width = before.shape[1] // len(CELL_STATES[cell])
    h = before[:, :width]
    if cell == "gru":
        reset, update = (gate(seen, h, cells).sigmoid() for gate in gates[:2])
        candidate = gates[2].with_state(seen, reset * h[cells]).tanh()
        return _between(_capped(update, move.cap), h[cells], candidate)
    write, forget, shown, inner = (gate(seen, h, cells) for gate in gates)
    kept = forget.sigmoid()
    c = before[cells, width : 2 * width]
    if cell == "lstm":
        new = kept * c + write.sigmoid() * inner.tanh()
        return stack([shown.sigmoid() * new.tanh(), new])
    amount = write.exp()
    new = kept * c + amount * inner.tanh()
    normaliser = kept * before[cells, 2 * width :] + amount
    return stack([shown.sigmoid() * (new / normaliser), new, normaliser])


def _capped(share: Intervals, cap: Exact) -> Intervals:
    """1 - cap·(1 - share)."""
    if cap == 1:
        return share
    one = Intervals(np.ones(share.shape), np.ones(share.shape))
    return (one - enclose([cap]) * (one - share)).clip()


def _between(share: Intervals, old: Intervals, new: Intervals) -> Intervals:
    """(1 - share)·old + share·new: linear in the share and, for shares in [0,1], growing in the rest."""
    one = Intervals(np.ones(share.shape), np.ones(share.shape))
    points = [Intervals(bound, bound) for bound in (share.low, share.high)]
    first, second = ((one - point) * old + point * new for point in points)
    return Intervals(np.minimum(first.low, second.low), np.maximum(first.high, second.high))


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


def _joined(write: Affine, matrix: tuple[Row, ...]) -> Affine:
    """A write that reads what the layer sees, and a matrix that reads the state, as one map."""
    width, seen = len(matrix), write.num_inputs
    rows = tuple(
        (*row, *sorted((seen + j, c) for j, c in entries if c != 0))
        for row, entries in zip(write.rows, matrix, strict=True)
    )
    return Affine(num_inputs=seen + width, bias=write.bias, rows=rows)
