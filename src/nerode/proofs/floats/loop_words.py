"""Words that repeat a part: where a state fades, drifts or overflows, they show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nerode.core import Budget, InputError
from nerode.languages import Alphabet, Language, Word
from nerode.proofs.certificate import RECOGNISE, Refutation
from nerode.proofs.floats.configurations import Configurations, Numbers
from nerode.proofs.floats.runner import Answers, Runner, State, as_legal

CHUNK = 4096
"""Letters that `forward` reads at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopWord:
    """Words u vⁿ x, or u vⁿ wⁿ x: the parts that are marked are repeated n times.

    Attributes:
        parts: letters, and whether they are repeated.
    """

    parts: tuple[tuple[Word, bool], ...]

    def __post_init__(self) -> None:
        if not any(word and repeated for word, repeated in self.parts):
            raise InputError("no part of the loop word is repeated; mark one")

    def length(self, n: int) -> int:
        """Returns the number of letters with n repetitions."""
        return sum(len(word) * (n if repeated else 1) for word, repeated in self.parts)

    def chunks(self, n: int) -> Iterator[Numbers]:
        """Yields the letters with n repetitions, at most CHUNK at a time."""
        for word, repeated in self.parts:
            block = np.array(word, dtype=np.int64)
            at_once = max(1, CHUNK // max(1, len(block)))
            left = n if repeated else 1
            while left > 0 and len(block):
                yield np.tile(block, min(left, at_once))
                left -= at_once

    def show(self, alphabet: Alphabet, n: int | str = "n") -> str:
        """Returns the word as text: w 1 (i 0)^n r."""
        shown = []
        for word, repeated in self.parts:
            symbols = " ".join(alphabet.symbols[a] for a in word)
            if repeated:
                symbols = f"({symbols})^{n}" if len(word) > 1 else f"{symbols}^{n}"
            if word:
                shown.append(symbols)
        return " ".join(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstError:
    """Where a module is wrong on a word: after `at` letters it says `got` instead of `expected`."""

    at: int
    expected: tuple[str, ...]
    got: tuple[str, ...]

    def refutation(self, word: tuple[str, ...]) -> Refutation:
        """Returns the same with the word spelt out."""
        return Refutation(word=word, at=self.at, expected=self.expected, got=self.got)


def read_word(
    runner: Runner,
    language: Language,
    word: LoopWord,
    n: int,
    *,
    task: str,
    steps: bool = True,
    budget: Budget | None = None,
) -> FirstError | None:
    """Returns the first error of a module on a loop word with n repetitions, None if it makes none.

    Args:
        runner: the module.
        language: what it should do.
        word: the word.
        n: how often its marked parts are repeated.
        task: RECOGNISE compares only whether the word may end.
        steps: whether to go step by step; otherwise by `forward`, in chunks.
        budget: limits the time.
    """
    budget = budget or Budget()
    known = Configurations(language)
    number, at = 0, 0
    state = runner.start()
    for letters in word.chunks(n):
        budget.check_time(letters_read=at)
        numbers = _along(known, number, letters)
        got, state = _read_chunk(runner, letters, state, steps=steps)
        expected = known.answers(numbers)
        wrong = expected[:, -1] != got[:, -1] if task == RECOGNISE else (expected != got).any(axis=1)
        for i in np.flatnonzero(wrong)[:1].tolist():
            names = language.alphabet
            return FirstError(
                at=at + i + 1,
                expected=tuple(as_legal(expected[i]).names(names)),
                got=tuple(as_legal(got[i]).names(names)),
            )
        number, at = int(numbers[-1]), at + len(letters)
    return None


def _along(known: Configurations, number: int, letters: Numbers) -> Numbers:
    """The configurations after each letter."""
    numbers = np.empty(len(letters), dtype=np.int64)
    for i, letter in enumerate(letters.tolist()):
        number = known.after(number, letter)
        numbers[i] = number
    return numbers


def _read_chunk(runner: Runner, letters: Numbers, state: State, *, steps: bool) -> tuple[Answers, State]:
    if not steps:
        answers, state = runner.forward(letters[None, :], state)
        return answers[0], state
    rows = []
    for letter in letters:
        answers, state = runner.step(letter[None], state)
        rows.append(answers[0])
    return np.stack(rows), state
