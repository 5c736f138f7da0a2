"""Where everything of a network stands on a residual stream, and which block computes it.

Each ReLU unit and each state coordinate has a place of its own. A block adds the states of its layer and
then, by its feed-forward part, units that read them. Everything affine is a form over the places and needs no
place. Units that read units of the same feed-forward part wait for an idle block, whose layer adds nothing.
A layer that shows its state before the letter is followed by a block whose convolution remembers that state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from nerode.core import Exact, NotCompilable, imaginary_part, real_part, to_float
from nerode.models.compiled.carriers.forms import ONE, Form, at, compose
from nerode.models.compiled.carriers.updates import find_updates
from nerode.network import Fixed, Gated, Layer, Network


@dataclass(slots=True)
class BlockPlan:
    """One block.

    Attributes:
        layer: the layer of the network that it carries; None for an idle block and for one that remembers.
        seen: what the recurrence of that layer reads: its reads, then its units.
        states: the places of its states, or of what it remembers.
        late: what it remembers: it shows at each letter what these were one letter before, at first 0.
        units: place and form of each ReLU unit that the feed-forward part computes.
        letters: for each letter, the place that is 1 there and 0 elsewhere.
        updates: for each coordinate of a diagonal layer, the pairs (gate, write) that it meets.
        sources: where asked for, what each of `states` has written into it: places of its own, with factors.
    """

    layer: Layer | None = None
    seen: list[Form] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    late: list[Form] = field(default_factory=list)
    units: list[tuple[int, Form]] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)
    updates: list[set[tuple[Exact, Exact]]] = field(default_factory=list)
    sources: list[list[tuple[int, complex]]] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """All blocks, and where the decoder finds what it reads.

    Attributes:
        network: the network.
        width: number of places.
        letters: for each letter, the place that is 1 there and 0 elsewhere; none if no layer reads letters.
        embedded: place and form of the units that the embedding fills in, since they read nothing else.
        blocks: the blocks in order.
        reads: what the decoder reads.
    """

    network: Network
    width: int
    letters: list[int]
    embedded: list[tuple[int, Form]]
    blocks: list[BlockPlan]
    reads: list[Form]


def plan_stream(
    network: Network, architecture: str, *, materialise: bool = False, delays: bool = False
) -> Plan:
    """Returns the plan of a network.

    Args:
        network: the network.
        architecture: for errors.
        materialise: whether what layers write has to stand on the stream, for channels that read one place.
        delays: whether a block can remember what stood on the stream one letter before.

    Raises:
        NotCompilable: if a layer shows its state before the letter, and no block can remember it.
    """
    return _Planner(network, architecture, materialise, delays).plan()


class _Planner:
    def __init__(self, network: Network, architecture: str, materialise: bool, delays: bool) -> None:
        self.network, self.architecture = network, architecture
        self.materialise, self.delays = materialise, delays
        self.width = ONE + 1
        self.found = {name: at(self._place()) for name in network.embedding.directions}
        self.letters = self._letter_places()
        self.embedded: list[tuple[int, Form]] = []
        self.blocks: list[BlockPlan] = []

    def plan(self) -> Plan:
        for layer in self.network.layers:
            self._require_plain(layer)
        for layer, updates in zip(self.network.layers, find_updates(self.network), strict=True):
            self._add(layer, updates)
        return Plan(
            network=self.network,
            width=self.width,
            letters=self.letters,
            embedded=self.embedded,
            blocks=self.blocks,
            reads=[self.found[name] for name in self.network.decoder.reads],
        )

    def _letter_places(self) -> list[int]:
        """The direction of the embedding that stands for each letter, or a place of its own."""
        if all(x.recurrence.num_letters is None and not x.complex_state for x in self.network.layers):
            return []
        vectors = self.network.embedding.vectors
        places = []
        for letter in range(len(vectors)):
            column = [int(i == letter) for i in range(len(vectors))]
            found = [d for d in range(len(vectors[0])) if [v[d] for v in vectors] == column]
            places.append(ONE + 1 + found[0] if found else self._place())
        return places

    def _require_plain(self, layer: Layer) -> None:
        if layer.exposes_previous and (layer.complex_state or not self.delays):
            raise NotCompilable(
                self.architecture,
                [
                    f"layer {layer.name} shows its state before the letter, and this architecture has no "
                    "convolution to remember it; compile with Options(exclusive_scan=False)"
                ],
            )

    def _add(self, layer: Layer, updates: list[set[tuple[Exact, Exact]]]) -> None:
        reads = [self.found[name] for name in layer.reads]
        units = self._units(compose(layer.units, reads))
        copies = 2 if layer.complex_state else 1
        block = BlockPlan(layer=layer, seen=[*reads, *units], letters=self.letters)
        block.updates = updates
        if self.materialise and isinstance(layer.recurrence, Gated | Fixed):
            writes = compose(layer.recurrence.write, block.seen)
            block.sources = [self._sources(form) for _ in range(copies) for form in writes]
        block.states = [self._place() for _ in range(copies * layer.width)]
        self.blocks.append(block)
        inside = [*reads, *map(at, block.states)]
        if layer.exposes_previous:
            inside += self._before(layer, block)
        shown = self._units(compose(layer.readout_units, inside))
        outputs = compose(layer.readout, [*inside, *shown])
        self.found.update(zip(layer.outputs, outputs, strict=True))

    def _before(self, layer: Layer, block: BlockPlan) -> list[Form]:
        """Adds the block that remembers the states of the last one, as far as the readout looks at them."""
        rows = (*layer.readout_units.rows, *layer.readout.rows)
        read = {j - len(layer.reads) - layer.width for row in rows for j, _ in row}
        memory, found = BlockPlan(), []
        for i, (state, start) in enumerate(zip(block.states, layer.start, strict=True)):
            if i not in read:
                found.append(Form())
                continue
            place = self._place()
            memory.states.append(place)
            memory.late.append(Form({state: 1}, -start))
            found.append(Form({place: 1}, start))
        self.blocks.append(memory)
        return found

    def _units(self, forms: list[Form]) -> list[Form]:
        """Gives places to ReLU units, in the last block or, if they read its units, in an idle one."""
        if not forms:
            return []
        if self.blocks:
            busy = {place for place, _ in self.blocks[-1].units}
            if any(not busy.isdisjoint(form.terms) for form in forms):
                self.blocks.append(BlockPlan())
        units = [(self._place(), form) for form in forms]
        (self.blocks[-1].units if self.blocks else self.embedded).extend(units)
        return [at(place) for place, _ in units]

    def _sources(self, form: Form) -> list[tuple[int, complex]]:
        """Places for the positive and negative parts of a form, and of its imaginary part."""
        found: list[tuple[int, complex]] = []
        for part, direction in ((form.mapped(real_part), 1), (form.mapped(imaginary_part), 1j)):
            if part != Form():
                units = self._units([part, part.scaled(-1)])
                found += [(next(iter(units[0].terms)), direction), (next(iter(units[1].terms)), -direction)]
        return found

    def _place(self) -> int:
        self.width += 1
        return self.width - 1


def embedding_table(plan: Plan) -> Tensor:
    """Returns what each letter puts on the stream: 1, its vector, and the units that read nothing else."""
    embedding = plan.network.embedding
    table = torch.zeros(len(embedding.vectors), plan.width, dtype=torch.float64)
    table[:, ONE] = 1
    for letter, vector in enumerate(embedding.vectors):
        for place, value in enumerate(vector, start=ONE + 1):
            table[letter, place] = to_float(value)
    for letter, place in enumerate(plan.letters):
        table[letter, place] = 1
    for place, form in plan.embedded:
        table[:, place] = (table @ form.row(plan.width)).relu()
    return table
