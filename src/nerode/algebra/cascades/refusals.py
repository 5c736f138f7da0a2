"""Automata that a kind of cascade cannot run, with the reason."""

from __future__ import annotations

from nerode.algebra.records import CounterWitness, GroupStructure
from nerode.core import InputError
from nerode.languages import Alphabet


class NotCounterFree(InputError):
    """A language that is not star-free: no cascade of set-reset automata runs its automaton.

    Attributes:
        witness: words that show it.
    """

    def __init__(self, witness: CounterWitness, alphabet: Alphabet) -> None:
        self.witness = witness
        super().__init__(
            f"the language is not star-free ({witness.describe(alphabet)}), so no cascade of set-reset "
            "automata runs it; decompose it with groups (decompose_solvable, decompose_general)"
        )


class NotSolvable(InputError):
    """An automaton with a group that no cascade of cyclic counters runs.

    Attributes:
        group: the group that is not solvable.
    """

    def __init__(self, group: GroupStructure) -> None:
        self.group = group
        super().__init__(
            f"the automaton contains the group {group.name} of order {group.order}, which is not solvable, "
            "so no cascade of cyclic counters runs it; decompose_general keeps it as a permutation component"
        )
