"""Next-symbol sets by listing all words, to compare the languages with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nerode.languages.alphabet import Word
from nerode.languages.language import Language

Predicate = Callable[[Sequence[str]], bool]


def words_up_to(num_letters: int, longest: int) -> Iterator[Word]:
    """All words of at most this length, short ones first."""
    for length in range(longest + 1):
        yield from itertools.product(range(num_letters), repeat=length)


def assert_language_is(language: Language, belongs: Predicate, *, longest: int, prefixes: int) -> None:
    """Compares membership on all words, and the next-symbol sets on all short prefixes, with a predicate.

    Args:
        language: what is tested.
        belongs: an independent definition, on sequences of symbols.
        longest: words are listed up to this length.
        prefixes: up to this length prefixes are compared; every prefix that is one letter longer and
            begins a word must begin one of at most `longest` letters.
    """
    symbols = language.alphabet.symbols
    members = {w for w in words_up_to(len(symbols), longest) if belongs([symbols[a] for a in w])}
    beginnings = {w[:i] for w in members for i in range(len(w) + 1)}
    configurations: dict[Word, Any] = {(): language.initial()}
    for word in words_up_to(len(symbols), longest):
        if word:
            configurations[word] = language.advance(configurations[word[:-1]], word[-1])
        legal = language.legal(configurations[word])
        text = language.alphabet.decode(word)
        assert legal.end == (word in members), f"{language.name}: {text}"
        if len(word) <= prefixes:
            expected = {a for a in range(len(symbols)) if (*word, a) in beginnings}
            assert legal.symbols == expected, f"{language.name} after {text}"


def members_of_length(language: Language, length: int) -> set[Word]:
    """All words of this length that the language accepts, by trying them all."""
    letters = range(len(language.alphabet))
    return {w for w in itertools.product(letters, repeat=length) if language.accepts(w)}
