"""The words of the DOT language, each with its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nerode.core import FormatError, excerpt

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


class Token(NamedTuple):
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


def tokens(text: str, *, path: Path) -> Iterator[Token]:
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
            yield Token(kind, content, line, column)
        last_break = -1 if kind in ("mark", "name", "numeral") else text.rfind("\n", position, end)
        if last_break >= 0:
            line += text.count("\n", position, end)
            line_start = last_break + 1
        position = end
    yield Token("end", "", line, position - line_start + 1)


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
