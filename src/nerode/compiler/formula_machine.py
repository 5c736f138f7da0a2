"""A formula of past temporal logic as a machine with one bit for each temporal operator."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from nerode.core import Budget
from nerode.languages import Dfa, distinct_subtrees
from nerode.languages.pastltl import (
    And,
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    PastFormula,
    Since,
    Temporal,
    WeakYesterday,
    Yesterday,
)

Memory = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """What holds at one position of a word.

    Attributes:
        letter: the letter there.
        truth: of every subformula.
        memory: what each temporal subformula keeps for the next position.
        state: of the minimal automaton, after the letter.
    """

    letter: int
    truth: Memory
    memory: Memory
    state: int


class FormulaMachine:
    """The subformulas of a formula, and how their truth moves from one position to the next.

    Attributes:
        nodes: the different subformulas, operands first, the whole last.
        operands: the places of each one's operands.
        temporal: the places of those that begin with a temporal operator.
    """

    def __init__(self, formula: PastFormula) -> None:
        self.alphabet = formula.alphabet
        self.nodes, self.operands = distinct_subtrees(formula.formula)
        self.temporal = [i for i, node in enumerate(self.nodes) if isinstance(node, Temporal)]
        self._place = {node: place for place, node in enumerate(self.temporal)}

    def depth(self, place: int) -> int:
        """Returns how many temporal operators are nested in a subformula."""
        return self._depths[place]

    @functools.cached_property
    def _depths(self) -> list[int]:
        depths: list[int] = []
        for node, below in zip(self.nodes, self.operands, strict=True):
            depths.append(isinstance(node, Temporal) + max((depths[i] for i in below), default=0))
        return depths

    def cone(self, place: int) -> tuple[int, ...]:
        """Returns the temporal subformulas on which the truth of a subformula depends at one position."""
        found: set[int] = set()
        pending = [place]
        while pending:
            current = pending.pop()
            if isinstance(self.nodes[current], Temporal):
                found.add(current)
            else:
                pending.extend(self.operands[current])
        return tuple(sorted(found))

    def initial(self) -> Memory:
        """Returns what is kept before the first letter: "weak yesterday" and "historically" hold there."""
        return tuple(isinstance(self.nodes[i], WeakYesterday | Historically) for i in self.temporal)

    def step(self, memory: Memory, letter: int) -> tuple[Memory, Memory]:
        """Returns the truth of all subformulas at the next position, and what is kept after it."""
        symbol = self.alphabet.symbols[letter]
        truth: list[bool] = []
        kept = list(memory)
        for i, node in enumerate(self.nodes):
            below = [truth[j] for j in self.operands[i]]
            if isinstance(node, Temporal):
                place = self._place[i]
                value, kept[place] = _temporal(node, below, memory[place])
            else:
                value = node.symbol == symbol if isinstance(node, Atom) else _boolean(node, below)
            truth.append(value)
        return tuple(truth), tuple(kept)

    def positions(self, dfa: Dfa, budget: Budget) -> list[Position]:
        """Returns everything that can hold at a position of some word.

        Args:
            dfa: the minimal automaton of the formula.
            budget: `states` bounds what is kept.
        """
        found: dict[tuple[int, Memory], Position] = {}
        states = {self.initial(): dfa.start}
        pending = [self.initial()]
        while pending:
            memory = pending.pop()
            for letter in range(len(self.alphabet)):
                truth, kept = self.step(memory, letter)
                state = int(dfa.transitions[states[memory], letter])
                if kept not in states:
                    states[kept] = state
                    pending.append(kept)
                position = Position(letter, truth, kept, state)
                found.setdefault((letter, truth + kept), position)
            budget.check("states", len(states), states_of_the_formula=len(states))
        return list(found.values())


def _temporal(node: Temporal, below: Sequence[bool], memory: bool) -> tuple[bool, bool]:
    """The truth at this position, and what is kept for the next one."""
    match node:
        case Yesterday() | WeakYesterday():
            return memory, below[0]
        case Once():
            value = memory or below[0]
        case Historically():
            value = memory and below[0]
        case Since():
            value = below[1] or (below[0] and memory)
        case _:
            raise TypeError(f"{type(node).__name__} is not a temporal operator")
    return value, value


def _boolean(node: Formula, below: Sequence[bool]) -> bool:
    match node:
        case Constant(value):
            return value
        case Not():
            return not below[0]
        case And():
            return all(below)
        case Or():
            return any(below)
        case Implies():
            return below[1] or not below[0]
        case Iff():
            return below[0] == below[1]
        case _:
            raise TypeError(f"{type(node).__name__} is not a Boolean operator")
