"""The layers of a machine of levels, depth by depth, and the decoder that reads their labels.

A counter of one reflection per letter is a vector that is mirrored at every step. As in the addition by two
layers of reflections, a turn is a mirror together with a fixed mirror F: at odd positions the vector of a
label is seen in F. A first layer holds the parity of the position.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from nerode.algebra.cascades import Add, Command
from nerode.compiler.forms import DirectionForm, direction
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.level_codings import (
    CommandForms,
    LevelLabels,
    Moves,
    place_register,
    place_sign,
    place_turn,
    plane_mirrors,
    show_labels,
    whole_mirrors,
)
from nerode.compiler.level_machine import LevelMachine, TabledLevel
from nerode.compiler.network_builder import LayerStack, legal_sets
from nerode.compiler.tables import DecisionTable, decision_table, decode_table
from nerode.core import Budget, NotCompilable
from nerode.languages import Legal
from nerode.network import ScoreDecoder

ODD = "odd position"

V = TypeVar("V", bound=Hashable)

Placer = Callable[[LayerBuilder, int, TabledLevel, CommandForms], LevelLabels]
Mover = Callable[[LayerBuilder, int, TabledLevel], tuple[LevelLabels, Moves]]


class MachineLayers:
    """Adds the layers of a machine to a stack.

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
        self,
        stack: LayerStack,
        machine: LevelMachine,
        letters: Sequence[DirectionForm] | None = None,
    ) -> None:
        request = stack.request
        counts = any(level.kind != "reset" for level in machine.levels)
        if counts and not request.options.exclusive_scan and any(level.parents for level in machine.levels):
            reason = "the levels read labels before the letter, which needs layers with an exclusive scan"
            raise NotCompilable(request.target.name, [reason])
        # Registers can keep the label before the letter as a second digit.
        self._exposes_previous = counts or request.options.exclusive_scan
        self.stack = stack
        self.machine = machine
        self.labels: dict[int, LevelLabels] = {}
        self._letters = letters or [stack.letter(a) for a in range(machine.dfa.num_letters)]

    def commands(
        self,
        number: int,
        builder: LayerBuilder,
        guard: Sequence[DirectionForm] = (),
        otherwise: Command | None = None,
    ) -> CommandForms:
        """Returns the command of a level in units of a layer, where the literals of the guard hold."""
        level = self.machine.levels[number]
        parents = [self.labels[parent].old for parent in level.parents]
        budget = self.stack.request.options.budget
        return CommandForms(level, self._letters, parents, builder.relu, budget, guard, otherwise)

    def add_together(self, numbers: list[int], depth: int) -> None:
        """Adds registers, signs and turning numbers as one diagonal layer."""
        if not numbers:
            return
        retain = None if self._exposes_previous else self.stack.request.options.retention
        placers = {number: _placer(self.machine.levels[number], retain) for number in numbers}
        builder = LayerBuilder(
            f"levels of depth {depth}",
            self.stack.stream,
            exposes_previous=self._exposes_previous,
            complex_state=place_turn in placers.values(),
        )
        found = {
            number: place(builder, number, self.machine.levels[number], self.commands(number, builder))
            for number, place in placers.items()
        }
        self.labels |= found
        self.stack.add(builder)

    def add_all(self, numbers: Sequence[int] | None = None) -> None:
        """Adds levels depth by depth, each depth as one diagonal layer; all of them when None."""
        for depth in range(1, self.machine.depth + 1):
            self.add_together([i for i in self.machine.at(depth) if numbers is None or i in numbers], depth)

    def add_alone(self, number: int, place: Mover) -> None:
        """Adds one level as a layer of Householder factors."""
        level = self.machine.levels[number]
        builder = LayerBuilder(f"level {number + 1}", self.stack.stream, exposes_previous=True)
        self.labels[number], moves = place(builder, number, level)
        selection = moves.selection(level, self.commands(number, builder))
        self.stack.append(builder.build(selection=selection), builder.stream)

    def shows(self, level: int, label: int) -> list[DirectionForm]:
        """Returns the literal that says that a level has a label after the letter."""
        return [self.labels[level].new[label]]

    def decoder(self, legal: Sequence[Legal] | None = None) -> ScoreDecoder:
        """Returns the decoder: a decision tree over the labels after the letter.

        Args:
            legal: what is legal in each state of the machine's automaton, if its letters are not those of
                the language.
        """
        legal = legal or legal_sets(self.machine.dfa)
        table = answer_table(self.machine, legal, self.stack.request.options.budget)
        decoder = self.stack.decoder()
        decode_table(decoder, table, self.shows)
        return decoder.build(self.stack.empty())


