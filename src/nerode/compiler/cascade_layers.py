"""A cascade of set-reset automata as diagonal layers: one coordinate per bit, gates 0 (or 1/4) and 1.

All levels of one depth share a layer. A level is overwritten where its context says "reset" and held
elsewhere. Later levels need the labels *before* the letter: a layer shows them by its exclusive scan, or, if
it has none, by overwriting with a gate of 1/4, which keeps the label before as the second base-4 digit (one
more coordinate then says whether the current letter wrote).

The lookups of the cascade are conjunctions of labels, one ReLU unit per row. With the exclusive scan the
labels are the state itself, so a lookup is computed in the readout of the layer of its depth; without it the
labels come out of the readout's units, and the lookup is computed one layer later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nerode.algebra.cascades import Cascade, Level, Lookup, Reset, Source
from nerode.compiler.forms import DirectionForm, Relu, conjunction, constant, old_value, top_digit, total
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.network_builder import LayerStack
from nerode.core import Exact, InputError

Labels = dict[tuple[str, int], list[DirectionForm]]
"""The bits of the labels ("old" or "new", level), lowest first, as far as they are known."""


class CascadeLayers:
    """The layers of a cascade, added to an stack.

    Args:
        stack: gets the layers.
        cascade: set-reset levels.
        letter: 1 where the current letter is this one.
    """

    def __init__(self, stack: LayerStack, cascade: Cascade, letter: Callable[[int], DirectionForm]) -> None:
        if any(level.kind != "reset" for level in cascade.levels):
            raise InputError("only cascades of set-reset automata become diagonal layers")
        self.cascade = cascade
        self._assembly = stack
        self._letter = letter
        self._exclusive = stack.request.options.exclusive_scan
        self._retain = stack.request.options.retention
        self._labels: Labels = {}
        self._lookups: dict[int, dict[int, DirectionForm]] = {
            number: self._letter_classes(table)
            for number, table in enumerate(cascade.lookups)
            if cascade.lookup_depth(number) == 0
        }
        for depth, levels in enumerate(cascade.layers, start=1):
            self._add_layer(depth, levels)

    @property
    def knows_state(self) -> bool:
        """Whether the lookups that say the state are on the stream, so that one unit per row decodes it."""
        reads = self.cascade.lookups[self.cascade.state].reads
        return all(s.number in self._lookups for s in reads if s.kind == "lookup")

    def literal(self, source: Source, value: int) -> list[DirectionForm]:
        """Returns literals, each 0 or 1, that say that a source has a value."""
        if source.kind == "letter":
            return [self._letter(value)]
        if source.kind == "lookup":
            return [self._lookups[source.number].get(value, constant(0))]
        bits = self._labels[source.kind, source.number]
        return [bit if value >> i & 1 else 1 - bit for i, bit in enumerate(bits)]

    def weigh(
        self, number: int, weight: Callable[[int], Exact], relu: Relu, guard: Sequence[DirectionForm] = ()
    ) -> DirectionForm:
        """Returns the weight of a lookup's value, one unit for each row that matters.

        Args:
            number: of the lookup.
            weight: of each value.
            relu: makes the units.
            guard: further literals; where one of them is 0, so is the result.
        """
        if number in self._lookups:
            values = self._lookups[number].items()
            return total(
                conjunction([form, *guard], relu) * weight(v) for v, form in values if weight(v) != 0
            )
        table = self.cascade.lookups[number]
        found: list[DirectionForm] = []
        for value, default in enumerate(table.otherwise):
            if weight(default) != 0:
                literals = self.literal(table.reads[0], value) if table.has_selector else []
                found.append(conjunction([*literals, *guard], relu) * weight(default))
        for row in table.rows:
            default = table.otherwise[row.literals[0][1] if table.has_selector else 0]
            difference = weight(row.value) - weight(default)
            literals = [form for i, value in row.literals for form in self.literal(table.reads[i], value)]
            if difference != 0 and constant(0) not in literals:
                found.append(conjunction([*literals, *guard], relu) * difference)
        return total(found)

    def _letter_classes(self, table: Lookup) -> dict[int, DirectionForm]:
        """The values of a lookup that reads the letter alone."""
        found: dict[int, DirectionForm] = {}
        for a in range(self.cascade.num_letters):
            value = table.evaluate([a] * len(table.reads))
            found[value] = found.get(value, constant(0)) + self._letter(a)
        return found

    def _add_layer(self, depth: int, levels: Sequence[int]) -> None:
        builder = self._assembly.layer(f"cascade {depth}", exposes_previous=self._exclusive)
        computed = {} if self._exclusive else self._shown_lookups(depth - 1, builder)
        outside: Labels = {}
        for number in levels:
            outside |= self._add_level(number, builder)
        if self._exclusive:
            computed = self._shown_lookups(depth, builder)
        self._labels |= outside
        self._lookups |= computed
        self._assembly.add(builder)

    def _add_level(self, number: int, builder: LayerBuilder) -> Labels:
        """Adds the coordinates of a level and returns its labels as later layers see them."""
        level = self.cascade.levels[number]

        def resets(bit: int | None = None) -> DirectionForm:
            """Returns 1 where the level is reset, or reset to a label that has this bit."""

            def weight(value: int) -> int:
                command = level.commands[value]
                return int(isinstance(command, Reset) and (bit is None or bool(command.label >> bit & 1)))

            return self.weigh(level.context, weight, builder.relu)

        wrote = resets()
        retain = self._retain
        kept = 0 if self._exclusive else retain
        names = _bit_names(number, level)
        states = [
            builder.coordinate(
                name,
                gate=1 - (1 - kept) * wrote,
                write=resets(i),
                start=level.start >> i & 1,
            )
            for i, name in enumerate(names)
        ]
        if self._exclusive:
            old = [builder.previous(name) for name in names]
            self._labels["new", number], self._labels["old", number] = states, old
            new = states
        else:
            flag = builder.coordinate(f"q{number} written", gate=0, write=wrote)
            old = [old_value(state, flag, builder.readout_relu, retain) for state in states]
            new = [top_digit(state, builder.readout_relu) for state in states]
        return {
            ("new", number): [builder.output(name, form) for name, form in zip(names, new, strict=True)],
            ("old", number): [builder.output(f"{n}'", form) for n, form in zip(names, old, strict=True)],
        }

    def _shown_lookups(self, depth: int, builder: LayerBuilder) -> dict[int, dict[int, DirectionForm]]:
        """Puts the lookups of a depth on the stream that other lookups read."""
        read = {s.number for table in self.cascade.lookups for s in table.reads if s.kind == "lookup"}
        found: dict[int, dict[int, DirectionForm]] = {}
        for number in sorted(read - set(self._lookups)):
            if self.cascade.lookup_depth(number) == depth:
                values = range(self.cascade.lookups[number].num_values)
                found[number] = {v: self._shown_value(number, v, builder) for v in values}
        return found

    def _shown_value(self, number: int, value: int, builder: LayerBuilder) -> DirectionForm:
        is_value = self.weigh(number, lambda v: int(v == value), builder.readout_relu)
        return builder.output(f"c{number}={value}", is_value)


def _bit_names(number: int, level: Level) -> list[str]:
    return [f"q{number}"] if level.bits == 1 else [f"q{number}.{i}" for i in range(level.bits)]
