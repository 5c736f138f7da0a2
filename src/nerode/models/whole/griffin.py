"""The whole RecurrentGemma model of recurrent blocks: a norm and the RG-LRU, then a norm and a GeGLU part.

A register is a channel of the RG-LRU that holds (gate exactly 1, nothing is written) or takes the value that
it reads, 0 or 1 (gate exactly 0). When it moves is said by a channel of the same block, which the gates read:
they are one block, so that each register sees each signal. A level has a register for each label but the
start; the start is shown where none of them is 1, so that the zero state shows it. Labels before the letter
are registers of their own, whose channels come one letter late by the convolution.

GeLU is ReLU on multiples of T = 128, bit for bit, so the GeGLU part computes conjunctions: the context of the
levels of the next block, and at the end what may follow.

The library multiplies the embedding by the root of the width, so the width is a power of four.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nerode.algebra.cascades import Level, Lookup, Source
from nerode.core import Budget
from nerode.languages import Language
from nerode.models.architectures.griffin import Griffin
from nerode.models.base import FeedForwardPart, LayerBlock, Surroundings
from nerode.models.model import Model, ModelConfig
from nerode.models.whole.stream import Form, Wanted, WholeModel, terms_of
from nerode.models.zoo import LayerConfig

T = 128.0
"""A 1 inside the GeGLU part, and the gate GeLU(y) of the recurrent block."""

SATURATED = 1024.0
"""σ of this is exactly 1, and of minus this exactly 0, in every type."""

DECAY = 100.0
"""Λ: the gate exp(-8 · softplus(Λ)) is 0 in every type."""


@dataclass(slots=True)
class _Block:
    """One recurrent block and its GeGLU part.

    Attributes:
        channels: the form that each channel of the RG-LRU reads, and whether it comes one letter late.
        moved_by: for each register, the channel that says when it moves.
        units: the form of each hidden unit of the GeGLU part.
        shown, written: (place, channel or unit) → units of the stream.
        known: hidden units by what they say.
    """

    channels: list[tuple[Form, bool]] = field(default_factory=list)
    moved_by: dict[int, int] = field(default_factory=dict)
    units: list[Form] = field(default_factory=list)
    shown: dict[tuple[int, int], float] = field(default_factory=dict)
    written: dict[tuple[int, int], float] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)

    def channel(self, form: Form, *, late: bool) -> int:
        self.channels.append((form, late))
        return len(self.channels) - 1

    def write(self, place: int, unit: int, amount: float) -> None:
        self.written[place, unit] = self.written.get((place, unit), 0.0) + amount


class WholeGriffin(WholeModel):
    """A star-free language as a whole RecurrentGemma model: one block per depth of the cascade.

    What is ready after the recurrent part of block b has the number 2b - 1, after its GeGLU part 2b.

    Implements: [De2024]
    """

    architecture = "griffin"

    def __init__(self, language: Language, budget: Budget | None = None) -> None:
        self.blocks: list[_Block] = []
        super().__init__(language, budget)
        self._block(1)

    def _block(self, number: int) -> _Block:
        while len(self.blocks) < number:
            self.blocks.append(_Block())
        return self.blocks[number - 1]

    def _unit(self, block: _Block, literals: tuple[Wanted, ...], *, at_mark: bool) -> int:
        key = (tuple(sorted(literals)), at_mark)
        if key not in block.known:
            block.units.append(self.conjunction(literals, at_mark=at_mark))
            block.known[key] = len(block.units) - 1
        return block.known[key]

    def add_lookup(self, number: int, lookup: Lookup) -> None:
        """Adds hidden units that move the unit of the group from the default to the value."""
        source, default = Source("lookup", number), lookup.otherwise[0]
        turn = self.first_block(lookup)
        self.ready[source] = turn + turn % 2
        group, block = self.group(source, lookup.num_values, default), self._block(self.ready[source] // 2)
        for term in terms_of(lookup):
            unit = self._unit(block, term.literals, at_mark=self.defined_at_mark[number])
            for value, factor in term.adds.items():
                block.write(group.place(value), unit, factor)
            block.write(group.place(default), unit, -sum(term.adds.values()))

    def add_level(self, number: int, level: Level, *, wants_old: bool) -> None:
        """Adds registers for the labels after the letter and, where they are read, before it."""
        resets = self.resets(level)
        turn = 1 + max((self.ready[source] for source in resets.reads), default=0)
        turn += 1 - turn % 2
        block = self._block((turn + 1) // 2)
        for late in (False, True) if wants_old else (False,):
            source = Source("old" if late else "new", number)
            group = self.group(source, level.num_labels, level.start)
            self.ready[source] = turn
            moves = block.channel(resets.moves, late=late)
            for label in range(level.num_labels):
                if label != level.start:
                    register = block.channel(resets.to.get(label, {}), late=late)
                    block.moved_by[register] = moves
                    block.shown[group.place(label), register] = 1.0
                    block.shown[group.place(level.start), register] = -1.0

    def add_reader(self, lookup: Lookup) -> None:
        """Adds hidden units that say what may follow, unless the head can read it from the labels."""
        if self.read_labels(lookup):
            return
        block = self._block((self.first_block(lookup) + 1) // 2)
        for letter in range(self.letters + 1):
            group = self.group(Source("legal", letter), 2, 0)
            for term in terms_of(lookup):
                amount = self.follows(term, letter)
                if amount:
                    unit = self._unit(block, term.literals, at_mark=True)
                    block.write(group.place(1), unit, amount)
                    block.write(group.place(0), unit, -amount)
            self.head.append({group.place(1): 1.0, group.place(0): -1.0})

    def config(self) -> ModelConfig:
        """Returns the published settings but for the sizes, with one block of gates."""
        width = self.stream_width(max(len(block.channels) for block in self.blocks))
        width *= 1 if width.bit_length() % 2 else 2
        hidden = max(1, *(len(block.units) for block in self.blocks))
        layer = LayerConfig(name="griffin", settings={"blocks": 1, "channels": width, "convolution": 2})
        around = Surroundings(norm="rms", residual=True, feed_forward="geglu-tanh", expansion=hidden / width)
        return ModelConfig(
            layers=(layer,) * len(self.blocks),
            surroundings=around,
            letters=self.letters,
            outputs=self.letters + 1,
            width=width,
            beginning=True,
            final_norm="rms",
            norm_epsilon=1e-6,
            head_bias=False,
        )

    def fill(self, model: Model, unit: float) -> None:
        """Sets the weights of blocks and norms."""
        model.final_norm.weight.fill_(1)  # type: ignore[operator]
        for module, block in zip(model.blocks, self.blocks, strict=True):
            assert isinstance(module, LayerBlock)
            assert isinstance(module.layer, Griffin)
            assert module.feed_forward is not None
            module.norm.weight.fill_(1)  # type: ignore[operator]
            module.second_norm.weight.fill_(1)  # type: ignore[operator]
            _fill_recurrence(module.layer, block, unit)
            _fill_units(module.feed_forward, block, unit)


def _fill_recurrence(layer: Griffin, block: _Block, unit: float) -> None:
    assert layer.convolution is not None
    layer.decay.fill_(DECAY)
    layer.recurrence_gate.bias.fill_(SATURATED)
    layer.input_gate.bias.fill_(SATURATED)
    assert layer.linear_y is not None
    layer.linear_y.bias.fill_(T)
    for channel, (form, late) in enumerate(block.channels):
        layer.convolution.weight[channel, 0 if late else 1] = 1
        for place, amount in form.items():
            layer.linear_x.weight[channel, place] = amount
    for register, moves in block.moved_by.items():
        layer.recurrence_gate.weight[0, register, moves] = 2 * SATURATED
        layer.recurrence_gate.bias.view(-1)[register] = -SATURATED
    for (place, channel), amount in block.shown.items():
        layer.linear_out.weight[place, channel] = unit * amount / T


def _fill_units(part: FeedForwardPart, block: _Block, unit: float) -> None:
    assert part.gate is not None
    part.up.bias.fill_(1)
    for number, form in enumerate(block.units):
        for place, amount in form.items():
            part.gate.weight[number, place] = T * amount
    for (place, number), amount in block.written.items():
        part.down.weight[place, number] = unit * amount / T
