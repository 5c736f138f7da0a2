"""From a cascade of resets to a formula of past temporal logic.

The label of a level is the last one that it was reset to, or its start if there was none: "since it was set
to v, nothing else was set" is `!other S set`. What its commands read of the levels above, before the letter,
is what held yesterday. So every star-free language has a formula with one `S` per label and level.

Implements: [Kamp1968], [KrohnRhodes1965]; the argument by cascades is that of [MalerPnueli1990].
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from nerode.algebra.cascades.decomposition import decompose
from nerode.algebra.cascades.lookups import Source
from nerode.algebra.cascades.records import Cascade, Reset
from nerode.core import Budget, BudgetExceeded, started
from nerode.languages import Dfa, is_equivalent
from nerode.languages.pastltl import (
    Atom,
    Constant,
    Formula,
    Historically,
    Not,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
    conjunction,
    disjunction,
    formula_to_dfa,
)

MAX_NODES = 20_000
"""The largest formula that is made, written out as a tree."""

_TRUE, _FALSE = Constant(True), Constant(False)


def dfa_to_formula(dfa: Dfa, budget: Budget | None = None) -> PastFormula:
    """Returns a formula of past temporal logic for a star-free language.

    The automaton of the formula is compared with the given one before it is returned.

    Args:
        dfa: an automaton of the language.
        budget: of the decomposition, and of the automaton of the formula.

    Raises:
        NotCounterFree: if the language is not star-free.
        BudgetExceeded: if the formula has more than `MAX_NODES` subformulas.
    """
    limits = started(budget)
    cascade = decompose(dfa, limits)
    formula = _Writer(cascade, dfa).accepted()
    found = PastFormula(formula=formula, alphabet=dfa.alphabet)
    if not is_equivalent(formula_to_dfa(found, budget=limits), dfa):
        raise AssertionError("the formula of the cascade is not one of the language")
    return found


class _Writer:
    """Formulas for what holds at the current position, each made once and counted as a tree."""

    def __init__(self, cascade: Cascade, dfa: Dfa) -> None:
        self.cascade = cascade
        self.dfa = dfa
        self.sizes: dict[int, int] = {}
        self.kept: list[Formula] = []
        self.source = functools.cache(self._source)
        self.label = functools.cache(self._label)

    def accepted(self) -> Formula:
        """Returns the formula of the words that the automaton accepts."""
        state = Source("lookup", self.cascade.state)
        accepting = [q for q in range(self.dfa.num_states) if self.dfa.accepting[q]]
        others = [q for q in range(self.dfa.num_states) if not self.dfa.accepting[q]]
        if len(others) < len(accepting):
            return self._not(self._any(self.source(state, q) for q in others))
        return self._any(self.source(state, q) for q in accepting)

    def _source(self, source: Source, value: int) -> Formula:
        if source.kind == "letter":
            return Atom(self.dfa.alphabet.symbols[value])
        if source.kind == "new":
            return self.label(source.number, value)
        if source.kind == "lookup":
            return self._lookup(source.number, value)
        before = self.label(source.number, value)
        at_start = value == self.cascade.levels[source.number].start
        if isinstance(before, Constant) and before.value == at_start:
            return before
        return self._counted(WeakYesterday(before) if at_start else Yesterday(before))

    def _label(self, level: int, label: int) -> Formula:
        """The level has this label after the letter."""
        record = self.cascade.levels[level]
        context = Source("lookup", record.context)
        to_this: list[Formula] = []
        to_others: list[Formula] = []
        for value, command in enumerate(record.commands):
            if isinstance(command, Reset):
                (to_this if command.label == label else to_others).append(self.source(context, value))
        keeps = self._not(self._any(to_others))
        since = self._since(keeps, self._any(to_this))
        if label != record.start:
            return since
        return self._any([self._counted(Historically(keeps)) if keeps is not _TRUE else _TRUE, since])

    def _lookup(self, number: int, value: int) -> Formula:
        """The lookup has this value: by a row of its own, or by a default that no other row replaces."""
        table = self.cascade.lookups[number]
        ways = []
        for selector, default in enumerate(table.otherwise):
            rows = [r for r in table.rows if not table.has_selector or r.literals[0][1] == selector]
            first = 1 if table.has_selector else 0
            chosen = [
                self._all(self.source(table.reads[p], v) for p, v in row.literals[first:])
                for row in rows
                if (row.value == value) != (default == value)
            ]
            held = self._any(chosen)
            held = self._not(held) if default == value else held
            if table.has_selector:
                held = self._all([self.source(table.reads[0], selector), held])
            ways.append(held)
        return self._any(ways)

    def _any(self, parts: Iterable[Formula]) -> Formula:
        found = [part for part in parts if not _is(part, False)]
        if any(_is(part, True) for part in found):
            return _TRUE
        return self._counted(disjunction(*found)) if found else _FALSE

    def _all(self, parts: Iterable[Formula]) -> Formula:
        found = [part for part in parts if not _is(part, True)]
        if any(_is(part, False) for part in found):
            return _FALSE
        return self._counted(conjunction(*found)) if found else _TRUE

    def _not(self, part: Formula) -> Formula:
        if isinstance(part, Constant):
            return _FALSE if part.value else _TRUE
        return part.operand if isinstance(part, Not) else self._counted(Not(part))

    def _since(self, keeps: Formula, sets: Formula) -> Formula:
        if _is(sets, False):
            return _FALSE
        return sets if _is(keeps, False) else self._counted(Since(keeps, sets))

    def _counted(self, formula: Formula) -> Formula:
        size = 1 + sum(self.sizes.get(id(child), 1) for child in formula.children)
        if size > MAX_NODES:
            raise BudgetExceeded(
                "subformulas",
                MAX_NODES,
                known_so_far={"levels of the cascade": len(self.cascade.levels)},
                remedy="keep the language as an automaton",
            )
        self.sizes[id(formula)] = size
        self.kept.append(formula)
        return formula


def _is(part: Formula, value: bool) -> bool:
    return isinstance(part, Constant) and part.value is value
