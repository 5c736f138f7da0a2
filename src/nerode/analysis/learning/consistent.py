"""Automata that agree with every label: the smallest, by a complete search, and one by merging states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.languages import Word

Numbers = npt.NDArray[np.int64]

UNKNOWN = -1
"""The answer of a state, or the target of a move, that no word tells."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MachineTable:
    """A machine that was learned; states are 0 … n-1, the first is 0.

    Attributes:
        moves: the state after each state and letter; UNKNOWN where no word makes the move.
        answers: of each state; UNKNOWN where no word tells.
    """

    moves: Numbers
    answers: Numbers

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.answers)

    @property
    def unseen_moves(self) -> tuple[tuple[int, int], ...]:
        """States and letters of the moves that no word makes."""
        return tuple((int(q), int(a)) for q, a in np.argwhere(self.moves == UNKNOWN))

    @property
    def guesses(self) -> bool:
        """Whether a move or an answer is told by no word."""
        return bool((self.moves == UNKNOWN).any() or (self.answers == UNKNOWN).any())

    def answer(self, word: Word) -> int:
        """Returns the answer after a word; an unknown move stays where it is."""
        state = 0
        for letter in word:
            target = int(self.moves[state, letter])
            state = state if target == UNKNOWN else target
        return int(self.answers[state])


