"""Which of the last letters decide what an automaton does: windows as tables of suffixes.

A case is a prefix that ends in a block of states. Its window is read backwards, the current letter first;
position j holds the letter j places back, or NOTHING (the number of letters) where the word begins later.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from nerode.compiler.tables import ANY, DecisionTable, decision_table
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Dfa

LONGEST_WINDOW = 64
"""Letters back from which nothing is looked for any more."""

MOST_SUFFIXES = 50_000
"""Suffixes that one table may have."""

V = TypeVar("V", bound=Hashable)
States = npt.NDArray[np.int32]
Pairs = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Question(Generic[V]):
    """What a window has to settle.

    Attributes:
        asked: which states the prefix may have reached before its last letter (a bool for each).
        value: what is asked for, given the states before and after the last letter; None where any answer
            will do.
    """

    asked: npt.NDArray[np.bool_]
    value: Callable[[int, int], V | None]


def settling_length(dfa: Dfa, question: Question[V], longest: int = LONGEST_WINDOW) -> int | None:
    """Returns how many of the last letters settle a question, the current one included; None if too many.

    The pairs of states that a letter leads to different answers are followed back, one letter a round, until
    no pair is left.
    """
    table = dfa.transitions
    apart = np.zeros((dfa.num_states, dfa.num_states), dtype=np.bool_)
    numbers: dict[V, int] = {}
    everything = set()
    for letter in range(dfa.num_letters):
        values = [
            question.value(q, int(table[q, letter])) if question.asked[q] else None for q in range(len(table))
        ]
        labels = np.array([-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values])
        asked = labels >= 0
        everything.update(labels[asked].tolist())
        apart |= (labels[:, None] != labels[None, :]) & asked[:, None] & asked[None, :]
    if len(everything) <= 1:
        return 0
    for length in range(1, longest + 1):
        if not apart.any():
            return length
        following = apart
        apart = np.zeros_like(apart)
        for letter in range(dfa.num_letters):
            column = table[:, letter]
            apart |= following[column][:, column]
    return None


def suffix_table(dfa: Dfa, question: Question[V], budget: Budget | None = None) -> DecisionTable[V] | None:
    """Returns the answers by the letters of the window, or None if nothing is ever asked.

    The variables of the table are the positions of the window; `settling_length` must not be None.

    Raises:
        BudgetExceeded: if there are more than MOST_SUFFIXES suffixes.
    """
    budget = budget or Budget()
    patterns: list[tuple[int, ...]] = []
    values: list[V] = []
    nothing = dfa.num_letters
    table = dfa.transitions
    identity = np.arange(dfa.num_states, dtype=np.int32)
    pending: list[tuple[tuple[int, ...], States, States]]
    pending = [((a,), identity, table[:, a]) for a in reversed(range(dfa.num_letters))]
    while pending:
        suffix, before, after = pending.pop()
        if len(patterns) + len(pending) > MOST_SUFFIXES:
            raise BudgetExceeded("suffixes", MOST_SUFFIXES, remedy="use a construction without a window")
        budget.check_time(suffixes=len(patterns))
        found = _answers(question, before, after)
        if len(found) == 1:
            patterns.append(suffix)
            values.extend(found)
        elif found:
            start = _answers(question, before[[dfa.start]], after[[dfa.start]])
            if start:
                patterns.append((*suffix, nothing))
                values.extend(start)
            older = reversed(range(nothing))
            pending.extend(((*suffix, a), before[table[:, a]], after[table[:, a]]) for a in older)
    if not patterns:
        return None
    width = max(map(len, patterns))
    padded = [(*p, *(nothing if p[-1] == nothing else ANY,) * (width - len(p))) for p in patterns]
    return decision_table(padded, values, (nothing + 1,) * width, budget)


def _answers(question: Question[V], before: States, after: States) -> set[V]:
    chosen = question.asked[before]
    pairs = set(zip(before[chosen].tolist(), after[chosen].tolist(), strict=True))
    return {value for p, q in pairs if (value := question.value(p, q)) is not None}
