"""Curves over a number: training dynamics, margins, norms of powers, the effect of a change far back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nerode.core import InputError
from nerode.report.figures.marks import (
    SHOWN,
    colour_channel,
    dash_channel,
    fitted,
    layered,
    legend_of,
    line_at,
    number_axis,
    only,
    rounded,
    tooltip,
)
from nerode.report.figures.vega import Figure, FigureTable, Json

_MOST_POINTS = 400
"""Points of one line that are drawn: more than there are pixels to tell them apart."""

_MOST_ROWS = 8000
"""Points of all lines together: each is an element of the page, and hundreds of runs are still to open."""

_MOST_POINTERS = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """One curve.

    Attributes:
        series: what it belongs to; curves of one series share a colour and a place in the legend.
        points: x and y, in order; y is None where it is missing.
        name: tells it from the others of its series ("seed 3"); may be empty.
        thin: whether it is one of many.
    """

    series: str
    points: tuple[tuple[float, float | None], ...]
    name: str = ""
    thin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on the x axis that has a name."""

    x: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """The content of a figure of curves.

    Attributes:
        title: above the figure.
        x_title: of the axis.
        y_title: of the axis.
        lines: the curves.
        marks: places on the x axis.
        log_x: whether equal factors along x take equal room; what is not above 0 is left out.
        log_y: the same along y.
        zero: whether y = 0 is inside the figure (only without `log_y`).
        caption: below the figure.
        height: of the figure, in pixels.
    """

    title: str
    x_title: str
    y_title: str
    lines: tuple[ChartLine, ...]
    marks: tuple[Mark, ...] = ()
    log_x: bool = False
    log_y: bool = False
    zero: bool = False
    caption: str = ""
    height: int = 240

    def __post_init__(self) -> None:
        names = [(line.series, line.name) for line in self.lines]
        if len(set(names)) != len(names):
            raise InputError(f"two curves of {self.title!r} have the same series and name; give each its own")

    @property
    def series(self) -> list[str]:
        """The names of the series, in order."""
        return list(dict.fromkeys(line.series for line in self.lines))

    def shown(self, line: ChartLine) -> list[tuple[float, float | None]]:
        """Returns the points of a line that the axes can hold, not too many; None breaks the line."""
        points = [
            (x, y if y is not None and math.isfinite(y) and (y > 0 or not self.log_y) else None)
            for x, y in line.points
            if math.isfinite(x) and (x > 0 or not self.log_x)
        ]
        most = max(12, min(_MOST_POINTS, _MOST_ROWS // len(self.lines)))
        if len(points) <= most:
            return points
        step = (len(points) - 1) / (most - 1)
        return [points[round(i * step)] for i in range(most)]


def line_figure(chart: LineChart) -> Figure:
    """Returns the figure of a page."""
    labels = chart.series
    legend = legend_of(labels) if len(labels) > 1 else ()
    return Figure(
        spec=_spec(chart),
        title=chart.title,
        caption=chart.caption,
        alternative=_words(chart),
        legend=legend,
        table=_table(chart),
    )


def _spec(chart: LineChart) -> Json:
    rows: list[Json] = []
    for curve in chart.lines:
        beginning = {"kind": "thin" if curve.thin else "thick", "series": curve.series, "name": curve.name}
        rows += [{**beginning, "x": rounded(a), "y": rounded(b)} for a, b in chart.shown(curve)]
    xs = [row["x"] for row in rows]
    # A place between the curves is worth a look; one far beyond them would squeeze them.
    marks = [m for m in chart.marks if xs and min(xs) <= m.x <= max(xs) * 1.5]
    edges = [*xs, *(m.x for m in marks)] or [1.0]
    x = number_axis("x", chart.x_title, log=chart.log_x, domain=_ends(edges, chart.log_x))
    y = number_axis("y", chart.y_title, log=chart.log_y, domain=_heights(chart, rows))
    if not chart.log_y:
        y["axis"]["tickCount"] = 5
    layers = _curve_layers(chart, x, y, with_tips=len(rows) <= _MOST_POINTERS)
    for i, mark in enumerate(marks):
        layers += _mark_layers(mark, x, i)
    titles = {"series": "", "name": "", "x": chart.x_title, "y": chart.y_title}
    return layered(rows, *layers, height=chart.height, titles=titles)


def _curve_layers(chart: LineChart, x: Json, y: Json, *, with_tips: bool) -> list[Json]:
    place = {"x": x, "y": y, "color": colour_channel(chart.series)}
    lines = {**place, "strokeDash": dash_channel(chart.series), "detail": {"field": "name"}}
    points = {**place, "tooltip": tooltip("series", "name", "x", "y")}
    point = {"type": "point", "filled": True, "size": 60, "opacity": 0, "invalid": "filter"}
    layers: list[Json] = []
    for kind, width, opacity in (("thin", 1.0, 0.5), ("thick", 2.5, 1.0)):
        chosen = [only(kind), SHOWN]
        line: Json = {"type": "line", "strokeWidth": width, "opacity": opacity}
        # Where a value is missing, the line has a gap.
        line["invalid"] = "break-paths-show-domains"
        layers.append({"transform": chosen, "mark": line, "encoding": lines})
        # What the pointer meets; of hundreds of runs only the medians say their numbers.
        if kind == "thick" or with_tips:
            layers.append({"transform": chosen, "mark": point, "encoding": points})
    return layers


def _mark_layers(mark: Mark, x: Json, number: int) -> list[Json]:
    # The name stands above the plot, so that it hides no curve, on the side where there is room.
    right = f"scale('x', {mark.x!r}) > 0.7 * width"
    text = {
        "align": {"expr": f"{right} ? 'right' : 'left'"},
        "dx": {"expr": f"{right} ? -5 : 5"},
        "baseline": "bottom",
        "text": mark.label,
    }
    return line_at(x, mark.x, text, {"value": -4 - 14 * number})


def _heights(chart: LineChart, rows: list[Json]) -> list[float]:
    found = [row["y"] for row in rows if row["y"] is not None]
    if chart.log_y:
        return _ends(found or [1.0], True)
    return fitted(found, low=0 if chart.zero else None)


def _ends(values: list[float], log: bool) -> list[float]:
    low, high = min(values), max(values)
    if low < high:
        return [low, high]
    return [low / 2, low * 2] if log else [low - 0.5, low + 0.5]


def _table(chart: LineChart) -> FigureTable:
    rows = []
    for line in chart.lines:
        points = [(x, y) for x, y in chart.shown(line) if y is not None]
        if points:
            least, most = min(points, key=lambda p: p[1]), max(points, key=lambda p: p[1])
            ends = (f"{y:.4g} at {x:,.6g}" for x, y in (points[0], points[-1], least, most))
            rows.append((line.series, line.name, *ends))
    return FigureTable(
        title="the ends of the curves as a table",
        headings=("curve", "", "first", "last", "least", "largest"),
        rows=tuple(rows),
    )


def _words(chart: LineChart) -> str:
    parts = []
    for name in chart.series:
        lines = [line for line in chart.lines if line.series == name]
        ends = [p[-1][1] for p in (chart.shown(line) for line in lines) if p and p[-1][1] is not None]
        if ends:
            span = f"{min(ends):.3g}" if len(ends) == 1 else f"{min(ends):.3g} to {max(ends):.3g}"
            parts.append(f"{name} ends at {span}")
    return f"{chart.title}: {chart.y_title} against {chart.x_title}. " + "; ".join(parts) + "."
