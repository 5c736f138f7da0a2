"""The tensors of a softmax decoder as heads, ramps and comparisons, recognised by their shape.

    last      slope, scores that differ: the value of the latest match
    parity    slope, scores by positions modulo 2: the value one position before
    soft      slope, scores 0: own value and the one before, with known weights
    once      no slope, scores that differ: k/(k+1) for k matches
    mean      no slope, scores 0: the mean of all values

What a head of the kind mean returns may be read by comparisons alone: units relu(α y + β z) with the mean y
of whole numbers and the mean z of the mark. A comparison has a place of its own, which only units 1 - relu
read.

What stands on the stream before the first attention block is a function of the letter and of a state: the
position modulo the period, and the state of recurrent blocks, if the model is a hybrid. The states are
visited by running the blocks of the model themselves, letter by letter and one word at a time, the mark as a
sequence of its own, so that every number is the float that the model computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nerode.core import Budget
from nerode.models import Model, State, part_of
from nerode.proofs.replay.attention.records import NotProved

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_STEEPEST = 2.0**64
"""The largest slope: times any distance it is far from the largest float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The values that can stand on the stream before the first attention block.

    Attributes:
        blocks: number of recurrent blocks before it.
        values: for each state and letter the stream (states, letters + 1, width); the mark is the last
            letter, and stands in state 0 alone.
        after: for each state and letter the next state (states, letters + 1).
        phases: for each state the position modulo the period.
    """

    blocks: int
    values: Array
    after: npt.NDArray[np.int64]
    phases: npt.NDArray[np.int64]

    @property
    def letters(self) -> int:
        """Number of letters, without the mark."""
        return int(self.values.shape[1]) - 1

    def rows(self) -> tuple[Array, npt.NDArray[np.int64]]:
        """Returns all streams that occur, the one of the mark first, with their phases."""
        width = self.values.shape[2]
        letters = self.values[1:, :-1].reshape(-1, width)
        found = np.concatenate([self.values[0, -1:], letters])
        return found, np.concatenate([self.phases[:1], np.repeat(self.phases[1:], self.letters)])


@torch.no_grad()
def explore_streams(model: Model, budget: Budget) -> Streams:
    """Returns the streams of a model, by a search through all states before its first attention block.

    Raises:
        NotProved: if a recurrent block comes after an attention block.
        BudgetExceeded: if the states are too many.
    """
    names = [layer.resolve()[0].name for layer in model.config.layers]
    count = names.index("transformer") if "transformer" in names else len(names)
    if "transformer" not in names or set(names[count:]) != {"transformer"}:
        raise NotProved("the model is not recurrent blocks followed by attention")
    assert model.config.letters is not None
    letters = model.config.letters
    period = model.config.period if model.config.positions == "periodic" else 1
    search = _Search(model, count, period)
    blank = {name: value for name, value in model._blank(1).items() if search.belongs(name)}
    search.add([blank], [0])
    mark = search.advance([0], letters)
    frontier = mark[1]
    rows: dict[int, tuple[list[Array], list[int]]] = {0: ([mark[0][0]], [frontier[0]])}
    while frontier:
        budget.check("elements", len(search.states), states=len(search.states))
        budget.check_time(states=len(search.states))
        known = len(search.states)
        found = [search.advance(frontier, letter) for letter in range(letters)]
        for i, number in enumerate(frontier):
            rows[number] = ([f[0][i] for f in found], [f[1][i] for f in found])
        frontier = list(range(known, len(search.states)))
    width = len(rows[0][0][0])
    values = np.zeros((len(rows), letters + 1, width))
    after = np.zeros((len(rows), letters + 1), dtype=np.int64)
    for number, (streams, following) in rows.items():
        part = slice(letters, None) if number == 0 else slice(0, letters)
        values[number, part], after[number, part] = streams, following
    phases = np.array(search.phases, dtype=np.int64)
    return Streams(blocks=count, values=values, after=after, phases=phases)


class _Search:
    """States of the first blocks, each known by its bytes and its phase."""

    def __init__(self, model: Model, blocks: int, period: int) -> None:
        self.model, self.blocks, self.period = model, blocks, period
        self.states: list[dict[str, Tensor]] = []
        self.phases: list[int] = []
        self.known: dict[bytes, int] = {}

    def belongs(self, name: str) -> bool:
        """Whether a part of the state is that of a recurrent block."""
        number = name.partition(".")[0]
        return number.isdigit() and int(number) < self.blocks

    def add(self, states: list[dict[str, Tensor]], phases: list[int]) -> list[int]:
        """Returns the numbers of states, new ones if they were not known."""
        found = []
        for state, phase in zip(states, phases, strict=True):
            parts = [state[name].contiguous().view(torch.uint8).numpy().tobytes() for name in sorted(state)]
            # The state before the mark is no state after anything.
            key = b"".join([bytes([bool(self.states)]), phase.to_bytes(4, "big"), *parts])
            if key not in self.known:
                self.known[key] = len(self.states)
                self.states.append(state)
                self.phases.append(phase)
            found.append(self.known[key])
        return found

    def advance(self, numbers: list[int], letter: int) -> tuple[Array, list[int]]:
        """Returns the streams at a letter and the states after it, of some states."""
        streams, after = [], list[int]()
        for number in numbers:
            state = dict(self.states[number])
            if self.model.config.positions != "none":
                state["position"] = torch.tensor([self.phases[number]])
            stream, _ = self.model._embed(torch.full((1, 1), letter), state)
            following: State = {}
            for block in range(self.blocks):
                stream, moved = self._run(block, letter, stream, part_of(state, block))
                following |= {f"{block}.{name}": value for name, value in moved.items()}
            streams.append(stream[0].double().numpy())
            after += self.add([following], [(self.phases[number] + 1) % self.period])
        return np.concatenate(streams), after

    def _run(self, number: int, letter: int, stream: Tensor, state: State) -> tuple[Tensor, State]:
        """The output of a block at one position, as the model computes it: the mark by `forward`."""
        block: Any = self.model.blocks[number]
        if letter == self.model.config.letters:
            found: tuple[Tensor, State] = block(stream, state)
            return found
        stream, state = block.step(stream[:, 0], state)
        return stream[:, None], state


@dataclass(slots=True)
class DecoderHead:
    """One head: affine maps of the stream, the last column being the bias, and where it writes."""

    kind: str
    layer: int
    number: int
    slope: float
    query: Array
    key: Array
    value: Array
    out: Array
    first: int = 0
    gap: float = math.inf
    horizon: int | None = None

    @property
    def width(self) -> int:
        """Number of values in its summary."""
        return 1 if self.kind == "once" else len(self.value)

    @property
    def where(self) -> str:
        """Its place in words."""
        return f"head {self.number + 1} of block {self.layer + 1}"

    @property
    def numbers(self) -> range:
        """The columns of its summary in a joint state."""
        return range(self.first, self.first + self.width)

    @property
    def columns(self) -> slice:
        """The same as a slice."""
        return slice(self.first, self.first + self.width)


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """A unit relu(rate · y + offset · z): whether the sum behind y reaches `level`.

    Attributes:
        unit: its number in the block.
        column: of the sum in a joint state.
        rate, offset: the two weights.
        place: what it is added to.
    """

    unit: int
    column: int
    rate: float
    offset: float
    place: int

    @property
    def level(self) -> int:
        """The least whole number c with rate · c + offset > 0."""
        return math.floor(-Fraction(self.offset) / Fraction(self.rate)) + 1


@dataclass(slots=True)
class DecoderBlock:
    """One block: heads, then units; `pairs[m]` says whether units 2m and 2m + 1 are a ramp."""

    heads: list[DecoderHead]
    up: Array
    down: Array
    pairs: Mask
    comparisons: list[MeanComparison] = field(default_factory=list)


class DecoderWeights:
    """All blocks of attention of a decoder.

    Args:
        model: of the zoo, with no norms after its recurrent blocks, a beginning mark and a linear head.
        streams: what can stand before its first attention block.

    Raises:
        NotProved: if it has parts that no lemma speaks of.
    """

    def __init__(self, model: Model, streams: Streams) -> None:
        self.streams = streams
        self.tensors: dict[str, Array] = {
            name: value.detach().double().numpy().astype(np.float64)
            for name, value in model.state_dict().items()
        }
        self.width = streams.values.shape[2]
        self.seen, self.phases = streams.rows()
        self.written = self._written(range(streams.blocks, len(model.blocks)))
        self.blocks = [self._read_block(model, n) for n in range(streams.blocks, len(model.blocks))]
        self.head = self.affine("head")
        count = 0
        for head in self.heads():
            head.first, count = count, count + head.width
        self.summary = count
        self.levels: dict[int, list[int]] = {}
        self._find_comparisons()

    def heads(self) -> Iterator[DecoderHead]:
        """Yields all heads that are used."""
        for block in self.blocks:
            yield from block.heads

    def affine(self, name: str) -> Array:
        """Returns the weight of a linear map with its bias as the last column."""
        weight = self.tensors[f"{name}.weight"]
        bias = self.tensors.get(f"{name}.bias", np.zeros(len(weight)))
        return np.hstack([weight, bias[:, None]])

    def _read_block(self, model: Model, number: int) -> DecoderBlock:
        layer = model.layers[number]
        settings: Any = layer.settings
        heads, size = int(layer.heads), int(layer.size)  # type: ignore[arg-type]
        read = self.affine(f"blocks.{number}.layer.read")
        write = self.affine(f"blocks.{number}.layer.write")
        if write[:, -1].any():
            raise NotProved(f"attention of block {number + 1} adds a bias")
        if settings.positions == "rope":
            raise NotProved(f"block {number + 1} rotates its queries; no lemma speaks of that")
        slopes = [0.0] * heads if settings.positions == "nope" else list(settings.slopes or ())
        if not all(0 <= slope <= _STEEPEST for slope in slopes):
            raise NotProved(f"block {number + 1} has a slope that is too large")
        if len(slopes) != heads:
            raise NotProved(f"block {number + 1} has the published slopes, with which no match is one-hot")
        found = []
        for h in range(heads):
            query, key, value = (read[i * heads * size + h * size :][:size] for i in range(3))
            out = write[:, h * size : (h + 1) * size]
            used = value.any(axis=1) & out.any(axis=0)
            if used.any():
                kind = self._kind(query, key, value[used], slopes[h])
                if math.log2(size) % 2 and kind in ("last", "once", "parity"):
                    raise NotProved(f"a head of block {number + 1} has {size} features, not a power of 4")
                scaled = key / math.sqrt(size)
                found.append(
                    DecoderHead(kind, number, h, slopes[h], query, scaled, value[used], out[:, used])
                )
        if f"blocks.{number}.feed_forward.up.weight" not in self.tensors:
            none = np.zeros((0, self.width + 1))
            return DecoderBlock(found, none, np.zeros((self.width, 0)), np.zeros(0, dtype=np.bool_))
        up = self.affine(f"blocks.{number}.feed_forward.up")
        down = self.affine(f"blocks.{number}.feed_forward.down")
        if down[:, -1].any():
            raise NotProved(f"the feed-forward part of block {number + 1} adds a bias")
        return DecoderBlock(found, up, down[:, :-1], self._pairs(up, down[:, :-1]))

    def _kind(self, query: Array, key: Array, value: Array, slope: float) -> str:
        """The kind of head that queries, keys, values and slope can be."""
        if not (query.any() and key.any()):
            # Where every letter matches, the mean is that of a head that asks whether there was one.
            always = len(value) == 1 and self._is_constant(value[0], at_mark=0, at_letters=1)
            return "soft" if slope > 0 else "once" if always else "mean"
        if slope > 0 and self.parities(query) is not None and self.parities(key) is not None:
            return "parity"
        return "last" if slope > 0 else "once"

    def parities(self, rows: Array) -> Array | None:
        """Returns what rows read at even and odd positions; None if it depends on more than that."""
        if int(self.phases.max()) % 2 == 0 or self.written[rows[:, :-1].any(axis=0)].any():
            return None
        found = np.hstack([self.seen, np.ones((len(self.seen), 1))]) @ rows.T
        both = [found[self.phases % 2 == parity] for parity in range(2)]
        if any(not len(part) or (part != part[0]).any() for part in both):
            return None
        return np.array([part[0] for part in both])

    def _written(self, blocks: range) -> Mask:
        """The places that some block of attention adds to."""
        found = np.zeros(self.width, dtype=np.bool_)
        for number in blocks:
            for part in ("layer.write", "feed_forward.down"):
                weight = self.tensors.get(f"blocks.{number}.{part}.weight")
                if weight is not None:
                    found |= weight.any(axis=1)
        return found

    def _pairs(self, up: Array, down: Array) -> Mask:
        """Whether units 2m and 2m + 1 are a ramp: relu(a) - relu(a - 1), for each m."""
        count = len(up) // 2
        constant = np.flatnonzero((self.seen == 1).all(axis=0) & ~self.written).tolist()
        steps = up[1 : 2 * count : 2] - up[0 : 2 * count : 2]
        less = steps[:, constant].sum(axis=1) + steps[:, -1]
        others = np.delete(steps, [*constant, self.width], axis=1)
        opposite = (down[:, 0 : 2 * count : 2] == -down[:, 1 : 2 * count : 2]).all(axis=0)
        found: Mask = (less == -1) & ~others.any(axis=1) & opposite
        return found

    def _find_comparisons(self) -> None:
        """Fills in the comparisons of means, and verifies that nothing else reads them.

        Raises:
            NotProved: if something does.
        """
        means: dict[int, int] = {}
        for head in self.heads():
            if head.kind != "mean":
                continue
            for row, column in enumerate(head.out.T):
                means[self._own_place(column, head.where)] = head.first + row
        if not means:
            return
        inner: set[int] = set()
        for number, block in enumerate(self.blocks):
            for unit, row in enumerate(block.up):
                read = {place for place in means if row[place]}
                if read:
                    found = self._comparison(block, unit, {means[p]: float(row[p]) for p in read})
                    block.comparisons.append(found)
                    self.levels.setdefault(found.column, []).append(found.level)
                    inner.add(found.place)
            for unit in {c.unit for c in block.comparisons}:
                if unit // 2 < len(block.pairs):
                    block.pairs[unit // 2] = False
            compared = [c.unit for c in block.comparisons]
            rows = np.delete(block.up, compared, axis=0)
            for place in (*means, *inner):
                coefficients = rows[:, place]
                if (place in means and coefficients.any()) or (coefficients[coefficients != 0] != -1).any():
                    raise NotProved(f"a unit of block {number + 1} reads a mean otherwise than to compare it")
        forbidden = [*means, *inner]
        readers = [self.head, *(x for h in self.heads() for x in (h.query, h.key, h.value))]
        if any(rows[:, forbidden].any() for rows in readers):
            raise NotProved("a mean is read by a head or a score")

    def _comparison(self, block: DecoderBlock, unit: int, read: dict[int, float]) -> MeanComparison:
        marks = {c for c in read if self._counts_marks(c)}
        columns = sorted(read.keys() - marks)
        if len(columns) != 1 or len(marks) > 1 or read[columns[0]] <= 0:
            raise NotProved("a unit compares several means at once")
        place = self._own_place(block.down[:, unit], "a comparison of means")
        offset = read[marks.pop()] if marks else 0.0
        return MeanComparison(unit, columns[0], read[columns[0]], offset, place)

    def _counts_marks(self, column: int) -> bool:
        """Whether the value behind a column is 1 at the mark and 0 at all letters."""
        head = next(h for h in self.heads() if column in h.numbers)
        return self._is_constant(head.value[column - head.first], at_mark=1, at_letters=0)

    def _is_constant(self, row: Array, *, at_mark: int, at_letters: int) -> bool:
        """Whether a row has one value at the mark and one at all letters, whatever is written."""
        values = np.hstack([self.seen, np.ones((len(self.seen), 1))]) @ row
        free = not self.written[row[:-1] != 0].any()
        return free and values[0] == at_mark and bool((values[1:] == at_letters).all())

    def _own_place(self, column: Array, where: str) -> int:
        """The only place that a column writes to, which nothing else fills.

        Raises:
            NotProved: if there is no such place.
        """
        places = np.flatnonzero(column)
        if len(places) != 1 or column[places[0]] != 1 or self.seen[:, places[0]].any():
            raise NotProved(f"what {where} returns has no place of its own on the stream")
        place = int(places[0])
        writers = sum(int(np.count_nonzero(h.out[place])) for h in self.heads())
        writers += sum(int(np.count_nonzero(b.down[place])) for b in self.blocks)
        if writers != 1:
            raise NotProved(f"what {where} returns has no place of its own on the stream")
        return place
