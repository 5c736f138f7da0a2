"""The whole Mamba-2 model: Mamba's units, registers with a step per head, and a norm inside the mixer.

A head is one channel. The step of a head comes straight from the stream, neither late nor through SiLU, so
the context of a level stands on the stream before the level moves. The value that a register takes is in u:

    register   u = T where the level moves to the label    Δ = 32 where the level moves, else 0    D = 0

exp(-32 · 64) is 0, so a register becomes 0 or 1, or holds. A level has one register for each label but the
start, which is shown where none of them is 1. The labels before the letter are the labels on the stream, read
one letter late in the next block.

The mixer divides its channels by their root mean square before the last map. A constant channel, two where
the channels are no power of four, is so large that the squares of all others vanish beside its square,
however they are added up. So the norm divides by a power of two, which its weights undo.
"""

from __future__ import annotations

import math

from nerode.algebra.cascades import Level, Source
from nerode.models.architectures.mamba2 import Mamba2
from nerode.models.model import Model, ModelConfig
from nerode.models.whole.mixers import NEVER, RATE, MixerBlock, T, WholeMixers
from nerode.models.whole.stream import ALWAYS
from nerode.models.zoo import LayerConfig

MOVES = 32.0
"""Δ of a register that takes a value."""

STORED = MOVES * T * T
"""The state of a register that is 1: Δ B u. It is beyond float16."""

BITS = {False: 13, True: 28}
"""The binary logarithm of the constant over the others, for a channel: by whether the type is float64. Twice
this is more than the bits of the type."""


class WholeMamba2(WholeMixers):
    """A star-free language as a whole Mamba-2 model: up to three blocks per depth of the cascade.

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
            block.show(group.place(label), channel, 1.0)
            block.show(group.place(level.start), channel, -1.0)
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
            _fill_mixer(layer, block, unit)


def _fill_mixer(layer: Mamba2, block: MixerBlock, unit: float) -> None:
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
    for (place, channel), amount in block.shown.items():
        layer.out_proj.weight[place, channel] = unit * amount
