from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nerode.core import Budget, started
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS
from nerode.languages.formats.att import SymbolTable
from nerode.languages.formats.moves import outline_to_dfa


def parse(
    kind: str,
    text: str,
    *,
    path: Path,
    table: SymbolTable | None = None,
    alphabet: Iterable[str] | None = None,
    budget: Budget | None = None,
) -> Dfa:
    """Returns the automaton of a text as `read_automaton` makes it of a file."""
    budget = started(budget)
    options = {"table": table} if FORMATS[kind].has_symbol_table else {}
    outline = FORMATS[kind].read(text, path=path, budget=budget, **options)
    return outline_to_dfa(outline, alphabet=alphabet, budget=budget)
