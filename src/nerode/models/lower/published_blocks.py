"""The blocks of whole Mamba, Mamba-2 and RecurrentGemma models on a residual stream, a class for each.

SiLU is ReLU on multiples of T = 128, bit for bit: SiLU(128 k) = 128 k, and SiLU(-128 k) = -0; and so is GeLU.
In a Mamba a channel whose step is 0 passes D u on, so that it is a unit: a conjunction of literals, at this
letter or, by the convolution, one letter late. In RecurrentGemma units are those of the GeGLU part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from nerode.algebra.cascades import Cascade, Level, Lookup, Source
from nerode.compiler import Program
from nerode.core import NotCompilable
from nerode.languages import Dfa
from nerode.models.architectures.griffin import Griffin
from nerode.models.architectures.mamba import Mamba
from nerode.models.architectures.mamba2 import Mamba2
from nerode.models.base import Surroundings
from nerode.models.config import ModelConfig
from nerode.models.lower.published import ALWAYS, Form, StreamBlock, Wanted, WholeModel, reset_label, terms_of
from nerode.models.model import FeedForwardPart, LayerBlock, Model
from nerode.models.zoo import LayerConfig

T = 128.0
"""A 1 after in_proj and SiLU or inside a GeGLU part, and the gates SiLU(z) and GeLU(y)."""

NEVER = 1024.0
"""softplus(-NEVER) is 0 in every type."""

RATE = 64.0
"""-A: exp(-32 · 64) is 0 in every type."""


@dataclass(slots=True)
class MixerBlock(StreamBlock):
    """One mixer, whose units are channels; `written` has what registers show, too.

    Attributes:
        steps: for each register the form of its step.
    """

    steps: dict[int, Form] = field(default_factory=dict)


class WholeMixers(WholeModel[MixerBlock]):
    """The plan of a model whose blocks are mixers; a subclass plans the levels and writes the mixers."""

    def new_block(self) -> MixerBlock:
        """Returns an empty mixer."""
        return MixerBlock()

    def units_of(self, lookup: Lookup) -> tuple[int, MixerBlock]:
        """Returns the first block that can read what a lookup reads."""
        number = self.first_block(lookup)
        return number, self.block(number)

    def unit(
        self, block: MixerBlock, literals: tuple[Wanted, ...], *, late: bool = False, at_mark: bool = False
    ) -> int:
        """Returns the channel of a conjunction."""
        key = (tuple(sorted(literals)), late, at_mark)
        if key not in block.known:
            form = self.conjunction(literals, at_mark=at_mark)
            block.known[key] = block.channel(form, late=late)
        return block.known[key]

    def mixers(self, channels: int, layer: LayerConfig) -> ModelConfig:
        """Returns the published settings around the mixers, which have twice the width in channels."""
        around = Surroundings(norm="rms", residual=True)
        return self.model_config(layer, around, self.stream_width(-(-channels // 2)))


FORGETS, SETS = 32.0, 64.0
"""Δ of a register that becomes 1, and 2."""


class WholeMamba(WholeMixers):
    """A star-free language as a whole Mamba model: one block per depth of the cascade, and one that reads it.

    Channels are

        unit       T · (literals - …)   D = 1   a conjunction, at this letter or one letter late
        constant   T                    D = 1   makes B and C
        register   T                    D = 0   its step Δ is 0 (holds), 32 (becomes 1) or 64 (becomes 2)

    A step is softplus(-1024 + what the units say), so the value that a register takes is in Δ: exp(-Δ · 64)
    is 0, and Δ B u is 32 or 64, which C shows as 1 or 2. A level has a register for each label but the start,
    and in place of the start one that becomes 1 whenever the level moves. Label v is shown as the difference
    of the two. All registers of a level move together, so that the zero state shows the start label. Labels
    before the letter are registers of their own, driven by late units.

    The convolution has two taps here. `nerode export` writes four, as published, of which two are 0.

    Implements: [GuDao2023]
    """

    architecture = "mamba"

    def __init__(self, cascade: Cascade, dfa: Dfa) -> None:
        super().__init__(cascade, dfa)
        self.constants = [self.unit(block, (), at_mark=True) for block in self.blocks]

    def _mark_unit(self, block: MixerBlock, *, late: bool) -> int:
        key = ("mark", late)
        if key not in block.known:
            block.known[key] = block.channel({self.mark: 1.0}, late=late)
        return block.known[key]

    def add_level(self, number: int, level: Level, *, wants_old: bool) -> None:
        """Adds registers for the labels after the letter and, where they are read, before it."""
        context = self.cascade.lookups[level.context]
        block_number = self.first_block(context)
        block = self.block(block_number)
        for late in (False, True) if wants_old else (False,):
            source = Source("old" if late else "new", number)
            group = self.group(source, level.num_labels, level.start)
            self.ready[source] = block_number
            registers = [_register(block) for _ in range(level.num_labels)]
            for label, register in enumerate(registers):
                step = block.steps[register]
                step[self._mark_unit(block, late=late)] = NEVER + FORGETS
                for term in terms_of(context):
                    amount = sum(
                        factor * _step(reset_label(level, value), label, level.start)
                        for value, factor in term.adds.items()
                    )
                    if amount:
                        unit = self.unit(block, term.literals, late=late)
                        step[unit] = step.get(unit, 0.0) + amount
            reference, home = registers[level.start], group.place(level.start)
            for label, register in enumerate(registers):
                if label != level.start:
                    for place, sign in ((group.place(label), 1.0), (home, -1.0)):
                        block.write(place, register, sign)
                        block.write(place, reference, -sign)

    def config(self) -> ModelConfig:
        """Returns the published settings; of sizes, one state per channel and the rank that is needed."""
        channels = max(len(block.channels) for block in self.blocks)
        rank = max(1, *(len(block.steps) for block in self.blocks))
        layer = LayerConfig(name="mamba", settings={"states": 1, "rank": rank, "convolution": 2})
        return self.mixers(channels, layer)

    def fill(self, model: Model, unit: float) -> None:
        """Sets the weights of the mixers and norms."""
        for norm in [model.final_norm, *(block.norm for block in model.blocks)]:
            norm.weight.fill_(1)  # type: ignore[union-attr, operator]
        for layer, block, constant in zip(model.layers, self.blocks, self.constants, strict=True):
            assert isinstance(layer, Mamba)
            _fill_mixer(layer, block, constant, unit)


def _register(block: MixerBlock) -> int:
    number = block.channel({ALWAYS: 1.0})
    block.steps[number] = {}
    return number


def _step(reset: int | None, label: int, start: int) -> float:
    """The addition of a reset to the step of a label's register; that of the start stands for all labels."""
    if reset is None:
        return 0.0
    return NEVER + (SETS if reset == label != start else FORGETS)


