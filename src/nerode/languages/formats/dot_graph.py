"""The graph of a DOT text: tokens with line and column, then nodes and edges with their attributes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

from nerode.core import Budget, FormatError, excerpt, started

_TOKEN = re.compile(
    r"""
    (?P<space>(?:\s++|//[^\n]*|/\*(?s:.*?)\*/|^\#[^\n]*)++)
  | (?P<name>[A-Za-z_\u0080-\U0010ffff][A-Za-z_0-9\u0080-\U0010ffff]*+)
  | (?P<numeral>-?(?:\.[0-9]*+|[0-9]++(?:\.[0-9]*+)?)(?![A-Za-z_.\u0080-\U0010ffff]))
  | "(?P<quoted>[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+)"
  | (?P<mark>->|--|[{}\[\]=;,:+])
    """,
    re.VERBOSE | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(\r?\n|.)")
_BRACKET = re.compile(r"[<>]")


class DotToken(NamedTuple):
    """A word of the text.

    Attributes:
        kind: "name" (without quotes, perhaps a keyword), "numeral", "quoted", "html", "mark" or "end".
        text: the word; of a quoted one what is between the quotes, with quotes unescaped.
        line: counted from 1.
        column: counted from 1.
    """

    kind: str
    text: str
    line: int
    column: int

    @property
    def is_id(self) -> bool:
        """Whether the token can name a node, an attribute or a value."""
        return self.kind in ("name", "numeral", "quoted", "html")

    @property
    def keyword(self) -> str:
        """The keyword that this token is, "" if it is none; keywords ignore case."""
        lowered = self.text.lower() if self.kind == "name" else ""
        return lowered if lowered in ("strict", "graph", "digraph", "subgraph", "node", "edge") else ""

    def describe(self) -> str:
        """The token as a reader of the file sees it."""
        if self.kind == "end":
            return "the end of the file"
        return f"{excerpt(self.text)} at column {self.column}"


def tokens(text: str, *, path: Path) -> Iterator[DotToken]:
    """Yields the tokens of a DOT text, an "end" token last.

    Raises:
        FormatError: with line and column, at a character that starts no token.
    """
    position = line_start = 0
    line = 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position - line_start + 1
        if match is not None:
            kind, end = str(match.lastgroup), match.end()
            content = match.group(kind)
        elif text[position] == "<":
            kind, end = "html", _end_of_html(text, position, path, line, column)
            content = text[position + 1 : end - 1]
        else:
            raise FormatError(_misfit(text[position:], column), path=path, line=line)
        if kind == "quoted":
            content = _ESCAPE.sub(_unescape, content)
        if kind != "space":
            yield DotToken(kind, content, line, column)
        last_break = -1 if kind in ("mark", "name", "numeral") else text.rfind("\n", position, end)
        if last_break >= 0:
            line += text.count("\n", position, end)
            line_start = last_break + 1
        position = end
    yield DotToken("end", "", line, position - line_start + 1)


def _unescape(match: re.Match[str]) -> str:
    # Only the quote and the line end are escapes of the language; `\n`, `\\` … belong to labels.
    escaped = match.group(1)
    if escaped == '"':
        return '"'
    return "" if escaped.endswith("\n") else match.group(0)


def _end_of_html(text: str, position: int, path: Path, line: int, column: int) -> int:
    depth = 0
    for bracket in _BRACKET.finditer(text, position):
        depth += 1 if bracket.group() == "<" else -1
        if depth == 0:
            return bracket.end()
    raise FormatError(f"the < at column {column} is never closed", path=path, line=line)


def _misfit(rest: str, column: int) -> str:
    if rest.startswith('"'):
        return f"the string that begins at column {column} is never closed"
    if rest.startswith("/*"):
        return f"the comment that begins at column {column} is never closed"
    if rest[0].isdecimal():
        return f"the number at column {column} runs into a name; put the whole in quotes"
    return f"unexpected character {rest[0]!r} at column {column}"


Attributes = dict[str, DotToken]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with its attributes, defaults included, and the line that names it first."""

    name: str
    attributes: Attributes
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge with its attributes, defaults included."""

    source: str
    target: str
    attributes: Attributes
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A directed graph; nodes are in the order in which the text names them."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)


@dataclass(slots=True)
class _Scope:
    """The defaults inside one pair of braces."""

    node: Attributes
    edge: Attributes


def graph_from_text(text: str, *, path: Path, budget: Budget | None = None) -> Graph:
    """Returns the directed graph in a DOT text; subgraphs are read as part of the whole.

    Raises:
        FormatError: with line and column, where the text leaves the language.
        BudgetExceeded: if there are more nodes than the budget has states.
    """
    return _Parser(text, path, started(budget)).parse()


class _Parser:
    """Reads one statement after the other; open braces are a list, not a recursion."""

    def __init__(self, text: str, path: Path, budget: Budget) -> None:
        self._path = path
        self._budget = budget
        self._tokens: Iterator[DotToken] = tokens(text, path=path)
        self._token = next(self._tokens)
        self._graph = Graph()
        self._scopes = [_Scope({}, {})]

    def parse(self) -> Graph:
        self._header()
        while self._scopes:
            self._statement()
        if self._token.kind != "end":
            self._fail("the graph ends before", "Give one graph a file")
        return self._graph

    def _header(self) -> None:
        if self._token.keyword == "strict":
            self._advance()
        if self._token.keyword == "graph":
            self._fail("an automaton is a digraph, not a graph:")
        if self._token.keyword != "digraph":
            self._fail("expected the word digraph, not")
        self._advance()
        if self._token.is_id:
            self._advance()
        self._expect("{")

    def _statement(self) -> None:
        self._budget.check_time(file=self._path)
        token = self._token
        if self._take("}"):
            self._scopes.pop()
            if self._scopes and self._token.text in ("->", "--") and self._token.kind == "mark":
                self._fail("edges from and to subgraphs are not read:", "Give each edge by itself")
        elif self._take(";"):
            return
        elif token.keyword == "subgraph" or (token.kind == "mark" and token.text == "{"):
            self._open_subgraph()
        elif token.keyword in ("node", "edge", "graph"):
            self._defaults(token.keyword)
        elif token.is_id and not token.keyword:
            self._advance()
            if self._take("="):
                self._set_graph_attribute(token, self._id("a value"))
            else:
                self._nodes_and_edges(token)
        else:
            self._fail("expected a statement, not")

    def _open_subgraph(self) -> None:
        if self._token.keyword == "subgraph":
            self._advance()
            if self._token.is_id and not self._token.keyword:
                self._advance()
        self._expect("{")
        outer = self._scopes[-1]
        self._scopes.append(_Scope(dict(outer.node), dict(outer.edge)))

    def _defaults(self, kind: str) -> None:
        self._advance()
        attributes = self._attributes()
        scope = self._scopes[-1]
        if kind == "node":
            scope.node.update(attributes)
        elif kind == "edge":
            scope.edge.update(attributes)
        elif len(self._scopes) == 1:
            self._graph.attributes.update(attributes)

    def _set_graph_attribute(self, name: DotToken, value: DotToken) -> None:
        if len(self._scopes) == 1:
            self._graph.attributes[name.text] = value

    def _nodes_and_edges(self, first: DotToken) -> None:
        self._port()
        chain = [first]
        while self._token.kind == "mark" and self._token.text in ("->", "--"):
            if self._token.text == "--":
                self._fail("an automaton has directed edges ->, not")
            self._advance()
            if self._token.keyword == "subgraph" or (self._token.kind, self._token.text) == ("mark", "{"):
                self._fail("edges from and to subgraphs are not read:", "Give each edge by itself")
            chain.append(self._id("a node"))
            self._port()
        attributes = self._attributes()
        nodes = [self._node(token) for token in chain]
        if len(chain) == 1:
            nodes[0].attributes.update(attributes)
        for source, target in itertools.pairwise(chain):
            merged = {**self._scopes[-1].edge, **attributes}
            self._graph.edges.append(
                Edge(source=source.text, target=target.text, attributes=merged, line=source.line)
            )

    def _node(self, token: DotToken) -> Node:
        node = self._graph.nodes.get(token.text)
        if node is None:
            node = Node(name=token.text, attributes=dict(self._scopes[-1].node), line=token.line)
            self._graph.nodes[token.text] = node
            self._budget.check("states", len(self._graph.nodes) - 1, file=self._path)
        return node

    def _attributes(self) -> Attributes:
        found: Attributes = {}
        while self._take("["):
            while not self._take("]"):
                name = self._id("an attribute or ]")
                self._expect("=")
                found[name.text] = self._id("a value")
                if not self._take(","):
                    self._take(";")
        return found

    def _port(self) -> None:
        """Reads past the compass points and ports after a node, which only matter to a drawing."""
        while self._take(":"):
            self._id("a port")

    def _id(self, wanted: str) -> DotToken:
        """Takes a name, number or string; strings joined by + become one."""
        token = self._token
        if not token.is_id or token.keyword:
            self._fail(f"expected {wanted}, not")
        self._advance()
        parts = [token.text]
        while token.kind == "quoted" and self._take("+"):
            if self._token.kind != "quoted":
                self._fail("expected a string after +, not")
            parts.append(self._token.text)
            self._advance()
        return token._replace(text="".join(parts)) if len(parts) > 1 else token

    def _take(self, mark: str) -> bool:
        if self._token.kind != "mark" or self._token.text != mark:
            return False
        self._advance()
        return True

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            self._fail(f"expected {mark}, not")

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _fail(self, what: str, hint: str = "") -> NoReturn:
        raise FormatError(
            f"{what} {self._token.describe()}", path=self._path, line=self._token.line, hint=hint
        )
