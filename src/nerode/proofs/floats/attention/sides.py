"""The language's side of the closure: an automaton, or a machine whose counters are sums behind means.

The state of a language beside a joint state is a number. Sums behind means are known up to what comparisons
and rules can tell apart: a value between the least and the greatest level, the ends standing for everything
beyond.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from nerode.core import BudgetExceeded
from nerode.languages import START, CounterLanguage, Dfa, Language
from nerode.proofs.floats.attention.records import NotProved

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class LanguageSide(ABC):
    """States of a language, beside those of a decoder."""

    start: int

    levels: tuple[int, ...] = ()
    """What has to be known of a counter: whether it reaches each of these."""

    @abstractmethod
    def advance(self, states: Ints, letters: Ints, before: Ints, moves: Ints) -> Ints:
        """Returns the states after letters.

        Args:
            states: before the letters.
            letters: one for each.
            before: the sums behind means before the letters (rows, sums).
            moves: what is added to them.

        Raises:
            NotProved: if a sum does not move as the counter does that it stands for.
        """

    @abstractmethod
    def expected(self, states: Ints, sums: Ints) -> Mask:
        """Returns what may follow: for each row and letter, then for the end."""

    def begin(self, sums: Ints) -> None:
        """Looks at the sums at the beginning mark."""
        return


class AutomatonSide(LanguageSide):
    """A complete automaton."""

    def __init__(self, dfa: Dfa) -> None:
        self.dfa, self.start = dfa, dfa.start
        self.table = np.hstack([dfa.legal, dfa.accepting[:, None]]).astype(np.bool_)

    def advance(self, states: Ints, letters: Ints, before: Ints, moves: Ints) -> Ints:
        """Returns the states of the automaton."""
        found: Ints = self.dfa.transitions[states, letters].astype(np.int64)
        return found

    def expected(self, states: Ints, sums: Ints) -> Mask:
        """Returns what is legal in each state."""
        return np.asarray(self.table[states], dtype=np.bool_)


class CounterSide(LanguageSide):
    """A counter machine; its states are the last letter, the number of letters at the start, and -1 if dead.

    The value of a counter is a sum behind a mean, the first that has its start value and moves like it.
    """

    levels = (0, 1)

    def __init__(self, language: CounterLanguage) -> None:
        self.machine = language.machine
        self.reads_last = self.machine.reads_last
        self.start = len(self.machine.alphabet)
        self.increments = np.array(self.machine.increments, dtype=np.int64)
        self.columns: list[list[int]] = []
        self.chosen: list[int] = []
        self._answers: dict[tuple[int, ...], list[bool]] = {}

    def begin(self, sums: Ints) -> None:
        """Keeps the sums that may be each counter."""
        at_mark = sums.tolist()
        self.columns = [
            [i for i, value in enumerate(at_mark) if value == start] for start in self.machine.start
        ]
        if not all(self.columns):
            raise NotProved("no mean begins as a counter of the language does")

    def advance(self, states: Ints, letters: Ints, before: Ints, moves: Ints) -> Ints:
        """Returns the last letters, or -1 after a letter that no rule allows."""
        allowed = self.expected(states, before)[np.arange(len(states)), letters]
        wanted = self.increments[letters[allowed]]
        if not self.chosen:
            # The first step, from the state after the mark, tells which sum is which counter.
            alike = [
                (moves == self.increments[letters, j, None]).all(axis=0) for j in range(len(self.columns))
            ]
            fits = [
                [c for c in columns if alike[j][c]] or columns[:1] for j, columns in enumerate(self.columns)
            ]
            self.chosen = [columns[0] for columns in fits]
        wrong = (moves[allowed][:, self.chosen] != wanted).any(axis=0)
        if wrong.any():
            raise NotProved(f"the mean of counter {int(np.argmax(wrong))} moves otherwise than the language")
        return np.where(allowed, letters if self.reads_last else self.start, -1)

    def expected(self, states: Ints, sums: Ints) -> Mask:
        """Returns what the rules allow; nothing where the language is dead."""
        chosen = self.chosen or [columns[0] for columns in self.columns]
        rows = np.hstack([states[:, None], sums[:, chosen]]).tolist()
        return np.array([self._answer(tuple(row)) for row in rows], dtype=np.bool_)

    def _answer(self, row: tuple[int, ...]) -> list[bool]:
        if row not in self._answers:
            state, counters = row[0], row[1:]
            last = START if state == self.start else state
            symbols, end = (frozenset(), False) if state < 0 else self.machine.allowed(last, counters)
            self._answers[row] = [*(a in symbols for a in range(len(self.machine.alphabet))), end]
        return self._answers[row]


def side_of(language: Language | Dfa) -> LanguageSide:
    """Returns the side of a language.

    Raises:
        NotProved: if it is neither regular nor given by a counter machine, or its automaton is too large.
    """
    if isinstance(language, Dfa):
        return AutomatonSide(language)
    if language.regular:
        try:
            return AutomatonSide(language.dfa())
        except BudgetExceeded:
            states = language.num_states()
            raise NotProved(
                f"the closure lists joint states, and the language alone has {states:,}"
                if states
                else "the automaton of the language is too large to list"
            ) from None
    if isinstance(language, CounterLanguage):
        return CounterSide(language)
    raise NotProved("the lemmas are for regular languages and those of counter machines")
