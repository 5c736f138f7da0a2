"""Search for the shortest word that a network answers incorrectly, breadth first beside its automaton.

A pair of a state of the network and a configuration of the target is followed once. As long as states count
as the same only when they are so bit for bit, nothing is missed: a word that is found is a shortest one, and
if none is left to follow, the network is correct on every word. Where that becomes too much, states are
rounded to a grid, which goes deeper but may pass by a failure.

Many states are stepped at once, and sums in a batch may be rounded otherwise than for one word alone. So a
word counts as failing only if it fails alone, and that none fails at any length is said only after all states
were stepped one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.analysis.extraction.oracle import Machine, States, joined
from nerode.analysis.extraction.question import NetworkQuestion, question_of
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, BudgetExceeded, InputError, to_mapping
from nerode.languages import Word

Marks = Callable[[States], list[Hashable]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Limits of a search.

    Attributes:
        states: pairs that the search without rounding follows.
        grids: sizes of the cells for further searches, in standard deviations of a coordinate, one search
            each; none for no rounding.
        rounded_states: pairs that each of these follows.
    """

    states: int = 20_000
    grids: tuple[float, ...] = (0.1, 0.02)
    rounded_states: int = 20_000

    def __post_init__(self) -> None:
        if self.states < 1 or self.rounded_states < 1 or any(not grid > 0 for grid in self.grids):
            raise InputError(f"{self} cannot be used; numbers of states are 1 or more, grids above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingWord:
    """A word that a network answers incorrectly at its end.

    Attributes:
        word: its letters.
        expected: what should be answered.
        got: what the network answers.
        shortest: whether no shorter word failed when all of them were looked at, many at once.
    """

    word: tuple[str, ...]
    expected: str
    got: str
    shortest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSearch:
    """The outcome of a search.

    Attributes:
        failing: the word; None if none was found.
        right_up_to: every word of at most this length was answered correctly, bit for bit, many at once.
        always_right: whether the states are finitely many and all were looked at, one at a time, so that
            every word is answered correctly, alone and step by step in the floats of this machine.
        states: pairs of states that were followed, in all searches.
        why_ended: what stopped the search without a word; "" otherwise.
    """

    failing: FailingWord | None
    right_up_to: int
    always_right: bool
    states: int
    why_ended: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


def find_failing_word(
    subject: LoadedNetwork, *, settings: SearchSettings | None = None, budget: Budget | None = None
) -> FailureSearch:
    """Returns a shortest word that a network answers incorrectly, or the length up to which there is none.

    Args:
        subject: the network; its task has the correct answers.
        settings: how far to search.
        budget: limits the time; when it is up, what is known is returned.

    Raises:
        InputError: if the task is not that of an automaton, or the state of the network grows.
    """
    if subject.task is None:
        raise InputError(f"{subject.name} has no task, so nothing says what is right")
    question = question_of(subject.task)
    machine = Machine(subject.model, question)
    return search_failures(machine, question, settings or SearchSettings(), (budget or Budget()).start())


def search_failures(
    machine: Machine, question: NetworkQuestion, settings: SearchSettings, budget: Budget
) -> FailureSearch:
    """Returns what the search without rounding finds, or else the first of those with rounding."""
    exact = _Walk(machine, question, settings.states, budget)
    found = exact.run(_bits)
    if not exact.left or (found is not None and not _fails_alone(machine, found)):
        exact = _Walk(machine, question, settings.states, budget, alone=True)
        found = exact.run(_bits)
    if found is not None or not exact.left:
        return FailureSearch(
            failing=None if found is None else _failing(question, *found, shortest=True),
            right_up_to=exact.depth,
            always_right=found is None,
            states=exact.seen,
        )
    seen = exact.seen
    for grid in settings.grids:
        walk = _Walk(machine, question, settings.rounded_states, budget)
        found = walk.run(_cells(grid, exact.spread))
        seen += walk.seen
        if found is not None and _fails_alone(machine, found):
            shortest = len(found[0]) == exact.depth + 1
            failing = _failing(question, *found, shortest=shortest)
            return FailureSearch(failing=failing, right_up_to=exact.depth, always_right=False, states=seen)
    why = "the time was up" if exact.out_of_time else f"more than {settings.states:,} states"
    return FailureSearch(
        failing=None, right_up_to=exact.depth, always_right=False, states=seen, why_ended=why
    )


def _fails_alone(machine: Machine, found: tuple[Word, str, str]) -> bool:
    word, expected, _ = found
    return machine.traces([word])[0][-1] != expected


class _Walk:
    """One search; `alone` steps one state at a time.

    Attributes:
        depth: every word up to this length was looked at, if the marks tell all states apart.
        left: whether something was left to follow.
        seen: pairs that were followed.
        out_of_time: whether the budget ended it.
    """

    def __init__(
        self, machine: Machine, question: NetworkQuestion, most: int, budget: Budget, *, alone: bool = False
    ) -> None:
        self._machine, self._target = machine, question.target
        self._most, self._budget, self._alone = most, budget, alone
        self._answers: dict[Hashable, str] = {}
        self._sums = np.zeros(0), np.zeros(0)
        self.depth = self.seen = 0
        self.left, self.out_of_time = True, False

    @property
    def spread(self) -> np.ndarray[Any, Any]:
        """The standard deviation of each coordinate over the states seen, 1 where it is 0."""
        mean = self._sums[0] / max(self.seen, 1)
        deviation = np.sqrt(np.maximum(self._sums[1] / max(self.seen, 1) - mean**2, 0))
        return np.where(deviation > 0, deviation, 1.0)

    def run(self, marks: Marks) -> tuple[Word, str, str] | None:
        """Returns a word with what is due and what is answered, None if none was found."""
        level = self._machine.initial()
        words: list[Word] = [()]
        places: list[Hashable] = [self._target.initial()]
        self._sums = (np.zeros(level.values.shape[1]), np.zeros(level.values.shape[1]))
        known = set(zip(marks(level), places, strict=True))
        while len(level):
            if self.seen >= self._most:
                return None
            try:
                self._budget.check_time(states=self.seen)
            except BudgetExceeded:
                self.out_of_time = True
                return None
            self._count(level)
            letters = range(len(self._machine.alphabet))
            after = self._successors(level, letters)
            words = [(*word, letter) for letter in letters for word in words]
            places = [self._target.advance(place, letter) for letter in letters for place in places]
            for output, word, place in zip(after.outputs, words, places, strict=True):
                if output != self._answer(place):
                    return word, self._answer(place), output
            self.depth += 1
            kept = []
            for i, key in enumerate(zip(marks(after), places, strict=True)):
                if after.alive[i] and key not in known:
                    known.add(key)
                    kept.append(i)
            level, words, places = after.rows(kept), [words[i] for i in kept], [places[i] for i in kept]
        self.left = False
        return None

    def _successors(self, level: States, letters: range) -> States:
        """The states after each letter, those of one letter together."""
        if not self._alone:
            return joined(self._machine.successors(level))
        single = [level.rows([i]) for i in range(len(level))]
        return joined([self._machine.step(state, [letter]) for letter in letters for state in single])

    def _count(self, level: States) -> None:
        self.seen += len(level)
        self._sums = (self._sums[0] + level.values.sum(axis=0), self._sums[1] + (level.values**2).sum(axis=0))

    def _answer(self, place: Hashable) -> str:
        if place not in self._answers:
            self._answers[place] = self._target.answer(place)
        return self._answers[place]


def _bits(states: States) -> list[Hashable]:
    return list(states.marks())


def _cells(grid: float, spread: np.ndarray[Any, Any]) -> Marks:
    def marks(states: States) -> list[Hashable]:
        cells = np.round(states.values / (grid * spread)).astype(np.int64)
        return [row.tobytes() for row in cells]

    return marks


def _failing(
    question: NetworkQuestion, word: Sequence[int], expected: str, got: str, *, shortest: bool
) -> FailingWord:
    symbols = question.alphabet.symbols
    return FailingWord(
        word=tuple(symbols[letter] for letter in word), expected=expected, got=got, shortest=shortest
    )
