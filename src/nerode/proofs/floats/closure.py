"""All float states that words lead a module to, jointly with a question, breadth first and bit for bit.

A module's step is a function on finitely many bit patterns. If the joint states (bits, configuration of the
question) that words reach are all found, and the answer is correct at each, then the module is correct at
every length, whatever its roundings do. If the search has to stop, it is correct at least up to the last
length whose words have all been read. `find_cycle` follows a single input that is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.kernel import Refutation
from nerode.languages import Language, Question, Word, asked_of, legal_bits
from nerode.proofs.floats.runner import (
    Answers,
    Layout,
    Numbers,
    QuestionTable,
    Rows,
    Runner,
    State,
    from_rows,
    layout_of,
    nan_rows,
    to_rows,
)

BATCH, LARGE_BATCH = 64, 1_024
"""States that are stepped at once; the larger number where a level has that many."""

_ROOM = 64
"""States that the tables of a search hold at first."""

MOST_BYTES = 300_000_000
"""Bytes of all states together, which a search holds in memory."""

MOST_STATES = 250_000
"""Joint states; the list of more of them would be too long as evidence."""


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """Result of a search; joint states are numbered in the order of their shortest words.

    Attributes:
        question: what was asked.
        layout: the tensors of a state.
        states: the bits of the module's state, by number.
        moves: for each number the numbers after each letter; -1 for a letter that is not read, and everywhere
            for states that are reached by words of the full `length` only.
        length: "all" if the states are closed under all letters, otherwise the length up to which all words
            have been read and answered rightly.
        refutation: the shortest word on which the module is wrong, one letter longer than `length`.
        reason: why the search stopped; empty if the states are closed or a word refutes.
    """

    question: Question
    layout: Layout
    states: Rows
    moves: Numbers
    length: int | str
    refutation: Refutation | None
    reason: str

    def __len__(self) -> int:
        return len(self.states)


def explore(
    runner: Runner,
    asked: Language | Question,
    *,
    task: str | None = None,
    batch: int | None = None,
    budget: Budget | None = None,
) -> Exploration:
    """Returns the joint states of a module and a question, as far as the budget allows.

    Args:
        runner: the module.
        asked: the question, or a language that is asked about by a task.
        task: of the claim that is looked for; None for the question as it is.
        batch: how many states are stepped at once, None to choose; a batch is filled up to this size.
        budget: limits the joint states (`elements`) and the time.

    Raises:
        InputError: if the state grows with the word.
    """
    return _Search(runner, asked_of(asked, task), batch, started(budget)).run()


class _Search:
    def __init__(
        self,
        runner: Runner,
        question: Question,
        batch: int | None,
        budget: Budget,
    ) -> None:
        self.runner = runner
        self.question = question
        self.batch = batch
        self.budget = budget
        self.letters = len(question.alphabet)
        start = runner.start()
        self.layout = layout_of(start)
        first = to_rows(start, 1)
        self.most = max(1, min(budget.elements, MOST_STATES, MOST_BYTES // max(1, first.shape[1])))
        self.known = QuestionTable(question)
        self.count = 1
        self.rows = np.repeat(first, _ROOM, axis=0)
        self.configurations = np.zeros(_ROOM, dtype=np.int64)
        self.parents = np.full((_ROOM, 2), -1, dtype=np.int64)
        self.moves = np.full((_ROOM, self.letters), -1, dtype=np.int64)
        self.number = {_keys(first, np.zeros(1, dtype=np.int64))[0]: 0}
        self.refutation: Refutation | None = None
        self.reason = ""

    def run(self) -> Exploration:
        """Searches level by level."""
        if self.runner.empty is not None:
            got = np.array(legal_bits(self.runner.empty, self.letters), dtype=np.int8)
            if self.known.are_wrong(np.array([0]), got[None, :])[0]:
                self.refutation = self.known.refutation((), 0, got)
        length, first, last = 0, 0, 1
        while first < last and self.refutation is None:
            if last - first == 1 and self.batch == 1:
                length += self._follow(first)
                first, last = self.count - 1, self.count
            if not self._expand(first, last):
                return self._result(last, expanded=first, length=length)
            first, last = last, self.count
            length += 1
        if self.refutation is not None:
            return self._result(1, expanded=0, length=-1)
        return self._result(last, expanded=last, length="all")

    def _follow(self, node: int) -> int:
        """Reads letter after letter where only one may follow; returns how many, all to new states.

        Gates that are nearly 1 take ten thousand letters to a fixed point: the state stays as it is in
        between. What ends the chain is left to the search.
        """
        begin = node
        state = from_rows(self.rows[node : node + 1], self.layout)
        _, letters = self._pairs(node, node + 1)
        while len(letters) == 1 and self.count < self.most and self.budget.left():
            got, state = self.runner.step(letters, state)
            target = self.known.advance(self.configurations[node : node + 1], letters)
            if self.known.are_wrong(target, got)[0] or nan_rows(state, 1)[0]:
                break
            row = to_rows(state, 1)
            (key,) = _keys(row, target)
            if row.shape[1] != self.rows.shape[1] or self.number.setdefault(key, self.count) != self.count:
                break
            self._make_room(self.count + 1)
            self.rows[self.count], self.configurations[self.count] = row[0], target[0]
            self.parents[self.count] = node, letters[0]
            self.moves[node, letters[0]] = self.count
            node, self.count = self.count, self.count + 1
            _, letters = self._pairs(node, node + 1)
        return node - begin

    def _expand(self, first: int, last: int) -> bool:
        """Reads every letter in the states of one level; False if it had to stop."""
        nodes, letters = self._pairs(first, last)
        batch = self.batch or (LARGE_BATCH if len(nodes) >= LARGE_BATCH else BATCH)
        for begin in range(0, len(nodes), batch):
            part = slice(begin, begin + batch)
            if not self._step(nodes[part], letters[part], batch):
                return False
            try:
                self.budget.check_time()
            except BudgetExceeded as stop:
                self.reason = f"the budget of {stop.limit:,.4g} seconds is used up"
                return False
        return True

    def _pairs(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """The states of a level with the letters that are read in them."""
        nodes, letters = np.nonzero(self.known.letters(self.configurations[first:last]))
        return nodes + first, letters.astype(np.int64)

    def _step(self, nodes: Numbers, letters: Numbers, batch: int) -> bool:
        answers, after = self._run(nodes, letters, batch)
        if layout_of(after) != self.layout:
            raise InputError(
                "the state of this module grows with the word, so that its states never close; only a "
                "bounded state can be proved correct at every length"
            )
        rows, nans = to_rows(after, batch)[: len(nodes)], nan_rows(after, batch)
        targets = self.known.advance(self.configurations[nodes], letters)
        got = answers[: len(nodes)]
        bad = np.flatnonzero(self.known.are_wrong(targets, got) | nans[: len(nodes)])
        fine = int(bad[0]) if len(bad) else len(nodes)
        number, count = self.number, self.count
        found = [number.setdefault(key, len(number)) for key in _keys(rows[:fine], targets[:fine])]
        self.moves[nodes[:fine], letters[:fine]] = found
        new = np.unique(found, return_index=True)[1]
        new = new[np.asarray(found)[new] >= count] if fine else new
        if len(number) > self.most:
            self.reason = f"there are more than {self.most:,} joint states"
            return False
        self._make_room(len(number))
        self.rows[count : len(number)] = rows[new]
        self.configurations[count : len(number)] = targets[new]
        self.parents[count : len(number)] = np.stack([nodes[new], letters[new]], axis=1)
        self.count = len(number)
        if fine < len(nodes):
            word = (*self._word(int(nodes[fine])), int(letters[fine]))
            self._stop(word, int(targets[fine]), got[fine])
        return fine == len(nodes)

    def _make_room(self, states: int) -> None:
        """Doubles the tables until they hold so many states."""
        while states > len(self.rows):
            for name in ("rows", "configurations", "parents", "moves"):
                table = getattr(self, name)
                fill = -1 if name == "moves" else 0
                setattr(self, name, np.concatenate([table, np.full_like(table, fill)]))

    def _stop(self, word: Word, number: int, got: Answers) -> None:
        """Notes why a word ends the search: a wrong answer, or a state that is no number."""
        if self.known.are_wrong(np.array([number]), got[None, :])[0]:
            self.refutation = self.known.refutation(word, number, got)
            return
        self.reason = f"after {self.question.alphabet.decode(word)} the state of the module holds a NaN"

    def _run(self, nodes: Numbers, letters: Numbers, batch: int) -> tuple[Answers, State]:
        """One step of a full batch, the last pair repeated."""
        fill = np.minimum(np.arange(batch), len(nodes) - 1)
        state = from_rows(self.rows[nodes[fill]], self.layout)
        return self.runner.step(letters[fill], state)

    def _word(self, node: int) -> Word:
        word = []
        while node:
            node, letter = self.parents[node].tolist()
            word.append(letter)
        return tuple(reversed(word))

    def _result(self, states: int, *, expanded: int, length: int | str) -> Exploration:
        """The first states; only the expanded ones have moves."""
        moves = np.full((states, self.letters), -1, dtype=np.int64)
        moves[:expanded] = self.moves[:expanded]
        return Exploration(
            question=self.question,
            layout=self.layout,
            states=self.rows[:states].copy(),
            moves=moves,
            length=length,
            refutation=self.refutation,
            reason=self.reason,
        )


def _keys(rows: Rows, configurations: Numbers) -> list[bytes]:
    """The bits of joint states, one object of bytes for each."""
    joined = np.concatenate([rows, configurations[:, None].view(np.uint8)], axis=1)
    found: list[bytes] = np.ascontiguousarray(joined).view(f"V{joined.shape[1]}").ravel().tolist()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCycle:
    """The states repeat: after `steps` repetitions they go around in `period`; 1 is a fixed point."""

    steps: int
    period: int


def find_cycle(
    advance: Callable[[State], State], start: State, *, most: int = 100_000, budget: Budget | None = None
) -> StateCycle | None:
    """Returns after how many repetitions the state comes back to itself, None if not within `most`.

    It needs the memory of two states, by Brent's way of finding cycles: the state is compared with one that
    was kept, and a new one is kept at each power of two.

    Implements: [Brent1980]

    Args:
        advance: what one repetition of the input does to a state; for a layer that reads features,
            `lambda state: layer.step(x, state)[1]`.
        start: the state before; any batch size, all of whose words have to repeat together.
        most: repetitions after which the search ends.
        budget: limits the time.

    Raises:
        InputError: if the state holds a NaN, or grows.
        BudgetExceeded: if the time is up.
    """
    budget = started(budget)
    kept, state, steps, power, period = _bits(start), advance(start), 1, 1, 1
    while _bits(state) != kept:
        if steps >= most:
            return None
        if power == period:
            kept, power, period = _bits(state), 2 * power, 0
        state, steps, period = advance(state), steps + 1, period + 1
        budget.check_time(repetitions=steps)
    ahead = start
    for _ in range(period):
        ahead = advance(ahead)
    behind, tail = start, 0
    while _bits(ahead) != _bits(behind):
        ahead, behind, tail = advance(ahead), advance(behind), tail + 1
        budget.check_time(repetitions=steps + tail)
    return StateCycle(steps=tail, period=period)


def _bits(state: State) -> tuple[bytes, ...]:
    batch = len(next(iter(state.values()))) if state else 1
    if nan_rows(state, batch).any():
        raise InputError("the state holds a NaN; it does not find_cycle anywhere")
    rows = to_rows(state, batch)
    return (str(rows.shape).encode(), rows.tobytes())
