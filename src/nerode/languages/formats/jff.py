"""JFLAP files, `.jff`: finite automata, regular expressions, Moore and Mealy machines.

`<read/>` is the empty word. A label of several characters is read as JFLAP reads it, one letter after the
other, with a warning, unless a note says that it is a letter. Document types, entity declarations and
structures inside structures are refused. States keep the order of the file. The letters are those of the
transitions, sorted, unless a note says otherwise: a JFLAP note whose text is `alphabet: b a` gives them in
order; it is written when the order is not the sorted one, or a letter has several characters. In regular
expressions + is the union, * the star and ! the empty word.
"""

from __future__ import annotations

import html
import math
import warnings
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from nerode.core import MARK, Budget, FormatError, PatternError, excerpt
from nerode.languages.dfa import Dfa
from nerode.languages.formats.moves import (
    MAX_SYMBOL,
    Move,
    Outline,
    mealy_outline,
    moore_outline,
    outline_of_dfa,
    writable_symbols,
)
from nerode.languages.regex import regex_to_dfa

ALPHABET_NOTE = "alphabet:"
"""How the text of the note begins that gives the letters in order."""


def outline_from_jff(text: str, *, path: Path, budget: Budget) -> Outline:
    """Returns the automaton of a JFLAP text as it stands there.

    Args:
        text: the content of the file.
        path: the file, for messages.
        budget: limits on the states.

    Raises:
        FormatError: with the line, if the text is no finite automaton of JFLAP.
    """
    reader = JffReader(path, budget)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        what = f"this is not XML: {expat.ErrorString(error.code)} at column {error.offset + 1}"
        raise FormatError(what, path=path, line=error.lineno) from None
    reader.finish()
    if reader.type == "re":
        return _expression_outline(reader, budget)
    numbers = {name: i for i, name in enumerate(reader.states)}
    moves = []
    for source, symbol, target, line in reader.transitions:
        for end in (source, target):
            if end not in numbers:
                raise FormatError(f"there is no state with the id {excerpt(end)}", path=path, line=line)
        moves.append(Move(numbers[source], symbol or None, numbers[target], line))
    symbols = _noted_alphabet(reader)
    moves, count = _letter_by_letter(moves, frozenset(symbols or ()), len(numbers), path)
    reads = {(move.source, move.symbol) for move in moves if move.symbol is not None}
    outline = Outline(
        path=path,
        num_states=count,
        moves=moves,
        starts=[numbers[name] for name in reader.starts],
        accepting=[numbers[name] for name in reader.accepting],
        symbols=symbols,
        state_names=tuple(reader.names.values()) if len(reads) == len(moves) else (),
    )
    if reader.type == "fa":
        return outline
    if count > len(numbers) or reader.accepting:
        raise FormatError("a machine with outputs reads a letter at a time and accepts nothing", path=path)
    if reader.type == "mealy":
        return mealy_outline(outline, reader.outputs)
    missing = next((name for name in numbers if not reader.state_outputs.get(name)), None)
    if missing is not None:
        raise FormatError("the state has no <output>", path=path, line=reader.states[missing])
    return moore_outline(outline, [reader.state_outputs[name] for name in numbers])


def _letter_by_letter(
    moves: list[Move], letters: frozenset[str], states: int, path: Path
) -> tuple[list[Move], int]:
    """Moves that read one letter each, with the number of all states; new ones lie between the letters."""
    found: list[Move] = []
    long: list[str] = []
    for move in moves:
        symbol = move.symbol or ""
        # What cannot be a letter is refused afterwards, with its line.
        if symbol in letters or not 1 < len(symbol) <= MAX_SYMBOL or any(map(str.isspace, symbol)):
            found.append(move)
            continue
        long.append(symbol)
        between = [move.source, *range(states, states + len(symbol) - 1), move.target]
        states += len(symbol) - 1
        found += [Move(between[i], letter, between[i + 1], move.line) for i, letter in enumerate(symbol)]
    if long:
        warnings.warn(
            f"{path}: the label {excerpt(long[0])} is read as JFLAP reads it, one letter after the other; "
            f"a note `{ALPHABET_NOTE} {long[0]} …` makes it one letter",
            stacklevel=2,
        )
    return found, states