def _fill_mixer(layer: Mamba, block: MixerBlock, constant: int, unit: float) -> None:
    assert layer.convolution is not None
    assert layer.D is not None
    for channel, (form, late) in enumerate(block.channels):
        for place, amount in form.items():
            layer.in_proj.weight[channel, place] = T * amount
        layer.convolution.weight[channel, 0 if late else 1] = 1
    layer.in_proj.weight[layer.channels :, ALWAYS] = T
    layer.dt_proj.bias.fill_(-NEVER)
    layer.A_log.fill_(math.log(RATE))
    layer.D.fill_(1)
    for number, (register, step) in enumerate(block.steps.items()):
        layer.D[register] = 0
        layer.dt_proj.weight[register, number] = 1
        for source, amount in step.items():
            layer.x_proj.weight[number, source] = amount / T
    layer.x_proj.weight[layer.rank, constant] = 1 / T / T
    layer.x_proj.weight[layer.rank + 1, constant] = 1 / FORGETS / T
    for (place, channel), amount in block.written.items():
        layer.out_proj.weight[place, channel] = unit * amount / (T if channel in block.steps else T * T)


MOVES = 32.0
"""Δ of a register that takes a value."""

STORED = MOVES * T * T
"""The state of a register that is 1: Δ B u. It is beyond float16."""

BITS = {False: 13, True: 28}
"""The binary logarithm of the constant over the others, for a channel: by whether the type is float64. Twice
this is more than the bits of the type."""


