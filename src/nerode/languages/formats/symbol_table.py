"""OpenFst symbol tables: one `symbol id` a line, id 0 for the empty word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nerode.core import FormatError, excerpt
from nerode.languages.alphabet import Alphabet
from nerode.languages.formats.moves import symbol_fault

EPSILON = "<eps>"
"""How the empty word is written."""

EPSILON_LABELS = frozenset({"<eps>", "<epsilon>"})
"""Labels that stand for the empty word, in lower case, with or without a table."""

INTEGER = re.compile(r"[0-9]{1,18}\Z")
"""State and symbol numbers; longer ones are no numbers of any automaton."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolTable:
    """The letters of a table in the order of its lines, and all its rows by number."""

    symbols: tuple[str, ...]
    by_id: dict[int, str]

    def is_epsilon(self, label: str) -> bool:
        """Whether a label is the row with number 0, whatever its name."""
        return self.by_id.get(0) == label


def table_from_text(text: str, *, path: Path) -> SymbolTable:
    """Returns the symbol table in a text.

    Raises:
        FormatError: with the line, if a row has another form or repeats a symbol or a number.
    """
    by_id: dict[int, str] = {}
    lines: dict[str, int] = {}
    for line, row in enumerate(text.split("\n"), start=1):
        fields = row.split()
        if not fields:
            continue
        if len(fields) != 2 or not INTEGER.match(fields[1]):
            raise FormatError(
                f"the row {excerpt(row.strip())} is not of the form `symbol id`", path=path, line=line
            )
        symbol, number = fields[0], int(fields[1])
        if symbol in lines:
            raise FormatError(
                f"the symbol {excerpt(symbol)} was on line {lines[symbol]}", path=path, line=line
            )
        if number in by_id:
            raise FormatError(
                f"the number {number} was that of {excerpt(by_id[number])}", path=path, line=line
            )
        if number and symbol.lower() in EPSILON_LABELS:
            raise FormatError(
                f"{excerpt(symbol)} stands for the empty word, whose number is 0", path=path, line=line
            )
        fault = symbol_fault(symbol)
        if number and fault:
            raise FormatError(
                f"{excerpt(symbol)} cannot be a symbol: {fault}", path=path, line=line, hint="Rename it"
            )
        by_id[number] = symbol
        lines[symbol] = line
    letters = tuple(symbol for number, symbol in by_id.items() if number)
    return SymbolTable(symbols=letters, by_id=by_id)


def table_to_text(alphabet: Alphabet) -> str:
    """Returns the table that numbers the letters 1, 2, … in order."""
    rows = [f"{EPSILON}\t0", *(f"{symbol}\t{i}" for i, symbol in enumerate(alphabet, start=1))]
    return "\n".join(rows) + "\n"
