"""The layers of a machine of levels, depth by depth, and the decoder that reads their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nerode.compiler.assembly import Assembly, decode_table, legal_sets
from nerode.compiler.forms import Form
from nerode.compiler.layer_builder import LayerBuilder
from nerode.compiler.levels.codings import Moves, place_register, place_sign, place_turn
from nerode.compiler.levels.commands import CommandForms, LevelLabels
from nerode.compiler.levels.machine import LevelMachine, TabledLevel
from nerode.compiler.tables import decision_table
from nerode.core import NotCompilable
from nerode.languages import Legal
from nerode.network import ScoreDecoder

Placer = Callable[[LayerBuilder, int, TabledLevel, CommandForms], LevelLabels]
Mover = Callable[[LayerBuilder, int, TabledLevel], tuple[LevelLabels, Moves]]


class MachineLayers:
    """Adds the layers of a machine to an assembly.

    Levels that share a depth share a layer, except where one is added by itself (`add_alone`).

    Args:
        assembly: gets the layers.
        machine: the levels.
        letters: 1 where the current letter of the machine's automaton is this one; by default those of the
            language.

    Raises:
        NotCompilable: if a level reads another and the layers may not show their state before the letter.
    """

    def __init__(
        self, assembly: Assembly, machine: LevelMachine, letters: Sequence[Form] | None = None
    ) -> None:
        request = assembly.request
        if not request.options.exclusive_scan and any(level.parents for level in machine.levels):
            reason = "the levels read labels before the letter, which needs layers with an exclusive scan"
            raise NotCompilable(request.target.name, [reason])
        self.assembly = assembly
        self.machine = machine
        self.labels: dict[int, LevelLabels] = {}
        self._letters = letters or [assembly.letter(a) for a in range(machine.dfa.num_letters)]

    def told(self, number: int, builder: LayerBuilder, guard: Sequence[Form] = ()) -> CommandForms:
        """Returns what a level is told, in units of a layer, where the literals of the guard hold."""
        level = self.machine.levels[number]
        parents = [self.labels[parent].old for parent in level.parents]
        budget = self.assembly.request.options.budget
        return CommandForms(level, self._letters, parents, builder.relu, budget, guard)

    def add_together(self, numbers: list[int], depth: int) -> None:
        """Adds registers, signs and turning numbers as one diagonal layer."""
        if not numbers:
            return
        placers = {number: _placer(self.machine.levels[number]) for number in numbers}
        builder = LayerBuilder(
            f"levels of depth {depth}",
            self.assembly.stream,
            exposes_previous=True,
            complex_state=place_turn in placers.values(),
        )
        found = {
            number: place(builder, number, self.machine.levels[number], self.told(number, builder))
            for number, place in placers.items()
        }
        self.labels |= found
        self.assembly.add(builder)

    def add_alone(self, number: int, place: Mover) -> None:
        """Adds one level as a layer of Householder factors."""
        level = self.machine.levels[number]
        builder = LayerBuilder(f"level {number + 1}", self.assembly.stream, exposes_previous=True)
        self.labels[number], moves = place(builder, number, level)
        selection = moves.selection(level, self.told(number, builder))
        self.assembly.append(builder.build(selection=selection), builder.stream)

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
            self.assembly.request.options.budget,
        )
        decoder = self.assembly.decoder()
        decode_table(decoder, table, lambda level, label: [self.labels[level].new[label]])
        return decoder.build(self.assembly.empty())


def _placer(level: TabledLevel) -> Placer:
    if level.kind == "reset":
        return place_register
    return place_sign if level.num_labels == 2 else place_turn
