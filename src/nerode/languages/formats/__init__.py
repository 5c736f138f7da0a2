"""Automata in files: AT&T, DOT, JFLAP and nerode's own JSON; the end of a file name says which."""

from nerode.languages.formats.table import (
    FORMATS,
    automaton_files,
    format_of,
    read_automaton,
    read_language,
    write_automaton,
)

__all__ = ["FORMATS", "automaton_files", "format_of", "read_automaton", "read_language", "write_automaton"]
