"""Alphabets: ordered tuples of symbols; words are tuples of symbol numbers."""

from __future__ import annotations

import itertools
import operator
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nerode.core import InputError

Word = tuple[int, ...]
WordLike = str | Sequence[str] | Sequence[int]

END = "$"
"""How the end of a word is written in outputs; no alphabet may contain it as a symbol."""

_UNWRITABLE = ("Cc", "Cs")
"""Unicode categories: control characters, and the halves that stand for bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """An ordered set of symbols; letter i is `symbols[i]`.

    A word is written without separators when every symbol is one character, with spaces otherwise.
    The empty word is written ε.
    """

    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        seen = set()
        for symbol in self.symbols:
            if not symbol or any(c.isspace() for c in symbol):
                raise InputError(f"the symbol {symbol!r} is empty or has white space in it; rename it")
            if any(unicodedata.category(c) in _UNWRITABLE for c in symbol):
                raise InputError(f"the symbol {symbol!r} has a character that cannot be printed; rename it")
            if symbol == END:
                raise InputError(f"the symbol {END!r} stands for the end of a word; rename it")
            if symbol in seen:
                raise InputError(f"the symbol {symbol!r} occurs twice in the alphabet")
            seen.add(symbol)

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Alphabet:
        """Returns the alphabet with these symbols, sorted and without repetitions."""
        return cls(tuple(sorted(set(symbols))))

    @property
    def spaced(self) -> bool:
        """Whether words are written with spaces between the symbols."""
        return any(len(symbol) > 1 for symbol in self.symbols)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[str]:
        return iter(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.symbols

    def index(self, symbol: str) -> int:
        """Returns the number of a symbol."""
        try:
            return self.symbols.index(symbol)
        except ValueError:
            raise InputError(
                f"the symbol {symbol!r} is not in the alphabet {{{self.describe()}}}; use one of its symbols"
            ) from None

    def encode(self, word: WordLike) -> Word:
        """Returns a word as symbol numbers.

        Args:
            word: text as `decode` writes it, or a sequence of symbols, or a sequence of numbers.
        """
        if isinstance(word, str):
            text = word.strip()
            if text in ("", "ε"):
                return ()
            parts: Iterable[str | int] = text.split() if self.spaced or any(map(str.isspace, text)) else text
        else:
            parts = word
        numbers = {symbol: i for i, symbol in enumerate(self.symbols)}
        encoded = []
        for position, part in enumerate(parts):
            if isinstance(part, str):
                if part not in numbers:
                    raise InputError(
                        f"the symbol {part!r} at position {position + 1} of the word is not in the alphabet "
                        f"{{{self.describe()}}}"
                    )
                encoded.append(numbers[part])
            else:
                number = operator.index(part)
                if not 0 <= number < len(self.symbols):
                    raise InputError(
                        f"the symbol number {number} at position {position + 1} of the word is outside "
                        f"0…{len(self.symbols) - 1}"
                    )
                encoded.append(number)
        return tuple(encoded)

    def decode(self, word: Iterable[int]) -> str:
        """Returns a word as text."""
        return (" " if self.spaced else "").join(self.symbols[i] for i in word) or "ε"

    def describe(self, limit: int = 12) -> str:
        """The symbols as a list for messages, shortened when there are many."""
        if len(self.symbols) <= limit:
            return ", ".join(self.symbols)
        return ", ".join(self.symbols[: limit - 1]) + f", … ({len(self.symbols)} symbols)"


def with_powers(word: Sequence[str], *, most: int = 24) -> str:
    """Returns a word with powers for runs of more than three equal letters: 1 0^34.

    Of a word with more than `most` such parts, the middle is left out.
    """
    parts: list[str] = []
    for letter, run in itertools.groupby(word):
        times = len(list(run))
        parts += [f"{letter}^{times}"] if times > 3 else [letter] * times
    if len(parts) > most:
        parts[most // 2 : -(most // 2)] = [f"… ({len(word):,} letters) …"]
    return " ".join(parts) or "the empty word"
