"""The strongest comparisons of the experiments, for the top of a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """One comparison.

    Attributes:
        title: the claim in one line.
        columns: headings of the numbers.
        rows: a name, whether it stands out, and a text for each column.
        note: what was done, and the command that does it again.
        source: where the published numbers are from.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, bool, tuple[str, ...]], ...]
    note: str
    source: str = ""


def read_highlights(folder: Path) -> list[Highlight]:
    """Returns the comparisons that the tables of experiments allow; none if there is no folder."""
    return []
