"""Words of a language: the first ones in and out, their number at each length, and random ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from nerode.core import InputError
from nerode.languages import Language, Legal, Word

_MAX_CONFIGURATIONS = 3_000
_MAX_STEPS = 20_000
_MAX_VISITS = 4_000
_MAX_LENGTH = 24

_EXAMPLE_LENGTH = 12
"""Letters of the word that a page begins with."""

_SHORTER = 40
"""How many shorter lengths are tried where a language has no word of the wished length."""


def shorten(text: str, limit: int) -> str:
    """Returns the text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else text[: max(1, limit - 1)] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCount:
    """The number of words of one length that belong to the language."""

    length: int
    words: int
    of: int

    @property
    def share(self) -> float:
        """The part of all words of this length, between 0 and 1."""
        return self.words / self.of if self.of else 0.0


def count_by_length(language: Language, up_to: int = 12) -> list[LengthCount]:
    """Returns the exact number of words of each length, from 0 on.

    Follows all configurations of the machine at once; stops early when there are too many of them to
    follow, so the list may be shorter than asked.
    """
    letters = len(language.alphabet)
    level: dict[Hashable, int] = {language.initial(): 1}
    counts = []
    for length in range(up_to + 1):
        legal = {configuration: language.legal(configuration) for configuration in level}
        words = sum(number for configuration, number in level.items() if legal[configuration].end)
        counts.append(LengthCount(length=length, words=words, of=letters**length))
        following: dict[Hashable, int] = {}
        for configuration, number in level.items():
            for symbol in legal[configuration].symbols:
                target = language.advance(configuration, symbol)
                following[target] = following.get(target, 0) + number
        if len(following) * max(1, letters) > _MAX_STEPS:
            break
        level = following
    return counts


def first_words(language: Language, *, accepted: bool, number: int = 8) -> list[Word]:
    """Returns the first words in (or out of) the language, short ones first, then in alphabet order.

    The search is bounded, so the list may be shorter than asked when such words are rare. If it finds
    none, the list has one shortest such word, as far as there is one near the start of the machine.
    """
    found: list[Word] = []
    queue: deque[tuple[Word, Hashable]] = deque([((), language.initial())])
    for _ in range(_MAX_VISITS):
        if not queue or len(found) >= number:
            break
        word, configuration = queue.popleft()
        legal = language.legal(configuration)
        if legal.end == accepted:
            found.append(word)
        if len(queue) < _MAX_VISITS and len(word) < _MAX_LENGTH:
            queue.extend(
                ((*word, letter), language.advance(configuration, letter))
                for letter in _letters(language, legal, accepted)
            )
    return found or _shortest(language, accepted)


def _letters(language: Language, legal: Legal, accepted: bool) -> Sequence[int]:
    """Words outside the language may leave what is legal; words inside may not."""
    return sorted(legal.symbols) if accepted else range(len(language.alphabet))


def _shortest(language: Language, accepted: bool) -> list[Word]:
    """One shortest word in (or out of) the language, in a list; each configuration is visited once."""
    start = language.initial()
    words: dict[Hashable, Word] = {start: ()}
    queue = deque([start])
    while queue:
        configuration = queue.popleft()
        legal = language.legal(configuration)
        if legal.end == accepted:
            return [words[configuration]]
        for letter in _letters(language, legal, accepted):
            target = language.advance(configuration, letter)
            if target not in words and len(words) < _MAX_CONFIGURATIONS:
                words[target] = (*words[configuration], letter)
                queue.append(target)
    return []


def random_word(language: Language, length: int, rng: np.random.Generator) -> Word:
    """Returns a random word of the language of this length, or of the next shorter one that it has.

    Raises:
        InputError: if the language has no word near this length.
    """
    for shorter in range(length, max(-1, length - _SHORTER), -1):
        try:
            return language.sample(shorter, rng)
        except InputError:
            continue
    raise InputError(
        f"the language has no word of {max(0, length - _SHORTER + 1)} to {length} letters; try another length"
    )


def example_word(language: Language) -> str:
    """Returns a word of the language to begin with, empty if there is none of a handy length."""
    for length in (_EXAMPLE_LENGTH, 2 * _EXAMPLE_LENGTH):
        try:
            word = random_word(language, length, np.random.default_rng(0))
        except InputError:
            continue
        if word:
            return language.alphabet.decode(word)
    return ""