def _expression_outline(reader: JffReader, budget: Budget) -> Outline:
    """The automaton of a regular expression of JFLAP."""
    if not reader.expression:
        raise FormatError("the <expression> is missing or empty", path=reader.path)
    signs = {"+": "|", "*": "*", "(": "(", ")": ")", "!": "()", " ": ""}
    # The signs of patterns that are letters in JFLAP are letters.
    text = "".join(signs.get(c, c if c.isalnum() else f"\\{c}") for c in reader.expression)
    try:
        dfa = regex_to_dfa(text, budget=budget)
    except PatternError as error:
        raise FormatError(f"the expression {excerpt(reader.expression)}: {error}", path=reader.path) from None
    return outline_of_dfa(dfa, reader.path)


def dfa_to_jff(dfa: Dfa) -> str:
    """Returns a JFLAP text, the states on a circle.

    Raises:
        InputError: if a symbol has a character that XML cannot carry.
    """
    symbols = writable_symbols(dfa)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!-- {MARK} -->"]
    lines += ["<structure>", "  <type>fa</type>", "  <automaton>"]
    for q in range(dfa.num_states):
        x, y = _place(q, dfa.num_states)
        marks = ("<initial/>" if q == dfa.start else "") + ("<final/>" if dfa.accepting[q] else "")
        lines.append(f'    <state id="{q}" name="q{q}"><x>{x:.1f}</x><y>{y:.1f}</y>{marks}</state>')
    for q, row in enumerate(dfa.transitions.tolist()):
        lines += [
            f"    <transition><from>{q}</from><to>{target}</to><read>{_escaped(symbol)}</read></transition>"
            for symbol, target in zip(symbols, row, strict=True)
        ]
    if list(symbols) != sorted(symbols) or any(len(symbol) > 1 for symbol in symbols):
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
    """The position of a state: neighbours about 100 points apart, the first one on the left."""
    radius = max(100.0, 100.0 * num_states / (2 * math.pi))
    angle = math.pi + 2 * math.pi * state / num_states
    return radius * (1 + math.cos(angle)) + 60.0, radius * (1 + math.sin(angle)) + 60.0


def _escaped(symbol: str) -> str:
    return html.escape(symbol, quote=False)


_TOP = frozenset({"structure", "automaton"})
_PARENTS = {
    "structure": frozenset({""}),
    "type": frozenset({"structure"}),
    "automaton": frozenset({"structure"}),
    "state": _TOP,
    "transition": _TOP,
    "note": _TOP,
    "initial": frozenset({"state"}),
    "final": frozenset({"state"}),
    "from": frozenset({"transition"}),
    "to": frozenset({"transition"}),
    "read": frozenset({"transition"}),
    "transout": frozenset({"transition"}),
    "output": frozenset({"state"}),
    "expression": frozenset({"structure"}),
    "text": frozenset({"note"}),
}
"""Where the elements that mean something may stand; others (coordinates, names, labels) are passed over."""

_ONCE = frozenset(
    (
        "type",
        "automaton",
        "initial",
        "final",
        "from",
        "to",
        "read",
        "text",
        "transout",
        "output",
        "expression",
    )
)
"""Elements that occur at most once in their parent."""

_LEAVES = _ONCE - {"automaton"}
"""Elements that have no elements inside."""

_OTHER_TYPES = {
    "pda": "a pushdown automaton",
    "turing": "a Turing machine",
    "turingblock": "a Turing machine",
    "grammar": "a grammar",
    "lsystem": "an L-system",
}


