"""The strongest comparisons of the experiments, as small charts for the atlas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nerode.core import FormatError
from nerode.records import CellResult, LineResult, TableResult, read_table
from nerode.report.figures.small_chart import ChartReading, ChartSeries, SmallChart
from nerode.report.notation import percent

ONE_LAYER = "Mamba, 1 layer"
"""The model of the comparisons on Sarrof's languages, by its name in the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """One comparison.

    Attributes:
        title: what is compared.
        claim: the finding in one sentence, with its numbers.
        chart: the comparison.
        note: what was measured.
        command: the command that does it again.
        source: where the published numbers are from.
    """

    title: str
    claim: str
    chart: SmallChart
    note: str
    command: str
    source: str = ""

    @property
    def rows(self) -> list[tuple[str, bool, list[str]]]:
        """The chart in numbers: a name, whether it stands out, and a text per column."""
        return [
            (item.name, item.strong, ["–" if r is None else r.text for r in item.readings])
            for item in self.chart.series
        ]


def read_highlights(folder: Path) -> list[Highlight]:
    """Returns the comparisons that the tables of experiments allow; none if there is no folder."""
    found = [
        _split(_table(folder, "sarrof", "star-free"), _table(folder, "sarrof", "not-star-free")),
        _horizon(_table(folder, "metric-automata", "flip-flop")),
        _counters(_table(folder, "sarrof", "counters")),
        _groups(_table(folder, "memory", "table-2")),
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
    own = [line for line in table.lines if line.row == "Dyck-1"]
    made = next((line for line in own if line.kind == "compiled"), None)
    trained = next((line for line in own if line.model == ONE_LAYER), None)
    if made is None or trained is None:
        return None
    last, lines = made.cells[-1].column, [trained, made]
    return Highlight(
        title="A counter, compiled and trained",
        claim=f"Dyck-1 at lengths {last}: compiled weights answer {_middle(made.cells[-1])} % of the words "
        f"correctly, trained ones {_middle(trained.cells[-1])} %.",
        chart=SmallChart(
            columns=_columns(lines), series=tuple(item for line in lines for item in _series_of(line))
        ),
        note="Share of whole words answered correctly, in %, by length; shaded: worst to best seed.",
        command=table.command,
        source=table.citation,
    )


def _split(*tables: TableResult | None) -> Highlight | None:
    """Shares of solved languages, with groups inside and without."""
    titles = ("star-free", "not star-free")
    printed: list[ChartReading] = []
    measured: list[ChartReading] = []
    for table in tables:
        if table is None:
            return None
        lines = [line for line in table.lines if line.model == ONE_LAYER]
        cells = [cell for line in lines for cell in line.cells[-1:] if cell.values]
        least = table.threshold
        printed.append(_of(c.published >= least for c in cells if c.published is not None))
        measured.append(_of(median(c.values) >= least for c in cells))
    assert tables[0] is not None
    return Highlight(
        title="Star-free or not",
        claim="Trained on short words, one layer of Mamba generalises to longer ones on "
        f"{measured[0].text} star-free languages and on {measured[1].text} others.",
        chart=SmallChart(
            columns=titles,
            series=(
                ChartSeries(name="published", strong=False, readings=tuple(printed)),
                ChartSeries(name="trained here", strong=True, readings=tuple(measured)),
            ),
            shape="bars",
        ),
        note="Share of the languages, in %, that the median seed masters at the longest lengths.",
        command=tables[0].command,
        source=tables[0].citation,
    )


def _groups(table: TableResult | None) -> Highlight | None:
    """Groups by trained models, and by a linear recurrence that was polished."""
    if table is None:
        return None
    wanted = ("1X", "5X", "64", "512", "4096")
    found: list[ChartSeries] = []
    for line in table.lines:
        cells = {cell.column: cell for cell in line.cells}
        readings = tuple(_reading(cells.get(column)) for column in wanted)
        if line.kind == "polished":
            found.append(ChartSeries(name=f"{line.row}, polished", strong=True, readings=readings))
        elif line.model.startswith(("LSTM", "Mamba")):
            found.append(ChartSeries(name=f"{line.row}: {line.model}", strong=False, readings=readings))
    polished = [item for item in found if item.strong]
    if not polished:
        return None
    lasting = sum(item.readings[-1] is not None and item.readings[-1].middle == 1 for item in polished)
    return Highlight(
        title="Groups: a linear recurrence, trained on length 8, then polished",
        claim=f"{lasting} of {len(polished)} polished recurrences are correct on every word tested of "
        "length 4,096 (median seed).",
        chart=SmallChart(
            columns=("1X", "5X", "64", "512", "4,096"),
            series=tuple(sorted(found, key=lambda item: not item.strong)),
        ),
        note="Share of whole words answered correctly, in %. 1X is the longest training length: 8, or 20 "
        "where A5 is given by two generators. Polished by nerode mend.",
        command=table.command,
        source=table.citation,
    )


def _horizon(table: TableResult | None) -> Highlight | None:
    """A bit that is remembered until it is not."""
    if table is None:
        return None
    return Highlight(
        title="A bit to remember",
        claim=_kept(table.lines),
        chart=SmallChart(
            columns=tuple(
                column.replace("survives ", "kept ").removeprefix("512, ") for column in _columns(table.lines)
            ),
            series=tuple(
                ChartSeries(
                    name=line.model, strong=line.model == "LSTM", readings=tuple(map(_reading, line.cells))
                )
                for line in table.lines
            ),
        ),
        note="Flip-flop, in %: validation accuracy, accuracy with 98 % bits to ignore, and the seeds that "
        "still know the bit after so many ignored ones.",
        command=table.command,
        source=table.citation,
    )


def _kept(lines: Sequence[LineResult]) -> str:
    """Models that are correct in validation, by whether they keep the bit to the end."""
    learned = [line for line in lines if line.cells[0].median == 1]
    kept = [line.model for line in learned if line.cells[-1].median == 1]
    lost = [line.model for line in learned if line.cells[-1].median != 1]
    told = "All models learn flip-flop perfectly" if len(learned) == len(lines) else "Validated at 100 %"
    parts = [f"{' and '.join(kept)} keeps the bit"] if kept else []
    parts += [f"{', '.join(lost)} forget it"] if lost else []
    return f"{told}; {', but '.join(parts)}." if parts else f"{told}."


def _series_of(line: LineResult) -> list[ChartSeries]:
    """The published numbers of a line, if there are any, and ours."""
    found: list[ChartSeries] = []
    if any(cell.printed for cell in line.cells):
        printed = tuple(_printed(cell) for cell in line.cells)
        found.append(ChartSeries(name=f"{line.model}, published", strong=False, readings=printed))
    compiled = line.kind == "compiled"
    name = line.model if compiled else f"{line.model}, trained here"
    return [
        *found,
        ChartSeries(name=name, strong=compiled, readings=tuple(_reading(cell) for cell in line.cells)),
    ]


def _columns(lines: Sequence[LineResult]) -> tuple[str, ...]:
    return tuple(cell.column for cell in lines[0].cells)


def _printed(cell: CellResult) -> ChartReading | None:
    if cell.published is None:
        return None
    return ChartReading(text=cell.printed, middle=cell.published, low=cell.published, high=cell.published)


def _reading(cell: CellResult | None) -> ChartReading | None:
    if cell is None or cell.median is None or cell.low is None or cell.high is None:
        return None
    middle, low, high = cell.median, cell.low, cell.high
    text = percent(middle) if low == high else f"{percent(middle)} ({percent(low)}–{percent(high)})"
    return ChartReading(text=text, middle=middle, low=low, high=high)


def _middle(cell: CellResult) -> str:
    return "–" if cell.median is None else percent(cell.median)


def _of(flags: Iterable[bool]) -> ChartReading:
    found = list(flags)
    share = sum(found) / len(found) if found else 0.0
    return ChartReading(text=f"{sum(found)} of {len(found)}", middle=share, low=share, high=share)
