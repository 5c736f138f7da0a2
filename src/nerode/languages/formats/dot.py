r"""Automata as DOT graphs, `.dot` and `.gv`, as AALpy, automata-lib and graphviz users write them.

- An accepting state has shape=doublecircle or peripheries=2.
- A start state is where an unlabelled edge leads that leaves an invisible node (shape none, point, plain or
  plaintext, style=invis, or a name that begins with `__start`) without edges into it.
- An edge has label="a" or, for several letters, label="a,b" (a comma or a line break between them). Commas
  inside brackets or quotes, as in `send(x,y)`, belong to the letter. Inside a label `\` takes the special
  meaning from the next character: `\,` is a comma, `\\` a backslash. `ε` is the empty word, `\ε` the letter
  ε. Entities such as `&amp;` are read as they stand.
- The graph attribute `alphabet`, written like a label, gives the letters in order; without it they are those
  of the edges, sorted.
- A graph without accepting states is a Mealy machine if every label is of the form in/out, and a Moore
  machine if the label of every state is of the form name|out, name/out or name: out. The words of a machine
  are those of its letters, each followed by the output that answers it, written /out.
- Other attributes only matter to a drawing. Another graph without accepting states whose states have labels
  is refused, unless it gives its alphabet.

A text is cut into tokens with line and column, these become nodes and edges with their attributes
(`DotGraph`), and these an automaton.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from nerode.core import MARK, Budget, FormatError, excerpt
from nerode.languages.dfa import Dfa
from nerode.languages.formats.moves import (
    Move,
    Outline,
    mealy_outline,
    moore_outline,
    writable_symbols,
)

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


class _Parser:
    """Reads one statement after the other; open braces are a list, not a recursion.

    Subgraphs are read as part of the whole. Errors have line and column.
    """

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


_EMPTY_WORD = "ε"
_START = "__start"
_LABEL_PIECE = re.compile(r"\\?.", re.DOTALL)
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_BREAKS = frozenset({",", "\n", r"\n", r"\l", r"\r"})
_CLOSING = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}
_GROUPING = frozenset("()[]{}\"'")
_STATE_OUTPUT = re.compile(r"\{?(?P<name>[^|/:]*)(?:\||/|: )(?P<out>[^|]*[^|}\s])\}?\s*")
_SUBSTITUTIONS = frozenset({r"\E", r"\G", r"\H", r"\L", r"\N", r"\T"})
_INVISIBLE = frozenset({"none", "point", "plain", "plaintext"})


def outline_from_dot(text: str, *, path: Path, budget: Budget) -> Outline:
    """Returns the automaton of a DOT text as it stands there.

    Args:
        text: the content of the file.
        path: the file, for messages.
        budget: limits on the states.

    Raises:
        FormatError: with the line, if the text is no DOT graph or the graph no automaton.
    """
    graph = _Parser(text, path, budget).parse()
    edges = [edge for edge in graph.edges if "invis" not in _text(edge.attributes, "style")]
    entries = _entries(graph, edges)
    states = {name: i for i, name in enumerate(name for name in graph.nodes if name not in entries)}
    starts = sorted({states[edge.target] for edge in edges if edge.source in entries})
    if not starts:
        raise FormatError(
            "no start state", path=path, hint=f'Add: {_START}0 [shape=none, label=""]; {_START}0 -> STATE'
        )
    accepting = [states[name] for name in states if _is_accepting(graph.nodes[name])]
    moves = [edge for edge in edges if edge.source not in entries]
    declared = graph.attributes.get("alphabet")
    outline = Outline(
        path=path,
        num_states=len(states),
        moves=[],
        starts=starts,
        accepting=accepting,
        symbols=None if declared is None else _declared_symbols(declared, path),
    )
    pairs = None if accepting else _mealy_labels(moves, path)
    if pairs is not None:
        found = [(Move(states[e.source], a, states[e.target], e.line), o) for e, a, o in pairs]
        return mealy_outline(replace(outline, moves=[move for move, _ in found]), [o for _, o in found])
    outline = replace(
        outline,
        moves=[
            Move(states[edge.source], symbol, states[edge.target], edge.line)
            for edge in moves
            for symbol in _symbols_of(edge, path)
        ],
    )
    outputs = [_output(graph.nodes[name]) for name in states]
    if not accepting and all(outputs) and declared is None:
        return moore_outline(outline, [text for text in outputs if text])
    labelled = [name for name in states if _text(graph.nodes[name].attributes, "label") not in ("", name)]
    if not accepting and declared is None and labelled:
        raise FormatError(
            f"no state accepts, and {excerpt(labelled[0])} has a label",
            path=path,
            line=graph.nodes[labelled[0]].line,
            hint="Mark accepting states with shape=doublecircle, or label every state of a Moore machine "
            'name|output; alphabet="a,b" in the graph says that the empty language is meant',
        )
    return outline


def dfa_to_dot(dfa: Dfa) -> str:
    """Returns a DOT text that graphviz draws and that reads back as the same automaton.

    Raises:
        InputError: if a symbol has a character that text files cannot carry.
    """
    symbols = [_escaped(symbol) for symbol in writable_symbols(dfa)]
    # Between line breaks brackets and quotes keep no comma inside.
    between = r"\n" if any(len(s) > 1 and _GROUPING & set(s) for s in symbols) else ","
    lines = [
        f"// {MARK}",
        "digraph automaton {",
        "  rankdir=LR;",
        f"  alphabet={_quoted(between.join(symbols))};",
        "  node [shape=circle];",
        f'  {_START}0 [shape=none, label=""];',
    ]
    lines += [f"  {q}{' [shape=doublecircle]' if dfa.accepting[q] else ''};" for q in range(dfa.num_states)]
    lines.append(f"  {_START}0 -> {dfa.start};")
    for q, row in enumerate(dfa.transitions.tolist()):
        together: dict[int, list[str]] = {}
        for symbol, target in zip(symbols, row, strict=True):
            together.setdefault(target, []).append(symbol)
        lines += [
            f"  {q} -> {target} [label={_quoted(between.join(labels))}];"
            for target, labels in together.items()
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _entries(graph: Graph, edges: list[Edge]) -> frozenset[str]:
    """The invisible nodes from which a drawing points to its start states."""
    candidates = {name for name, node in graph.nodes.items() if _is_invisible(node)}
    for edge in edges:
        candidates.discard(edge.target)
        if _text(edge.attributes, "label").strip():
            candidates.discard(edge.source)
    return frozenset(candidates)


def _is_invisible(node: Node) -> bool:
    if node.name == "" or node.name.startswith(_START):
        return True
    return _text(node.attributes, "shape") in _INVISIBLE or "invis" in _text(node.attributes, "style")


def _is_accepting(node: Node) -> bool:
    return _text(node.attributes, "shape") == "doublecircle" or _text(node.attributes, "peripheries") == "2"


def _output(node: Node) -> str:
    """The output that the label of a state names after its own name; "" if it names none."""
    match = _STATE_OUTPUT.fullmatch(_text(node.attributes, "label"))
    return "" if match is None else match["out"].strip()


def _mealy_labels(edges: list[Edge], path: Path) -> list[tuple[Edge, str, str]] | None:
    """The letter and the output of each move; None unless every label is of the form in/out."""
    found = []
    for edge in edges:
        label = edge.attributes.get("label")
        if label is None or label.kind == "html":
            return None
        whole = label.text.count("/") == 1
        for part in [label.text] if whole else [part or "" for part in _symbols_of(edge, path)]:
            letter, slash, output = (text.strip() for text in part.partition("/"))
            if not (letter and slash and output):
                return None
            found.append((edge, _BACKSLASH.sub(r"\1", letter), _BACKSLASH.sub(r"\1", output)))
    return found or None


def _symbols_of(edge: Edge, path: Path) -> list[str | None]:
    label = edge.attributes.get("label")
    if label is None or not label.text.strip():
        raise FormatError(
            f"the edge {excerpt(edge.source)} -> {excerpt(edge.target)} has no label",
            path=path,
            line=edge.line,
            hint=f'Write label="{_EMPTY_WORD}" for a move without a letter',
        )
    return _split(label, path)


def _declared_symbols(declared: DotToken, path: Path) -> list[str]:
    symbols = _split(declared, path) if declared.text.strip() else []
    for symbol, count in Counter(symbols).items():
        if symbol is None or count > 1:
            what = "the empty word" if symbol is None else f"{excerpt(symbol)} twice"
            raise FormatError(f"the alphabet has {what} in it", path=path, line=declared.line)
    return [symbol for symbol in symbols if symbol is not None]


def _split(label: DotToken, path: Path) -> list[str | None]:
    """The letters of a label, None for the empty word."""
    if label.kind == "html":
        raise FormatError(f"HTML labels are not read: {label.describe()}", path=path, line=label.line)
    parts: list[list[str]] = [[]]
    pieces = _LABEL_PIECE.findall(label.text)
    inside = _inside_brackets(pieces)
    for place, piece in enumerate(pieces):
        if piece in _BREAKS and not (piece == "," and place in inside):
            parts.append([])
        elif piece in _SUBSTITUTIONS:
            raise FormatError(f"{piece} stands for no letter: {label.describe()}", path=path, line=label.line)
        else:
            parts[-1].append(piece)
    if label.text.endswith(tuple(_BREAKS - {","})) and not parts[-1]:
        parts.pop()
    return [_letter("".join(pieces).strip(), label, path) for pieces in parts]


def _inside_brackets(pieces: list[str]) -> set[int]:
    """The places of a label inside brackets or quotes, which open before a letter and close after one."""
    inside: set[int] = set()
    opened: list[tuple[str, int]] = []
    for place, piece in enumerate(pieces):
        after = pieces[place + 1] if place + 1 < len(pieces) else ","
        if piece in _BREAKS - {","}:
            opened.clear()
        elif opened and piece == opened[-1][0] and pieces[place - 1] != ",":
            inside.update(range(opened.pop()[1], place))
        elif piece in _CLOSING and after not in _BREAKS:
            opened.append((_CLOSING[piece], place))
    return inside


def _letter(written: str, label: DotToken, path: Path) -> str | None:
    if not written:
        raise FormatError(
            f"a letter is empty in the label {label.describe()}",
            path=path,
            line=label.line,
            hint=r"Write a comma as \,",
        )
    return None if written == _EMPTY_WORD else _BACKSLASH.sub(r"\1", written)


def _escaped(symbol: str) -> str:
    if symbol == _EMPTY_WORD:
        return "\\" + symbol
    return symbol.replace("\\", "\\\\").replace(",", "\\,")


def _quoted(label: str) -> str:
    return '"' + label.replace('"', '\\"') + '"'


def _text(attributes: dict[str, DotToken], name: str) -> str:
    token = attributes.get(name)
    return "" if token is None else token.text
