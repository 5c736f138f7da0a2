"""The elements of a JFLAP file, collected while the XML parser runs."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from nerode.core import Budget, FormatError, excerpt

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
    "text": frozenset({"note"}),
}
"""Where the elements that mean something may stand; others (coordinates, names, labels) are passed over."""

_ONCE = frozenset({"type", "automaton", "initial", "final", "from", "to", "read", "text"})
"""Elements that occur at most once in their parent."""

_LEAVES = _ONCE - {"automaton"}
"""Elements that have no elements inside."""

_OTHER_TYPES = {
    "pda": "a pushdown automaton",
    "turing": "a Turing machine",
    "turingblock": "a Turing machine",
    "mealy": "a Mealy machine",
    "moore": "a Moore machine",
    "grammar": "a grammar",
    "re": "a regular expression",
    "lsystem": "an L-system",
}


class JffReader:
    """Collects states, transitions and notes; refuses what is no finite automaton.

    Attributes:
        path: the file, for messages.
        parser: the XML parser, to be fed with the text.
        states: the line of each state, by id, in the order of the file.
        starts: ids of the start states (at most one).
        accepting: ids of the accepting states.
        transitions: source id, label, target id and line of each transition.
        notes: text and line of each note.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path = path
        self.states: dict[str, int] = {}
        self.starts: list[str] = []
        self.accepting: list[str] = []
        self.transitions: list[tuple[str, str, str, int]] = []
        self.notes: list[tuple[str, int]] = []
        self._budget = budget
        self._open: list[tuple[str, int, set[str]]] = []
        self._text: list[str] = []
        self._fields: dict[str, str] = {}
        self._type = ""
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
        if not self._type:
            raise FormatError(
                "there is no <type>", path=self.path, hint="A finite automaton has <type>fa</type>"
            )
        if not self.starts:
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
        elif name in ("from", "to", "read", "text"):
            self._fields[name] = text
        elif name == "transition":
            for part in ("from", "to", "read"):
                if part not in self._fields:
                    self._fail(f"the transition has no <{part}>", line)
            self.transitions.append((self._fields["from"], self._fields["read"], self._fields["to"], line))
        elif name == "note":
            self.notes.append((self._fields.get("text", ""), line))

    def _start_state(self, attributes: dict[str, str]) -> None:
        name = attributes.get("id", "").strip()
        if not name:
            self._fail("the state has no id")
        if name in self.states:
            self._fail(f"the id {excerpt(name)} is that of the state on line {self.states[name]}")
        self.states[name] = self.parser.CurrentLineNumber
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
        if text != "fa":
            what = _OTHER_TYPES.get(text, f"of the type {excerpt(text)}")
            self._fail(f"this is {what}; give a finite automaton (type fa)")
        self._type = text

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            self._fail(f"the file says that its encoding is {encoding[:60]}; save it as UTF-8")

    def _doctype(self, *_: object) -> NoReturn:
        self._fail("document types and entities are not read; remove <!DOCTYPE …>")

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise FormatError(what, path=self.path, line=line or self.parser.CurrentLineNumber)
