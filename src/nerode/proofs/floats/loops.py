"""Searches over the loops of a language: the one on which a module fails soonest, or how far all were read.

A loop is one letter or two that lead a configuration back to itself. Neither finding is a proof; the lengths
that a search of all states covers are (see `closure`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nerode.core import Budget, BudgetExceeded, started
from nerode.kernel import VALID_PREFIXES
from nerode.languages import Language, Word, asked_of
from nerode.proofs.floats.horizons import CHUNK, Horizon, LoopWord, measure_horizon
from nerode.proofs.runner import (
    Numbers,
    QuestionTable,
    Runner,
    State,
    from_rows,
    layout_of,
    to_rows,
)

_SEARCH_SHARE = 0.6
"""Of the seconds of a sweep, to find a loop that fails; the rest is for the length at which it does."""

MOST_CONFIGURATIONS = 32
MOST_LOOPS = 256
"""Configurations of the language that loops begin at, and loops that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """Results of a search over loops.

    Attributes:
        loops: how many were read.
        tested: the number of letters to which all of them were read without an error.
        horizon: the loop on which the module fails first, of those that were measured; None if none fails.
        foreseen: the loop on which it should fail first, of those on which it was not seen to fail.
    """

    loops: int
    tested: int
    horizon: Horizon | None
    foreseen: Horizon | None = None


def search_loops(
    runner: Runner,
    language: Language,
    *,
    task: str,
    longest: int,
    predict: bool = True,
    budget: Budget | None = None,
) -> LoopReport:
    """Returns the loop on which a module fails soonest, or how far all loops were read without an error.

    Args:
        runner: the module.
        language: what it should do.
        task: the task; for VALID_PREFIXES only loops along words of the language are read.
        longest: the length that no word that is read exceeds.
        predict: whether to predict at which length a loop fails before it is read.
        budget: limits the time; when it is up, what is known by then is returned.
    """
    budget = started(budget)
    if language.regular:
        return _Sweep(runner, language, task, longest, predict, budget).run()
    words = list(itertools.islice(_counting_words(language, task), MOST_LOOPS))
    found = [
        measure_horizon(runner, language, word, task=task, longest=longest, predict=predict, budget=budget)
        for word in words
    ]
    tested = min((h.word.length(h.tested) for h in found), default=0)
    unseen = [(h.word.length(h.predicted), h) for h in found if h.predicted is not None and h.error is None]
    foreseen = min(unseen, key=lambda pair: pair[0], default=(0, None))[1]
    return LoopReport(loops=len(found), tested=tested, horizon=soonest(found), foreseen=foreseen)


def soonest(horizons: list[Horizon]) -> Horizon | None:
    """Returns the horizon with the shortest failing word; None if no word fails."""
    failing = [h for h in horizons if h.error is not None]
    return min(failing, key=lambda h: h.error.at if h.error else 0, default=None)


def _counting_words(language: Language, task: str) -> Iterator[LoopWord]:
    """Words aⁿ bⁿ; on valid prefixes only those that stay valid."""
    letters = range(len(language.alphabet))
    for a, b in itertools.permutations(letters, 2):
        if task != VALID_PREFIXES or _is_valid(language, (a, a, b, b)):
            yield LoopWord(parts=(((a,), True), ((b,), True)))


def _is_valid(language: Language, word: Word) -> bool:
    legal = language.legal_along(word)
    return all(letter in allowed.symbols for letter, allowed in zip(word, legal, strict=False))


