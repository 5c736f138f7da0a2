"""What a level is told, as forms of the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nerode.algebra.cascades import Command
from nerode.compiler.forms import Form, constant, total
from nerode.compiler.layer_builder import Relu
from nerode.compiler.levels.machine import TabledLevel
from nerode.compiler.piecewise import conjunction
from nerode.compiler.tables import decision_table
from nerode.core import Budget, Exact

Indicators = Sequence[Form]
"""For each label of a level a form that is 1 where it has that label, and 0 elsewhere."""


class LevelLabels(NamedTuple):
    """The labels of a level on the stream: after the letter, and before it."""

    new: Indicators
    old: Indicators


class CommandForms:
    """The command of a level: a decision tree over the letter and the old labels of its parents.

    Letters that always tell the level the same are one branch.

    Args:
        level: the level.
        letters: 1 where the current letter is this one.
        parents: the old labels of its parents, in order.
        relu: makes units of the layer.
        budget: bounds the tree.
        guard: literals without which no command counts as given.
    """

    def __init__(
        self,
        level: TabledLevel,
        letters: Indicators,
        parents: Sequence[Indicators],
        relu: Relu,
        budget: Budget,
        guard: Sequence[Form] = (),
    ) -> None:
        kinds = _letter_kinds(level)
        classes = [constant(0)] * (max(kinds.values()) + 1 if kinds else 1)
        for letter, kind in kinds.items():
            classes[kind] = classes[kind] + letters[letter]
        patterns = {(kinds[letter], *labels): command for (letter, *labels), command in level.table.items()}
        sizes = [len(classes), *map(len, parents)]
        table = decision_table(list(patterns), list(patterns.values()), sizes, budget)
        variables: list[Indicators] = [classes, *parents]
        self._otherwise = table.otherwise
        self._always = conjunction(guard, relu)
        self._units = [
            (command, conjunction([*guard, *(variables[i][value] for i, value in literals)], relu))
            for literals, command in table.rows
        ]

    def weigh(self, weight: Callable[[Command], Exact]) -> Form:
        """Returns the weight of the command that is given; 0 where the guard does not hold."""
        default = weight(self._otherwise)
        rows = [unit * (weight(command) - default) for command, unit in self._units]
        return total([self._always * default, *rows])

    def is_given(self, command: Command) -> Form:
        """Returns 1 where this command is given, and 0 elsewhere."""
        return self.weigh(lambda other: int(other == command))


def _letter_kinds(level: TabledLevel) -> dict[int, int]:
    """Numbers the letters so that two have the same number if they always tell the level the same."""
    told: dict[int, dict[tuple[int, ...], Command]] = {}
    for (letter, *labels), command in level.table.items():
        told.setdefault(letter, {})[tuple(labels)] = command
    numbers: dict[frozenset[tuple[tuple[int, ...], Command]], int] = {}
    return {
        letter: numbers.setdefault(frozenset(rows.items()), len(numbers)) for letter, rows in told.items()
    }
