"""Tables of papers: the published numbers, the protocol, and the specs that measure the same here."""

from nerode.reproduce.papers import PAPERS, find_tables, sweep_text
from nerode.reproduce.records import (
    LengthRange,
    Paper,
    PaperTable,
    TableCell,
    TableLine,
    count_coverage,
    judge_again,
)

__all__ = [
    "PAPERS",
    "LengthRange",
    "Paper",
    "PaperTable",
    "TableCell",
    "TableLine",
    "count_coverage",
    "find_tables",
    "judge_again",
    "sweep_text",
]
