"""Automata in files: AT&T / OpenFst text, DOT graphs, JFLAP and nerode's own JSON.

The table of formats is here, by the end of the file name. Each other format has a file; nerode's own is

    {"format": "nerode-dfa", "version": 1, "alphabet": ["a", "b"],
     "start": 0, "accepting": [0], "transitions": [[1, 0], [0, 1]]}

`transitions[q][i]` is the state after letter i of the alphabet in state q. All keys are needed and no others
are allowed.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import (
    Budget,
    FormatError,
    InputError,
    Registry,
    excerpt,
    parse_json,
    plural,
    read_text,
    started,
    write_atomically,
)
from nerode.languages.dfa import Dfa
from nerode.languages.formats.att import (
    SymbolTable,
    dfa_to_att,
    outline_from_att,
    table_from_text,
    table_to_text,
)
from nerode.languages.formats.dot import dfa_to_dot, outline_from_dot
from nerode.languages.formats.jff import dfa_to_jff, outline_from_jff
from nerode.languages.formats.moves import Move, Outline, outline_to_dfa, writable_symbols
from nerode.languages.language import RegularLanguage

__all__ = ["FORMATS", "automaton_files", "format_of", "read_automaton", "read_language", "write_automaton"]


FORMAT = "nerode-dfa"
VERSION = 1
_KEYS = ("format", "version", "alphabet", "start", "accepting", "transitions")
_MAX_DIGITS = 18


def outline_from_json(text: str, *, path: Path, budget: Budget) -> Outline:
    """Returns the automaton of a JSON text.

    Args:
        text: the content of the file.
        path: the file, for messages.
        budget: not needed: a table has as many entries as its text.

    Raises:
        FormatError: if the text is not JSON (with the line) or a value is not what it must be (with its
            place, e.g. transitions[3][1]).
    """
    document = _document(text, path)
    symbols = _symbols(document["alphabet"], path)
    rows = _rows(document["transitions"], len(symbols), path)
    accepting = _list(document["accepting"], "accepting", path)
    for i, state in enumerate(accepting):
        _state(state, len(rows), f"accepting[{i}]", path)
    if len(set(accepting)) < len(accepting):
        raise FormatError("accepting has a state twice", path=path)
    return Outline(
        path=path,
        num_states=len(rows),
        moves=[Move(q, symbols[i], target) for q, row in enumerate(rows) for i, target in enumerate(row)],
        starts=[_state(document["start"], len(rows), "start", path)],
        accepting=accepting,
        symbols=symbols,
    )


def dfa_to_json(dfa: Dfa) -> str:
    """Returns the JSON text, one row of the table a line.

    Raises:
        InputError: if a symbol has a character that text files cannot carry.
    """
    values = {
        "format": FORMAT,
        "version": VERSION,
        "alphabet": list(writable_symbols(dfa)),
        "start": dfa.start,
        "accepting": [q for q, accepts in enumerate(dfa.accepting.tolist()) if accepts],
    }
    head = [f'  "{key}": {json.dumps(value, ensure_ascii=False)},' for key, value in values.items()]
    rows = ",\n".join(f"    {row}" for row in dfa.transitions.tolist())
    return "\n".join(["{", *head, '  "transitions": [', rows, "  ]", "}"]) + "\n"


def _document(text: str, path: Path) -> dict[str, Any]:
    """The keys and values of the outermost object, with every key there and none other."""
    document = parse_json(text, path=path, max_digits=_MAX_DIGITS)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f'this is no automaton of nerode; it would have "format": "{FORMAT}"', path=path)
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise FormatError(
            f"the version is {_shown(version)}, and {VERSION} is the one that is read", path=path
        )
    _check_keys(document, path)
    return document


def _check_keys(document: dict[str, Any], path: Path) -> None:
    for key in document:
        if key not in _KEYS:
            near = difflib.get_close_matches(key[:60], _KEYS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The keys are {', '.join(_KEYS)}"
            raise FormatError(f"unknown key {excerpt(key)}", path=path, hint=hint)
    for key in _KEYS:
        if key not in document:
            raise FormatError(f"the key {key!r} is missing", path=path)


def _symbols(value: object, path: Path) -> list[str]:
    symbols = _list(value, "alphabet", path)
    seen = set()
    for i, symbol in enumerate(symbols):
        if not isinstance(symbol, str):
            raise FormatError(f"alphabet[{i}] is {_shown(symbol)}, not a string", path=path)
        if symbol in seen:
            raise FormatError(f"alphabet[{i}] is {_shown(symbol)} again", path=path)
        seen.add(symbol)
    return symbols


def _rows(value: object, num_letters: int, path: Path) -> list[list[int]]:
    rows = _list(value, "transitions", path)
    if not rows:
        raise FormatError("transitions has no rows; an automaton has at least one state", path=path)
    for q, row in enumerate(rows):
        _list(row, f"transitions[{q}]", path)
        if len(row) != num_letters:
            what = f"transitions[{q}] has {len(row)} entries for {plural(num_letters, 'letter')}"
            raise FormatError(what, path=path)
        for i, target in enumerate(row):
            _state(target, len(rows), f"transitions[{q}][{i}]", path)
    return rows


def _list(value: object, place: str, path: Path) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{place} is {_shown(value)}, not a list", path=path)
    return value


def _state(value: object, num_states: int, place: str, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError(f"{place} is {_shown(value)}, not a state", path=path)
    if not 0 <= value < num_states:
        raise FormatError(f"{place} is {value}, outside the states 0…{num_states - 1}", path=path)
    return value


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


SYMBOLS_SUFFIX = ".syms"
"""End of the name of a symbol table that is found beside an AT&T file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to keep an automaton in a file.

    Attributes:
        title: its name in words.
        suffixes: how the names of its files end.
        read: makes the outline of the automaton from a text, given `path` and `budget`.
        write: makes the text from an automaton.
        has_symbol_table: whether a symbol table lies beside the file; `read` then also takes `table`.
    """

    title: str
    suffixes: tuple[str, ...]
    read: Callable[..., Outline]
    write: Callable[[Dfa], str]
    has_symbol_table: bool = False


FORMATS: Registry[Format] = Registry("automaton format")
FORMATS.add(
    "att",
    Format(
        title="AT&T / OpenFst text",
        suffixes=(".att", ".fst.txt"),
        read=outline_from_att,
        write=dfa_to_att,
        has_symbol_table=True,
    ),
)
FORMATS.add(
    "dot", Format(title="DOT graph", suffixes=(".dot", ".gv"), read=outline_from_dot, write=dfa_to_dot)
)
FORMATS.add("jff", Format(title="JFLAP", suffixes=(".jff",), read=outline_from_jff, write=dfa_to_jff))
FORMATS.add(
    "json", Format(title="nerode JSON", suffixes=(".json",), read=outline_from_json, write=dfa_to_json)
)


def format_of(path: Path | str) -> tuple[Format, str]:
    """Returns the format that the end of a file name asks for, and the name without that end.

    Raises:
        InputError: if no format has this end.
    """
    name = Path(path).name
    for row in FORMATS.values():
        for suffix in row.suffixes:
            if name.lower().endswith(suffix):
                return row, name[: -len(suffix)]
    known = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
    raise InputError(f"the file name {name!r} has none of the ends of automaton files: {known}; rename it")


def read_automaton(
    path: Path | str,
    *,
    symbols: Path | str | None = None,
    alphabet: Iterable[str] | None = None,
    budget: Budget | None = None,
) -> Dfa:
    """Returns the complete deterministic automaton in a file.

    A missing transition leads to one sink, which is added only if it is needed; nondeterminism goes
    through the subset construction. The automaton is not minimised.

    Args:
        path: a file whose name ends in .att, .fst.txt, .dot, .gv, .jff or .json.
        symbols: symbol table of an AT&T file; without it, a file of the same name that ends in .syms.
        alphabet: the symbols in order, for a file that does not use all letters of its language.
        budget: limits on the automaton.

    Raises:
        InputError: if the name has an unknown end, or a symbol table is given for another format.
        FormatError: with the line, if the file cannot be read as what its name says.
        BudgetExceeded: if the automaton is too large.
    """
    budget = started(budget)
    return outline_to_dfa(_read_outline(Path(path), symbols, budget), alphabet=alphabet, budget=budget)


def _read_outline(path: Path, symbols: Path | str | None, budget: Budget) -> Outline:
    row, stem = format_of(path)
    if row.has_symbol_table:
        text = read_text(path)
        table = _symbol_table(path.with_name(stem + SYMBOLS_SUFFIX), symbols)
        return row.read(text, path=path, table=table, budget=budget)
    if symbols is not None:
        raise InputError(f"{path} has no symbol table; leave out {symbols} or give an .att file")
    return row.read(read_text(path), path=path, budget=budget)


def automaton_files(path: Path | str) -> tuple[Path, ...]:
    """Returns the files that `write_automaton` writes for a name.

    Raises:
        InputError: if the name has an unknown end.
    """
    path = Path(path)
    row, stem = format_of(path)
    return (path, path.with_name(stem + SYMBOLS_SUFFIX)) if row.has_symbol_table else (path,)


def write_automaton(dfa: Dfa, path: Path | str) -> tuple[Path, ...]:
    """Writes an automaton in the format that the name asks for and returns the files written.

    Reading the file gives an equal automaton, with states and letters in the same order. Beside an
    AT&T file its symbol table (.syms) is written, as OpenFst needs it too.

    Raises:
        InputError: if the name has an unknown end, the format cannot carry a symbol, or the file
            cannot be written.
    """
    path = Path(path)
    files = automaton_files(path)
    # A symbol that a format cannot carry is found before anything is written.
    texts = [format_of(path)[0].write(dfa), table_to_text(dfa.alphabet)]
    for place, text in zip(files, texts, strict=False):
        write_atomically(place, text)
    return files


def read_language(
    path: Path | str, *, alphabet: Iterable[str] | None = None, budget: Budget | None = None
) -> RegularLanguage:
    """Returns the language of the automaton in a file, named after the file.

    Args and errors are those of `read_automaton`.
    """
    budget = started(budget)
    outline = _read_outline(Path(path), None, budget)
    name, (_, stem) = Path(path).name, format_of(path)
    return RegularLanguage(
        name=stem or name,
        state_names=outline.state_names,
        automaton=outline_to_dfa(outline, alphabet=alphabet, budget=budget),
        convention=f"words accepted by the automaton in {name}",
    )


def _symbol_table(beside: Path, given: Path | str | None) -> SymbolTable | None:
    if given is None and not beside.is_file():
        return None
    path = beside if given is None else Path(given)
    return table_from_text(read_text(path), path=path)
