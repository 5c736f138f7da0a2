"""Where everything of a network stands on a residual stream, and which block computes it.

Each ReLU unit and each state coordinate has a place of its own. A block adds the states of its layer and
then, by its feed-forward part, units that read them. Everything affine is a form over the places and needs no
place. Units that read units of the same feed-forward part wait for an idle block, whose layer adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nerode.compiler.network import Layer, Network
from nerode.core.errors import NotCompilable
from nerode.models.compiled.carriers.forms import ONE, Form, at, compose


@dataclass(slots=True)
class BlockPlan:
    """One block.

    Attributes:
        layer: the layer of the network that it carries; None for an idle block.
        seen: what the recurrence of that layer reads: its reads, then its units.
        states: the places of its states.
        units: place and form of each ReLU unit that the feed-forward part computes.
    """

    layer: Layer | None = None
    seen: list[Form] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    units: list[tuple[int, Form]] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """All blocks, and where the decoder finds what it reads.

    Attributes:
        network: the network.
        width: number of places.
        embedded: the places that the embedding fills, with the first layer's units among them.
        blocks: the blocks in order.
        reads: what the decoder reads.
    """

    network: Network
    width: int
    embedded: list[tuple[int, Form]]
    blocks: list[BlockPlan]
    reads: list[Form]


def plan_stream(network: Network, architecture: str) -> Plan:
    """Returns the plan of a network whose layers have real states and no exclusive scan.

    Raises:
        NotCompilable: if a layer shows its state before the letter, or has a complex state.
    """
    return _Planner(network, architecture).plan()


class _Planner:
    def __init__(self, network: Network, architecture: str) -> None:
        self.network, self.architecture = network, architecture
        self.width = ONE + 1
        self.found = {name: at(self._place()) for name in network.embedding.directions}
        self.embedded: list[tuple[int, Form]] = []
        self.blocks: list[BlockPlan] = []

    def plan(self) -> Plan:
        for layer in self.network.layers:
            self._require_plain(layer)
            self._add(layer)
        return Plan(
            network=self.network,
            width=self.width,
            embedded=self.embedded,
            blocks=self.blocks,
            reads=[self.found[name] for name in self.network.decoder.reads],
        )

    def _require_plain(self, layer: Layer) -> None:
        reasons = []
        if layer.exposes_previous:
            reasons.append(
                f"layer {layer.name} shows its state before the letter, which no real layer does; compile "
                "with Options(exclusive_scan=False)"
            )
        if reasons:
            raise NotCompilable(self.architecture, reasons)

    def _add(self, layer: Layer) -> None:
        reads = [self.found[name] for name in layer.reads]
        units = self._units(compose(layer.units, reads))
        copies = 2 if layer.complex_state else 1
        block = BlockPlan(layer=layer, seen=[*reads, *units])
        block.states = [self._place() for _ in range(copies * layer.width)]
        self.blocks.append(block)
        inside = [*reads, *map(at, block.states)]
        shown = self._units(compose(layer.readout_units, inside))
        outputs = compose(layer.readout, [*inside, *shown])
        self.found.update(zip(layer.outputs, outputs, strict=True))

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

    def _place(self) -> int:
        self.width += 1
        return self.width - 1
