"""Random words for the stepper."""

from __future__ import annotations

from typing import Any

import numpy as np

from nerode.core import InputError
from nerode.explorer.orders import WordOrder
from nerode.explorer.reading import read_language
from nerode.languages import Language, Word

_HANDY = 12
"""Letters of the word that the page begins with."""

_SHORTER = 40
"""How many shorter lengths are tried where a language has no word of the wished length."""


def find_word(order: WordOrder) -> dict[str, Any]:
    """Returns a random word of a language, or of any letters.

    Raises:
        InputError: if the language has no word near this length.
    """
    language = read_language(order.language)
    rng = np.random.default_rng(order.seed)
    if order.kind == "any":
        letters = rng.integers(0, max(1, len(language.alphabet)), order.length).tolist()
        word: Word = tuple(letters) if len(language.alphabet) else ()
    else:
        word = _member(language, order.length, rng)
    return {"word": language.alphabet.decode(word) if word else "", "length": len(word)}


def example_word(language: Language) -> str:
    """Returns a word of the language to begin with, empty if there is none of a handy length."""
    for length in (_HANDY, 2 * _HANDY):
        try:
            word = _member(language, length, np.random.default_rng(0))
        except InputError:
            continue
        if word:
            return language.alphabet.decode(word)
    return ""


def _member(language: Language, length: int, rng: np.random.Generator) -> Word:
    for shorter in range(length, max(-1, length - _SHORTER), -1):
        try:
            return language.sample(shorter, rng)
        except InputError:
            continue
    raise InputError(
        f"the language has no word of {max(0, length - _SHORTER + 1)} to {length} letters; try another length"
    )