class WholeMamba2(WholeMixers):
    """A star-free language as a whole Mamba-2 model: up to three blocks per depth of the cascade.

    A head is one channel. The step of a head comes straight from the stream, neither late nor through SiLU,
    so the context of a level stands on the stream before the level moves. The value that a register takes is
    in u:

        register   u = T where the level moves to the label    Δ = 32 where the level moves, else 0    D = 0

    exp(-32 · 64) is 0, so a register becomes 0 or 1, or holds. A level has one register for each label but
    the start, which is shown where none of them is 1. The labels before the letter are the labels on the
    stream, read one letter late in the next block.

    The mixer divides its channels by their root mean square before the last map. A constant channel, two
    where the channels are no power of four, is so large that the squares of all others vanish beside its
    square, however they are added up. So the norm divides by a power of two, which its weights undo.

    Implements: [DaoGu2024]
    """

    architecture = "mamba-2"

    dtypes = ("float64", "float32", "bfloat16")

    def add_level(self, number: int, level: Level, *, wants_old: bool) -> None:
        """Adds registers for the labels after the letter and, where they are read, a copy one letter late."""
        resets = self.resets(level)
        turn = 1 + max((self.ready[source] for source in resets.reads), default=0)
        new = Source("new", number)
        block = self.block(turn)
        for register, label in self._labels(new, level, turn):
            block.channels[register] = (resets.to.get(label, {}), False)
            block.steps[register] = resets.moves
        if wants_old:
            block = self.block(turn + 1)
            for channel, label in self._labels(Source("old", number), level, turn + 1):
                block.channels[channel] = ({self.place((new, label)): 1.0}, True)

    def _labels(self, source: Source, level: Level, turn: int) -> list[tuple[int, int]]:
        """Places for the labels of a level, and for each but the start an empty channel that shows it."""
        group, block = self.group(source, level.num_labels, level.start), self.block(turn)
        self.ready[source] = turn
        found = [(block.channel({}), label) for label in range(level.num_labels) if label != level.start]
        for channel, label in found:
            block.write(group.place(label), channel, 1.0)
            block.write(group.place(level.start), channel, -1.0)
        return found

    def config(self) -> ModelConfig:
        """Returns the published settings; of sizes, one state and heads of one channel."""
        channels = max(len(block.channels) for block in self.blocks) + 2
        return self.mixers(
            channels,
            LayerConfig(name="mamba-2", settings={"states": 1, "head_size": 1, "convolution": 2}),
        )

    def fill(self, model: Model, unit: float) -> None:
        """Sets the weights of the mixers and norms."""
        for norm in [model.final_norm, *(block.norm for block in model.blocks)]:
            norm.weight.fill_(1)  # type: ignore[union-attr, operator]
        for layer, block in zip(model.layers, self.blocks, strict=True):
            assert isinstance(layer, Mamba2)
            _fill_mixer_2(layer, block, unit)


