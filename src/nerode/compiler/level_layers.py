"""The layers of a machine of levels, depth by depth, and the decoder that reads their labels.

A counter of one reflection per letter is a vector of the plane that is mirrored at every step. As in the
addition by two layers of reflections, a turn is a mirror together with the fixed mirror F that takes the
angle x to π/m - x: at odd positions the vector of a label is seen in F. A first layer holds the parity of the
position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from nerode.algebra.cascades import Add
from nerode.compiler.forms import DirectionForm, direction
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.level_codings import (
    CommandForms,
    LevelLabels,
    Moves,
    mirror_factor,
    nearness,
    place_register,
    place_sign,
    place_turn,
    show_labels,
)
from nerode.compiler.level_machine import LevelMachine, TabledLevel
from nerode.compiler.network_builder import LayerStack, legal_sets
from nerode.compiler.tables import decision_table, decode_table
from nerode.core import NotCompilable, cosine, sine
from nerode.languages import Legal
from nerode.network import ScoreDecoder

ODD = "odd position"

Placer = Callable[[LayerBuilder, int, TabledLevel, CommandForms], LevelLabels]
Mover = Callable[[LayerBuilder, int, TabledLevel], tuple[LevelLabels, Moves]]


class MachineLayers:
    """Adds the layers of a machine to an stack.

    Levels that share a depth share a layer, except where one is added by itself (`add_alone`).

    Args:
        stack: gets the layers.
        machine: the levels.
        letters: 1 where the current letter of the machine's automaton is this one; by default those of the
            language.

    Raises:
        NotCompilable: if a level reads another and the layers may not show their state before the letter.
    """

    def __init__(
        self, stack: LayerStack, machine: LevelMachine, letters: Sequence[DirectionForm] | None = None
    ) -> None:
        request = stack.request
        if not request.options.exclusive_scan and any(level.parents for level in machine.levels):
            reason = "the levels read labels before the letter, which needs layers with an exclusive scan"
            raise NotCompilable(request.target.name, [reason])
        self.stack = stack
        self.machine = machine
        self.labels: dict[int, LevelLabels] = {}
        self._letters = letters or [stack.letter(a) for a in range(machine.dfa.num_letters)]

    def commands(
        self, number: int, builder: LayerBuilder, guard: Sequence[DirectionForm] = ()
    ) -> CommandForms:
        """Returns the command of a level in units of a layer, where the literals of the guard hold."""
        level = self.machine.levels[number]
        parents = [self.labels[parent].old for parent in level.parents]
        budget = self.stack.request.options.budget
        return CommandForms(level, self._letters, parents, builder.relu, budget, guard)

    def add_together(self, numbers: list[int], depth: int) -> None:
        """Adds registers, signs and turning numbers as one diagonal layer."""
        if not numbers:
            return
        placers = {number: _placer(self.machine.levels[number]) for number in numbers}
        builder = LayerBuilder(
            f"levels of depth {depth}",
            self.stack.stream,
            exposes_previous=True,
            complex_state=place_turn in placers.values(),
        )
        found = {
            number: place(builder, number, self.machine.levels[number], self.commands(number, builder))
            for number, place in placers.items()
        }
        self.labels |= found
        self.stack.add(builder)

    def add_alone(self, number: int, place: Mover) -> None:
        """Adds one level as a layer of Householder factors."""
        level = self.machine.levels[number]
        builder = LayerBuilder(f"level {number + 1}", self.stack.stream, exposes_previous=True)
        self.labels[number], moves = place(builder, number, level)
        selection = moves.selection(level, self.commands(number, builder))
        self.stack.append(builder.build(selection=selection), builder.stream)

    def decoder(self, legal: Sequence[Legal] | None = None) -> ScoreDecoder:
        """Returns the decoder: a decision tree over the labels after the letter.

        Args:
            legal: what is legal in each state of the machine's automaton, if its letters are not those of
                the language.
        """
        legal = legal or legal_sets(self.machine.dfa)
        states = self.machine.states
        table = decision_table(
            list(states),
            [legal[q] for q in states.values()],
            [level.num_labels for level in self.machine.levels],
            self.stack.request.options.budget,
        )
        decoder = self.stack.decoder()
        decode_table(decoder, table, lambda level, label: [self.labels[level].new[label]])
        return decoder.build(self.stack.empty())


def _placer(level: TabledLevel) -> Placer:
    if level.kind == "reset":
        return place_register
    return place_sign if level.num_labels == 2 else place_turn


def add_position_parity(stack: LayerStack) -> None:
    """Adds the layer h = 1 - h: one reflection per letter, whatever the letter is."""
    builder = LayerBuilder("position", stack.stream)
    builder.output(ODD, builder.coordinate("odd", gate=-1, write=1))
    stack.add(builder)


def add_mirrors(layers: MachineLayers, number: int) -> None:
    """Adds a counter modulo m, which is never reset, as a layer of single reflections."""
    level = layers.machine.levels[number]
    m = level.num_labels
    builder = LayerBuilder(f"level {number + 1}", layers.stack.stream, exposes_previous=True)
    names = [f"h{number + 1}.{i}" for i in (1, 2)]
    start = (cosine(level.start, m), sine(level.start, m))
    now = [
        builder.coordinate(name, gate=1, write=0, start=value)
        for name, value in zip(names, start, strict=True)
    ]
    before = [builder.previous(name) for name in names]
    odd = direction(ODD)
    layers.labels[number] = LevelLabels(
        new=show_labels(builder, number, level, _labels(builder, now, odd, m), ""),
        old=show_labels(builder, number, level, _labels(builder, before, 1 - odd, m), "'"),
    )
    factors, choices = [], []
    for parity, sign in ((odd, -1), (1 - odd, 1)):
        commands = layers.commands(number, builder, guard=[parity])
        for command in level.commands:
            amount = command.amount if isinstance(command, Add) else 0
            factors.append((mirror_factor(1 + 2 * sign * amount, m),))
            choices.append(commands.is_given(command))
    selection = Selection(factors=factors, writes=((0, 0),) * len(factors), choices=choices)
    layers.stack.append(builder.build(selection=selection), builder.stream)


def _labels(
    builder: LayerBuilder, vector: list[DirectionForm], odd: DirectionForm, m: int
) -> list[DirectionForm]:
    """The labels of a vector: at even positions at label/m of a turn, at odd ones seen in F."""
    x, y = vector
    found = []
    for label in range(m):
        seen = Fraction(label, m)
        mirrored = Fraction(1, 2 * m) - seen
        even = builder.readout_relu(nearness(x, y, seen, m) - odd)
        found.append(even + builder.readout_relu(nearness(x, y, mirrored, m) - (1 - odd)))
    return found
