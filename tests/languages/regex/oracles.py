"""The same regular expressions in other people's programs."""

from __future__ import annotations

import re

from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from nerode.languages.notation import fold
from nerode.languages.regex import (
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
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