class SearchTimeout(Exception):
    """The search for the smallest automaton has used up its seconds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smallest:
    """The result of a complete search.

    Attributes:
        table: the smallest machine.
        unique: whether it is the only one of its size that agrees, and words tell all its moves and answers.
    """

    table: MachineTable
    unique: bool


def find_smallest(
    known: Mapping[Word, int],
    letters: int,
    *,
    least: int = 1,
    most: int,
    seconds: float,
    accept: Callable[[MachineTable], bool] | None = None,
) -> Smallest | None:
    """Returns the smallest machine that agrees with all answers, None if none has `most` states or fewer.

    Words run until they meet a move that is not chosen. The move at which most words wait is chosen next; a
    new state has the next free number, so that no machine is met twice.

    Args:
        known: answers by word.
        letters: number of letters.
        least: fewest states.
        most: most states.
        seconds: of CPU for the search.
        accept: says of a machine that agrees whether it counts; then uniqueness is not looked for.

    Raises:
        SearchTimeout: if the seconds are used up.
    """
    search = _Search(known, letters, limit=time.process_time() + seconds, accept=accept)
    for states in range(least, most + 1):
        found = search.machines(states)
        if found:
            unique = accept is None and len(found) == 1 and not found[0].guesses
            return Smallest(table=found[0], unique=unique)
    return None


class _Search:
    """The state of a search: all words side by side."""

    def __init__(
        self,
        known: Mapping[Word, int],
        letters: int,
        *,
        limit: float,
        accept: Callable[[MachineTable], bool] | None,
    ) -> None:
        words = sorted(known, key=len)
        self._letters, self._limit, self._accept = letters, limit, accept
        self._labels = np.array([known[word] for word in words], dtype=np.int64)
        self._num_answers = int(self._labels.max(initial=0)) + 1
        self._length = np.array([len(word) for word in words], dtype=np.int64)
        self._text = np.full((len(words), int(self._length.max(initial=0)) + 1), letters, dtype=np.int64)
        for row, word in enumerate(words):
            self._text[row, : len(word)] = word
        self._table, self._found = np.empty((0, 0), np.int64), list[MachineTable]()

    def machines(self, states: int) -> list[MachineTable]:
        """Returns one or two machines of at most so many states that agree with all answers."""
        self._found = []
        # The last column stands behind the end of a word, where no word goes on.
        self._table = np.full((states, self._letters + 1), UNKNOWN, dtype=np.int64)
        rows = len(self._labels)
        self._choose(1, np.zeros(rows, np.int64), np.zeros(rows, np.int64))
        return self._found

    def _choose(self, used: int, state: Numbers, place: Numbers) -> None:
        """Tries all targets of the move at which most words wait."""
        if time.process_time() > self._limit:
            raise SearchTimeout
        answers = self._answers(state, place)
        if answers is None:
            return
        waiting = np.flatnonzero(place < self._length)
        if not len(waiting):
            table = MachineTable(moves=self._table[:used, : self._letters].copy(), answers=answers[:used])
            if self._accept is None or self._accept(table):
                self._found.append(table)
            return
        moves = state[waiting] * self._letters + self._text[waiting, place[waiting]]
        weights = 1.0 / (1 + self._length[waiting] - place[waiting])
        chosen = int(np.bincount(moves, weights=weights).argmax())
        source, letter = divmod(chosen, self._letters)
        own = waiting[moves == chosen]
        for target in range(min(used + 1, len(self._table))):
            self._table[source, letter] = target
            after, reached = state.copy(), place.copy()
            self._advance(after, reached, own)
            self._choose(max(used, target + 1), after, reached)
            if len(self._found) > (self._accept is None):
                break
        self._table[source, letter] = UNKNOWN

    def _advance(self, state: Numbers, place: Numbers, rows: Numbers) -> None:
        """Moves words on until they end or wait."""
        while len(rows):
            target = self._table[state[rows], self._text[rows, place[rows]]]
            moving = target >= 0
            rows = rows[moving]
            state[rows] = target[moving]
            place[rows] += 1
            rows = rows[place[rows] < self._length[rows]]

    def _answers(self, state: Numbers, place: Numbers) -> Numbers | None:
        """The answer of each state, None if words that ended in one state have two."""
        ended = place == self._length
        low = np.full(len(self._table), self._num_answers, dtype=np.int64)
        high = np.full(len(self._table), UNKNOWN, dtype=np.int64)
        np.minimum.at(low, state[ended], self._labels[ended])
        np.maximum.at(high, state[ended], self._labels[ended])
        return None if (low < high).any() else high


def merge_states(known: Mapping[Word, int], letters: int) -> MachineTable:
    """Returns a machine that agrees with all answers, by merging states of the tree of prefixes.

    Implements: [OncinaGarcia1992]. The next state is one step from the earliest settled state. The machine
    need not be the smallest.
    """
    tree, settled = _PrefixTree(known, letters), [0]
    while found := tree.next_move(settled):
        source, letter, state = found
        if not any(tree.merge(target, state, source, letter) for target in settled):
            settled.append(state)
    number = {state: row for row, state in enumerate(settled)} | {UNKNOWN: UNKNOWN}
    moves = [[number[target] for target in tree.moves[state]] for state in settled]
    answers = [tree.answers[state] for state in settled]
    return MachineTable(moves=np.array(moves, dtype=np.int64), answers=np.array(answers, dtype=np.int64))


class _PrefixTree:
    """The prefixes of words as states, some of which are merged."""

    def __init__(self, known: Mapping[Word, int], letters: int) -> None:
        self.moves, self.answers = [[UNKNOWN] * letters], [UNKNOWN]
        for word, answer in sorted(known.items(), key=lambda item: (len(item[0]), item[0])):
            state = 0
            for letter in word:
                if self.moves[state][letter] == UNKNOWN:
                    self.moves[state][letter] = len(self.moves)
                    self.moves.append([UNKNOWN] * letters)
                    self.answers.append(UNKNOWN)
                state = self.moves[state][letter]
            self.answers[state] = answer

    def next_move(self, settled: Sequence[int]) -> tuple[int, int, int] | None:
        """Returns the first move from a settled state to one that is not, with that state; None without."""
        known = {UNKNOWN, *settled}
        for state in settled:
            for letter, target in enumerate(self.moves[state]):
                if target not in known:
                    return state, letter, target
        return None

    def merge(self, target: int, state: int, source: int, letter: int) -> bool:
        """Merges the tree below a state into another state; without effect where two answers differ.

        Args:
            target: the other state.
            state: has a tree below it; nothing but the move from `source` by `letter` leads to it.
            source: of that move.
            letter: of that move.
        """
        undo_moves, undo_answers = [(source, letter, state)], list[int]()
        self.moves[source][letter] = target
        pairs = [(target, state)]
        for own, other in pairs:
            answer = self.answers[other]
            if answer != UNKNOWN:
                if self.answers[own] == UNKNOWN:
                    self.answers[own] = answer
                    undo_answers.append(own)
                elif self.answers[own] != answer:
                    for place, move, before in reversed(undo_moves):
                        self.moves[place][move] = before
                    for place in undo_answers:
                        self.answers[place] = UNKNOWN
                    return False
            for move, after in enumerate(self.moves[other]):
                if after == UNKNOWN:
                    continue
                if self.moves[own][move] == UNKNOWN:
                    self.moves[own][move] = after
                    undo_moves.append((own, move, UNKNOWN))
                else:
                    pairs.append((self.moves[own][move], after))
        return True
