"""From the position automaton to the minimal automaton, and what is known when that is too large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import or_

import numpy as np

from nerode.core import Budget, BudgetExceeded
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.exploring import explore
from nerode.languages.minimisation import minimise
from nerode.languages.regex.positions import START, PositionAutomaton

_MASK_BITS = 1 << 28
"""Above this size (32 MB) the table of bit sets gives way to sets of numbers."""

_REVERSED_STATES = 1_000
"""A reversed automaton larger than this is not turned back: its subsets would be slow."""

_BATCH = 64


def minimal_dfa(automaton: PositionAutomaton, alphabet: Alphabet, budget: Budget) -> Dfa:
    """Returns the canonical minimal automaton.

    Raises:
        BudgetExceeded: if there are too many states. It says how many were reached; and, where the
            automaton of the reversed language is small, the size of that one and a lower bound for the
            minimal automaton.
    """
    if automaton.num_states**2 * automaton.num_letters > _MASK_BITS:
        return minimise(_determinise_sparse(automaton, alphabet, budget))
    masks = MaskAutomaton.of_positions(automaton)
    try:
        return minimise(masks.determinised(alphabet, budget))
    except BudgetExceeded as stop:
        if stop.resource != "states":
            raise
        return _through_reversal(masks, alphabet, budget, stop)


def _through_reversal(masks: MaskAutomaton, alphabet: Alphabet, budget: Budget, stop: BudgetExceeded) -> Dfa:
    """Returns the minimal automaton by determinising the reversed language, then its reversal.

    Every subset that the second step reaches is a state of the minimal automaton, so that a stop there
    bounds the minimal automaton from below.

    Implements: [Brzozowski1962]
    """
    try:
        back = minimise(masks.reversed().determinised(alphabet, budget))
    except BudgetExceeded:
        raise stop from None
    known = stop.known_so_far | {"reversed_states": back.num_states}
    if back.num_states <= _REVERSED_STATES:
        try:
            return MaskAutomaton.of_dfa(back).reversed().determinised(alphabet, budget)
        except BudgetExceeded as again:
            known["minimal_states_at_least"] = again.known_so_far["states_reached"]
    raise BudgetExceeded(
        "states",
        budget.states,
        known_so_far=known,
        remedy=f"raise it with --max-states, or ask about the reversed language ({back.num_states} states)",
    ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskAutomaton:
    """A nondeterministic automaton without silent moves; sets of states are bit sets.

    Attributes:
        moves: `moves[p][a]` is the set of states after letter a in state p.
        starts: the initial states.
        accepting: the final states.
    """

    moves: tuple[tuple[int, ...], ...]
    starts: int
    accepting: int

    @classmethod
    def of_positions(cls, automaton: PositionAutomaton) -> MaskAutomaton:
        """Returns the same automaton with every edge spelled out."""
        bundles = []
        for link in automaton.links:
            targets = [0] * automaton.num_letters
            for letters, target in link:
                for letter in _members(letters):
                    targets[letter] |= 1 << target
            bundles.append(tuple(targets))
        nothing = (0,) * automaton.num_letters
        moves = []
        for links in automaton.out:
            row = nothing
            for link_number in links:
                row = tuple(map(or_, row, bundles[link_number]))
            moves.append(row)
        accepting = sum(1 << state for state in automaton.accepting)
        return cls(moves=tuple(moves), starts=1 << START, accepting=accepting)

    @classmethod
    def of_dfa(cls, dfa: Dfa) -> MaskAutomaton:
        """Returns a deterministic automaton as a nondeterministic one."""
        moves = tuple(tuple(1 << target for target in row) for row in dfa.transitions.tolist())
        accepting = sum(1 << q for q in np.flatnonzero(dfa.accepting).tolist())
        return cls(moves=moves, starts=1 << dfa.start, accepting=accepting)

    def reversed(self) -> MaskAutomaton:
        """Returns the automaton of the reversed language."""
        back = [[0] * len(self.moves[0]) for _ in self.moves]
        for source, row in enumerate(self.moves):
            for letter, targets in enumerate(row):
                for target in _members(targets):
                    back[target][letter] |= 1 << source
        return MaskAutomaton(moves=tuple(map(tuple, back)), starts=self.accepting, accepting=self.starts)

    def determinised(self, alphabet: Alphabet, budget: Budget) -> Dfa:
        """Returns the automaton of the reachable subsets, numbered breadth first.

        Implements: [RabinScott1959]
        """
        subsets, table = explore(
            [self.starts], _MaskStep(self.moves), num_letters=len(alphabet), batch=_BATCH, budget=budget
        )
        accepting = np.array([subset & self.accepting != 0 for subset in subsets])
        return Dfa(alphabet=alphabet, transitions=table, start=0, accepting=accepting)


class _MaskStep:
    """The subsets after each letter; the moves of eight states at a time are looked up in a table."""

    def __init__(self, moves: tuple[tuple[int, ...], ...]) -> None:
        self.moves = moves
        self.nothing = (0,) * len(moves[0])
        self.width = (len(moves) + 7) // 8
        self.tables: list[dict[int, tuple[int, ...]]] = [{} for _ in range(self.width)]

    def __call__(self, subsets: list[int]) -> list[int]:
        found: list[int] = []
        for subset in subsets:
            after = self.nothing
            # Looking at every byte of a large set with few members would take longer than the members.
            few = 8 * subset.bit_count() < self.width
            for row in self.rows_one_by_one(subset) if few else self.rows_by_eight(subset):
                after = tuple(map(or_, after, row))
            found += after
        return found

    def rows_one_by_one(self, subset: int) -> list[tuple[int, ...]]:
        return [self.moves[state] for state in _members(subset)]

    def rows_by_eight(self, subset: int) -> list[tuple[int, ...]]:
        return [
            self.tables[place].get(byte) or self.look_up(place, byte)
            for place, byte in enumerate(subset.to_bytes(self.width, "little"))
            if byte
        ]

    def look_up(self, place: int, byte: int) -> tuple[int, ...]:
        row = self.nothing
        for bit in _members(byte):
            row = tuple(map(or_, row, self.moves[8 * place + bit]))
        self.tables[place][byte] = row
        return row


def _determinise_sparse(automaton: PositionAutomaton, alphabet: Alphabet, budget: Budget) -> Dfa:
    """The automaton of the reachable subsets, for automata with very many states."""
    bundles: dict[int, list[tuple[int, list[int]]]] = {}

    def bundle(link: int) -> list[tuple[int, list[int]]]:
        by_letter: dict[int, list[int]] = {}
        for letters, target in automaton.links[link]:
            for letter in _members(letters):
                by_letter.setdefault(letter, []).append(target)
        bundles[link] = list(by_letter.items())
        return bundles[link]

    def successors(subsets: list[frozenset[int]]) -> list[frozenset[int]]:
        found: list[frozenset[int]] = []
        for subset in subsets:
            after: list[set[int]] = [set() for _ in alphabet]
            for link in {link for state in subset for link in automaton.out[state]}:
                for letter, targets in bundles.get(link) or bundle(link):
                    after[letter].update(targets)
            found += map(frozenset, after)
        return found

    subsets, table = explore(
        [frozenset([START])], successors, num_letters=len(alphabet), batch=1, budget=budget
    )
    accepting = np.array([not automaton.accepting.isdisjoint(subset) for subset in subsets])
    return Dfa(alphabet=alphabet, transitions=table, start=0, accepting=accepting)


def _members(mask: int) -> Iterator[int]:
    """The numbers in a bit set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
