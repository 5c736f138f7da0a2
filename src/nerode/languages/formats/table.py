"""The table of file formats, and reading and writing an automaton in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nerode.core import Budget, InputError, Registry, read_text, started, write_atomically
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
from nerode.languages.formats.json_form import dfa_to_json, outline_from_json
from nerode.languages.formats.moves import Outline, outline_to_dfa
from nerode.languages.language import RegularLanguage

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
        convention=f"words of the machine in {name}, each followed by the output that answers it"
        if outline.outputs
        else f"words accepted by the automaton in {name}",
    )


def _symbol_table(beside: Path, given: Path | str | None) -> SymbolTable | None:
    if given is None and not beside.is_file():
        return None
    path = beside if given is None else Path(given)
    return table_from_text(read_text(path), path=path)
