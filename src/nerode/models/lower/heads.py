"""From heads of a compiled network to the weights of an ordinary softmax decoder.

Position 0 is the beginning mark; it carries what each head shows before the first letter. Every number has a
place on the residual stream; what is affine is a form over the places. A block adds what its heads return,
then ReLU units of the stream.

    last      score -gap · hold - slope · distance: one-hot on the latest match, value copied
    once      score -gap · (1 - mark - bit), no slope: k/(k+1) for k matches, and a ramp of that
    previous  by periodic positions: the latest position of the other parity; or softly: score
              -slope · distance, the own value taken off, the rest scaled up

Units of the network are 0 or 1 in exact arithmetic. Here each becomes a ramp from 1/4 to 1/2: it is exactly 0
where it should be, even if what it reads is a little off, and 1 up to rounding.

Softmax gives means, not sums, so a decoder cannot compute ReLU units of a counter. It can compare the counter
with half-integers. An output that is 0 or 1 for every letter and every value of one counter is a sum of such
comparisons (`CounterComparison`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from nerode.core import Exact, NotCompilable, to_float
from nerode.models.architectures.attention import Attention
from nerode.models.config import ModelConfig
from nerode.models.lower.stream import compose, find_updates, relu_surroundings
from nerode.models.model import LayerBlock, Model, finish_model, zero_model
from nerode.models.weight_writer import ONE, BlockPlan, GatedPlan, LayerPlan, PlaceForm, at, combine, set_rows
from nerode.models.zoo import LayerConfig, find_kind
from nerode.network import Affine, AttentionHeads, Layer, Network, ScoreDecoder, relu

_REACH = 6
"""Values of a counter that are tried on both sides of 0, and beyond the last place where a unit bends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterComparison:
    """An output as a function of the letter and one counter.

    Attributes:
        counter: the coordinate that counts.
        base: by letter, the output for very small values.
        steps: by letter, pairs (m, change): the output changes by that much from m - 1 to m.
    """

    counter: int
    base: tuple[int, ...]
    steps: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def same_for_all(self) -> bool:
        """Whether the letter does not matter."""
        return len(set(self.base)) == 1 and len(set(self.steps)) == 1


def counters_read(layer: Layer, output: int, counters: Sequence[int]) -> list[int]:
    """Returns the counters on which an output depends."""
    first = len(layer.reads)
    columns = {j for j, _ in layer.readout.rows[output]}
    plain = layer.readout_units.num_inputs
    for j in [j for j in columns if j >= plain]:
        columns |= {i for i, _ in layer.readout_units.rows[j - plain]}
    return [k for k in counters if first + k in columns]


def compare(network: Network, layer: Layer, output: int, counter: int, target: str) -> CounterComparison:
    """Returns an output of a layer that reads one counter and the letter.

    Raises:
        NotCompilable: if it reads something else, or is not 0 or 1 and constant far from 0.
    """
    place = {name: i for i, name in enumerate(network.embedding.directions)}
    missing = [name for name in layer.reads if name not in place]
    if missing:
        raise NotCompilable(target, [f"layer {layer.name} compares counters where {missing[0]} is read"])
    base, steps = [], []
    reach = _REACH + max((math.ceil(abs(to_float(bias))) for bias in layer.readout_units.bias), default=0)
    for vector in network.embedding.vectors:
        reads = [vector[place[name]] for name in layer.reads]
        found = [_value(layer, reads, output, counter, c) for c in range(-reach, reach + 1)]
        values = [int(v == 1) for v in found]
        if any(v not in (0, 1) for v in found) or values[0] != values[1] or values[-1] != values[-2]:
            raise NotCompilable(target, [f"an output of layer {layer.name} is no comparison of a counter"])
        base.append(values[0])
        changes = [(c, values[i + 1] - values[i]) for i, c in enumerate(range(1 - reach, reach + 1))]
        steps.append(tuple((c, change) for c, change in changes if change))
    return CounterComparison(counter=counter, base=tuple(base), steps=tuple(steps))


