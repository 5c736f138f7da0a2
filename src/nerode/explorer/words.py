"""Random words for the stepper."""

from __future__ import annotations

from typing import Any

import numpy as np

from nerode.explorer.orders import WordOrder
from nerode.explorer.reading import read_language
from nerode.languages import Word
from nerode.study import random_word


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
        word = random_word(language, order.length, rng)
    return {"word": language.alphabet.decode(word) if word else "", "length": len(word)}
