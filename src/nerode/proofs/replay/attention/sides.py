"""The language's side of the closure: an automaton, or a machine whose counters are sums behind means.

The state of a language beside a joint state is a number. Sums behind means are known up to what comparisons
and rules can tell apart: a value between the least and the greatest level, the ends standing for everything
beyond.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nerode.core import BudgetExceeded
from nerode.languages import START, CounterLanguage, Dfa, Dyck, Language
from nerode.proofs.replay.attention.records import NotProved

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


_MOST_BITS = 10
"""Values of heads that a bracket may be written to."""

UNKNOWN = 0.5
"""What stands in a joint state for a summary that is 0 or 1."""


class LanguageSide(ABC):
    """States of a language, beside those of a decoder."""

    start: int

    num_levels: int | None = None
    """Number of depths whose contents are covered one by one; None if nothing is forgotten."""

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

    def prepare(self, sums: Sequence[int], forgotten: Sequence[int]) -> None:
        """Keeps the columns of joint states in which sums stand, and those that may be forgotten."""
        return

    def unfold(self, states: Array, letters: Ints) -> tuple[Array, Ints]:
        """Returns joint states and letters with all values of what has to be known at these letters."""
        return states, letters

    def fold(self, after: Array) -> Array:
        """Returns joint states after a step without what may be forgotten.

        Raises:
            NotProved: if what is forgotten could not be unfolded again.
        """
        return after


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


class CountingSide(LanguageSide):
    """A language with counters: each is a sum behind a mean, the first that begins and moves like it.

    Args:
        starts: what each counter begins with.
        increments: what each letter adds to each counter (letters, counters).
    """

    def __init__(self, starts: Sequence[int], increments: Ints) -> None:
        self.starts, self.increments = starts, increments
        self.columns: list[list[int]] = []
        self.chosen: list[int] = []

    def begin(self, sums: Ints) -> None:
        """Keeps the sums that may be each counter."""
        at_mark = sums.tolist()
        self.columns = [[i for i, value in enumerate(at_mark) if value == start] for start in self.starts]
        if not all(self.columns):
            raise NotProved("no mean begins as a counter of the language does")

    def counters(self, sums: Ints) -> Ints:
        """Returns the sums that are the counters; before the first step all that begin so are alike."""
        return sums[:, self.chosen or [columns[0] for columns in self.columns]]

    def follow(self, letters: Ints, allowed: Mask, moves: Ints) -> None:
        """Verifies that sums move as the counters do, as long as letters are allowed.

        Raises:
            NotProved: if one does not.
        """
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


class CounterSide(CountingSide):
    """A counter machine: its state is the last letter, the number of letters at the start, -1 if dead."""

    levels = (0, 1)

    def __init__(self, language: CounterLanguage) -> None:
        self.machine = language.machine
        super().__init__(self.machine.start, np.array(self.machine.increments, dtype=np.int64))
        self.reads_last = self.machine.reads_last
        self.start = len(self.machine.alphabet)
        self._answers: dict[tuple[int, ...], list[bool]] = {}

    def advance(self, states: Ints, letters: Ints, before: Ints, moves: Ints) -> Ints:
        """Returns the last letters, or -1 after a letter that no rule allows."""
        allowed = self.expected(states, before)[np.arange(len(states)), letters]
        self.follow(letters, allowed, moves)
        return np.where(allowed, letters if self.reads_last else self.start, -1)

    def expected(self, states: Ints, sums: Ints) -> Mask:
        """Returns what the rules allow; nothing where the language is dead."""
        rows = np.hstack([states[:, None], self.counters(sums)]).tolist()
        return np.array([self._answer(tuple(row)) for row in rows], dtype=np.bool_)

    def _answer(self, row: tuple[int, ...]) -> list[bool]:
        if row not in self._answers:
            state, counters = row[0], row[1:]
            last = START if state == self.start else state
            symbols, end = (frozenset(), False) if state < 0 else self.machine.allowed(last, counters)
            self._answers[row] = [*(a in symbols for a in range(len(self.machine.alphabet))), end]
        return self._answers[row]


class StackSide(CountingSide):
    """A bounded Dyck language whose stacks are not listed.

    The depth is a counter. For each depth there are columns to which a bracket that opens there is written,
    in a code of its own: they are found at the first such bracket, and verified at all others. So as long as
    a word goes on, the columns of each depth up to the present one hold the bracket that is open there, in
    code. A joint state knows none of them. Before a closing bracket the columns of the top and of what is
    below it are unfolded into all kinds (after an error, those of the top into all bits); all others stand
    for any bits.

    The state of the language is -1 if dead, 0 if alive; within a step it is 1 + top + kinds · below before a
    closing bracket, and 1 + top after a letter (0 for no bracket).
    """

    def __init__(self, language: Dyck) -> None:
        assert language.depth is not None
        self.kinds, self.most = len(language.pairs), language.depth
        opens = np.array([1, -1] * self.kinds, dtype=np.int64)
        super().__init__((0,), opens[:, None])
        self.start, self.levels, self.num_levels = 0, (0, self.most + 1), self.most
        self.places: dict[int, Ints] = {}
        self.codes: dict[int, Array] = {}

    def prepare(self, sums: Sequence[int], forgotten: Sequence[int]) -> None:
        """Keeps the columns."""
        self.sums, self.forgotten = list(sums), np.array(forgotten, dtype=np.int64)

    def unfold(self, states: Array, letters: Ints) -> tuple[Array, Ints]:
        """Returns the rows with all that heads may hold of the topmost depths, before closing brackets."""
        depths, closing = self._depths(states), letters % 2 == 1
        chosen: list[Array] = []
        for row in range(len(states)):
            chosen.append(states[row : row + 1])
            depth = int(depths[row])
            if closing[row] and depth in self.places:
                chosen[-1] = self._closed(states[row], depth)
        count = [len(rows) for rows in chosen]
        return np.concatenate(chosen), np.repeat(letters, count)

    def _closed(self, state: Array, depth: int) -> Array:
        """A joint state before a closing bracket, once for each content that matters.

        Of a word that goes on, all kinds on top and below it; of a dead one all bits on top, since heads that
        remember errors may compare them.
        """
        if state[-1] < 0:
            width = len(self.places[depth])
            found = np.repeat(state[None], 1 << width, axis=0)
            found[:, self.places[depth]] = np.arange(1 << width)[:, None] >> np.arange(width) & 1
            return found
        number = np.arange(self.kinds ** min(depth, 2))
        found = np.repeat(state[None], len(number), axis=0)
        found[:, self.places[depth]] = self.codes[depth][number % self.kinds]
        if depth > 1:
            found[:, self.places[depth - 1]] = self.codes[depth - 1][number // self.kinds]
        found[:, -1] = 1 + number
        return found

    def advance(self, states: Ints, letters: Ints, before: Ints, moves: Ints) -> Ints:
        """Returns the bracket on top, or -1 after one that does not fit."""
        depths = self.counters(before)[:, 0]
        opens, kinds = letters % 2 == 0, letters // 2
        tops, below = (states - 1) % self.kinds, (states - 1) // self.kinds
        fits = (states >= 0) & np.where(opens, depths < self.most, (depths > 0) & (tops == kinds))
        self.follow(letters, fits, moves)
        after = np.where(opens, 1 + kinds, np.where(depths > 1, 1 + below, 0))
        return np.where(fits, after, -1)

    def expected(self, states: Ints, sums: Ints) -> Mask:
        """Returns opening brackets below the bound, the closing one that fits, the end at depth 0."""
        depths, alive = self.counters(sums)[:, 0], states >= 0
        found = np.zeros((len(states), 2 * self.kinds + 1), dtype=np.bool_)
        found[:, 0:-1:2] = (alive & (depths < self.most))[:, None]
        found[:, 1::2] = states[:, None] == 1 + np.arange(self.kinds)
        found[:, -1] = alive & (depths == 0)
        return found

    def fold(self, after: Array) -> Array:
        """Returns joint states without what heads hold, which is verified to be the stack."""
        depths, tops = self._depths(after), after[:, -1].astype(np.int64) - 1
        for depth in np.unique(depths[tops >= 0]).tolist():
            rows = after[(tops >= 0) & (depths == depth)]
            kinds = tops[(tops >= 0) & (depths == depth)]
            if depth not in self.places:
                self._find(depth, rows, kinds)
            if (rows[:, self.places[depth]] != self.codes[depth][kinds]).any():
                raise NotProved(f"heads do not hold the bracket that is open at depth {depth}")
            lower = [c for level in range(1, depth) for c in self.places[level]]
            if (rows[:, lower] != UNKNOWN).any():
                raise NotProved(f"at depth {depth} heads lose a bracket that is open below")
        found = after.copy()
        found[:, self.forgotten] = UNKNOWN
        found[:, -1] = np.minimum(after[:, -1], 0)
        return found

    def _depths(self, states: Array) -> Ints:
        return self.counters(states[:, self.sums].astype(np.int64))[:, 0]

    def _find(self, depth: int, rows: Array, kinds: Ints) -> None:
        """Keeps what is written when a bracket opens for the first time at a depth."""
        if set(kinds.tolist()) != set(range(self.kinds)):
            raise NotProved(f"brackets of some kinds do not open at depth {depth}")
        first = [int(np.flatnonzero(kinds == kind)[0]) for kind in range(self.kinds)]
        held = rows[first][:, self.forgotten]
        written = (held != UNKNOWN).all(axis=0)
        if written.sum() > _MOST_BITS:
            raise NotProved(
                f"a bracket of depth {depth} is written to more than {_MOST_BITS} values of heads"
            )
        self.places[depth] = self.forgotten[written]
        self.codes[depth] = held[:, written]


def side_of(language: Language | Dfa, *, by_depth: bool = False) -> LanguageSide:
    """Returns the side of a language.

    Args:
        language: regular, or of a counter machine.
        by_depth: whether stacks of a bounded Dyck language are covered depth by depth, even if they are few.

    Raises:
        NotProved: if it is neither regular nor given by a counter machine, or its automaton is too large.
    """
    if isinstance(language, Dfa):
        return AutomatonSide(language)
    stacks = StackSide(language) if isinstance(language, Dyck) and language.regular else None
    if stacks is not None and by_depth:
        return stacks
    if language.regular:
        try:
            return AutomatonSide(language.dfa())
        except BudgetExceeded:
            if stacks is not None:
                return stacks
            raise NotProved("the automaton of the language is too large to list") from None
    if isinstance(language, CounterLanguage):
        return CounterSide(language)
    raise NotProved("the lemmas are for regular languages and those of counter machines")
