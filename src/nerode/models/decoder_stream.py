"""Softmax decoders letter by letter, with a cache that forgets what no head can need.

If a query has one value q, the scores of two positions j and k differ by a number that no later position
changes: (q·key_j + slope · j) - (q·key_k + slope · k). A position that lies below another by so much that exp
of the difference is 0 has weight 0 for ever, and is forgotten. Without a slope, positions never fall behind;
there the running greatest score, numerator and denominator are kept, as kernels do that read keys one after
the other. So a head that looks for the latest match, one position back or at all positions needs a few
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nerode.core import InputError
from nerode.models.architectures.attention import Attention
from nerode.models.base import LayerBlock, State
from nerode.models.model import Model, part_of
from nerode.models.parts.precision import widened

UNDERFLOW = {torch.float32: 104.0, torch.float64: 746.0}
"""exp(-x) is 0 from here on, by the format of the scores."""

_SLACK = 2.0
"""Room for the roundings of scores that are compared."""


@dataclass(slots=True)
class _Head:
    """One head: its slope, the values that its queries can have, and what is kept.

    `heights` are the scores of what is kept, a column per query, up to a number that is the same for all.
    """

    slope: float
    queries: Tensor
    keys: Tensor
    values: Tensor
    places: Tensor
    heights: Tensor
    greatest: float = float("-inf")
    above: Tensor | None = None
    below: float = 0.0


class DecoderStream:
    """A model with attention that reads one letter at a time in bounded memory.

    Args:
        model: with letters; attention with slopes of its own or without positions in its scores. Queries may
            read the letter's embedding and position vectors alone, so that they have few values.

    Raises:
        InputError: if queries are rotated, or read what blocks write: then nothing can be forgotten. Beside
            recurrent layers `read` raises it, at the first query that was not expected.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._state: State = model._blank(1)
        self._place = torch.zeros(1, dtype=torch.int64)
        dtype = widened(next(model.parameters())).dtype
        self._underflow = UNDERFLOW[dtype] + _SLACK
        streams = _first_streams(model)
        written = torch.zeros(streams.shape[1], dtype=torch.bool)
        self._heads: dict[int, list[_Head]] = {}
        # Weights do not say what a recurrence writes; beside one, the queries are watched as they come.
        self._watched = False
        for number, block in enumerate(model.blocks):
            assert isinstance(block, LayerBlock)
            if isinstance(block.layer, Attention):
                self._heads[number] = _heads(block, number, streams, written)
                written |= block.layer.write.weight.any(dim=1)
            else:
                self._watched = True
            if block.feed_forward is not None:
                written |= block.feed_forward.down.weight.any(dim=1)
        self.start = self._read(model.config.letters) if model.config.beginning else None

    @property
    def kept(self) -> int:
        """Number of positions that are kept, over all heads; a running mean counts as one."""
        return sum(
            len(head.places) + (head.above is not None) for heads in self._heads.values() for head in heads
        )

    @property
    def num_bytes(self) -> int:
        """Memory of what is kept, over all heads and recurrent layers."""
        heads = [head for heads in self._heads.values() for head in heads]
        tensors = [
            t for h in heads for t in (h.keys, h.values, h.places, h.heights, h.above) if t is not None
        ]
        return sum(t.numel() * t.element_size() for t in (*tensors, *self._state.values()))

    def read(self, letter: int) -> Float[Tensor, " outputs"]:
        """Returns the scores after one more letter."""
        self._model.check(torch.tensor([letter]), time=False)
        return self._read(letter)

    @torch.no_grad()
    def _read(self, letter: int | None) -> Tensor:
        model, after = self._model, State()
        stream, rest = model._embed(torch.tensor([[letter]]), self._state)
        after.update(rest)
        stream = stream[:, 0]
        for number, block in enumerate(model.blocks):
            assert isinstance(block, LayerBlock)
            if number in self._heads:
                y = self._attend(block, self._heads[number], block.before(stream))
                stream = block._after(stream, y)
            else:
                stream, part = block.step(stream, part_of(self._state, number))
                after.update((f"{number}.{name}", value) for name, value in part.items())
        self._state = after
        self._place = self._place + 1
        return model._score(stream)[0]

    def _attend(self, block: LayerBlock, heads: list[_Head], x: Tensor) -> Tensor:
        layer = block.layer
        assert isinstance(layer, Attention)
        if not heads:
            return layer.write(x.new_zeros(1, layer.heads * layer.size))  # type: ignore[no-any-return]
        q, k, v = (widened(part).view(layer.heads, layer.size) for part in layer.read(x)[0].chunk(3, dim=-1))
        scale = layer.size**0.5
        if self._watched and not all((h.queries == q[i]).all(dim=1).any() for i, h in enumerate(heads)):
            raise InputError("a query reads what a recurrent layer writes; nothing can be forgotten")
        found = [
            (self._look if head.slope else self._sum)(head, q[h], k[h], v[h], scale)
            for h, head in enumerate(heads)
        ]
        return layer.write(torch.stack(found).flatten()[None].to(x.dtype))  # type: ignore[no-any-return]

    def _sum(self, head: _Head, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        """The mean of all values so far, by a running numerator and denominator."""
        score = float((q @ k) / scale)
        above = torch.zeros_like(v) if head.above is None else head.above
        greatest = max(score, head.greatest)
        old, new = (torch.tensor(s - greatest, dtype=v.dtype).exp() for s in (head.greatest, score))
        head.above, head.below = above * old + new * v, head.below * float(old) + float(new)
        head.greatest = greatest
        return head.above / head.below

    def _look(self, head: _Head, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        """The weighted mean over what is kept; then what has weight 0 for all queries is forgotten."""
        height = (k.double() @ head.queries.double().T) / scale + head.slope * self._place.double()
        keys, values = torch.cat([head.keys, k[None]]), torch.cat([head.values, v[None]])
        places, heights = torch.cat([head.places, self._place]), torch.cat([head.heights, height[None]])
        scores = (keys @ q) / scale + head.slope * (places - self._place).to(v.dtype)
        weights = (scores - scores.amax()).exp()
        y = weights @ values / weights.sum()
        needed = (heights > heights.amax(dim=0) - self._underflow).any(dim=1)
        if not needed.all():
            keys, values, places, heights = (x[needed] for x in (keys, values, places, heights))
        head.keys, head.values, head.places, head.heights = keys, values, places, heights
        return y


@torch.no_grad()
def _first_streams(model: Model) -> Tensor:
    """The streams before the first block: one row per letter or mark and position vector."""
    config = model.config
    if config.letters is None or config.positions == "sine":
        raise InputError("the model reads features, or has sines as positions; its queries have many values")
    letters = torch.arange(config.letters + config.beginning)
    period = config.period if config.positions == "periodic" else 1
    state: State = {"position": torch.arange(period).repeat(len(letters))} if period > 1 else {}
    return model._embed(letters.repeat_interleave(period)[:, None], state)[0][:, 0]


def _heads(block: LayerBlock, number: int, streams: Tensor, written: Tensor) -> list[_Head]:
    """The heads of a block, nothing kept yet; none if nothing of what they return is written."""
    layer = block.layer
    assert isinstance(layer, Attention)
    settings = layer.settings
    if settings.positions == "rope" or (settings.positions == "alibi" and settings.slopes is None):
        what = "rotations" if settings.positions == "rope" else "the published slopes"
        raise InputError(
            f"block {number + 1} has {what}; a cache forgets only with slopes of its own, or none"
        )
    if not isinstance(block.norm, torch.nn.Identity):
        raise InputError(f"block {number + 1} has a norm, through which queries read everything")
    if layer.read.weight.isfinite().all() and not layer.write.weight.any():
        return []
    slopes = settings.slopes if settings.positions == "alibi" and settings.slopes else (0.0,) * layer.heads
    rows = layer.read.weight[: layer.heads * layer.size]
    if (rows[:, written] != 0).any():
        raise InputError(f"queries of block {number + 1} read what blocks write; nothing can be forgotten")
    with torch.no_grad():
        queries = widened(layer.read(streams)).view(len(streams), 3, layer.heads, layer.size)[:, 0]
    found = []
    for h, slope in enumerate(slopes):
        values = torch.unique(queries[:, h], dim=0)
        if slope == 0 and len(values) > 1:
            raise InputError(f"a head of block {number + 1} without a slope has several queries")
        empty = queries.new_zeros(0, layer.size)
        found.append(
            _Head(
                slope=float(slope),
                queries=values,
                keys=empty,
                values=empty,
                places=torch.zeros(0, dtype=torch.int64),
                heights=torch.zeros(0, len(values), dtype=torch.float64),
            )
        )
    return found