def _value(layer: Layer, reads: Sequence[Exact], output: int, counter: int, count: int) -> Exact:
    """The output at a letter for one value of a counter, everything else 0."""
    state: list[Exact] = [0] * (layer.width * (2 if layer.exposes_previous else 1))
    state[counter] = count
    inside = [*reads, *state]
    return layer.readout([*inside, *(relu(v) for v in layer.readout_units(inside))])[output]


TARGETS: dict[str, tuple[str | None, str]] = {
    "transformer-nope": (None, "transformer-nope"),
    "transformer-alibi": (None, "transformer-alibi"),
    "transformer-periodic": (None, "transformer-periodic"),
    "mamba-attention": ("mamba", "transformer-nope"),
    "mamba-attention-periodic": ("mamba", "transformer-periodic"),
}
"""The recurrent layers of each target, if it is a hybrid, and its attention layers."""


def is_decoder(network: Network, architecture: str | None = None) -> bool:
    """Returns whether a network is written as a softmax decoder.

    A network without layers, whose answer is settled by the letter, attends to nothing; as a decoder it has
    one head that adds nothing.

    Args:
        network: what the compiler made.
        architecture: that it is written into; None for its target.
    """
    return network.attends or (not network.layers and (architecture or network.target) in TARGETS)


MARK = 1
"""The place of the stream that is 1 at the beginning mark and 0 at letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDesign:
    """Constants of the scores, by their float format.

    Attributes:
        slope: of heads that look for the latest match, a power of two: exp(-slope) is 0. In heads without a
            slope it is how far below a match the score of another position is.
        gap: what the score of a position that does not match is below.
        soft_slope: of heads that look softly one position back.
        horizon: number of positions up to which means are compared.
        query: the share of the gap that queries carry; weights in float16 cannot hold all of it.
    """

    slope: int
    gap: int
    soft_slope: int
    query: int = 1
    horizon: int = 1 << 24


DESIGNS: dict[torch.dtype, ScoreDesign] = {
    torch.float64: ScoreDesign(slope=1024, gap=1 << 64, soft_slope=16, horizon=1 << 50),
    torch.float32: ScoreDesign(slope=128, gap=1 << 32, soft_slope=6),
    torch.bfloat16: ScoreDesign(slope=128, gap=1 << 32, soft_slope=6),
    torch.float16: ScoreDesign(slope=128, gap=1 << 27, soft_slope=6, query=1 << 15, horizon=1 << 10),
}
"""The constants for each type of weights; scores are in float32 where the weights are in 16 bits."""


@dataclass(slots=True)
class _HeadDraft:
    """One head: products of queries and keys, a slope, and the places of its values."""

    queries: list[PlaceForm]
    keys: list[PlaceForm]
    slope: int
    values: list[tuple[int, PlaceForm]]


@dataclass(slots=True)
class _BlockDraft:
    """One block: its heads or its registers, then ReLU units, each with the places that it is added to."""

    heads: list[_HeadDraft] = field(default_factory=list)
    units: list[tuple[PlaceForm, dict[int, Exact]]] = field(default_factory=list)
    registers: BlockPlan | None = None


def network_to_decoder(network: Network, architecture: str, *, dtype: torch.dtype = torch.float32) -> Model:
    """Returns an ordinary softmax decoder that computes what a network of heads computes.

    Args:
        network: registers if the architecture is a hybrid, then attention; its decoder has scores.
        architecture: one of TARGETS.
        dtype: the type of its weights.

    Raises:
        NotCompilable: if the architecture has not the heads that the network needs.
        InputError: if a weight is beyond the largest number of the type.
    """
    if architecture not in TARGETS:
        raise NotCompilable(
            architecture, [f"it is no model of the zoo; softmax decoders are {', '.join(TARGETS)}"]
        )
    return _Planner(network, architecture, DESIGNS[dtype]).model(dtype)


class _Planner:
    def __init__(self, network: Network, architecture: str, design: ScoreDesign) -> None:
        self.network, self.architecture, self.design = network, architecture, design
        self.recurrent, self.attention = TARGETS[architecture]
        self.writer = None if self.recurrent is None else find_kind(self.recurrent).writer
        self.width = MARK + 1
        self.at_mark: dict[int, Exact] = {ONE: 1, MARK: 1}
        self.blocks: list[_BlockDraft] = []
        self.share = ONE
        self.found: dict[str, PlaceForm] = {}
        for name in network.embedding.directions:
            self.found[name] = at(self._place(0))
        self.parity = [self._place(1), self._place(0)] if self.attention == "transformer-periodic" else []
        self.clocks: list[list[int]] = []
        for layer, updates in zip(network.layers, find_updates(network), strict=True):
            if isinstance(layer.recurrence, AttentionHeads):
                self._add(layer, layer.recurrence)
            elif layer.recurrence.as_gated() is None:
                self._add_clock(layer)
            else:
                self._add_registers(layer, updates)
        decoder = network.decoder
        if not isinstance(decoder, ScoreDecoder):
            raise NotCompilable(architecture, ["the network does not decode by scores"])
        reads = [self.found[name] for name in decoder.reads]
        scores = self._summed(decoder.units, decoder.scores, reads, reads)
        wanted = [int(a in decoder.empty.symbols) for a in range(len(network.alphabet))]
        wanted.append(int(decoder.empty.end))
        if not self.blocks or self.blocks[-1].registers is not None:
            self._attend()
        self.scores = [self._fixed_at_mark(form, value) for form, value in zip(scores, wanted, strict=True)]

    def _place(self, at_mark: Exact) -> int:
        self.at_mark[self.width] = at_mark
        self.width += 1
        return self.width - 1

    def _value_at_mark(self, form: PlaceForm) -> Exact:
        total = form.constant
        for place, c in form.terms.items():
            total = total + c * self.at_mark[place]
        return total

    def _fixed_at_mark(self, form: PlaceForm, value: Exact) -> PlaceForm:
        """The form, changed at the mark so that it has a value there."""
        return form.plus(PlaceForm({MARK: value - self._value_at_mark(form)}))

    def _add_clock(self, layer: Layer) -> None:
        """Adds bits that move on at every letter: position vectors. They are 0 at the mark."""
        m, fixed = layer.width, layer.recurrence.as_fixed()
        shift = tuple((((i - 1) % m, 1),) for i in range(m))
        turns = fixed is not None and fixed.matrix == shift and not any(fixed.write.rows)
        if not self.parity or not turns or layer.start != (*[0] * (m - 1), 1):
            raise NotCompilable(self.architecture, [f"layer {layer.name} is no position vector"])
        places = [self._place(0) for _ in range(m)]
        self.clocks.append(places)
        inside = [*(self.found[name] for name in layer.reads), *map(at, places)]
        outputs = self._summed(layer.readout_units, layer.readout, inside, inside)
        self.found.update(zip(layer.outputs, outputs, strict=True))

    def _add_registers(self, layer: Layer, updates: list[set[tuple[Exact, Exact]]]) -> None:
        """Adds a diagonal layer; at the mark its registers keep what they start with."""
        gated = layer.recurrence.as_gated()
        if self.writer is None or gated is None or layer.complex_state:
            raise NotCompilable(
                self.architecture, [f"layer {layer.name} is not made of attention heads or registers"]
            )
        reads = [self.found[name] for name in layer.reads]
        forms = self._summed(layer.units, _together(gated.gate, gated.write), reads, reads)
        gates, writes = forms[: layer.width], forms[layer.width :]
        for i, (gate, start) in enumerate(zip(gates, layer.start, strict=True)):
            if gated.gate.rows[i]:
                gates[i] = self._fixed_at_mark(gate, 1)
            kept = self._value_at_mark(gates[i]) * start
            writes[i] = self._fixed_at_mark(writes[i], start - kept)
        steps = [[c for _, c in row] for row in gated.gate.rows]
        move = GatedPlan(gates=gates, writes=writes, steps=steps, updates=updates, kind=layer.recurrence.kind)
        planned = LayerPlan(
            name=layer.name, width=layer.width, start=layer.start, complex_state=False, move=move
        )
        states = [self._place(start) for start in layer.start]
        self.blocks.append(_BlockDraft(registers=BlockPlan(layer=planned, states=states)))
        inside = [*reads, *map(at, states)]
        if layer.exposes_previous:
            late = [self._place(0) for _ in states]
            memory = BlockPlan(states=late)
            for state, start in zip(states, layer.start, strict=True):
                memory.late.append(PlaceForm({state: 1}, -start))
            self.blocks.append(_BlockDraft(registers=memory))
            inside += [PlaceForm({place: 1}, start) for place, start in zip(late, layer.start, strict=True)]
        outputs = self._summed(layer.readout_units, layer.readout, inside, inside)
        self.found.update(zip(layer.outputs, outputs, strict=True))

    def _add(self, layer: Layer, heads: AttentionHeads) -> None:
        reads = [self.found[name] for name in layer.reads]
        both = _together(heads.hold, heads.values)
        forms = self._summed(layer.units, both, reads, reads)
        holds = [self._fixed_at_mark(form, 0) for form in forms[: layer.width]]
        values = [
            self._fixed_at_mark(form, start)
            for form, start in zip(forms[layer.width :], layer.start, strict=True)
        ]
        read_before = self._read_states(layer, 1)
        now, before = self._heads(layer, heads, holds, values, read_before)
        inside = [*reads, *now, *(before if layer.exposes_previous else [])]
        counters = [i for i, kind in enumerate(heads.heads) if kind == "mean"]
        read = [counters_read(layer, output, counters) for output in range(len(layer.outputs))]
        plain = [output for output, found in enumerate(read) if not found]
        rows = Affine(
            num_inputs=layer.readout.num_inputs,
            bias=tuple(layer.readout.bias[o] for o in plain),
            rows=tuple(layer.readout.rows[o] for o in plain),
        )
        outputs = self._summed(layer.readout_units, rows, inside, inside)
        self.found.update(zip((layer.outputs[o] for o in plain), outputs, strict=True))
        self._compare_counters(layer, {o: found for o, found in enumerate(read) if found}, now)

    def _read_states(self, layer: Layer, when: int) -> set[int]:
        """The coordinates whose state after (0) or before (1) the letter is read."""
        if when and not layer.exposes_previous:
            return set()
        rows = (*layer.readout_units.rows, *layer.readout.rows)
        first = len(layer.reads) + when * layer.width
        return {j - first for row in rows for j, _ in row if first <= j < first + layer.width}

    def _heads(
        self,
        layer: Layer,
        heads: AttentionHeads,
        holds: list[PlaceForm],
        values: list[PlaceForm],
        read_before: set[int],
    ) -> tuple[list[PlaceForm], list[PlaceForm]]:
        """Adds the heads of a layer; returns what each coordinate is after and before the letter."""
        nothing = PlaceForm()
        now, before = list(values), [nothing] * layer.width
        # What never holds is the value at the position itself; no head has to look for it.
        latest = [i for i, kind in enumerate(heads.heads) if kind == "last" and holds[i] != nothing]
        if latest:
            self._need("alibi", "a head that finds the latest match needs a distance penalty")
            block = self._attend()
            by_hold: dict[tuple[Any, ...], list[int]] = {}
            for i in latest:
                key = (holds[i].constant, *sorted(holds[i].terms.items()))
                by_hold.setdefault(key, []).append(i)
            for members in by_hold.values():
                places = [self._place(layer.start[i]) for i in members]
                block.heads.append(
                    _HeadDraft(
                        queries=[at(ONE).scaled(self.design.query)],
                        keys=[holds[members[0]].scaled(-self.design.gap // self.design.query)],
                        slope=self.design.slope,
                        values=[(place, values[i]) for place, i in zip(places, members, strict=True)],
                    )
                )
                for place, i in zip(places, members, strict=True):
                    now[i] = at(place)
        means = [i for i, kind in enumerate(heads.heads) if kind == "mean"]
        if means:
            self.share = self._place(1)
            places = [self._place(0) for _ in means]
            pairs = zip(places, (values[i] for i in means), strict=True)
            head = _HeadDraft(queries=[], keys=[], slope=0, values=[(self.share, at(MARK)), *pairs])
            self._attend().heads.append(head)
            for place, i in zip(places, means, strict=True):
                now[i] = at(place)
        once = [i for i, kind in enumerate(heads.heads) if kind == "once"]
        if once:
            self._once(layer, once, values, now, before)
        late = [i for i in sorted(read_before) if heads.heads[i] != "once"]
        if late:
            self._previous(late, now, before)
        return now, before

    def _compare_counters(self, layer: Layer, outputs: dict[int, list[int]], now: list[PlaceForm]) -> None:
        """Adds comparisons of means with half-integers over the count, and outputs made of them.

        1 - relu(1 - relu(4N (y - (m - 1/2) z))) is exactly 1 for a counter of m or more and exactly 0 below,
        where y and z are the counter and 1, both divided by the number of positions.
        """
        if not outputs:
            return
        found: dict[int, CounterComparison] = {}
        for output, counters in outputs.items():
            if len(counters) > 1:
                raise NotCompilable(self.architecture, [f"layer {layer.name} compares two counters at once"])
            found[output] = compare(self.network, layer, output, counters[0], self.architecture)
        levels = sorted({(c.counter, m) for c in found.values() for steps in c.steps for m, _ in steps})
        first, second = self.blocks[-1], _BlockDraft()
        self.blocks.append(second)
        reached: dict[tuple[int, int], PlaceForm] = {}
        for counter, m in levels:
            over, below = self._place(0), self._place(0)
            half = Fraction(2 * m - 1, 2)
            form = combine([(now[counter], 1), (at(self.share), -half)]).scaled(4 * self.design.horizon)
            most = 4 * self.design.horizon * (abs(m) + math.ceil(abs(to_float(layer.start[counter]))) + 1)
            first.units.append((form.plus(PlaceForm({MARK: -most})), {over: 1}))
            second.units.append((PlaceForm({over: -1, MARK: -1}, 1), {below: 1}))
            reached[counter, m] = PlaceForm({below: -1}, 1)
        letters = [at(MARK + 1 + a) for a in range(len(self.network.alphabet))]
        block: _BlockDraft | None = None
        for output, comparison in found.items():
            steps = comparison.steps
            if comparison.same_for_all:
                parts = [(reached[comparison.counter, m], change) for m, change in steps[0]]
                self.found[layer.outputs[output]] = combine(parts, comparison.base[0])
                continue
            block = block or self._attend()
            place = self._place(0)
            for letter, rises in zip(letters, steps, strict=True):
                for m, change in rises:
                    both = combine([(letter, 1), (reached[comparison.counter, m], 1)], -1)
                    self._add_ramp(block, both, Fraction(1, 4), 4, {place: change})
            base = zip(letters, comparison.base, strict=True)
            self.found[layer.outputs[output]] = combine([*base, (at(place), 1)])

    def _once(
        self,
        layer: Layer,
        members: list[int],
        values: list[PlaceForm],
        now: list[PlaceForm],
        before: list[PlaceForm],
    ) -> None:
        """Adds heads that average over the matches and the mark, and ramps of what they return."""
        block = self._attend()
        read_now, read_before = self._read_states(layer, 0), self._read_states(layer, 1)
        for i in members:
            place = self._place(0)
            missing = PlaceForm({ONE: -1, MARK: 1}).plus(values[i])
            block.heads.append(
                _HeadDraft(
                    queries=[at(ONE)],
                    keys=[missing.scaled(self.design.slope)],
                    slope=0,
                    values=[(place, values[i])],
                )
            )
            if i in read_now:
                now[i] = self._ramp(block, at(place), Fraction(1, 8), 4)
            if i in read_before:
                strict = combine([(at(place), 1), (values[i], Fraction(-1, 2))])
                before[i] = self._ramp(block, strict, Fraction(1, 24), 12)

    def _previous(self, members: list[int], now: list[PlaceForm], before: list[PlaceForm]) -> None:
        """Adds heads that return what coordinates were one position before."""
        self._need("alibi", "a head that looks one position back needs positions")
        block = self._attend()
        places = [self._place(self._value_at_mark(now[i])) for i in members]
        values = [(place, now[i]) for place, i in zip(places, members, strict=True)]
        if self.parity:
            queries = [at(place) for place in self.parity]
            keys = [at(place).scaled(-4 * self.design.slope) for place in self.parity]
            head = _HeadDraft(queries=queries, keys=keys, slope=self.design.slope, values=values)
            for place, i in zip(places, members, strict=True):
                before[i] = at(place)
        else:
            head = _HeadDraft(queries=[], keys=[], slope=self.design.soft_slope, values=values)
            share, scale = soft_previous(self.design.soft_slope)
            for place, i in zip(places, members, strict=True):
                before[i] = combine([(at(place), scale), (now[i], -share)])
        block.heads.append(head)

    def _need(self, positions: str, reason: str) -> None:
        if self.attention == "transformer-nope":
            raise NotCompilable(self.architecture, [reason])

    def _attend(self) -> _BlockDraft:
        """A block whose heads are still free."""
        self.blocks.append(_BlockDraft())
        return self.blocks[-1]

    def _summed(
        self, units: Affine, rows: Affine, reads: Sequence[PlaceForm], inputs: Sequence[PlaceForm]
    ) -> list[PlaceForm]:
        """The rows of a map of some inputs and of units, each sum of units on a place of its own."""
        plain = len(inputs)
        forms = compose(units, reads)
        found: list[PlaceForm] = []
        sums: dict[tuple[tuple[int, Exact], ...], int] = {}
        for constant, row in zip(rows.bias, rows.rows, strict=True):
            form = combine(((inputs[j], c) for j, c in row if j < plain), constant)
            added = tuple((j - plain, c) for j, c in row if j >= plain)
            if added:
                if added not in sums:
                    sums[added] = self._place(0)
                form = form.plus(at(sums[added]))
            found.append(form)
        if sums:
            block = self._free_units(forms)
            for number, form in enumerate(forms):
                places = {
                    place: dict(added)[number] for added, place in sums.items() if number in dict(added)
                }
                if places:
                    self._add_ramp(block, form, Fraction(1, 4), 4, places)
        return found

    def _free_units(self, forms: Sequence[PlaceForm]) -> _BlockDraft:
        """The block in which units that read these forms may stand."""
        if not self.blocks:
            return self._idle()
        busy = {place for _, places in self.blocks[-1].units for place in places}
        return self._idle() if any(busy & form.terms.keys() for form in forms) else self.blocks[-1]

    def _idle(self) -> _BlockDraft:
        """A block whose layer adds nothing; one of registers as long as no head has been added."""
        if self.writer is None or any(block.registers is None for block in self.blocks):
            return self._attend()
        self.blocks.append(_BlockDraft(registers=BlockPlan()))
        return self.blocks[-1]

    def _ramp(self, block: _BlockDraft, form: PlaceForm, low: Fraction, steepness: int) -> PlaceForm:
        place = self._place(0)
        self._add_ramp(block, form, low, steepness, {place: 1})
        return at(place)

    def _add_ramp(
        self, block: _BlockDraft, form: PlaceForm, low: Fraction, steepness: int, places: dict[int, Exact]
    ) -> None:
        """Adds clip(steepness · (form - low), 0, 1) to places; it is 0 at the mark."""
        rise = form.plus(PlaceForm({}, -low)).scaled(steepness)
        numbers = (*rise.terms.values(), rise.constant)
        most = sum(max(0, math.ceil(to_float(c))) for c in numbers)
        rise = rise.plus(PlaceForm({MARK: -most - 1}))
        block.units.append((rise, places))
        block.units.append((rise.plus(PlaceForm({}, -1)), {place: -c for place, c in places.items()}))

    def model(self, dtype: torch.dtype) -> Model:
        """Returns the decoder."""
        writer = None if self.writer is None else self.writer(str(self.recurrent))
        config = ModelConfig(
            layers=tuple(
                LayerConfig(name=self.attention, settings=_settings(block))
                if block.registers is None or writer is None
                else LayerConfig(
                    name=writer.architecture, settings=writer.settings(block.registers, self.width)
                )
                for block in self.blocks
            ),
            surroundings=tuple(relu_surroundings(len(block.units), self.width) for block in self.blocks),
            outputs=len(self.scores),
            letters=len(self.network.alphabet),
            width=self.width,
            positions="periodic" if self.parity else "none",
            period=self._period,
            beginning=True,
            head_bias=False,
        )
        model = zero_model(config)
        with torch.no_grad():
            self._fill_embedding(model)
            for module, block in zip(model.blocks, self.blocks, strict=True):
                assert isinstance(module, LayerBlock)
                if block.registers is not None and writer is not None:
                    writer.fill(module.layer, block.registers)
                _fill_block(module, block)
            set_rows(model.head, self.scores)  # type: ignore[arg-type]
        return finish_model(model, dtype)

    def _fill_embedding(self, model: Model) -> None:
        table: Tensor = model.embedding.weight  # type: ignore[union-attr, assignment]
        table[:, ONE] = 1
        table[-1, MARK] = 1
        for letter, vector in enumerate(self.network.embedding.vectors):
            for place, value in enumerate(vector, start=MARK + 1):
                table[letter, place] = to_float(value)
        if model.places is None:
            return
        for position in range(self._period):
            model.places.weight[position, self.parity[position % 2]] = 1
            for places in self.clocks:
                model.places.weight[position, places[(position - 1) % len(places)]] = 1
        for places in self.clocks:
            table[-1, places[-1]] = -1

    @property
    def _period(self) -> int:
        """Number of position vectors."""
        return math.lcm(2, *(len(places) for places in self.clocks))


def soft_previous(slope: int) -> tuple[Fraction, Fraction]:
    """Returns the share of the own value and the scale that make a soft head return the previous value.

    Far from the start a head with scores -slope · distance gives the own value the weight 1 - r and the one
    before it r (1 - r), where r = exp(-slope); what is older has weight r² together.
    """
    r = math.exp(-slope)
    scale = round(1 / (r * (1 - r)))
    return Fraction(round(scale * (1 - r) * 256), 256), Fraction(scale)


def _settings(block: _BlockDraft) -> dict[str, Any]:
    heads = max(1, len(block.heads))
    most = max((max(len(h.values), len(h.keys)) for h in block.heads), default=1)
    size = 1
    while size < most:
        size *= 4
    slopes = tuple(float(h.slope) for h in block.heads) or (0.0,)
    settings: dict[str, Any] = {"heads": heads, "size": size, "bias": False}
    return settings | ({"slopes": slopes, "positions": "alibi"} if any(slopes) else {"positions": "nope"})


def _together(first: Affine, second: Affine) -> Affine:
    """The rows of two maps of the same inputs."""
    return Affine(
        num_inputs=first.num_inputs,
        bias=(*first.bias, *second.bias),
        rows=(*first.rows, *second.rows),
    )


def _fill_block(module: LayerBlock, block: _BlockDraft) -> None:
    layer = module.layer
    for number, head in enumerate(block.heads):
        assert isinstance(layer, Attention)
        size, root = layer.size, math.isqrt(layer.size)
        first = number * size
        third = layer.heads * size
        set_rows(layer.read, head.queries, first=first)
        set_rows(layer.read, [key.scaled(root) for key in head.keys], first=third + first)
        set_rows(layer.read, [form for _, form in head.values], first=2 * third + first)
        for j, (place, _) in enumerate(head.values):
            layer.write.weight[place, first + j] = 1
    if module.feed_forward is not None:
        set_rows(module.feed_forward.up, [form for form, _ in block.units])
        for number, (_, places) in enumerate(block.units):
            for place, c in places.items():
                module.feed_forward.down.weight[place, number] = to_float(c)
