"""One step of a cell on boxes of states, in torch, so that gradients tell how to move weights and boxes.

Nothing here is rounded outward: these steps only guide training. What they find is proved elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models import Layer, Model, State
from nerode.models.architectures import Elman, Gru, Lstm, Slstm

_LARGEST = 10.0
"""Exponents of an input gate above this are cut in training."""


@dataclass(frozen=True)
class Spans:
    """Intervals, element by element."""

    low: Tensor
    high: Tensor

    def __add__(self, other: Spans) -> Spans:
        return Spans(self.low + other.low, self.high + other.high)

    def scaled(self, factor: Spans) -> Spans:
        """Returns the products with factors that are not negative."""
        return Spans(
            torch.minimum(factor.low * self.low, factor.high * self.low),
            torch.maximum(factor.low * self.high, factor.high * self.high),
        )

    def tanh(self) -> Spans:
        """Returns the images under tanh."""
        return Spans(self.low.tanh(), self.high.tanh())

    def sigmoid(self) -> Spans:
        """Returns the images under the logistic function."""
        return Spans(self.low.sigmoid(), self.high.sigmoid())

    def exp(self) -> Spans:
        """Returns the images under exp, cut off above."""
        return Spans(self.low.clamp(max=_LARGEST).exp(), self.high.clamp(max=_LARGEST).exp())

    def columns(self, first: int, last: int) -> Spans:
        """Returns some of the coordinates."""
        return Spans(self.low[..., first:last], self.high[..., first:last])

    def times(self, weight: Tensor) -> Spans:
        """Returns the images under x ↦ weight x."""
        centre, radius = (self.low + self.high) / 2, (self.high - self.low) / 2
        middle, reach = centre @ weight.T, radius @ weight.abs().T
        return Spans(middle - reach, middle + reach)


def joined(parts: list[Spans]) -> Spans:
    """Returns the coordinates of several intervals side by side."""
    return Spans(torch.cat([p.low for p in parts], dim=-1), torch.cat([p.high for p in parts], dim=-1))


def blocks_of(layer: Layer) -> tuple[str, ...]:
    """Returns the names of the parts of a cell's state that boxes are about, in order."""
    match layer:
        case Elman() | Gru():
            return ("h",)
        case Lstm():
            return ("h", "c")
        case Slstm():
            return ("h", "c", "n")
        case _:
            raise InputError(f"boxes are not made for {type(layer).__name__}")


def flat_state(layer: Layer, state: State) -> Tensor:
    """Returns the state of a cell as one vector; c and n of an sLSTM without their common scale."""
    scale = state["m"].exp() if "m" in state else None
    parts = [
        state[name] if name == "h" or scale is None else state[name] * scale for name in blocks_of(layer)
    ]
    return torch.cat(parts, dim=-1)


def letter_vectors(model: Model) -> Tensor:
    """Returns what the cell reads for each letter."""
    letters = model.config.letters
    assert letters is not None
    if model.embedding is None:
        return torch.eye(letters)
    return model.embedding(torch.arange(letters))  # type: ignore[no-any-return]


def step_boxes(model: Model, before: Spans, source: Tensor, letter: Tensor) -> Spans:
    """Returns the images of boxes.

    Args:
        model: one cell between letters and a linear head.
        before: the boxes (boxes, coordinates).
        source: for each image the number of its box.
        letter: for each image the letter that is read.
    """
    layer = model.layers[0]
    vectors = letter_vectors(model)
    match layer:
        case Elman():
            drive = layer._project(vectors)[letter]
            return _shift(before.times(layer.recurrent), source, drive).tanh()
        case Gru():
            return _gru(layer, before, source, layer._project(vectors)[0][letter])
        case Lstm():
            drive = layer._project(vectors)[letter]
            i, f, g, o = _chunks(_shift(_hidden(layer, before).times(layer.recurrent), source, drive), 4)
            c = _pick(before.columns(layer.outputs, 2 * layer.outputs), source)
            new = c.scaled(f.sigmoid()) + g.tanh().scaled(i.sigmoid())
            return joined([new.tanh().scaled(o.sigmoid()), new])
        case Slstm():
            return _slstm(layer, before, source, layer._project(vectors, vectors)[letter])
        case _:
            raise InputError(f"boxes are not made for {type(layer).__name__}")


def _gru(layer: Gru, before: Spans, source: Tensor, drive: Tensor) -> Spans:
    both = 2 * layer.outputs
    w_gates, w_new = layer.recurrent[:both], layer.recurrent[both:]
    x_gates, x_new = drive[:, :both], drive[:, both:]
    reset, keep = _chunks(_shift(before.times(w_gates), source, x_gates).sigmoid(), 2)
    cap = layer.settings.cap
    h = _pick(before, source)
    shown = h.scaled(reset).times(w_new)
    new = Spans(shown.low + x_new, shown.high + x_new).tanh()
    ends = [
        (share * h.low + (1 - share) * new.low, share * h.high + (1 - share) * new.high)
        for share in (cap * keep.low, cap * keep.high)
    ]
    return Spans(torch.minimum(ends[0][0], ends[1][0]), torch.maximum(ends[0][1], ends[1][1]))


def _slstm(layer: Slstm, before: Spans, source: Tensor, drive: Tensor) -> Spans:
    size = layer.outputs
    heads, rows, places = layer.recurrent.shape
    blocks = layer.recurrent.reshape(heads, 4, rows // 4, places)
    whole = torch.cat([_block_diagonal(blocks[:, gate]) for gate in range(4)])
    i, f, z, o = _chunks(_shift(_hidden(layer, before).times(whole), source, drive), 4)
    c, n = (_pick(before.columns(k * size, (k + 1) * size), source) for k in (1, 2))
    amount, kept = i.exp(), f.sigmoid()
    new = c.scaled(kept) + z.tanh().scaled(amount)
    total = n.scaled(kept) + amount
    inverse = Spans(1 / total.high, 1 / total.low)
    return joined([new.scaled(inverse).scaled(o.sigmoid()), new, total])


def _block_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)  # type: ignore[no-untyped-call, no-any-return]


def _hidden(layer: Layer, before: Spans) -> Spans:
    return before.columns(0, layer.outputs)


def _shift(sums: Spans, source: Tensor, drive: Tensor) -> Spans:
    return Spans(sums.low[source] + drive, sums.high[source] + drive)


def _pick(spans: Spans, rows: Tensor) -> Spans:
    return Spans(spans.low[rows], spans.high[rows])


def _chunks(spans: Spans, count: int) -> list[Spans]:
    return [
        Spans(low, high)
        for low, high in zip(spans.low.chunk(count, dim=-1), spans.high.chunk(count, dim=-1), strict=True)
    ]