def _fill_mixer_2(layer: Mamba2, block: MixerBlock, unit: float) -> None:
    assert layer.convolution is not None
    assert layer.D is not None
    assert layer.norm_weight is not None
    bits, size = BITS[unit > T], layer.channels.bit_length() - 1
    # One constant where the channels are 4ⁿ, two where they are 2 · 4ⁿ: the mean square is a power of four.
    constants = range(len(block.channels), len(block.channels) + 1 + size % 2)
    weight, first = layer.in_proj.weight, 2 * layer.channels
    gates, inputs, steps = weight[: layer.channels], weight[layer.channels : first], weight[first + 2 :]
    gates[:, ALWAYS] = T
    weight[first : first + 2, ALWAYS] = T
    layer.convolution.weight[:, 1] = 1
    layer.dt_bias.fill_(-NEVER)
    layer.A_log.fill_(math.log(RATE))
    layer.D.fill_(STORED)
    for channel, (form, late) in enumerate(block.channels):
        for place, amount in form.items():
            inputs[channel, place] = T * amount
        if late:
            layer.convolution.weight[channel] = layer.convolution.weight[channel].flip(0)
    for register, form in block.steps.items():
        layer.D[register] = 0
        for place, amount in form.items():
            steps[register, place] = (NEVER + MOVES) * amount
    for channel in constants:
        inputs[channel, ALWAYS] = T
        layer.D[channel] = STORED * 2.0 ** (bits + (size + 1) // 2)
    layer.norm_weight.fill_(2.0 ** (bits + size % 2))
    for (place, channel), amount in block.written.items():
        layer.out_proj.weight[place, channel] = unit * amount


SATURATED = 1024.0
"""σ of this is exactly 1, and of minus this exactly 0, in every type."""

DECAY = 100.0
"""Λ: the gate exp(-8 · softplus(Λ)) is 0 in every type."""


@dataclass(slots=True)
class GegluBlock(StreamBlock):
    """One recurrent block and its GeGLU part, whose hidden units are the units.

    Attributes:
        moved_by: for each register, the channel that signals when it moves.
        units: the form of each hidden unit of the GeGLU part.
        shown: (place, channel) → units of the stream.
    """

    moved_by: dict[int, int] = field(default_factory=dict)
    units: list[Form] = field(default_factory=list)
    shown: dict[tuple[int, int], float] = field(default_factory=dict)


class WholeGriffin(WholeModel[GegluBlock]):
    """A star-free language as a whole RecurrentGemma model: one block per depth of the cascade.

    What is ready after the recurrent part of block b has the number 2b - 1, after its GeGLU part 2b.

    A register is a channel of the RG-LRU that holds (gate exactly 1, nothing is written) or takes the value
    that it reads, 0 or 1 (gate exactly 0). A channel of the same block signals when it moves; the gates
    read it: they are one block, so that each register sees each signal. A level has a register for each
    label but the start; the start is shown where none of them is 1, so that the zero state shows it. Labels
    before the letter are registers of their own, whose channels come one letter late by the convolution.

    The GeGLU part computes conjunctions: the context of the levels of the next block, and at the end what may
    follow. The library multiplies the embedding by the root of the width, so the width is a power of four.

    Implements: [De2024]
    """

    architecture = "griffin"

    def new_block(self) -> GegluBlock:
        """Returns an empty block."""
        return GegluBlock()

    def units_of(self, lookup: Lookup) -> tuple[int, GegluBlock]:
        """Returns the block whose GeGLU part can read what a lookup reads."""
        turn = self.first_block(lookup)
        turn += turn % 2
        return turn, self.block(turn // 2)

    def unit(self, block: GegluBlock, literals: tuple[Wanted, ...], *, at_mark: bool) -> int:
        """Returns the hidden unit of a conjunction."""
        key = (tuple(sorted(literals)), at_mark)
        if key not in block.known:
            block.units.append(self.conjunction(literals, at_mark=at_mark))
            block.known[key] = len(block.units) - 1
        return block.known[key]

    def add_level(self, number: int, level: Level, *, wants_old: bool) -> None:
        """Adds registers for the labels after the letter and, where they are read, before it."""
        resets = self.resets(level)
        turn = 1 + max((self.ready[source] for source in resets.reads), default=0)
        turn += 1 - turn % 2
        block = self.block((turn + 1) // 2)
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

    def config(self) -> ModelConfig:
        """Returns the published settings but for the sizes, with one block of gates."""
        width = self.stream_width(max(len(block.channels) for block in self.blocks))
        width *= 1 if width.bit_length() % 2 else 2
        hidden = max(1, *(len(block.units) for block in self.blocks))
        layer = LayerConfig(name="griffin", settings={"blocks": 1, "channels": width, "convolution": 2})
        around = Surroundings(norm="rms", residual=True, feed_forward="geglu-tanh", expansion=hidden / width)
        return replace(self.model_config(layer, around, width), norm_epsilon=1e-6)

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


def _fill_recurrence(layer: Griffin, block: GegluBlock, unit: float) -> None:
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


def _fill_units(part: FeedForwardPart, block: GegluBlock, unit: float) -> None:
    assert part.gate is not None
    part.up.bias.fill_(1)
    for number, form in enumerate(block.units):
        for place, amount in form.items():
            part.gate.weight[number, place] = T * amount
    for (place, number), amount in block.written.items():
        part.down.weight[place, number] = unit * amount / T


WHOLE: dict[str, type[WholeModel[Any]]] = {
    kind.architecture: kind for kind in (WholeMamba, WholeMamba2, WholeGriffin)
}
"""The architectures whose whole published model can be written for a star-free language."""


PUBLISHED_CONSTRUCTION = "star-free"
"""The construction whose cascade is written as a published model."""


def has_published(architecture: str) -> bool:
    """Returns whether there is a construction of the whole published model."""
    return architecture in WHOLE


def require_published(architecture: str) -> None:
    """Raises NotCompilable unless there is a construction of the whole published model."""
    if architecture not in WHOLE:
        known = ", ".join(WHOLE)
        raise NotCompilable(
            architecture, [f"the whole published model is made for {known}; use --surroundings zoo"]
        )


def program_to_published(program: Program, *, dtype: torch.dtype = torch.float32) -> Model:
    """Returns the whole published model of the target of a program, written from its cascade.

    Its scores are 1024 for a letter that may follow (the end last), and -1024 for one that may not, from the
    beginning mark on: `empty_scores` are those before any letter.

    Raises:
        NotCompilable: if there is no construction for it, or the program has no cascade.
    """
    name = program.network.target
    require_published(name)
    if program.cascade is None or program.facts.automaton is None:
        made = program.network.origin.construction
        raise NotCompilable(name, [f"the whole published model is made of set-reset levels; {made} has none"])
    return WHOLE[name](program.cascade, program.facts.automaton).build(dtype)
