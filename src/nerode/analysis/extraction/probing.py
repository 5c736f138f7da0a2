"""Tests of a hypothesis by words: systematic ones, then random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.oracle import Machine
from nerode.core import InputError
from nerode.languages import Word

_MOST_STATES = 64
"""States up to which all are reached, left by all short words, and told apart."""

_MOST_SYSTEMATIC = 20_000
"""Words up to which the systematic test is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisTest:
    """Settings of the test of a hypothesis by words.

    Attributes:
        words: random words.
        longest: their length at most.
        extra_states: how many more states than the hypothesis a network may have such that the systematic
            part surely finds a difference.
    """

    words: int = 400
    longest: int = 100
    extra_states: int = 1

    def __post_init__(self) -> None:
        for name, least in (("words", 1), ("longest", 1), ("extra_states", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it has to be {least} or more")


def find_failures(
    machine: Machine, hypothesis: Moore, probe: HypothesisTest, rng: np.random.Generator, *, most: int = 32
) -> list[Word]:
    """Returns words that the network answers differently from a hypothesis, none if all tests agree.

    Each is cut where the first difference is; shorter ones come first. The systematic test reaches every
    state of the hypothesis, goes on by every word of a few letters, and then tries all words that tell its
    states apart; random words follow from every state.

    Implements: [Chow1978]
    """
    failures: dict[Word, None] = {}
    for words in (list(systematic_words(hypothesis, probe)), random_words(hypothesis, probe, rng)):
        for word, outputs in zip(words, machine.traces(words), strict=True):
            place = first_difference(outputs, hypothesis.trace(word))
            if place is not None:
                failures[word[:place]] = None
        if failures:
            break
    return sorted(failures, key=len)[:most]


def first_difference(left: tuple[str, ...], right: tuple[str, ...]) -> int | None:
    """Returns the first place where two traces differ, None if they are equal."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b), None)


def systematic_words(hypothesis: Moore, probe: HypothesisTest) -> Iterator[Word]:
    """Yields access words, each followed by all short words and by what tells states apart.

    For a large hypothesis, only access words followed by one letter.
    """
    access = [word for word in hypothesis.access_words if word is not None]
    letters = range(len(hypothesis.alphabet))
    small = len(access) <= _MOST_STATES
    suffixes = telling_words(hypothesis) if small else [()]
    middles: list[Word] = [(a,) for a in letters]
    for _ in range(probe.extra_states):
        longer = [(*word, a) for word in middles for a in letters]
        if not small or len(access) * len(longer) * len(suffixes) > _MOST_SYSTEMATIC:
            break
        middles = longer
    words = (u + m + w for u in access for m in middles for w in suffixes)
    yield from list(dict.fromkeys(words))[:_MOST_SYSTEMATIC]


def telling_words(hypothesis: Moore) -> list[Word]:
    """Returns words such that two states that answer them all alike answer every word alike."""
    chosen: list[Word] = [()]
    while True:
        seen: dict[tuple[str, ...], int] = {}
        clash = None
        for state in range(hypothesis.num_states):
            other = seen.setdefault(_signature(hypothesis, state, chosen), state)
            if other != state:
                clash = hypothesis.distinguish(other, state)
            if clash is not None:
                break
        if clash is None:
            return chosen
        chosen.append(clash)


def random_words(hypothesis: Moore, probe: HypothesisTest, rng: np.random.Generator) -> list[Word]:
    """Returns random words of random lengths that seldom enter a state which no letter leaves."""
    found = []
    letters = len(hypothesis.alphabet)
    for _ in range(probe.words):
        state, word = hypothesis.start, []
        for _ in range(int(rng.integers(1, probe.longest + 1))):
            inside = [a for a in range(letters) if hypothesis.rows[state][a] not in hypothesis.sinks]
            choices = inside if inside and rng.random() < 0.98 else list(range(letters))
            letter = choices[int(rng.integers(len(choices)))]
            word.append(letter)
            state = hypothesis.rows[state][letter]
        found.append(tuple(word))
    return found


def _signature(hypothesis: Moore, state: int, words: list[Word]) -> tuple[str, ...]:
    found = []
    for word in words:
        here = state
        for letter in word:
            here = hypothesis.rows[here][letter]
        found.append(hypothesis.outputs[here])
    return tuple(found)
