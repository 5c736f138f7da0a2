"""Models of Mamba's kind on a residual stream: blocks of a norm and a mixer, and nothing between them.

SiLU is ReLU on multiples of T = 128, bit for bit: SiLU(128 k) = 128 k, and SiLU(-128 k) = -0. A channel whose
step is 0 passes D u on, so that it is a unit: a conjunction of literals, at this letter or, by the
convolution, one letter late. Lookups and what may follow are made of units, whatever the mixer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nerode.algebra.cascades import Lookup, Source
from nerode.core import Budget
from nerode.languages import Language
from nerode.models.base import Surroundings
from nerode.models.model import ModelConfig
from nerode.models.whole.stream import Form, Wanted, WholeModel, terms_of
from nerode.models.zoo import LayerConfig

T = 128.0
"""A 1 after in_proj and SiLU, and the gate SiLU(z)."""

NEVER = 1024.0
"""softplus(-NEVER) is 0 in every type."""

RATE = 64.0
"""-A: exp(-32 · 64) is 0 in every type."""


@dataclass(slots=True)
class MixerBlock:
    """One mixer.

    Attributes:
        channels: the form on the stream that each channel reads, and whether it comes one letter late.
        steps: for each register the form of its step.
        shown: (place, channel) → units of the stream.
        known: channels by what they say.
    """

    channels: list[tuple[Form, bool]] = field(default_factory=list)
    steps: dict[int, Form] = field(default_factory=dict)
    shown: dict[tuple[int, int], float] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)

    def channel(self, form: Form, *, late: bool = False) -> int:
        """Adds a channel and returns its number."""
        self.channels.append((form, late))
        return len(self.channels) - 1

    def show(self, place: int, channel: int, amount: float) -> None:
        """Adds a multiple of what a channel says to a place of the stream."""
        self.shown[place, channel] = self.shown.get((place, channel), 0.0) + amount


class WholeMixers(WholeModel):
    """The plan of a model whose blocks are mixers; a subclass plans the levels and writes the mixers."""

    def __init__(self, language: Language, budget: Budget | None = None) -> None:
        self.blocks: list[MixerBlock] = []
        super().__init__(language, budget)
        self.block(1)

    def block(self, number: int) -> MixerBlock:
        """Returns a block by its number, from 1."""
        while len(self.blocks) < number:
            self.blocks.append(MixerBlock())
        return self.blocks[number - 1]

    def unit(
        self, block: MixerBlock, literals: tuple[Wanted, ...], *, late: bool = False, at_mark: bool = False
    ) -> int:
        """Returns the channel of a conjunction, which is never true at the beginning mark unless asked."""
        key = (tuple(sorted(literals)), late, at_mark)
        if key not in block.known:
            form = self.conjunction(literals, at_mark=at_mark)
            block.known[key] = block.channel(form, late=late)
        return block.known[key]

    def add_lookup(self, number: int, lookup: Lookup) -> None:
        """Adds units that move the unit of the group from the default to the value."""
        source, default = Source("lookup", number), lookup.otherwise[0]
        self.ready[source] = self.first_block(lookup)
        group, block = self.group(source, lookup.num_values, default), self.block(self.ready[source])
        for term in terms_of(lookup):
            unit = self.unit(block, term.literals, at_mark=self.defined_at_mark[number])
            for value, factor in term.adds.items():
                block.show(group.place(value), unit, factor)
            block.show(group.place(default), unit, -sum(term.adds.values()))

    def add_reader(self, lookup: Lookup) -> None:
        """Adds a block of units that say what may follow, unless the head can read it from the labels."""
        if self.read_labels(lookup):
            return
        block = self.block(self.first_block(lookup))
        for letter in range(self.letters + 1):
            group = self.group(Source("legal", letter), 2, 0)
            for term in terms_of(lookup):
                amount = self.follows(term, letter)
                if amount:
                    unit = self.unit(block, term.literals, at_mark=True)
                    block.show(group.place(1), unit, amount)
                    block.show(group.place(0), unit, -amount)
            self.head.append({group.place(1): 1.0, group.place(0): -1.0})

    def mixers(self, channels: int, layer: LayerConfig) -> ModelConfig:
        """Returns the published settings around the mixers, which have twice the width in channels."""
        return ModelConfig(
            layers=(layer,) * len(self.blocks),
            surroundings=Surroundings(norm="rms", residual=True),
            letters=self.letters,
            outputs=self.letters + 1,
            width=self.stream_width(-(-channels // 2)),
            beginning=True,
            final_norm="rms",
            head_bias=False,
        )
