"""Tables of papers: the published numbers, the protocol, and the specs that measure the same here."""

from nerode.reproduce.papers import PAPERS, find_figure, find_tables, sweep_text
from nerode.reproduce.records import (
    AxisValue,
    LengthRange,
    Paper,
    PaperFigure,
    PaperTable,
    SignalOutput,
    TableCell,
    TableLine,
    count_coverage,
    judge_again,
)

__all__ = [
    "PAPERS",
    "AxisValue",
    "LengthRange",
    "Paper",
    "PaperFigure",
    "PaperTable",
    "SignalOutput",
    "TableCell",
    "TableLine",
    "count_coverage",
    "find_figure",
    "find_tables",
    "judge_again",
    "sweep_text",
]
