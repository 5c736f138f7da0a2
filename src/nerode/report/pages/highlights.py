"""The strongest comparisons of the experiments, for the top of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nerode.core import FormatError
from nerode.records import CellResult, LineResult, TableResult, read_table
from nerode.report.notation import percent

Row = tuple[str, bool, tuple[str, ...]]
"""A name, whether it stands out, and a text for each column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """One comparison.

    Attributes:
        title: the claim in one line.
        columns: headings of the numbers.
        rows: what is compared.
        note: what was done, and the command that does it again.
        source: where the published numbers are from.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str
    source: str = ""


def read_highlights(folder: Path) -> list[Highlight]:
    """Returns the comparisons that the tables of experiments allow; none if there is no folder."""
    found = [
        _counters(_table(folder, "sarrof", "counters")),
        _split(_table(folder, "sarrof", "star-free"), _table(folder, "sarrof", "not-star-free")),
        _groups(_table(folder, "memory", "table-2")),
        _horizon(_table(folder, "metric-automata", "flip-flop")),
    ]
    return [item for item in found if item is not None]


def _table(folder: Path, paper: str, name: str) -> TableResult | None:
    try:
        table = read_table(folder / "reproduce" / paper / f"{name}.json")
    except FormatError:
        return None
    return table if table.lines else None


def _counters(table: TableResult | None) -> Highlight | None:
    """A counter that is compiled, beside one that is trained."""
    if table is None:
        return None
    lines = [line for line in table.lines if line.row == "Dyck-1"]
    if not any(line.kind == "compiled" for line in lines):
        return None
    return Highlight(
        title="A counter: compiled for every length, and trained",
        columns=_columns(lines),
        rows=tuple(row for line in lines for row in _rows(line)),
        note=f"Dyck-1, correct whole words in %, by length. {_again(table)}",
        source=table.citation,
    )


def _split(*tables: TableResult | None) -> Highlight | None:
    """Numbers of solved languages, with groups inside and without."""
    rows: list[Row] = []
    for title, table in zip(("star-free", "not star-free"), tables, strict=True):
        if table is None:
            return None
        lines = [line for line in table.lines if line.kind == "trained"]
        measured = [cell for line in lines for cell in line.cells[-1:] if cell.values]
        printed = [cell.published for cell in measured if cell.published is not None]
        least = table.threshold
        rows += [
            (f"{title}, published", False, (_of(share >= least for share in printed),)),
            (f"{title}, trained here", True, (_of(median(c.values) >= least for c in measured),)),
        ]
    assert tables[0] is not None
    return Highlight(
        title="Star-free or not: what a layer of Mamba learns for longer words",
        columns=("languages solved beyond the lengths of training",),
        rows=tuple(rows),
        note=f"One layer of Mamba; the median of all seeds at the longest lengths. {_again(tables[0])}",
        source=tables[0].citation,
    )


def _groups(table: TableResult | None) -> Highlight | None:
    """Groups by trained models, and by a linear recurrence that was polished."""
    if table is None:
        return None
    wanted = ("1X", "5X", "64", "512", "4096")
    rows: list[Row] = []
    for line in table.lines:
        cells = {cell.column: cell for cell in line.cells}
        texts = tuple(_text(cells.get(column)) for column in wanted)
        if line.kind == "polished":
            rows.append((f"{line.row}, polished", True, texts))
        elif line.model.startswith(("LSTM", "Mamba")):
            rows.append((f"{line.row}: {line.model}", False, texts))
    if not any(strong for _, strong, _ in rows):
        return None
    return Highlight(
        title="Groups: a linear recurrence, trained on length 8, then polished",
        columns=("1X", "5X", "64", "512", "4,096"),
        rows=tuple(sorted(rows, key=lambda row: not row[1])),
        note="Correct whole words in %: median (worst–best seed). 1X is the longest length of training: 8, "
        f"and 20 where A5 is trained by two generators. {_again(table)} and nerode polish.",
        source=table.citation,
    )


def _horizon(table: TableResult | None) -> Highlight | None:
    """A bit that is remembered until it is not."""
    if table is None:
        return None
    return Highlight(
        title="A bit to remember: correct in validation, and how long it survives",
        columns=_columns(table.lines),
        rows=tuple(
            (line.model, line.model == "LSTM", tuple(_text(cell) for cell in line.cells))
            for line in table.lines
        ),
        note=f"Flip-flop: one bit is written, then bits to ignore. {_again(table)}",
        source=table.citation,
    )


def _rows(line: LineResult) -> list[Row]:
    """The published numbers of a line, if there are any, and ours."""
    found: list[Row] = []
    if any(cell.printed for cell in line.cells):
        printed = tuple(cell.printed or "–" for cell in line.cells)
        found.append((f"{line.model}, published", False, printed))
    compiled = line.kind == "compiled"
    name = line.model if compiled else f"{line.model}, trained here"
    return [*found, (name, compiled, tuple(_text(cell) for cell in line.cells))]


def _columns(lines: Sequence[LineResult]) -> tuple[str, ...]:
    return tuple(cell.column for cell in lines[0].cells)


def _text(cell: CellResult | None) -> str:
    if cell is None or not cell.values:
        return "–"
    values = cell.values
    middle, low, high = median(values), min(values), max(values)
    return percent(middle) if low == high else f"{percent(middle)} ({percent(low)}–{percent(high)})"


def _of(flags: Iterable[bool]) -> str:
    found = list(flags)
    return f"{sum(found)} of {len(found)}"


def _again(table: TableResult) -> str:
    return f"Again by: {table.command}"
