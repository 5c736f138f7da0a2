"""Automata whose letters turn one cycle of states."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from nerode.languages import Dfa


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclicAction:
    """States as positions on a cycle, letters as steps along it.

    Attributes:
        order: number of states, and length of the cycle.
        positions: the position of each state; the start is 0.
        steps: for each letter how far it goes.
    """

    order: int
    positions: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The state at each position."""
        found = [0] * self.order
        for state, position in enumerate(self.positions):
            found[position] = state
        return tuple(found)


def cyclic_action(dfa: Dfa) -> CyclicAction | None:
    """Returns the cycle that the letters turn, None if they do not generate a cyclic group.

    A cyclic group that takes the start to every state has exactly one element for each state. The first
    letter that reaches all states by itself, if there is one, goes one step.
    """
    words = itertools.chain(
        ((letter,) for letter in range(dfa.num_letters)), map(dfa.access_word, dfa.breadth_first.tolist())
    )
    for word in words:
        images = dfa.action(word).tolist()
        positions = {dfa.start: 0}
        state = images[dfa.start]
        while state not in positions:
            positions[state] = len(positions)
            state = images[state]
        if len(positions) == dfa.num_states and state == dfa.start:
            return _read_off(dfa, tuple(positions[q] for q in range(dfa.num_states)))
    return None


def _read_off(dfa: Dfa, positions: tuple[int, ...]) -> CyclicAction | None:
    n = dfa.num_states
    steps = tuple(positions[q] for q in dfa.transitions[dfa.start].tolist())
    for q, row in enumerate(dfa.transitions.tolist()):
        for letter, target in enumerate(row):
            if positions[target] != (positions[q] + steps[letter]) % n:
                return None
    return CyclicAction(order=n, positions=positions, steps=steps)
