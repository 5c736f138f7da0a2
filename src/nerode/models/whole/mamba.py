"""The whole Mamba model: blocks of a norm and a mixer on a residual stream, a final norm, a linear head.

Channels are

    unit       T · (literals - …)   D = 1   a conjunction, at this letter or one letter late
    constant   T                    D = 1   makes B and C
    register   T                    D = 0   its step Δ is 0 (holds), 32 (becomes 1) or 64 (becomes 2)

A step is softplus(-1024 + what the units say), so the value that a register takes is in Δ: exp(-Δ · 64) is 0,
and Δ B u is 32 or 64, which C shows as 1 or 2. A level has a register for each label but the start, and in
place of the start one that becomes 1 whenever the level moves. Label v is shown as the difference of the two.
All registers of a level move together, so that the zero state shows the start label. Labels before the letter
are registers of their own, driven by late units.

The convolution has two taps here. `nerode export` writes four, as published, of which two are 0.
"""

from __future__ import annotations

import math

from nerode.algebra.cascades import Level, Source
from nerode.core import Budget
from nerode.languages import Language
from nerode.models.architectures.mamba import Mamba
from nerode.models.model import Model, ModelConfig
from nerode.models.whole.mixers import NEVER, RATE, MixerBlock, T, WholeMixers
from nerode.models.whole.stream import ALWAYS, reset_label, terms_of
from nerode.models.zoo import LayerConfig

FORGETS, SETS = 32.0, 64.0
"""Δ of a register that becomes 1, and 2."""


class WholeMamba(WholeMixers):
    """A star-free language as a whole Mamba model: one block per depth of the cascade, and one that reads it.

    Implements: [GuDao2023]
    """

    architecture = "mamba"

    def __init__(self, language: Language, budget: Budget | None = None) -> None:
        super().__init__(language, budget)
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
                        block.show(place, register, sign)
                        block.show(place, reference, -sign)

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
    for (place, channel), amount in block.shown.items():
        layer.out_proj.weight[place, channel] = unit * amount / (T if channel in block.steps else T * T)
