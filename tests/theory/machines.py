"""Languages by sums and levels whose numbers are up to a test, and the comparison with the language."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from nerode.algebra.cascades import Command
from nerode.compiler.level_machine import LevelMachine, TabledLevel
from nerode.languages import START, CounterLanguage, Language

Run = Callable[[Sequence[int]], Iterator[bool]]
"""Whether each prefix of a word is in the language."""


class Sum(Protocol):
    """A number that is added to at every letter, and of which the sign is read."""

    def add(self, amount: int) -> None:
        """Reads a letter that adds an amount."""

    @property
    def sign(self) -> int:
        """The sign of the sum of all amounts."""


class Level(Protocol):
    """A level of a cascade that holds a label in numbers."""

    label: int

    def apply(self, command: Command) -> None:
        """Reads a letter that gives the level a command."""


def words(language: Language, length: int, count: int = 12) -> Iterator[list[int]]:
    """Prefixes of valid words with one letter that is any, and random words."""
    chosen = random.Random(language.name)
    for number in range(count):
        configuration, word = language.initial(), []
        for _ in range(length):
            legal = sorted(language.legal(configuration).symbols)
            free = not legal or number % 3 == 0 or chosen.random() < 1 / length
            letter = chosen.randrange(len(language.alphabet)) if free else chosen.choice(legal)
            configuration = language.advance(configuration, letter)
            word.append(letter)
        yield word


def assert_recognises(run: Run, language: Language, length: int, count: int = 12) -> None:
    """Compares a run with the language on words of a length, at every prefix."""
    for word in words(language, length, count):
        configuration = language.initial()
        for at, (letter, found) in enumerate(zip(word, run(word), strict=True)):
            configuration = language.advance(configuration, letter)
            assert found == language.legal(configuration).end, word[: at + 1]


def counting(language: Language, make: Callable[[int], Sum]) -> Run:
    """A counter machine whose counters, and the tally of errors, are sums that start at a number."""
    assert isinstance(language, CounterLanguage)
    machine = language.machine

    def run(word: Sequence[int]) -> Iterator[bool]:
        counters, errors, last = [make(start) for start in machine.start], make(0), START
        for letter in word:
            signs = tuple(counter.sign for counter in counters)
            allowed = any(letter in rule.symbols and rule.holds(last, signs) for rule in machine.rules)
            for counter, amount in zip(counters, machine.increments[letter], strict=True):
                counter.add(amount)
            errors.add(not allowed)
            last, signs = letter, tuple(counter.sign for counter in counters)
            yield errors.sign == 0 and any(rule.end and rule.holds(last, signs) for rule in machine.rules)

    return run


def cascading(machine: LevelMachine, make: Callable[[TabledLevel, int], Level]) -> Run:
    """A cascade whose levels hold their labels in numbers; `make` gets a level and its depth."""

    def run(word: Sequence[int]) -> Iterator[bool]:
        levels = [make(*pair) for pair in zip(machine.levels, machine.depths, strict=True)]
        for letter in word:
            before = [level.label for level in levels]
            for level, tabled in zip(levels, machine.levels, strict=True):
                level.apply(tabled.table[letter, *(before[parent] for parent in tabled.parents)])
            yield bool(machine.dfa.accepting[machine.states[tuple(level.label for level in levels)]])

    return run
