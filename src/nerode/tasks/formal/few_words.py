"""Languages with so few words that they are listed, and split by their place in the list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nerode.languages import Language, Word
from nerode.tasks.task import Split
from nerode.tasks.walk import Integers

MOST_WORDS = 500
"""Words, in the range of training, up to which they are listed."""

_HELD_OUT: dict[int, Split] = {2: "validation", 4: "test"}
"""Of every five words, which are not for training."""


def list_words(language: Language, shortest: int, longest: int, most: int = MOST_WORDS) -> list[Word] | None:
    """Returns all words from one length to another, by length and letters; None if there are too many.

    Too many are more than `most` words, or more than `most` prefixes of one length.
    """
    prefixes: dict[Word, Any] = {(): language.initial()}
    found: list[Word] = []
    for length in range(longest + 1):
        legal = {word: language.legal(state) for word, state in prefixes.items()}
        if length >= shortest:
            found += sorted(word for word in prefixes if legal[word].end)
        # The last prefixes need not be continued.
        prefixes = {
            (*word, symbol): language.advance(state, symbol)
            for word, state in prefixes.items()
            for symbol in (legal[word].symbols if length < longest else ())
        }
        if len(prefixes) > most or len(found) > most:
            return None
    return found


class FewWords:
    """Listed words and the split of each: of every five, three are trained on.

    A hash would leave splits of a dozen words empty. The place in the list is as good: it depends on the
    word alone, given the language and the range of training. With one word a length, as in 1*, a length
    belongs to one split only; validation and tests are then at lengths between those of training.
    """

    def __init__(self, words: Iterable[Word]) -> None:
        self._splits: dict[Word, Split] = {
            word: _HELD_OUT.get(place % 5, "train") for place, word in enumerate(words)
        }
        lists: dict[tuple[Split, int], list[Word]] = {}
        for word, split in self._splits.items():
            lists.setdefault((split, len(word)), []).append(word)
        self._words = {key: np.array(words, dtype=np.int64) for key, words in lists.items()}

    def split_of(self, word: Word) -> Split | None:
        """Returns the split of a word, None if it is not listed."""
        return self._splits.get(word)

    def words(self, split: Split, length: int) -> Integers | None:
        """Returns the words of a split that have a length, None if there is none."""
        return self._words.get((split, length))
