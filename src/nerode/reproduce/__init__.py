"""The tables of papers: what was published, what a run here finds, and what theory says."""

from nerode.reproduce.committed import read_results, write_result
from nerode.reproduce.papers import PAPERS, find_tables
from nerode.reproduce.records import Cell, Lengths, Line, Paper, Table
from nerode.reproduce.sweep_files import sweep_text

__all__ = [
    "PAPERS",
    "Cell",
    "Lengths",
    "Line",
    "Paper",
    "Table",
    "find_tables",
    "read_results",
    "sweep_text",
    "write_result",
]
