"""Tables of papers: the published numbers, the protocol, and the specs that measure the same here."""

from nerode.reproduce.papers import PAPERS, find_tables, sweep_text
from nerode.reproduce.records import LengthRange, Paper, PaperTable, TableCell, TableLine

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
