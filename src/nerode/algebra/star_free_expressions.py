"""From an aperiodic monoid to a star-free expression: letters, products, Boolean operations, and no star.

The words of an element m other than 1 are those that begin as m does, end as m does, and have no factor that
leads below m: `U~∅ & ~∅V & ~(~∅W~∅)`. The words in U, V and W are made of those of elements above m.

Implements: [Schutzenberger1965]
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from nerode.algebra.green_relations import Green, green
from nerode.algebra.monoid import transition_monoid
from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.languages import Dfa, is_equivalent, minimise
from nerode.languages.regex import (
    Complement,
    EmptySet,
    Epsilon,
    Expression,
    Letters,
    Regex,
    concat,
    intersection,
    regex_to_dfa,
    union,
)

MAX_NODES = 20_000
"""The largest expression that is made, written out as a tree."""

_ALL = Complement(EmptySet())
"""Every word."""


def dfa_to_star_free(dfa: Dfa, budget: Budget | None = None) -> Regex:
    """Returns an expression without a star, with complements, for a star-free language.

    The automaton of the expression is compared with the given one before it is returned.

    Args:
        dfa: an automaton of the language.
        budget: of the monoid, and of the automaton of the expression.

    Raises:
        InputError: if the language is not star-free.
        BudgetExceeded: if the expression has more than `MAX_NODES` subexpressions.

    Implements: [Schutzenberger1965]
    """
    limits, least = started(budget), minimise(dfa)
    relations = green(transition_monoid(least, limits), limits)
    if not relations.is_aperiodic:
        raise InputError("the language is not star-free: it has no expression without a star")
    found = Regex(expression=_Writer(relations, least, limits).accepted(), alphabet=dfa.alphabet)
    if not is_equivalent(regex_to_dfa(found, budget=limits), dfa):
        raise AssertionError("the star-free expression is not one of the language")
    return found


class _Writer:
    """Expressions of the words of elements, each made once and counted as a tree."""

    def __init__(self, relations: Green, dfa: Dfa, budget: Budget) -> None:
        self.relations, self.dfa, self.budget = relations, dfa, budget
        self.monoid = relations.monoid
        self.products = self.monoid.multiplication_table(budget)
        self.acting = self.monoid.right[0].astype(np.intp)
        self.words_of = functools.cache(self._words_of)
        self.ideal = functools.cache(self._ideal)
        self.sizes: dict[int, int] = {}
        self.kept: list[Expression] = []

    def accepted(self) -> Expression:
        """Returns the smaller of the expressions of what is accepted, and of what is not, complemented."""
        ends = np.asarray(self.dfa.accepting)[self.monoid.elements[:, self.dfa.start]]
        ways: list[Expression] = []
        for side in (ends, ~ends):
            try:
                words = self._any([self.words_of(m) for m in np.flatnonzero(side).tolist()])
                ways.append(words if side is ends else self._not(words))
            except BudgetExceeded as stop:
                stopped = stop
        if not ways:
            raise stopped
        return min(ways, key=lambda way: self.sizes.get(id(way), 1))

    def _words_of(self, m: int) -> Expression:
        """The words that act as an element does."""
        self.budget.check_time()
        acting, elements = self.acting, range(len(self.products))
        if not m:
            return Epsilon() if acting.all() else self._without([self._set(acting != 0)])
        table, right, left = self.products, self.relations.r_class, self.relations.l_class
        above = np.array([m in self.ideal(x) for x in elements])
        # A prefix n a such that n a, and not n, is in the R-class of m; ends likewise.
        first = [(n, right[table[n, acting]] == right[m]) for n in elements if right[n] != right[m]]
        last = [(n, left[table[acting, n]] == left[m]) for n in elements if left[n] != left[m]]
        # A factor a n b that leads below m, and neither a n nor n b does.
        around = [
            (a, n, above[table[n, acting]] & ~above[table[table[x, n], acting]])
            for a, x in enumerate(acting.tolist())
            for n in elements
            if above[table[x, n]]
        ]
        factors = [self._set(~above[acting])]
        factors += [
            self._join(self._set([a]), self.words_of(n), self._set(b)) for a, n, b in around if b.any()
        ]
        starts = [self._join(self.words_of(n), self._set(a)) for n, a in first if a.any()]
        ends = [self._join(self._set(a), self.words_of(n)) for n, a in last if a.any()]
        parts = [
            self._join(self._any(starts), _ALL),
            self._join(_ALL, self._any(ends)),
            self._without(factors),
        ]
        return self._counted(intersection(*(part for part in parts if part is not _ALL)))

    def _ideal(self, x: int) -> frozenset[int]:
        """The elements below x, x itself included: those of the two-sided ideal."""
        return frozenset(np.unique(self.products[np.unique(self.products[:, x])]).tolist())

    def _set(self, chosen: Any) -> Expression:
        """The letters with these numbers, or those that a mask has."""
        numbers = np.flatnonzero(chosen).tolist() if isinstance(chosen, np.ndarray) else chosen
        symbols = sorted(self.dfa.alphabet.symbols[a] for a in numbers)
        return Letters(tuple(symbols)) if symbols else EmptySet()

    def _without(self, factors: list[Expression]) -> Expression:
        """The words that have no such factor."""
        found = self._any(factors)
        return _ALL if isinstance(found, EmptySet) else self._not(self._join(_ALL, found, _ALL))

    def _any(self, parts: list[Expression]) -> Expression:
        return self._counted(union(*(part for part in parts if not isinstance(part, EmptySet))))

    def _join(self, *parts: Expression) -> Expression:
        return self._counted(concat(*(part for part in parts if not isinstance(part, Epsilon))))

    def _not(self, part: Expression) -> Expression:
        return part.operand if isinstance(part, Complement) else self._counted(Complement(part))

    def _counted(self, expression: Expression) -> Expression:
        size = 1 + sum(self.sizes.get(id(child), 1) for child in expression.children)
        if size > MAX_NODES:
            raise BudgetExceeded(
                "subexpressions",
                MAX_NODES,
                known_so_far={"elements of the monoid": len(self.monoid)},
                remedy="keep the language as an automaton",
            )
        self.sizes[id(expression)] = size
        self.kept.append(expression)
        return expression
