"""The table of the bestiary, and its languages by name."""

from __future__ import annotations

import itertools

from nerode.core import Budget, Registry, UnknownName, add_plugins
from nerode.languages.bestiary.machines import BRACKET_ROWS, NGRAM_ROWS, PATTERNS, WORD_PROBLEM_ROWS
from nerode.languages.bestiary.regular import CLASSIC_ROWS, SUITE_ROWS, TASK_ROWS, TOMITA_ROWS
from nerode.languages.bestiary.row import Row
from nerode.languages.language import Language

HINT = "(`nerode list languages` lists the names and their patterns)"


def _registry() -> Registry[Row]:
    registry: Registry[Row] = Registry("language", hint=HINT)
    tables = (TOMITA_ROWS, SUITE_ROWS, TASK_ROWS, CLASSIC_ROWS, BRACKET_ROWS, NGRAM_ROWS, WORD_PROBLEM_ROWS)
    for row in itertools.chain(*tables):
        registry.add(row.name, row)
    add_plugins("languages", registry, Row)
    return registry


BESTIARY = _registry()
"""All rows by name."""


def lookup_language(name: str, budget: Budget | None = None) -> Language | None:
    """Returns the language with this name, or None if no row and no pattern has it.

    Case does not matter. A name of the right form with a number that makes no sense ("dyck-0") is an
    error, not None.

    Raises:
        InputError: if a number in the name is out of range.
        BudgetExceeded: if the automaton has to be built and is too large.
    """
    plain = name.strip().lower()
    if plain in BESTIARY:
        return BESTIARY[plain].language(budget)
    for pattern in PATTERNS:
        language = pattern.read(plain, budget)
        if language is not None:
            return language
    return None


def find_language(name: str, budget: Budget | None = None) -> Language:
    """Returns the language with this name.

    Raises:
        UnknownName: if there is none; the message has the nearest names.
        InputError: if a number in the name is out of range.
        BudgetExceeded: if the automaton has to be built and is too large.
    """
    language = lookup_language(name, budget)
    if language is None:
        known = [*BESTIARY, *(pattern.example.lower() for pattern in PATTERNS)]
        raise UnknownName("language", name, dict.fromkeys(known), hint=HINT)
    return language


def suite(tag: str) -> tuple[Row, ...]:
    """Returns the rows of one published suite, in the order of the bestiary.

    Raises:
        UnknownName: if no row has this tag.
    """
    rows = tuple(row for row in BESTIARY.values() if tag in row.suites)
    if not rows:
        raise UnknownName("suite", tag, {t for row in BESTIARY.values() for t in row.suites})
    return rows