class _Sweep:
    """All loops of one or two letters at once, a row of the batch for each."""

    def __init__(
        self, runner: Runner, language: Language, task: str, longest: int, predict: bool, budget: Budget
    ) -> None:
        self.runner = runner
        self.language = language
        self.task = task
        self.longest = longest
        self.predict = predict
        self.budget = budget
        self.known = QuestionTable(asked_of(language, task))
        self.letters = len(language.alphabet)
        self.loops = list(itertools.islice(self._find_loops(), MOST_LOOPS))

    def run(self) -> LoopReport:
        """Doubles the number of repetitions until something fails."""
        if not self.loops:
            return LoopReport(loops=0, tested=0, horizon=None)
        state, numbers = self._start()
        read, wanted, tested = 0, 1, 0
        failing: list[LoopWord] = []
        search = self.budget.part(_SEARCH_SHARE)
        try:
            while not failing and 2 * wanted <= self.longest:
                state, failing = self._repeat(state, numbers, wanted - read, search)
                read, wanted = wanted, 2 * wanted
                failing = failing or self._tails(state, numbers)
                tested = tested if failing else 2 * read
        except BudgetExceeded:
            pass
        found = [
            measure_horizon(
                self.runner,
                self.language,
                word,
                task=self.task,
                longest=self.longest,
                predict=self.predict,
                budget=self.budget,
            )
            for word in failing[:3]
        ]
        return LoopReport(loops=len(self.loops), tested=tested, horizon=soonest(found))

    def _find_loops(self) -> Iterator[tuple[Word, Word]]:
        """A shortest word to each configuration, and two letters that lead back to it."""
        words: dict[int, Word] = {0: ()}
        queue = [0]
        for number in queue:
            word = words[number]
            yield from ((word, (a, a)) for a in self._read(number) if self.known.after(number, a) == number)
            yield from ((word, pair) for pair in self._pairs(number))
            for a in self._read(number):
                target = self.known.after(number, a)
                if target not in words and len(queue) < MOST_CONFIGURATIONS:
                    words[target] = (*word, a)
                    queue.append(target)

    def _pairs(self, number: int) -> Iterator[Word]:
        for a in self._read(number):
            middle = self.known.after(number, a)
            yield from (
                (a, b) for b in self._read(middle) if a != b and self.known.after(middle, b) == number
            )

    def _read(self, number: int) -> list[int]:
        found: list[int] = np.flatnonzero(self.known.letters(np.array([number]))[0]).tolist()
        return found

    def _start(self) -> tuple[State, Numbers]:
        """The states after the words before the loops, and the configurations there."""
        start = self.runner.start()
        after: dict[Word, tuple[State, int]] = {(): (start, 0)}
        for word, _ in self.loops:
            # Words get longer by one letter at a time, so that the state before the last one is known.
            for end in range(1, len(word) + 1):
                if word[:end] not in after:
                    state, number = after[word[: end - 1]]
                    _, state = self.runner.step(np.array([word[end - 1]]), state)
                    after[word[:end]] = state, self.known.after(number, word[end - 1])
        rows = [to_rows(after[word][0], 1)[0] for word, _ in self.loops]
        numbers = [after[word][1] for word, _ in self.loops]
        return from_rows(np.stack(rows), layout_of(start)), np.array(numbers, dtype=np.int64)

    def _repeat(
        self, state: State, numbers: Numbers, times: int, budget: Budget
    ) -> tuple[State, list[LoopWord]]:
        """Reads the loops some times more; the loops that fail inside."""
        pairs = np.array([loop for _, loop in self.loops], dtype=np.int64)
        middle = self.known.advance(numbers, pairs[:, 0])
        places = np.stack([middle, numbers], axis=1)
        while times > 0:
            budget.check_time()
            now = min(times, max(1, CHUNK // (2 * len(pairs))))
            got, state = self.runner.run(np.tile(pairs, now), state, steps=not self.runner.has_forward)
            got = got.reshape(len(pairs), now, 2, -1)
            wrong = self.known.are_wrong(places[:, None], got).any(axis=(1, 2))
            if wrong.any():
                return state, [self._word(i) for i in np.flatnonzero(wrong).tolist()]
            times -= now
        return state, []

    def _tails(self, state: State, numbers: Numbers) -> list[LoopWord]:
        """The loops that fail when one more letter is read after them."""
        failing = []
        for letter in range(self.letters):
            column = np.full(len(numbers), letter, dtype=np.int64)
            got, _ = self.runner.step(column, state)
            wrong = self.known.are_wrong(self.known.advance(numbers, column), got)
            wrong &= self.known.letters(numbers)[:, letter]
            failing += [self._word(i, (letter,)) for i in np.flatnonzero(wrong).tolist()]
        return failing

    def _word(self, i: int, tail: Word = ()) -> LoopWord:
        word, loop = self.loops[i]
        loop = loop[:1] if loop[0] == loop[1] else loop
        return LoopWord(parts=((word, False), (loop, True), *[(tail, False)] * bool(tail)))
