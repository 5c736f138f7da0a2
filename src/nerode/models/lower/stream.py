"""The planner: the places of a network on a residual stream, and the block that computes each.

Each ReLU unit and each state coordinate has a place of its own. A block adds the states of its layer and
then, by its feed-forward part, units that read them. Everything affine is a form over the places and needs no
place. Units that read units of the same feed-forward part wait for an idle block, whose layer adds nothing.
A layer that shows its state before the letter is followed by a block whose convolution remembers that state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nerode.core import Exact, NotCompilable, imaginary_part, real_part, to_float
from nerode.models.base import Surroundings
from nerode.models.weight_writer import (
    ONE,
    BlockPlan,
    CellGate,
    CellPlan,
    FixedPlan,
    GatedPlan,
    LayerPlan,
    MatrixPlan,
    MovePlan,
    PermutationPlan,
    PlaceForm,
    ReflectionPlan,
    at,
    combine,
)
from nerode.network import (
    Affine,
    ByChoice,
    ColumnTable,
    FactorTable,
    Fixed,
    Gated,
    GatedCell,
    Interpreter,
    Layer,
    Network,
    NetworkState,
    Recurrence,
    RowTable,
    Squashed,
    relu,
)


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
    embedded: list[tuple[int, PlaceForm]]
    blocks: list[BlockPlan]
    reads: list[PlaceForm]


def plan_stream(network: Network, architecture: str, *, sources: bool = False, delays: bool = False) -> Plan:
    """Returns the plan of a network.

    Args:
        network: the network.
        architecture: for errors.
        sources: whether what layers write has to stand on the stream, for channels that read one place.
        delays: whether a block can remember what stood on the stream one letter before.

    Raises:
        NotCompilable: if a layer shows its state before the letter, and no block can remember it.
    """
    return _Planner(network, architecture, sources, delays).plan()


class _Planner:
    def __init__(self, network: Network, architecture: str, sources: bool, delays: bool) -> None:
        self.network, self.architecture = network, architecture
        self.sources, self.delays = sources, delays
        self.width = ONE + 1
        self.found = {name: at(self._place()) for name in network.embedding.directions}
        self.letters = self._letter_places()
        self.embedded: list[tuple[int, PlaceForm]] = []
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
        seen = [*reads, *self._units(compose(layer.units, reads))]
        copies = 2 if layer.complex_state else 1
        move = plan_move(layer.recurrence, seen, self.letters, updates)
        planned = LayerPlan(
            name=layer.name,
            width=layer.width,
            start=layer.start,
            complex_state=layer.complex_state,
            move=move,
        )
        block = BlockPlan(layer=planned, letters=self.letters)
        if self.sources and isinstance(move, GatedPlan | FixedPlan):
            block.sources = [self._sources(form) for _ in range(copies) for form in move.writes]
        block.states = [self._place() for _ in range(copies * layer.width)]
        self.blocks.append(block)
        inside = [*reads, *map(at, block.states)]
        if layer.exposes_previous:
            inside += self._before(layer, block)
        shown = self._units(compose(layer.readout_units, inside))
        outputs = compose(layer.readout, [*inside, *shown])
        self.found.update(zip(layer.outputs, outputs, strict=True))

    def _before(self, layer: Layer, block: BlockPlan) -> list[PlaceForm]:
        """Adds the block that remembers the states of the last one, as far as the readout reads them."""
        rows = (*layer.readout_units.rows, *layer.readout.rows)
        read = {j - len(layer.reads) - layer.width for row in rows for j, _ in row}
        memory, found = BlockPlan(), []
        for i, (state, start) in enumerate(zip(block.states, layer.start, strict=True)):
            if i not in read:
                found.append(PlaceForm())
                continue
            place = self._place()
            memory.states.append(place)
            memory.late.append(PlaceForm({state: 1}, -start))
            found.append(PlaceForm({place: 1}, start))
        self.blocks.append(memory)
        return found

    def _units(self, forms: list[PlaceForm]) -> list[PlaceForm]:
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

    def _sources(self, form: PlaceForm) -> list[tuple[int, complex]]:
        """Places for the positive and negative parts of a form, and of its imaginary part."""
        found: list[tuple[int, complex]] = []
        for part, direction in ((form.mapped(real_part), 1), (form.mapped(imaginary_part), 1j)):
            if part != PlaceForm():
                units = self._units([part, part.scaled(-1)])
                found += [(next(iter(units[0].terms)), direction), (next(iter(units[1].terms)), -direction)]
        return found

    def _place(self) -> int:
        self.width += 1
        return self.width - 1


def plan_move(
    recurrence: Recurrence,
    seen: Sequence[PlaceForm],
    letters: Sequence[int],
    updates: Sequence[set[tuple[Exact, Exact]]],
) -> MovePlan:
    """Returns a recurrence with its maps as forms over the stream.

    Args:
        recurrence: of a layer of the network.
        seen: what it reads: the reads of the layer, then its units.
        letters: for each letter, the place that is 1 there.
        updates: the pairs (gate, write) that each coordinate was seen to meet.
    """
    kind = recurrence.kind
    match recurrence:
        case Gated(gate=gate, write=write):
            return GatedPlan(
                gates=compose(gate, seen),
                writes=compose(write, seen),
                steps=[[c for _, c in row] for row in gate.rows],
                updates=updates,
                kind=kind,
            )
        case Fixed(matrix=matrix, write=write):
            return FixedPlan(matrix=matrix, writes=compose(write, seen), kind=kind)
        case ByChoice(table=RowTable(matrices=matrices), writes=writes, selector=None):
            return MatrixPlan(matrices=matrices, writes=writes, kind=kind)
        case ByChoice(table=ColumnTable(images=images, diagonals=diagonals), writes=writes):
            return PermutationPlan(images=images, diagonals=diagonals, writes=writes, kind=kind)
        case ByChoice(table=FactorTable(factors=factors), writes=writes, selector=selector):
            return ReflectionPlan(
                chosen=[at(p) for p in letters] if selector is None else compose(selector, seen),
                factors=[[(factor.beta, factor.vector) for factor in choice] for choice in factors],
                writes=writes,
                kind=kind,
            )
        case Squashed(activation=activation, update=update):
            gates = [_cell_gate(update, seen)]
            return CellPlan(cell="elman", gates=gates, activation=activation, kind=kind)
        case GatedCell(cell=cell, gates=maps, cap=cap):
            return CellPlan(cell=cell, gates=[_cell_gate(gate, seen) for gate in maps], cap=cap, kind=kind)
    raise NotCompilable(kind, [f"no architecture here carries the recurrence {kind}"])


def _cell_gate(update: Affine, seen: Sequence[PlaceForm]) -> CellGate:
    """The part of each row that reads the inputs, and the matrix of the state."""
    width, first = update.num_outputs, len(seen)
    recurrent = torch.zeros(width, width, dtype=torch.float64)
    for i, row in enumerate(update.rows):
        for j, c in row:
            if j >= first:
                recurrent[i, j - first] = to_float(c)
    reading = tuple(tuple((j, c) for j, c in row if j < first) for row in update.rows)
    inputs = compose(Affine(num_inputs=first, bias=update.bias, rows=reading), seen)
    return CellGate(inputs=inputs, recurrent=recurrent)


def compose(affine: Affine, inputs: Sequence[PlaceForm]) -> list[PlaceForm]:
    """Returns the rows of a map whose inputs are forms themselves."""
    return [
        combine(((inputs[j], c) for j, c in row), constant)
        for row, constant in zip(affine.rows, affine.bias, strict=True)
    ]


def relu_surroundings(units: int, width: int) -> Surroundings:
    """Returns the residual path of a block, and a feed-forward part if it has units."""
    if not units:
        return Surroundings(residual=True)
    return Surroundings(residual=True, feed_forward="relu", expansion=units / width)


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


Updates = list[list[set[tuple[Exact, Exact]]]]
"""For each layer and each coordinate, the pairs (gate, write) that it meets; none for other recurrences."""

_SHORT, _WALKS, _LENGTH = 60, 3, 60


def find_updates(network: Network, *, seed: int = 0) -> Updates:
    """Returns the gates and writes on all short words and on random walks through legal letters.

    It is a search, not a proof: a pair that only rarer words bring about is not found. What is built on it
    has to be checked against the language.
    """
    finder = _Finder(network)
    if finder.constant:
        return finder.found
    finder.explore(_SHORT)
    for walk in range(_WALKS):
        finder.wander(_LENGTH, np.random.default_rng([seed, walk]))
    return finder.found


class _Finder:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.interpreter = Interpreter(network)
        self.found: Updates = []
        self.seen: list[set[tuple[Exact, ...]]] = [set() for _ in network.layers]
        self.constant = True
        for layer in network.layers:
            rows = layer.recurrence.gate.rows if isinstance(layer.recurrence, Gated) else ()
            self.found.append([set() for _ in rows])
            self.constant = self.constant and not any(rows)

    def explore(self, most: int) -> None:
        """Visits the first configurations, breadth first."""
        start = self.interpreter.start()
        waiting, seen = deque([start]), {start}
        while waiting:
            configuration = waiting.popleft()
            for letter in range(len(self.network.alphabet)):
                self._note_updates(configuration, letter)
                following = self.interpreter.step(configuration, letter)[0]
                if following not in seen and len(seen) < most:
                    seen.add(following)
                    waiting.append(following)

    def wander(self, length: int, random: np.random.Generator) -> None:
        """Visits the configurations along a random word whose letters are legal more often than not."""
        configuration, legal = self.interpreter.start(), self.network.decoder.empty.symbols
        letters = len(self.network.alphabet)
        for _ in range(length):
            letter = int(random.integers(letters))
            if legal and random.random() < 0.9:
                letter = int(random.choice(sorted(legal)))
            self._note_updates(configuration, letter)
            configuration, answer = self.interpreter.step(configuration, letter)
            legal = answer.legal.symbols

    def _note_updates(self, configuration: NetworkState, letter: int) -> None:
        stream = self.interpreter.stream(configuration, letter)
        for layer, found, known_reads in zip(self.network.layers, self.found, self.seen, strict=True):
            reads = tuple(stream[name] for name in layer.reads)
            if isinstance(layer.recurrence, Gated) and reads not in known_reads:
                known_reads.add(reads)
                seen = [*reads, *(relu(v) for v in layer.units(reads))]
                gates, writes = layer.recurrence.gate(seen), layer.recurrence.write(seen)
                for known, gate, write in zip(found, gates, writes, strict=True):
                    known.add((gate, write))
