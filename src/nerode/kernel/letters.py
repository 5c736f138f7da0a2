"""Letters, words, and a language as a walk reads it: a deterministic machine.

A machine has a first configuration, the configuration after a letter (for every letter, as a prefix that no
word continues leads to one where nothing is legal), and what may follow a configuration.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nerode.kernel.reader import anything, listing, quoted
from nerode.kernel.work import Unreadable

Json = Any

END = "$"
"""How the end of a word is written; no alphabet has it as a letter."""

MAX_LETTERS = 1_000_000
MAX_STATES = 2_000_000


@dataclass(frozen=True, slots=True)
class NextLetters:
    """The continuations of a prefix: the set of next letters, and whether the word may end."""

    letters: frozenset[int]
    end: bool


NOTHING = NextLetters(frozenset(), False)


@dataclass(frozen=True)
class LetterNames:
    """The letters of an alphabet, in order."""

    symbols: tuple[str, ...]

    @functools.cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each letter."""
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def decode(self, word: Iterable[int]) -> str:
        """Returns a word as text, with spaces if some letter has several characters."""
        spaced = any(len(symbol) > 1 for symbol in self.symbols)
        return (" " if spaced else "").join(self.symbols[a] for a in word) or "ε"

    def names(self, answer: NextLetters) -> tuple[str, ...]:
        """Returns what may follow as names, "$" for the end."""
        return (*(self.symbols[a] for a in sorted(answer.letters)), *([END] if answer.end else []))

    def answer(self, names: Sequence[str]) -> NextLetters:
        """Returns what may follow from names.

        Raises:
            Unreadable: for a name that is no letter.
        """
        letters = self.encode(name for name in names if name != END)
        return NextLetters(frozenset(letters), END in names)

    def encode(self, names: Iterable[str], number: Mapping[str, int] | None = None) -> tuple[int, ...]:
        """Returns a word from names; a table of numbers may know more of them than the letters.

        Raises:
            Unreadable: for a name that is no letter.
        """
        known = number or self.number
        found = []
        for name in names:
            if name not in known:
                raise Unreadable(f"{quoted(name)} is not a letter of the alphabet")
            found.append(known[name])
        return tuple(found)


class LanguageMachine(Protocol):
    """A language as a walk reads it."""

    @property
    def letters(self) -> LetterNames:
        """The alphabet."""

    def initial(self) -> Hashable:
        """Returns the configuration of the empty prefix."""

    def advance(self, configuration: Any, letter: int) -> Hashable:
        """Returns the configuration after one more letter."""

    def legal(self, configuration: Any) -> NextLetters:
        """Returns exactly what may follow."""


def read_letters(data: Json, what: str) -> LetterNames:
    """Returns the letters of an alphabet.

    Raises:
        Unreadable: for a letter twice, or one that is empty, "$", has white space or cannot be printed.
    """
    symbols = listing(anything, most=MAX_LETTERS)(data, what)
    for symbol in symbols:
        if not isinstance(symbol, str) or not symbol or symbol == END:
            raise Unreadable(f"the letter {quoted(symbol)} is not a text, or stands for the end of a word")
        if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in symbol):
            raise Unreadable(
                f"the letter {quoted(symbol)} has white space or a character that is not printed"
            )
    if len(set(symbols)) != len(symbols):
        raise Unreadable(f"a letter occurs twice in {what}")
    return LetterNames(tuple(symbols))


def reaching(successors: Sequence[Iterable[int]], goals: set[int]) -> list[bool]:
    """Returns which states reach a goal, from the states that follow each state."""
    sources: list[list[int]] = [[] for _ in successors]
    for state, row in enumerate(successors):
        for target in row:
            sources[target].append(state)
    found = [False] * len(sources)
    pending = list(goals)
    for state in goals:
        found[state] = True
    while pending:
        for source in sources[pending.pop()]:
            if not found[source]:
                found[source] = True
                pending.append(source)
    return found
