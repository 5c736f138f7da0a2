"""The exact check that a cascade runs an automaton, for words of every length."""

from __future__ import annotations

from collections.abc import Hashable

from nerode.algebra.cascades.lookups import letter
from nerode.algebra.cascades.records import Cascade, Labels
from nerode.algebra.cascades.sweep import LevelSweep
from nerode.core import Budget, BudgetExceeded, NerodeError
from nerode.languages import Dfa, Word

FEW_CONFIGURATIONS = 1_000
"""Configurations to look at before the proof by levels is tried."""

LETTER = letter()


class CascadeMismatch(NerodeError):
    """A cascade that does not run its automaton; `word` is a shortest one on which they differ."""

    def __init__(self, word: Word, expected: int, got: int) -> None:
        self.word = word
        self.expected = expected
        self.got = got
        shown = ", ".join(map(str, word[:40])) + (" …" if len(word) > 40 else "")
        super().__init__(
            f"after the letters ({shown}) the automaton is in {expected}, the cascade says {got}"
        )


def verify_cascade(cascade: Cascade, dfa: Dfa, budget: Budget | None = None) -> str:
    """Returns how it was shown that the cascade is in the automaton's state after every word.

    All configurations that words reach are looked at if they are few. Otherwise the proof goes level by
    level (see `sweep`); only if that fails all configurations are looked at.

    Raises:
        CascadeMismatch: if the cascade says a wrong state somewhere.
        BudgetExceeded: if there are more configurations than `budget.elements`.
    """
    budget = budget or Budget()
    if (reached := _explore(cascade, dfa, budget, FEW_CONFIGURATIONS)) is None:
        if LevelSweep(cascade, dfa, budget, distinct_letters(cascade, dfa)).prove():
            return "closed under every letter, level by level"
        reached = _explore(cascade, dfa, budget, budget.elements)
        if reached is None:
            raise BudgetExceeded("elements", budget.elements)
    return f"all {reached} configurations that words reach"


def _explore(cascade: Cascade, dfa: Dfa, budget: Budget, limit: int) -> int | None:
    """Returns the number of configurations that words reach, all checked; None if they are too many."""
    letters = distinct_letters(cascade, dfa)
    rows = [[(symbol, row[symbol]) for symbol in letters] for row in dfa.transitions.tolist()]
    first = cascade.initial()
    predecessor: dict[Labels, tuple[Labels, int]] = {}
    states = {first: dfa.start}
    queue = [first]
    for position, labels in enumerate(queue):
        if len(queue) > limit:
            return None
        if position % 256 == 0:
            budget.check_time(configurations=len(queue))
        state = states[labels]
        got = cascade.state_of(labels)
        if got != state:
            raise CascadeMismatch(_word(predecessor, labels), state, got)
        for letter, target in rows[state]:
            following = cascade.step(labels, letter)
            if following not in states:
                states[following] = target
                predecessor[following] = (labels, letter)
                queue.append(following)
            elif states[following] != target and (got := cascade.state_of(following)) != target:
                raise CascadeMismatch((*_word(predecessor, labels), letter), target, got)
    return len(queue)


def distinct_letters(cascade: Cascade, dfa: Dfa) -> list[int]:
    """Returns one letter of each kind that automaton and cascade treat alike."""
    tables = [(table, table.reads.index(LETTER)) for table in cascade.lookups if LETTER in table.reads]
    kinds: dict[Hashable, int] = {}
    for symbol in range(dfa.num_letters):
        roles = []
        for table, position in tables:
            default = table.otherwise[symbol] if table.has_selector and position == 0 else None
            mine = frozenset(
                (tuple(pair for pair in row.literals if pair[0] != position), row.value)
                for row in table.rows
                if (position, symbol) in row.literals
            )
            roles.append((default, mine))
        kinds.setdefault((tuple(dfa.transitions[:, symbol].tolist()), tuple(roles)), symbol)
    return list(kinds.values())


def _word(predecessor: dict[Labels, tuple[Labels, int]], labels: Labels) -> Word:
    letters = []
    while labels in predecessor:
        labels, letter = predecessor[labels]
        letters.append(letter)
    return tuple(reversed(letters))
