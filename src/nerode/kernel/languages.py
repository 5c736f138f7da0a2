"""The kernel's own reading of languages: automata and brackets; domains have counter machines and models.

What is verified of the file: every object has exactly its keys, every number is within bounds, and an
automaton is complete. Only the definition counts, not what a language says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nerode.kernel.letters import (
    MAX_STATES,
    NOTHING,
    LanguageMachine,
    LetterNames,
    NextLetters,
    reaching,
    read_letters,
)
from nerode.kernel.reader import anything, choice, entries, file_record, listing, optional, record, whole
from nerode.kernel.work import Unreadable, WorkCount

Json = Any

MAX_KINDS = 1_000
MAX_NESTING = 1_000_000


class AutomatonTable:
    """A complete deterministic automaton; a letter is legal if it leads to a state that can still accept."""

    def __init__(self, letters: LetterNames, table: list[list[int]], start: int, accepting: set[int]) -> None:
        self.letters = letters
        self._table = table
        self._start = start
        live = reaching(table, accepting)
        self._legal = [
            NextLetters(frozenset(a for a, t in enumerate(row) if live[t]), state in accepting)
            for state, row in enumerate(table)
        ]

    def initial(self) -> int:
        """Returns the start state."""
        return self._start

    def advance(self, configuration: int, letter: int) -> int:
        """Returns the next state."""
        return self._table[configuration][letter]

    def legal(self, configuration: int) -> NextLetters:
        """Returns the letters that lead to a live state, and whether the state accepts."""
        return self._legal[configuration]


@dataclass(frozen=True, slots=True)
class BracketStack:
    """Balanced brackets; letter 2k opens and 2k + 1 closes kind k. A configuration is the stack, or None."""

    letters: LetterNames
    kinds: int
    depth: int | None

    def initial(self) -> tuple[int, ...]:
        """Returns the empty stack."""
        return ()

    def advance(self, configuration: Any, letter: int) -> tuple[int, ...] | None:
        """Returns the stack after the bracket, or None if it does not fit."""
        if configuration is None:
            return None
        kind, closes = divmod(letter, 2)
        if closes:
            return configuration[:-1] if configuration and configuration[-1] == kind else None
        return (*configuration, kind) if self.depth is None or len(configuration) < self.depth else None

    def legal(self, configuration: Any) -> NextLetters:
        """Returns all opening brackets below the bound, the matching closing one, the end at depth 0."""
        if configuration is None:
            return NOTHING
        open_more = self.depth is None or len(configuration) < self.depth
        opening = range(0, 2 * self.kinds, 2) if open_more else ()
        closing = (2 * configuration[-1] + 1,) if configuration else ()
        return NextLetters(frozenset((*opening, *closing)), not configuration)


_LANGUAGE = file_record(
    "nerode-language",
    1,
    dict.fromkeys(("name", "convention", "family", "parameters", "definition"), anything),
)
_STATE = whole(0, MAX_STATES)
_AUTOMATON = record(
    {
        "form": anything,
        "alphabet": read_letters,
        "start": _STATE,
        "accepting": listing(_STATE, most=MAX_STATES),
        "transitions": listing(listing(anything), most=MAX_STATES),
    }
)
_BRACKETS = record(
    {
        "form": anything,
        "pairs": listing(entries(anything, anything), most=MAX_KINDS),
        "depth": optional(whole(1, MAX_NESTING)),
    }
)


def read_language(data: Json, work: WorkCount) -> LanguageMachine:
    """Returns the language of JSON values; a domain is imported where the form is one of its own.

    Raises:
        Unreadable: with the first thing that is missing, unknown, too large or of the wrong size.
    """
    definition = _LANGUAGE(data, "a language")["definition"]
    form = definition.get("form") if isinstance(definition, dict) else None
    choice("dfa", "counters", "brackets", "n-gram")(form, "the form of a language")
    what = f"the definition of a language ({form})"
    match form:
        case "dfa":
            return _automaton(_AUTOMATON(definition, what))
        case "brackets":
            return _brackets(_BRACKETS(definition, what))
        case "counters":
            from nerode.kernel.domains.counters import read_counter_machine

            return read_counter_machine(definition, what)
    from nerode.kernel.domains.models import read_model

    return read_model(definition, what, work)


def _automaton(parts: Mapping[str, Any]) -> AutomatonTable:
    letters, rows = parts["alphabet"], parts["transitions"]
    states = range(len(rows))
    for row in rows:
        if len(row) != len(letters.symbols) or any(type(t) is not int or t not in states for t in row):
            raise Unreadable(
                f"the transitions of a state do not lead to one of {len(rows):,} states by letter"
            )
    if not {parts["start"], *parts["accepting"]} <= set(states):
        raise Unreadable(f"the start or an accepting state is not among the {len(rows):,} states")
    return AutomatonTable(letters, rows, parts["start"], set(parts["accepting"]))


def _brackets(parts: Mapping[str, Any]) -> BracketStack:
    if not parts["pairs"]:
        raise Unreadable("there are no brackets")
    letters = read_letters([symbol for pair in parts["pairs"] for symbol in pair], "the brackets")
    return BracketStack(letters, len(parts["pairs"]), parts["depth"])
