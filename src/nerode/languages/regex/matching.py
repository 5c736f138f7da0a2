"""Membership straight from the definition: slow, short and independent of the automata."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nerode.languages.alphabet import WordLike
from nerode.languages.regex.syntax import (
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
)
from nerode.languages.trees import fold

Spans = npt.NDArray[np.bool_]
"""`spans[i, j]`: whether the factor from position i to position j matches."""


def matches(regex: Regex, word: WordLike) -> bool:
    """Whether the word matches, by deciding for every factor and every subexpression.

    The time is cubic in the length of the word; it is meant as an oracle for short words.
    """
    letters = [regex.alphabet.symbols[i] for i in regex.alphabet.encode(word)]
    spans = fold(regex.expression, lambda node, below: _spans(node, below, letters))
    return bool(spans[0, len(letters)])


def _spans(node: Expression, below: list[Spans], word: list[str]) -> Spans:
    size = len(word) + 1
    spans = np.zeros((size, size), dtype=np.bool_)
    match node:
        case EmptySet():
            pass
        case Epsilon():
            np.fill_diagonal(spans, True)
        case Letters(symbols):
            for i, letter in enumerate(word):
                spans[i, i + 1] = letter in symbols
        case Union():
            spans = np.logical_or.reduce(below)
        case Intersection():
            spans = np.logical_and.reduce(below)
        case Complement():
            spans = np.triu(~below[0])
        case Concat():
            spans = below[0]
            for right in below[1:]:
                spans = spans @ right
        case Repeat(_, low, high):
            spans = _power(below[0], low)
            # A word of this length needs no more factors than it has letters.
            more = len(word) if high is None else min(high - low, len(word))
            spans = spans @ _power(below[0] | np.eye(size, dtype=np.bool_), more)
    return spans


def _power(spans: Spans, exponent: int) -> Spans:
    result = np.eye(len(spans), dtype=np.bool_)
    while exponent:
        if exponent & 1:
            result = result @ spans
        spans = spans @ spans
        exponent >>= 1
    return result