class JffReader:
    """Collects states, transitions and notes; refuses what is no finite automaton.

    Attributes:
        path: the file, for messages.
        parser: the XML parser, to be fed with the text.
        states: the line of each state, by id, in the order of the file.
        names: the name of each state, by id.
        starts: ids of the start states (at most one).
        accepting: ids of the accepting states.
        transitions: source id, label, target id and line of each transition.
        notes: text and line of each note.
        type: "fa", "mealy", "moore" or "re".
        outputs: of each transition; "" where there is none.
        state_outputs: the output of each state, by id.
        expression: the text of a regular expression.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path = path
        self.states: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.starts: list[str] = []
        self.accepting: list[str] = []
        self.transitions: list[tuple[str, str, str, int]] = []
        self.notes: list[tuple[str, int]] = []
        self.outputs: list[str] = []
        self.state_outputs: dict[str, str] = {}
        self.expression = ""
        self._budget = budget
        self._open: list[tuple[str, int, set[str]]] = []
        self._text: list[str] = []
        self._fields: dict[str, str] = {}
        self.type = ""
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._doctype

    def finish(self) -> None:
        """Checks what only the whole file can show.

        Raises:
            FormatError: if there is no type or no start state.
        """
        if not self.type:
            raise FormatError(
                "there is no <type>", path=self.path, hint="A finite automaton has <type>fa</type>"
            )
        if not self.starts and self.type != "re":
            raise FormatError(
                "no start state", path=self.path, hint="One <state> needs <initial/>; set it in JFLAP"
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1][0] if self._open else ""
        if name == "block":
            self._fail("a <block> belongs to a Turing machine; give a finite automaton")
        if not parent and name != "structure":
            self._fail(f"the file begins with <{name[:60]}>, not with <structure>")
        if parent in _LEAVES or (name in _PARENTS and parent not in _PARENTS[name]):
            self._fail(f"<{name[:60]}> inside <{parent[:60]}>")
        if self._open and name in _ONCE:
            if name in self._open[-1][2]:
                self._fail(f"a second <{name}> in one <{parent}>")
            self._open[-1][2].add(name)
        if name == "state":
            self._start_state(attributes)
        elif name in ("initial", "final"):
            self._mark_state(name)
        elif name in ("transition", "note"):
            self._fields = {}
        self._open.append((name, self.parser.CurrentLineNumber, set()))
        self._text.clear()

    def _end(self, name: str) -> None:
        _, line, _ = self._open.pop()
        text = "".join(self._text).strip(" \t\r\n")
        self._text.clear()
        if name == "type":
            self._set_type(text)
        elif name in ("from", "to", "read", "text", "transout"):
            self._fields[name] = text
        elif name == "output":
            self.state_outputs[next(reversed(self.states))] = text
        elif name == "expression":
            self.expression = text
        elif name == "transition":
            for part in ("from", "to", "read"):
                if part not in self._fields:
                    self._fail(f"the transition has no <{part}>", line)
            if self.type == "mealy" and not self._fields.get("transout"):
                self._fail("the transition has no <transout>", line)
            self.transitions.append((self._fields["from"], self._fields["read"], self._fields["to"], line))
            self.outputs.append(self._fields.get("transout", ""))
        elif name == "note":
            self.notes.append((self._fields.get("text", ""), line))

    def _start_state(self, attributes: dict[str, str]) -> None:
        name = attributes.get("id", "").strip()
        if not name:
            self._fail("the state has no id")
        if name in self.states:
            self._fail(f"the id {excerpt(name)} is that of the state on line {self.states[name]}")
        self.states[name] = self.parser.CurrentLineNumber
        self.names[name] = attributes.get("name", "").strip() or name
        self._budget.check("states", len(self.states), file=self.path)

    def _mark_state(self, mark: str) -> None:
        name = next(reversed(self.states))
        if mark == "final":
            self.accepting.append(name)
        elif self.starts:
            self._fail(f"a second start state; the first is on line {self.states[self.starts[0]]}")
        else:
            self.starts.append(name)

    def _set_type(self, text: str) -> None:
        if text not in ("fa", "mealy", "moore", "re"):
            what = _OTHER_TYPES.get(text, f"of the type {excerpt(text)}")
            self._fail(f"this is {what}; give a finite automaton (type fa)")
        self.type = text

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            self._fail(f"the file says that its encoding is {encoding[:60]}; save it as UTF-8")

    def _doctype(self, *_: object) -> NoReturn:
        self._fail("document types and entities are not read; remove <!DOCTYPE …>")

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise FormatError(what, path=self.path, line=line or self.parser.CurrentLineNumber)
