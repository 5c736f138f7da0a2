"""The strongest comparisons of the experiments, as charts for the atlas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nerode.core import FormatError
from nerode.records import CellResult, LineResult, TableResult, read_table
from nerode.report.figures.charts import Bar, BarChart, ChartLine, LineChart
from nerode.report.notation import percent

ONE_LAYER = "Mamba, 1 layer"
"""The model of the comparisons on Sarrof's languages, by its name in the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """One comparison.

    Attributes:
        claim: the finding in one sentence, with its numbers.
        chart: the comparison: what is compared, and what was measured.
        command: the command that does it again.
        source: where the published numbers are from.
    """

    claim: str
    chart: LineChart | BarChart
    command: str
    source: str = ""

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The chart in numbers: the name of each curve or bar, and its texts."""
        if isinstance(self.chart, BarChart):
            return [(bar.label, bar.text) for bar in self.chart.bars]
        known = [
            (line, dict(zip((x for x, _ in line.points), line.texts, strict=True)))
            for line in self.chart.lines
        ]
        places = range(len(self.chart.columns))
        return [(line.series, *(texts.get(i, "–") for i in places)) for line, texts in known]


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
    last = made.cells[-1].column
    lines: list[ChartLine] = []
    for line in (trained, made):
        if any(cell.printed for cell in line.cells):
            lines.append(_curve(f"{line.model}, published", [_printed(cell) for cell in line.cells]))
        name = line.model if line.kind == "compiled" else f"{line.model}, trained here"
        lines.append(_curve(name, [_reading(cell) for cell in line.cells]))
    return Highlight(
        claim=f"Dyck-1 at lengths {last}: compiled weights answer {_middle(made.cells[-1])} % of the words "
        f"correctly, trained ones {_middle(trained.cells[-1])} %.",
        chart=_chart(
            "A counter, compiled and trained",
            [cell.column for cell in trained.cells],
            lines,
            "Share of whole words answered correctly, in %, by length; shaded: worst to best seed.",
        ),
        command=table.command,
        source=table.citation,
    )


def _split(*tables: TableResult | None) -> Highlight | None:
    """Shares of solved languages, with groups inside and without."""
    bars: list[Bar] = []
    for kind, table in zip(("star-free", "not star-free"), tables, strict=True):
        if table is None:
            return None
        lines = [line for line in table.lines if line.model == ONE_LAYER]
        cells = [cell for line in lines for cell in line.cells[-1:] if cell.values]
        least = table.threshold
        printed = [c.published >= least for c in cells if c.published is not None]
        bars.append(_of(f"{kind}, published", printed))
        bars.append(_of(f"{kind}, trained here", [median(c.values) >= least for c in cells]))
    assert tables[0] is not None
    return Highlight(
        claim="Trained on short words, one layer of Mamba generalises to longer ones on "
        f"{bars[1].text} star-free languages and on {bars[3].text} others.",
        chart=BarChart(
            title="Star-free or not",
            value_title="share of the languages",
            bars=tuple(bars),
            largest=1.0,
            caption="Languages that the median seed masters at the longest lengths.",
        ),
        command=tables[0].command,
        source=tables[0].citation,
    )


def _groups(table: TableResult | None) -> Highlight | None:
    """Groups by trained models, and by a linear recurrence that was polished."""
    if table is None:
        return None
    wanted = ("1X", "5X", "64", "512", "4096")
    polished: list[ChartLine] = []
    trained: list[ChartLine] = []
    for line in table.lines:
        cells = {cell.column: cell for cell in line.cells}
        readings = [_reading(cells.get(column)) for column in wanted]
        if line.kind == "polished":
            polished.append(_curve(f"{line.row}, polished", readings))
        elif line.model.startswith(("LSTM", "Mamba")):
            trained.append(_curve(f"{line.row}: {line.model}", readings))
    if not polished:
        return None
    last = len(wanted) - 1.0
    lasting = sum((last, 1.0) in item.points for item in polished)
    return Highlight(
        claim=f"{lasting} of {len(polished)} polished recurrences pass every test at length 4,096 "
        "(median seed).",
        chart=_chart(
            "Groups: a linear recurrence, trained on length 8, then polished",
            ("1X", "5X", "64", "512", "4,096"),
            [*polished, *trained],
            "Share of whole words answered correctly, in %. 1X is the longest training length: 8, or 20 "
            "where A5 is given by two generators. Polished by nerode mend.",
        ),
        command=table.command,
        source=table.citation,
    )


def _horizon(table: TableResult | None) -> Highlight | None:
    """A bit that is remembered until it is not."""
    if table is None:
        return None
    columns = [cell.column for cell in table.lines[0].cells]
    return Highlight(
        claim=_kept(table.lines),
        chart=_chart(
            "A bit to remember",
            [column.replace("survives ", "kept ").removeprefix("512, ") for column in columns],
            [_curve(line.model, [_reading(cell) for cell in line.cells]) for line in table.lines],
            "Flip-flop, in %: validation accuracy, accuracy with 98 % bits to ignore, and the seeds that "
            "still know the bit after so many ignored ones.",
        ),
        command=table.command,
        source=table.citation,
    )


def _chart(title: str, columns: Sequence[str], lines: Sequence[ChartLine], note: str) -> LineChart:
    return LineChart(
        title=title,
        x_title="",
        y_title="",
        columns=tuple(columns),
        lines=tuple(lines),
        shares=True,
        caption=note,
        height=130,
    )


def _kept(lines: Sequence[LineResult]) -> str:
    """Models that are correct in validation, by whether they keep the bit to the end."""
    learned = [line for line in lines if line.cells[0].median == 1]
    ends = {line.model: line.cells[-1] for line in learned}
    kept = [model for model, cell in ends.items() if cell.low == 1]
    partly = [model for model, cell in ends.items() if cell.median == 1 != cell.low]
    lost = [model for model, cell in ends.items() if cell.median != 1]
    told = "All models learn flip-flop perfectly" if len(learned) == len(lines) else "Validated at 100 %"
    parts = [f"{' and '.join(kept)} keeps the bit"] if kept else []
    parts += [f"most seeds of {' and '.join(partly)} keep it, not all"] if partly else []
    parts += [f"{', '.join(lost)} forget it"] if lost else []
    return f"{told}; {', but '.join(parts)}." if parts else f"{told}."


Reading = tuple[float, float, float, str]
"""Median, worst, best, and the three as a text."""


def _curve(name: str, readings: Sequence[Reading | None]) -> ChartLine:
    known = [(float(i), reading) for i, reading in enumerate(readings) if reading is not None]
    return ChartLine(
        series=name,
        points=tuple((x, middle) for x, (middle, *_) in known),
        edge=tuple((x, low, high) for x, (_, low, high, _) in known),
        texts=tuple(text for _, (*_, text) in known),
    )


def _printed(cell: CellResult) -> Reading | None:
    if cell.published is None:
        return None
    return cell.published, cell.published, cell.published, cell.printed


def _reading(cell: CellResult | None) -> Reading | None:
    if cell is None or cell.median is None or cell.low is None or cell.high is None:
        return None
    middle, low, high = cell.median, cell.low, cell.high
    text = percent(middle) if low == high else f"{percent(middle)} ({percent(low)}–{percent(high)})"
    return middle, low, high, text


def _middle(cell: CellResult) -> str:
    return "–" if cell.median is None else percent(cell.median)


def _of(label: str, flags: Sequence[bool]) -> Bar:
    share = sum(flags) / len(flags) if flags else 0.0
    return Bar(label=label, value=share, text=f"{sum(flags)} of {len(flags)}")
