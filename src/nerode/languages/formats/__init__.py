"""Automata in files: AT&T / OpenFst text, DOT graphs, JFLAP and nerode's own JSON."""

from nerode.languages.formats.table import (
    FORMATS,
    automaton_files,
    format_of,
    read_automaton,
    read_language,
    write_automaton,
)

__all__ = ["FORMATS", "automaton_files", "format_of", "read_automaton", "read_language", "write_automaton"]
