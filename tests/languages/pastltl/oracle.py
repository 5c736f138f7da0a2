"""Formulas read straight from the definition: the oracle for everything compiled from them."""

from __future__ import annotations

from itertools import accumulate

from nerode.languages.alphabet import WordLike
from nerode.languages.notation import fold
from nerode.languages.pastltl import (
    And,
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
)

Truth = list[bool]
"""Whether a formula holds of the empty word, then at each position."""


def holds(formula: PastFormula, word: WordLike) -> bool:
    """Whether the formula holds at the last position of a word, or of the empty word."""
    return truth_along(formula, word)[-1]


def truth_along(formula: PastFormula, word: WordLike) -> Truth:
    """Returns whether the formula holds of each prefix of a word, the empty prefix first."""
    letters = [formula.alphabet.symbols[i] for i in formula.alphabet.encode(word)]
    return fold(formula.formula, lambda node, below: _truth(node, below, letters))


def _truth(node: Formula, below: list[Truth], word: list[str]) -> Truth:
    places = range(len(word) + 1)
    match node:
        case Constant(value):
            return [value for _ in places]
        case Atom(symbol):
            return [False] + [letter == symbol for letter in word]
        case Not():
            return [not f for f in below[0]]
        case And():
            return [all(values) for values in zip(*below, strict=True)]
        case Or():
            return [any(values) for values in zip(*below, strict=True)]
        case Implies():
            return [g or not f for f, g in zip(*below, strict=True)]
        case Iff():
            return [f == g for f, g in zip(*below, strict=True)]
        case Yesterday():
            return [t >= 2 and below[0][t - 1] for t in places]
        case WeakYesterday():
            return [t < 2 or below[0][t - 1] for t in places]
        case Once():
            first = next((t for t in places[1:] if below[0][t]), len(places))
            return [t >= first for t in places]
        case Historically():
            first = next((t for t in places[1:] if not below[0][t]), len(places))
            return [t < first for t in places]
        case Since():
            return _since(*below)
        case _:
            raise TypeError(f"{type(node).__name__} is not a formula")


def _since(left: Truth, right: Truth) -> Truth:
    """Compares the last position where `right` held with the last one where `left` did not; 0 is none."""
    held = accumulate((t if t and value else 0 for t, value in enumerate(right)), max)
    broken = accumulate((t if t and not value else 0 for t, value in enumerate(left)), max)
    return [last > 0 and gap <= last for last, gap in zip(held, broken, strict=True)]
