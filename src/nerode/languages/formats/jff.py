"""JFLAP files of type fa, `.jff`.

`<read/>` is the empty word; a label of several characters is one symbol (JFLAP itself would read it as a
word). Document types, entity declarations and structures inside structures are refused. States keep the
order of the file. The letters are those of the transitions, sorted, unless a note says otherwise: a JFLAP
note whose text is `alphabet: b a` gives them in order; it is written when the order is not the sorted one.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from pathlib import Path
from xml.parsers import expat

from nerode.core import Budget, FormatError, excerpt
from nerode.languages.dfa import Dfa
from nerode.languages.formats.jff_reader import JffReader
from nerode.languages.formats.moves import Move, Outline, outline_to_dfa, writable_symbols

ALPHABET_NOTE = "alphabet:"
"""How the text of the note begins that gives the letters in order."""


def dfa_from_jff(
    text: str, *, path: Path, alphabet: Iterable[str] | None = None, budget: Budget | None = None
) -> Dfa:
    """Returns the complete deterministic automaton of a JFLAP text.

    Args:
        text: the content of the file.
        path: the file, for messages.
        alphabet: the symbols in order, instead of those of the file.
        budget: limits on the automaton.

    Raises:
        FormatError: with the line, if the text is no finite automaton of JFLAP.
        BudgetExceeded: if the automaton is too large.
    """
    budget = budget or Budget()
    reader = JffReader(path, budget)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        what = f"this is not XML: {expat.ErrorString(error.code)} at column {error.offset + 1}"
        raise FormatError(what, path=path, line=error.lineno) from None
    reader.finish()
    numbers = {name: i for i, name in enumerate(reader.states)}
    moves = []
    for source, symbol, target, line in reader.transitions:
        for end in (source, target):
            if end not in numbers:
                raise FormatError(f"there is no state with the id {excerpt(end)}", path=path, line=line)
        moves.append(Move(numbers[source], symbol or None, numbers[target], line))
    outline = Outline(
        path=path,
        num_states=len(numbers),
        moves=moves,
        starts=[numbers[name] for name in reader.starts],
        accepting=[numbers[name] for name in reader.accepting],
        symbols=_noted_alphabet(reader),
    )
    return outline_to_dfa(outline, alphabet=alphabet, budget=budget)


def dfa_to_jff(dfa: Dfa) -> str:
    """Returns a JFLAP text, the states on a circle.

    Raises:
        InputError: if a symbol has a character that XML cannot carry.
    """
    symbols = writable_symbols(dfa)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<structure>", "  <type>fa</type>", "  <automaton>"]
    for q in range(dfa.num_states):
        x, y = _place(q, dfa.num_states)
        marks = ("<initial/>" if q == dfa.start else "") + ("<final/>" if dfa.accepting[q] else "")
        lines.append(f'    <state id="{q}" name="q{q}"><x>{x:.1f}</x><y>{y:.1f}</y>{marks}</state>')
    for q, row in enumerate(dfa.transitions.tolist()):
        lines += [
            f"    <transition><from>{q}</from><to>{target}</to><read>{_escaped(symbol)}</read></transition>"
            for symbol, target in zip(symbols, row, strict=True)
        ]
    if list(symbols) != sorted(symbols):
        note = " ".join([ALPHABET_NOTE, *map(_escaped, symbols)])
        lines.append(f"    <note><text>{note}</text><x>10.0</x><y>10.0</y></note>")
    return "\n".join([*lines, "  </automaton>", "</structure>"]) + "\n"


def _noted_alphabet(reader: JffReader) -> list[str] | None:
    noted = [(text, line) for text, line in reader.notes if text.startswith(ALPHABET_NOTE)]
    if not noted:
        return None
    if len(noted) > 1:
        raise FormatError(
            f"the note of line {noted[0][1]} gives the alphabet already", path=reader.path, line=noted[1][1]
        )
    text, line = noted[0]
    symbols = text.removeprefix(ALPHABET_NOTE).split()
    if len(set(symbols)) < len(symbols):
        raise FormatError("the alphabet of the note has a symbol twice", path=reader.path, line=line)
    return symbols


def _place(state: int, num_states: int) -> tuple[float, float]:
    """Where a state is drawn: neighbours about 100 points apart, the first one on the left."""
    radius = max(100.0, 100.0 * num_states / (2 * math.pi))
    angle = math.pi + 2 * math.pi * state / num_states
    return radius * (1 + math.cos(angle)) + 60.0, radius * (1 + math.sin(angle)) + 60.0


def _escaped(symbol: str) -> str:
    return html.escape(symbol, quote=False)
