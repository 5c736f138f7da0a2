r"""Automata as DOT graphs, `.dot` and `.gv`, as AALpy, automata-lib and graphviz users write them.

- An accepting state has shape=doublecircle or peripheries=2.
- A start state is where an unlabelled edge leads that leaves an invisible node (shape none, point, plain or
  plaintext, style=invis, or a name that begins with `__start`) without edges into it.
- An edge has label="a" or, for several letters, label="a,b" (a comma or a line break between them). Inside a
  label `\` takes the special meaning from the next character: `\,` is a comma, `\\` a backslash. `ε` is the
  empty word, `\ε` the letter ε. Entities such as `&amp;` are read as they stand.
- The graph attribute `alphabet`, written like a label, gives the letters in order; without it they are those
  of the edges, sorted.
- Other attributes only matter to a drawing. Machines with output (Mealy, Moore) are refused, and so is a
  graph without accepting states whose states have labels, unless it gives its alphabet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from nerode.core import MARK, Budget, FormatError, excerpt, started
from nerode.languages.dfa import Dfa
from nerode.languages.formats.dot_graph import DotToken, Edge, Graph, Node, graph_from_text
from nerode.languages.formats.moves import Move, Outline, outline_to_dfa, writable_symbols

_EMPTY_WORD = "ε"
_START = "__start"
_LABEL_PIECE = re.compile(r"\\?.", re.DOTALL)
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_BREAKS = frozenset({",", "\n", r"\n", r"\l", r"\r"})
_SUBSTITUTIONS = frozenset({r"\E", r"\G", r"\H", r"\L", r"\N", r"\T"})
_INVISIBLE = frozenset({"none", "point", "plain", "plaintext"})


def dfa_from_dot(
    text: str, *, path: Path, alphabet: Iterable[str] | None = None, budget: Budget | None = None
) -> Dfa:
    """Returns the complete deterministic automaton of a DOT text.

    Args:
        text: the content of the file.
        path: the file, for messages.
        alphabet: the symbols in order, instead of those of the file.
        budget: limits on the automaton.

    Raises:
        FormatError: with the line, if the text is no DOT graph or the graph no automaton.
        BudgetExceeded: if the automaton is too large.
    """
    budget = started(budget)
    graph = graph_from_text(text, path=path, budget=budget)
    edges = [edge for edge in graph.edges if "invis" not in _text(edge.attributes, "style")]
    entries = _entries(graph, edges)
    states = {name: i for i, name in enumerate(name for name in graph.nodes if name not in entries)}
    starts = sorted({states[edge.target] for edge in edges if edge.source in entries})
    if not starts:
        raise FormatError(
            "no start state", path=path, hint=f'Add: {_START}0 [shape=none, label=""]; {_START}0 -> STATE'
        )
    accepting = [states[name] for name in states if _is_accepting(graph.nodes[name], path)]
    moves = [
        Move(states[edge.source], symbol, states[edge.target], edge.line)
        for edge in edges
        if edge.source not in entries
        for symbol in _symbols_of(edge, path)
    ]
    if (
        not accepting
        and moves
        and all(move.symbol is not None and "/" in move.symbol[1:-1] for move in moves)
    ):
        raise FormatError(
            "no state accepts and every label is of the form in/out: this is a Mealy machine", path=path
        )
    declared = graph.attributes.get("alphabet")
    labelled = [name for name in states if _text(graph.nodes[name].attributes, "label") not in ("", name)]
    if not accepting and declared is None and labelled:
        raise FormatError(
            f"no state accepts, and {excerpt(labelled[0])} has a label: Moore machines are not read",
            path=path,
            line=graph.nodes[labelled[0]].line,
            hint='Mark accepting states with shape=doublecircle; alphabet="a,b" in the graph says that the '
            "empty language is meant",
        )
    outline = Outline(
        path=path,
        num_states=len(states),
        moves=moves,
        starts=starts,
        accepting=accepting,
        symbols=None if declared is None else _declared_symbols(declared, path),
    )
    return outline_to_dfa(outline, alphabet=alphabet, budget=budget)


def dfa_to_dot(dfa: Dfa) -> str:
    """Returns a DOT text that graphviz draws and that reads back as the same automaton.

    Raises:
        InputError: if a symbol has a character that text files cannot carry.
    """
    symbols = [_escaped(symbol) for symbol in writable_symbols(dfa)]
    lines = [
        f"// {MARK}",
        "digraph automaton {",
        "  rankdir=LR;",
        f"  alphabet={_quoted(','.join(symbols))};",
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
            f"  {q} -> {target} [label={_quoted(','.join(labels))}];" for target, labels in together.items()
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


def _is_accepting(node: Node, path: Path) -> bool:
    shape = _text(node.attributes, "shape")
    label = _text(node.attributes, "label")
    if "record" in shape.lower() and "|" in label:
        raise FormatError(
            f"the state {excerpt(label)} has an output: this is a Moore machine", path=path, line=node.line
        )
    return shape == "doublecircle" or _text(node.attributes, "peripheries") == "2"


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
    for piece in _LABEL_PIECE.findall(label.text):
        if piece in _BREAKS:
            parts.append([])
        elif piece in _SUBSTITUTIONS:
            raise FormatError(f"{piece} stands for no letter: {label.describe()}", path=path, line=label.line)
        else:
            parts[-1].append(piece)
    if label.text.endswith(tuple(_BREAKS - {","})) and not parts[-1]:
        parts.pop()
    return [_letter("".join(pieces).strip(), label, path) for pieces in parts]


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
