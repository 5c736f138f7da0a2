"""The same regular expressions in other people's programs, and read straight from their definition."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from nerode.languages.alphabet import WordLike
from nerode.languages.notation import fold
from nerode.languages.regex import (
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


def to_automata_lib(expression: Expression, symbols: str) -> DFA:
    """Returns automata-lib's automaton, by its own operations from the leaves up."""
    return DFA.from_nfa(fold(expression, lambda node, below: _nfa(node, below, symbols)))


def _nfa(node: Expression, below: list[NFA], symbols: str) -> NFA:
    match node:
        case EmptySet() | Epsilon():
            return NFA(
                states={0},
                input_symbols=set(symbols),
                transitions={0: {}},
                initial_state=0,
                final_states={0} if isinstance(node, Epsilon) else set(),
            )
        case Letters(letters):
            return NFA(
                states={0, 1},
                input_symbols=set(symbols),
                transitions={0: {letter: {1} for letter in letters}, 1: {}},
                initial_state=0,
                final_states={1},
            )
        case Concat():
            return _chain(below, symbols)
        case Union():
            result = below[0]
            for other in below[1:]:
                result = result.union(other)
            return result
        case Intersection():
            result = below[0]
            for other in below[1:]:
                result = result.intersection(other)
            return result
        case Complement():
            return NFA.from_dfa(DFA.from_nfa(below[0]).to_complete().complement())
        case Repeat(_, low, high):
            many = [below[0].kleene_star()] if high is None else [below[0].option()] * (high - low)
            return _chain([below[0]] * low + many, symbols)
        case _:
            raise TypeError(node)


def _chain(parts: list[NFA], symbols: str) -> NFA:
    result = _nfa(Epsilon(), [], symbols)
    for part in parts:
        result = result.concatenate(part)
    return result


def to_python(expression: Expression) -> re.Pattern[str]:
    """Returns Python's own pattern for an expression without complement and intersection."""
    return re.compile(fold(expression, _python_text))


def _python_text(node: Expression, below: list[str]) -> str:
    match node:
        case EmptySet():
            return "(?!)"
        case Epsilon():
            return "(?:)"
        case Letters(letters):
            return f"[{''.join(letters)}]"
        case Concat():
            return f"(?:{''.join(below)})"
        case Union():
            return f"(?:{'|'.join(below)})"
        case Repeat(_, low, high):
            return f"(?:{below[0]}){{{low},{'' if high is None else high}}}"
        case _:
            raise TypeError(node)


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
