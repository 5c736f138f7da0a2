"""The slow and sure way: every word, letter by letter, with the compiler's interpreter."""

from __future__ import annotations

import itertools

from nerode.languages import Language, Legal, Word
from nerode.network import Interpreter, Network


def first_failure(network: Network, language: Language, longest: int) -> tuple[Word, Legal, Legal] | None:
    """The first word, by length and then by alphabet, after which network and language differ."""
    interpreter = Interpreter(network)
    got = interpreter.empty_answer().legal
    expected = language.legal(language.initial())
    if got != expected:
        return (), expected, got
    for length in range(1, longest + 1):
        for word in itertools.product(range(len(language.alphabet)), repeat=length):
            got = interpreter.run(word)[-1].legal
            expected = language.legal_along(word)[-1]
            if got != expected:
                return word, expected, got
    return None