def answer_table(machine: LevelMachine, answers: Sequence[V], budget: Budget) -> DecisionTable[V]:
    """Returns the answer by the labels after the letter, given the answer in each state."""
    return decision_table(
        list(machine.states),
        [answers[q] for q in machine.states.values()],
        [level.num_labels for level in machine.levels],
        budget,
    )


def _placer(level: TabledLevel, retain: Fraction | None) -> Placer:
    if level.kind == "reset":
        return functools.partial(place_register, retain=retain)
    return place_sign if level.num_labels == 2 else place_turn


def add_position_parity(stack: LayerStack) -> None:
    """Adds the layer h = 1 - h: one reflection per letter, whatever the letter is."""
    builder = LayerBuilder("position", stack.stream)
    builder.output(ODD, builder.coordinate("odd", gate=-1, write=1))
    stack.add(builder)


def add_position_clock(stack: LayerStack, m: int) -> list[DirectionForm]:
    """Adds the position modulo m, one of m bits that move on at every letter, and letters marked with it.

    Returns the marked letters, all marks of the first letter first. In a decoder the bits are position
    vectors.
    """
    builder = LayerBuilder("position", stack.stream)
    turns = [builder.coordinate(f"position={i}", gate=0, write=0, start=int(i == m - 1)) for i in range(m)]
    marked = [
        builder.output(f"x={symbol}@{i}", builder.readout_relu(turns[i] + stack.letter(a) - 1))
        for a, symbol in enumerate(stack.alphabet)
        for i in range(m)
    ]
    shift = [(((i - 1) % m, 1),) for i in range(m)]
    stack.append(builder.build(matrix=shift), builder.stream)
    return marked


def add_mirrors(layers: MachineLayers, number: int) -> None:
    """Adds a counter modulo m, which is never reset, as a layer of single reflections."""
    level = layers.machine.levels[number]
    m = level.num_labels
    whole = whole_mirrors(level.start, m) if layers.stack.request.options.exact_floats else None
    coding = whole or plane_mirrors(level.start, m)
    builder = LayerBuilder(f"level {number + 1}", layers.stack.stream, exposes_previous=True)
    names = [f"h{number + 1}.{i}" for i in range(1, len(coding.start) + 1)]
    now = [
        builder.coordinate(name, gate=1, write=0, start=value)
        for name, value in zip(names, coding.start, strict=True)
    ]
    before = [builder.previous(name) for name in names]
    odd = direction(ODD)

    def labels(vector: list[DirectionForm], odd: DirectionForm) -> list[DirectionForm]:
        return [
            builder.readout_relu(coding.near(vector, label, False) - odd)
            + builder.readout_relu(coding.near(vector, label, True) - (1 - odd))
            for label in range(m)
        ]

    layers.labels[number] = LevelLabels(
        new=show_labels(builder, number, level, labels(now, odd), ""),
        old=show_labels(builder, number, level, labels(before, 1 - odd), "'"),
    )
    factors, choices = [], []
    for parity, sign in ((odd, -1), (1 - odd, 1)):
        commands = layers.commands(number, builder, guard=[parity])
        for command in level.commands:
            amount = command.amount if isinstance(command, Add) else 0
            factors.append((coding.factor(amount, sign),))
            choices.append(commands.is_given(command))
    selection = Selection(factors=factors, writes=((0,) * len(names),) * len(factors), choices=choices)
    layers.stack.append(builder.build(selection=selection), builder.stream)
