"""All states that words lead a module to, breadth first; a walk goes on where it stopped.

A module's step is a function on finitely many bit patterns. If the joint states (bits, configuration of the
question) that words reach are all found, and the answer is correct at each, then the module is correct at
every length, whatever its roundings do. If the walk has to stop, it is correct at least up to the last length
whose words have all been read.

Without a question the module's own answers are followed: a letter that it forbids is not read. States may
also be told apart by marks that are coarser than bits, which goes deeper; then nothing is shown but the word
that fails.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from nerode.core import Budget, InputError
from nerode.kernel import Refutation
from nerode.languages import Legal, Question, Word, legal_bits
from nerode.proofs.runner import (
    Answers,
    Layout,
    Numbers,
    QuestionTable,
    Rows,
    Runner,
    from_rows,
    layout_of,
    nan_rows,
    to_rows,
    to_values,
)

BATCH, LARGE_BATCH = 64, 1_024
"""States that are stepped at once; the larger number where a level has that many."""

_CAPACITY = 64
"""States that the tables of a walk hold at first."""

MOST_BYTES = 300_000_000
"""Bytes of all states together, which a walk holds in memory."""

MOST_STATES = 250_000
"""Joint states; the list of more of them would be too long as evidence."""

CALL = 200
"""Row-steps that one call of a module counts for, besides those of its rows."""

Marks = Callable[[Rows], Rows]
WalkEnd = Literal["closed", "wrong", "nan", "full"]


class Walk:
    """The joint states of a module and a question, numbered in the order of their shortest words.

    Args:
        runner: the module.
        question: what it is asked; None to follow the module's own answers.
        batch: how many states are stepped at once, None to choose; a batch is filled up to this size.
        marks: tells states apart, by the rows of their bytes; None for all bits.
        most: joint states, at most.
        every_letter: without a question, whether letters are read that the module forbids.

    Attributes:
        end: "closed" if the states are closed under the letters, "wrong" if a word refutes the module, "nan"
            if a state holds a NaN, "full" if there are too many states, or longer words may not be read; None
            while it can go on.
        length: all words up to this length have been read and answered correctly; -1 if the answer to the
            empty word is wrong.
        refutation: the shortest word on which the module is wrong.
        reason: why it ended, for "nan" and "full"; or that the time is up.
        steps: rows that were stepped, and CALL for every call of the module.

    Raises:
        InputError: if the state grows with the word.
    """

    def __init__(
        self,
        runner: Runner,
        question: Question | None,
        *,
        batch: int | None = None,
        marks: Marks | None = None,
        most: int = MOST_STATES,
        every_letter: bool = False,
    ) -> None:
        self.runner, self.question, self.batch = runner, question, batch
        self._marks = marks or (lambda rows: rows)
        self._places: _Places = (
            _OwnPlaces(runner, every_letter) if question is None else _AskedPlaces(question, runner.empty)
        )
        start = runner.start()
        self.layout = layout_of(start)
        first = to_rows(start, 1)
        self.most = max(1, min(most, MOST_STATES, MOST_BYTES // max(1, first.shape[1])))
        letters = runner.letters
        self._count = 1
        self._rows = np.repeat(first, _CAPACITY, axis=0)
        self._at = np.zeros(_CAPACITY, dtype=np.int64)
        self._parents = np.full((_CAPACITY, 2), -1, dtype=np.int64)
        self._moves = np.full((_CAPACITY, letters), -1, dtype=np.int64)
        self._number = {_keys(self._marks(first), np.zeros(1, dtype=np.int64))[0]: 0}
        self._first, self._last, self._size = 0, 1, 1
        self._pending: tuple[Numbers, Numbers] | None = None
        self.end: WalkEnd | None = None
        self._longest = math.inf if runner.longest is None else runner.longest
        self.length, self.steps = 0, 0
        self.reason = ""
        self.refutation = self._places.wrong_at_start()
        if self.refutation is not None:
            self.end, self.length = "wrong", -1

    def advance(self, steps: int, budget: Budget) -> WalkEnd | None:
        """Goes on for about so many row-steps, or until it ends or the time is up; returns how it ended."""
        limit = self.steps + steps
        while self.end is None and self.steps < limit and budget.left():
            if self._pending is None and self.length >= self._longest:
                self.end = "full"
                self.reason = f"words of up to {self.length:,} letters pass, and no longer one may be read"
                break
            if self._pending is None and self._last - self._first == 1 and self.batch == 1:
                self._follow_chain(limit, budget)
            if self._pending is None:
                self._pending = self._pairs(self._first, self._last)
                self._size = self.batch or (LARGE_BATCH if len(self._pending[0]) >= LARGE_BATCH else BATCH)
            nodes, letters = self._pending
            if len(nodes):
                if not self._step(nodes[: self._size], letters[: self._size]):
                    break
                self._pending = nodes[self._size :], letters[self._size :]
            if not len(self._pending[0]):
                self._pending = None
                self._first, self._last = self._last, self._count
                if self._first == self._last:
                    self.end = "closed"
                else:
                    self.length += 1
        return self.end

    def run(self, budget: Budget) -> WalkEnd | None:
        """Goes on until it ends or the time is up."""
        while self.end is None and budget.left():
            self.advance(1 << 20, budget)
        if self.end is None:
            self.reason = f"the budget of {budget.seconds:,.4g} seconds is used up"
        return self.end

    @property
    def asked(self) -> Question:
        """The question; for a walk that has one."""
        assert self.question is not None
        return self.question

    @property
    def covers(self) -> int | str:
        """The length of the words that are all answered correctly, "all" if the states are closed."""
        return "all" if self.end == "closed" else self.length

    def __len__(self) -> int:
        """The states of the words up to the length."""
        return self._last

    @property
    def rows(self) -> Rows:
        """The bits of the states of the words up to the length."""
        return self._rows[: len(self)].copy()

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The same states as numbers."""
        return to_values(from_rows(self._rows[: len(self)], self.layout), len(self))

    @property
    def places(self) -> Numbers:
        """The configurations of the question at these states, by number; without one, of the answers."""
        return self._at[: len(self)].copy()

    @property
    def moves(self) -> Numbers:
        """For each of these states the numbers after each letter.

        -1 for a letter that is not read, and everywhere for states that only words of the full length reach.
        """
        expanded = self._last if self.end == "closed" else self._first
        moves = np.full((len(self), self.runner.letters), -1, dtype=np.int64)
        moves[:expanded] = self._moves[:expanded]
        return moves

    def answer(self, place: int) -> Answers:
        """Returns the module's own answer with a number; for a walk without a question."""
        assert isinstance(self._places, _OwnPlaces)
        return self._places.answers[place]

    def word(self, node: int) -> Word:
        """Returns a shortest word that leads to a state."""
        word = []
        while node:
            node, letter = self._parents[node].tolist()
            word.append(letter)
        return tuple(reversed(word))

    def _follow_chain(self, limit: int, budget: Budget) -> None:
        """Reads letter after letter where only one is read, as long as states are new.

        Gates that are nearly 1 take ten thousand letters to a fixed point: the state stays as it is in
        between. What ends the chain is left to the next level.
        """
        node = self._first
        state = from_rows(self._rows[node : node + 1], self.layout)
        _, letters = self._pairs(node, node + 1)
        last = min(limit, self.steps + (self._longest - 1 - self.length) * (1 + CALL))
        while len(letters) == 1 and self._count < self.most and self.steps < last and budget.left():
            got, state = self.runner.step(letters, state)
            self.steps += 1 + CALL
            target = self._places.after(self._at[node : node + 1], letters, got)
            row = to_rows(state, 1)
            ends = self._places.are_wrong(target, got)[0] or nan_rows(state, 1)[0]
            if ends or row.shape[1] != self._rows.shape[1]:
                break
            (key,) = _keys(self._marks(row), target)
            if self._number.setdefault(key, self._count) != self._count:
                break
            self._grow(self._count + 1)
            self._rows[self._count], self._at[self._count] = row[0], target[0]
            self._parents[self._count] = node, letters[0]
            self._moves[node, letters[0]] = self._count
            node, self._count = self._count, self._count + 1
            self.length += 1
            _, letters = self._pairs(node, node + 1)
        self._first, self._last = node, node + 1

    def _pairs(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """The states of a level with the letters that are read in them."""
        nodes, letters = np.nonzero(self._places.letters(self._at[first:last]))
        return nodes + first, letters.astype(np.int64)

    def _step(self, nodes: Numbers, letters: Numbers) -> bool:
        """Reads letters in states, in one full batch whose last pair is repeated; False if that ends it."""
        batch, count = self._size, len(nodes)
        fill = np.minimum(np.arange(batch), count - 1)
        answers, after = self.runner.step(letters[fill], from_rows(self._rows[nodes[fill]], self.layout))
        self.steps += batch + CALL
        if layout_of(after) != self.layout:
            raise InputError(
                "the state of this module grows with the word, so that its states never close; only a "
                "bounded state can be proved correct at every length"
            )
        rows, got = to_rows(after, batch)[:count], answers[:count]
        targets = self._places.after(self._at[nodes], letters, got)
        wrong = self._places.are_wrong(targets, got)
        bad = np.flatnonzero(wrong | nan_rows(after, batch)[:count])
        fine = int(bad[0]) if len(bad) else count
        self._add(nodes[:fine], letters[:fine], rows[:fine], targets[:fine])
        if self.end is None and fine < count:
            word = (*self.word(int(nodes[fine])), int(letters[fine]))
            if wrong[fine]:
                self.end = "wrong"
                self.refutation = self._places.refutation(word, int(targets[fine]), got[fine])
            else:
                self.end, self.reason = (
                    "nan",
                    f"after {self._spelt(word)} the state of the module holds a NaN",
                )
        return self.end is None

    def _add(self, nodes: Numbers, letters: Numbers, rows: Rows, targets: Numbers) -> None:
        """Numbers the states that letters lead to; new ones are kept."""
        number, count = self._number, self._count
        found = np.array(
            [number.setdefault(key, len(number)) for key in _keys(self._marks(rows), targets)], dtype=np.int64
        )
        if len(number) > self.most:
            self.end, self.reason = "full", f"there are more than {self.most:,} joint states"
            return
        self._moves[nodes, letters] = found
        new = np.unique(found, return_index=True)[1]
        new = new[found[new] >= count]
        self._grow(len(number))
        self._rows[count : len(number)] = rows[new]
        self._at[count : len(number)] = targets[new]
        self._parents[count : len(number)] = np.stack([nodes[new], letters[new]], axis=1)
        self._count = len(number)

    def _grow(self, states: int) -> None:
        """Doubles the tables until they hold so many states."""
        while states > len(self._rows):
            for name in ("_rows", "_at", "_parents", "_moves"):
                table = getattr(self, name)
                fill = -1 if name == "_moves" else 0
                setattr(self, name, np.concatenate([table, np.full_like(table, fill)]))

    def _spelt(self, word: Word) -> str:
        return " ".join(map(str, word)) if self.question is None else self.question.alphabet.decode(word)


class _Places(ABC):
    """Numbers beside a state of the module, which letters and answers lead through."""

    def wrong_at_start(self) -> Refutation | None:
        """Returns why the answer to the empty word is wrong, if there is one and it is."""
        return None

    @abstractmethod
    def letters(self, places: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which letters are read at each place."""

    @abstractmethod
    def after(self, places: Numbers, letters: Numbers, got: Answers) -> Numbers:
        """Returns the places after one letter each, with the answers that were given there."""

    @abstractmethod
    def are_wrong(self, places: Numbers, got: Answers) -> npt.NDArray[np.bool_]:
        """Returns which answers are wrong."""

    @abstractmethod
    def refutation(self, word: Word, place: int, got: Answers) -> Refutation:
        """Returns the refutation by a word that leads to a place."""


class _AskedPlaces(_Places):
    """The configurations of a question."""

    def __init__(self, question: Question, empty: Legal | None) -> None:
        self._table, self._empty = QuestionTable(question), empty

    def wrong_at_start(self) -> Refutation | None:
        """Returns the refutation by the empty word."""
        return self._table.wrong_at_start(self._empty)

    def letters(self, places: Numbers) -> npt.NDArray[np.bool_]:
        """Returns the letters that the question reads."""
        return self._table.letters(places)

    def after(self, places: Numbers, letters: Numbers, got: Answers) -> Numbers:
        """Returns the configurations after one letter each."""
        return self._table.advance(places, letters)

    def are_wrong(self, places: Numbers, got: Answers) -> npt.NDArray[np.bool_]:
        """Returns which answers are wrong."""
        return self._table.are_wrong(places, got)

    def refutation(self, word: Word, place: int, got: Answers) -> Refutation:
        """Returns the refutation by a word."""
        return self._table.refutation(word, place, got)


class _OwnPlaces(_Places):
    """The module's own answers, numbered; a letter that an answer forbids is not read."""

    def __init__(self, runner: Runner, every_letter: bool) -> None:
        if runner.empty is None:
            raise InputError("the module says nothing about the empty word, so its own answers have no start")
        self._letters, self._every = runner.letters, every_letter
        self.answers = [np.array(legal_bits(runner.empty, runner.letters), dtype=np.int8)]
        self._number = {self.answers[0].tobytes(): 0}

    def letters(self, places: Numbers) -> npt.NDArray[np.bool_]:
        """Returns the letters that the answers allow."""
        table = np.array([answer[: self._letters] == 1 for answer in self.answers]) | self._every
        found: npt.NDArray[np.bool_] = table[places]
        return found

    def after(self, places: Numbers, letters: Numbers, got: Answers) -> Numbers:
        """Returns the numbers of the answers."""
        found = []
        for answer in got:
            key = answer.tobytes()
            if key not in self._number:
                self._number[key] = len(self.answers)
                self.answers.append(answer.copy())
            found.append(self._number[key])
        return np.array(found, dtype=np.int64)

    def are_wrong(self, places: Numbers, got: Answers) -> npt.NDArray[np.bool_]:
        """Returns that none is."""
        return np.zeros(len(places), dtype=np.bool_)

    def refutation(self, word: Word, place: int, got: Answers) -> Refutation:
        """Is never asked for."""
        raise AssertionError("no answer is wrong without a question")


def _keys(rows: Rows, places: Numbers) -> list[bytes]:
    """The marks of joint states, one object of bytes for each."""
    joined = np.concatenate([rows, places[:, None].view(np.uint8)], axis=1)
    found: list[bytes] = np.ascontiguousarray(joined).view(f"V{joined.shape[1]}").ravel().tolist()
    return found


def grid_marks(grid: float, spread: npt.NDArray[np.float64], layout: Layout) -> Marks:
    """Returns marks that round the numbers of a state to multiples of a part of their spread."""

    def marks(rows: Rows) -> Rows:
        values = to_values(from_rows(rows, layout), len(rows))
        cells = np.round(values / (grid * spread)).astype(np.int64)
        return np.ascontiguousarray(cells).view(np.uint8).reshape(len(rows), -1)

    return marks
