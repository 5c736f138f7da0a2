"""Tables of papers: the published numbers, the protocol, and the specs that measure the same here."""

from nerode.reproduce.papers import PAPERS, find_tables
from nerode.reproduce.records import LengthRange, Paper, PaperTable, TableCell, TableLine
from nerode.reproduce.sweep_files import sweep_text

__all__ = [
    "PAPERS",
    "LengthRange",
    "Paper",
    "PaperTable",
    "TableCell",
    "TableLine",
    "find_tables",
    "sweep_text",
]
