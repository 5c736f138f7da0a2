"""A regular expression for the language of an automaton."""

from __future__ import annotations

from nerode.core import Budget, BudgetExceeded, started
from nerode.languages.dfa import Dfa
from nerode.languages.notation import subtrees
from nerode.languages.regex.syntax import (
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Letters,
    Regex,
    Repeat,
    Union,
    concat,
    union,
)

MAX_NODES = 200_000
"""The largest expression that is made; without a limit it may be exponential in the number of states."""


def dfa_to_regex(dfa: Dfa, budget: Budget | None = None) -> Regex:
    """Returns a regular expression for the language of an automaton, by elimination of states.

    States are removed one by one, those with the fewest ways through them first; each way becomes an edge
    whose label is an expression. Among the usual simplifications only those are made that never lengthen the
    text.

    Raises:
        BudgetExceeded: if the expression has more than `MAX_NODES` subexpressions, or the time is up.
    """
    return Regex(expression=_Elimination(dfa, started(budget)).run(), alphabet=dfa.alphabet)


class _Elimination:
    """Edges between the states that are left, labelled with expressions, and the size of each label."""

    def __init__(self, dfa: Dfa, budget: Budget) -> None:
        self.budget = budget
        self.first, self.last = -1, -2
        self.edges: dict[int, dict[int, Expression]] = {self.first: {}, self.last: {}}
        live = dfa.live.tolist()
        for q, row in enumerate(dfa.transitions.tolist()):
            if not live[q]:
                continue
            letters: dict[int, list[str]] = {}
            for symbol, target in zip(dfa.alphabet, row, strict=True):
                if live[target]:
                    letters.setdefault(target, []).append(symbol)
            self.edges[q] = {target: Letters(tuple(sorted(found))) for target, found in letters.items()}
            if dfa.accepting[q]:
                self.edges[q][self.last] = Epsilon()
        if live[dfa.start]:
            self.edges[self.first][dfa.start] = Epsilon()
        self.sizes: dict[int, int] = {}
        self.kept: list[Expression] = []

    def run(self) -> Expression:
        """Removes all states and returns the label that is left."""
        left = [q for q in self.edges if q >= 0]
        while left:
            state = min(left, key=self._cost)
            left.remove(state)
            self._remove(state)
            self.budget.check_time(states_left=len(left))
        return self.edges[self.first].get(self.last, EmptySet())

    def _cost(self, state: int) -> tuple[int, int]:
        ways_in = [source for source in self.edges if source != state and state in self.edges[source]]
        ways_out = [target for target in self.edges[state] if target != state]
        size = sum(self._size(self.edges[p][state]) for p in ways_in) * len(ways_out)
        size += sum(self._size(self.edges[state][r]) for r in ways_out) * len(ways_in)
        return size, state

    def _remove(self, state: int) -> None:
        out = self.edges.pop(state)
        loop = _starred(out.pop(state)) if state in out else Epsilon()
        for row in self.edges.values():
            into = row.pop(state, None)
            if into is None:
                continue
            for target, label in out.items():
                way = _chain(into, loop, label)
                row[target] = _choice(row[target], way) if target in row else way
                if self._size(row[target]) > MAX_NODES:
                    raise BudgetExceeded(
                        "subexpressions", MAX_NODES, remedy="keep the language as an automaton"
                    )

    def _size(self, expression: Expression) -> int:
        number = id(expression)
        if number not in self.sizes:
            self.kept.append(expression)  # An address is not used again while its expression is kept.
            self.sizes[number] = sum(1 for _ in subtrees(expression))
        return self.sizes[number]


def _chain(*parts: Expression) -> Expression:
    return concat(*(part for part in parts if not isinstance(part, Epsilon)))


def _starred(part: Expression) -> Expression:
    if isinstance(part, Repeat) and part.high is None and part.low <= 1:
        part = part.operand
    return Repeat(part, 0, None)


def _choice(left: Expression, right: Expression) -> Expression:
    """The union of two labels; letters are joined, and ε | x x* is x*."""
    if isinstance(left, Letters) and isinstance(right, Letters):
        return Letters(tuple(sorted({*left.symbols, *right.symbols})))
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Epsilon):
            if isinstance(other, Repeat) and other.low == 0:
                return other
            if not isinstance(other, Union):
                return Repeat(other, 0, 1)
    if isinstance(left, Concat) and isinstance(right, Concat) and left.parts == right.parts:
        return left
    return union(left, right)
