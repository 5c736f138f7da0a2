"""Figures of papers, drawn from reproduced tables: several panels in one picture, with one legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from nerode.records import LineResult, TableResult
from nerode.report.figures.analysis import cluster_figures, product_figures, spectrum_plots
from nerode.report.figures.charts import Bar, BarChart, ChartLine, LineChart
from nerode.report.figures.plot import Figure, head_of
from nerode.report.picture import Curve, Group, Picture, Shape
from nerode.report.tables.reproductions import value_text
from nerode.reproduce import AxisValue, LengthRange, PaperFigure, SignalOutput, TableLine

_GAP = 18.0
"""Between panels, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Figures in rows and columns.

    Attributes:
        title: above all of them.
        figures: row by row.
        columns: how many stand side by side.
    """

    title: str
    figures: tuple[Figure, ...]
    columns: int = 2

    def picture(self, width: float) -> Picture:
        """Returns all panels in one picture; what has the same legend everywhere has it once."""
        legends = {figure.keys() for figure in self.figures}
        shared = legends.pop() if len(legends) == 1 else ()
        head, top = head_of(self.title, shared, width)
        wide = (width - _GAP * (self.columns - 1)) / self.columns
        shapes: list[Shape] = list(head)
        y = _GAP / 2
        for first in range(0, len(self.figures), self.columns):
            row = [
                figure.plot(wide).picture(title=figure.title, keys=() if shared else figure.keys())
                for figure in self.figures[first : first + self.columns]
            ]
            above = max(-picture.box[1] for picture in row)
            for column, picture in enumerate(row):
                shapes += [_moved(item, column * (wide + _GAP), y + above) for item in picture.items]
            y += above + max(picture.box[1] + picture.box[3] for picture in row) + _GAP
        words = " ".join(figure.words() for figure in self.figures)
        return Picture(
            items=tuple(shapes), box=(0.0, -top, width, top + y), title=self.title, description=words
        )


def _moved(shape: Shape, x: float, y: float) -> Shape:
    if isinstance(shape, Group):
        return replace(shape, items=tuple(_moved(item, x, y) for item in shape.items))
    if isinstance(shape, Curve):
        return replace(shape, points=tuple((px + x, py + y) for px, py in shape.points))
    return replace(shape, x=shape.x + x, y=shape.y + y)


def draw_figure(
    figure: PaperFigure,
    result: TableResult,
    *,
    citation: str,
    outputs: Sequence[SignalOutput] = (),
    states: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Panels | None:
    """Returns a figure of a paper from our runs; None if there is nothing to draw.

    Args:
        figure: what is drawn, and how.
        result: the table of its lines.
        citation: the paper in short.
        outputs: for "signals", the outputs of its networks.
        states: for "states", the analysis of each model.
    """
    lines = {(line.row, line.model): line for line in figure.part.lines}
    found = [(lines[line.row, line.model], line) for line in result.lines if (line.row, line.model) in lines]
    match figure.kind:
        case "learning":
            panels: Iterable[Figure] = _curves(figure, found, _learning)
        case "beyond":
            panels = _curves(figure, found, _beyond)
        case "bars":
            panels = _bars(result, found)
        case "signals":
            panels = _signals(outputs)
        case "states":
            panels = [panel for model, analysis in states for panel in _states(model, analysis)]
    shown = tuple(panels)
    columns = 3 if figure.kind == "states" or len(shown) % 3 == 0 else 2
    title = f"{citation}, {figure.where}: {figure.title} (our runs)"
    return Panels(title=title, figures=shown, columns=min(columns, len(shown))) if shown else None


Found = Sequence[tuple[TableLine, LineResult]]
Seeds = list[tuple[int, list[tuple[float, float | None]]]]


def _curves(figure: PaperFigure, found: Found, points: Any) -> Iterable[LineChart]:
    """A panel for each row and number of layers: every seed, and their mean; models have one colour."""
    models = list(dict.fromkeys(line.model.partition(", ")[0] for line in figure.part.lines))
    places = dict.fromkeys((line.row, line.model.partition(", ")[2]) for line, _ in found)
    for row, layers in places:
        own: list[ChartLine] = []
        for model in models:
            seeds: Seeds = [
                seed
                for line, result in found
                if (line.row, *line.model.partition(", ")[::2]) == (row, model, layers)
                for seed in points(line, result)
            ]
            own += [
                ChartLine(series=model, name=f"seed {seed}", points=tuple(curve), thin=True)
                for seed, curve in seeds
            ]
            own.append(ChartLine(series=model, name="mean", points=_mean([curve for _, curve in seeds])))
        learning = points is _learning
        yield LineChart(
            title=f"{row}, {layers}" if layers else row,
            x_title="updates" if learning else _axis(found[0][0]),
            y_title="accuracy in validation" if learning else "accuracy",
            lines=tuple(own),
            zero=True,
        )


def _axis(line: TableLine) -> str:
    reading = line.cells[0].reading
    return reading.axis if isinstance(reading, AxisValue) else "length"


def _learning(line: TableLine, result: LineResult) -> Seeds:
    return [
        (seed, [(step, share) for step, share in curve])
        for seed, curve in zip(result.seeds, result.curves, strict=False)
    ]


def _beyond(line: TableLine, result: LineResult) -> Seeds:
    at = [_place(line, number) for number in range(len(line.cells))]
    return [
        (seed, [(x, cell.values[k]) for x, cell in zip(at, result.cells, strict=True)])
        for k, seed in enumerate(result.seeds)
    ]


def _place(line: TableLine, number: int) -> float:
    reading = line.cells[number].reading
    return float(reading.value if isinstance(reading, AxisValue) else _high(reading))


def _high(reading: Any) -> int:
    assert isinstance(reading, LengthRange)
    return reading.high


def _mean(curves: Sequence[Sequence[tuple[float, float | None]]]) -> tuple[tuple[float, float | None], ...]:
    """The mean of curves; one that has ended keeps its last value."""
    steps = sorted({x for curve in curves for x, _ in curve})
    found = []
    for step in steps:
        last = [[y for x, y in curve if x <= step and y is not None][-1:] for curve in curves]
        found.append((step, fmean(value for values in last for value in values)))
    return tuple(found)


def _bars(result: TableResult, found: Found) -> Iterable[BarChart]:
    """A panel for each bin: the mean and the range of our seeds, and the published number."""
    for column in range(max((len(line.cells) for line, _ in found), default=0)):
        bars = []
        for _, line in found:
            cell = line.cells[column]
            if cell.mean is None:
                continue
            text = f"{value_text(result, cell.mean)} (paper {cell.printed})"
            label = f"{line.row} · {line.model}"
            bars.append(Bar(label=label, value=cell.mean, text=text, low=cell.low, high=cell.high))
        title = ("Lengths of training", "Longer words", "Still longer words")[column]
        yield BarChart(title=title, value_title="share of words", bars=tuple(bars), largest=1.0)


def _signals(outputs: Sequence[SignalOutput]) -> Iterable[LineChart]:
    """A panel for each model and signal: the signal, and the output of every seed."""
    for model, signal in dict.fromkeys((one.model, one.signal) for one in outputs):
        own = [one for one in outputs if (one.model, one.signal) == (model, signal)]
        read = tuple((float(n), float(bit)) for n, bit in enumerate(own[0].bits))
        lines = [
            ChartLine(
                series="output",
                name=f"seed {one.seed}",
                # What is given after a step is about the next one.
                points=tuple((n + 1.0, value) for n, value in enumerate(one.outputs)),
                thin=len(own) > 1,
            )
            for one in own
        ]
        yield LineChart(
            title=f"{model}: {signal}",
            x_title="step",
            y_title="on",
            lines=(ChartLine(series="signal", points=_steps(read)), *lines),
            zero=True,
        )


def _steps(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The corners of a signal."""
    found = []
    for n, bit in points:
        found += [(n, bit), (n + 1.0, bit)]
    return tuple(found)


def _states(model: str, analysis: Mapping[str, Any]) -> Iterable[Figure]:
    """Eigenvalues, powers of the transition, and states by the letters before them."""
    spectrum, powers = spectrum_plots(analysis)[0], product_figures(analysis)[0]
    yield replace(spectrum, title=f"{model}: {spectrum.title.lower()}")
    yield replace(powers, title=f"{model}: {powers.title.lower()}. {powers.caption}".strip(". "))
    yield cluster_figures(analysis)[0][0]
