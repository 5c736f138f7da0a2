"""Figures for papers: the same records as on pages, drawn by matplotlib as SVG and PDF."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nerode.core import InputError, write_atomically
from nerode.report.figures.bars_and_heat_maps import BarChart, HeatMap
from nerode.report.figures.length_figure import THEORY_MARKS, THEORY_WORDS, LengthCurves
from nerode.report.figures.line_chart import LineChart
from nerode.report.figures.marks import fitted, round_numbers, spans_decades
from nerode.report.figures.plane import PointGroup, Scatter, SpectrumPlot
from nerode.report.picture import figure_bytes, plain_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Record = LengthCurves | LineChart | SpectrumPlot | Scatter | HeatMap | BarChart

COLOURS = ("#2563eb", "#d9650b", "#0d9488", "#c0267e", "#7c4ddb", "#5f7a0b", "#b42318", "#5b6b82")
"""Those of pages in the light, in the same order."""

_THEORY = {"yes": "#15803d", "no": "#b91c1c", "open": "#a1490b"}
_STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e2e8f0",
    "grid.linewidth": 0.6,
    "axes.edgecolor": "#64748b",
    "legend.frameon": False,
    # Text stays text, and names inside the files do not depend on chance.
    "svg.fonttype": "none",
    "svg.hashsalt": "nerode",
}


def save_figure(record: Record, path: Path, *, width: float = 5.5) -> None:
    """Writes a figure as SVG or PDF; the same record gives the same bytes.

    Args:
        record: what is shown.
        path: ends in .svg or .pdf.
        width: in inches.

    Raises:
        InputError: if matplotlib is not installed, or the file is of another kind.
    """
    if path.suffix not in (".svg", ".pdf"):
        raise InputError(f"{path} is neither .svg nor .pdf; figures for papers are written as these")
    size = (width, width * _shape(record, width))
    with plain_figure(size, style=_STYLE, layout="constrained") as figure:
        axes = figure.subplots()
        _DRAW[type(record)](axes, record)
        title = textwrap.fill(record.title, max(24, int(15 * width)))
        axes.set_title(title, loc="left", pad=_room_above(record))
        content = figure_bytes(figure, path.suffix[1:])
    write_atomically(path, content)


def _shape(record: Record, width: float) -> float:
    """Height over width."""
    if isinstance(record, SpectrumPlot | Scatter):
        return 0.8
    if isinstance(record, LengthCurves) and width < _NARROW:
        return 0.72 + 0.035 * len(record.series)
    if isinstance(record, BarChart):
        return 0.12 + 0.06 * len(record.bars)
    return 0.5


def _columns(points: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    found = list(points)
    return [x for x, _ in found], [y for _, y in found]


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _draw_lengths(axes: Axes, curves: LengthCurves) -> None:
    lengths = curves.lengths
    known = {series.label: i for i, series in enumerate(curves.series)}
    for i, series in enumerate(curves.series):
        label = f"{series.label} {THEORY_MARKS[series.theory.status]}" if series.theory else series.label
        style = "-o" if i < len(COLOURS) else "--o"
        if series.has_median:
            for run in series.runs:
                axes.plot(*_columns(run.points), color=_colour(i), linewidth=0.6, alpha=0.4)
            rows = series.medians()
            xs, ys = [row[0] for row in rows], [row[1] for row in rows]
            axes.plot(xs, ys, style, color=_colour(i), linewidth=1.6, markersize=3, label=label)
            continue
        for run in series.runs:
            axes.plot(
                *_columns(run.points), style, color=_colour(i), linewidth=1.2, markersize=3, label=label
            )
            label = "_nolegend_"
    for i, cross in ((i, run.cross) for i, series in enumerate(curves.series) for run in series.runs):
        if cross is not None:
            axes.plot(*cross, "x", color=_colour(i), markersize=7, markeredgewidth=1.8, clip_on=False)
    for item in curves.published:
        colour = _colour(known.get(item.label, len(known)))
        if item.x is None:
            axes.axhline(item.y, color=colour, linestyle=":", linewidth=1)
        else:
            axes.plot([item.x], [item.y], "D", color=colour, markerfacecolor="white", markersize=4)
    if curves.trained and lengths and lengths[0] <= curves.trained[1] < lengths[-1]:
        axes.axvline(curves.trained[1], color="#64748b", linestyle="--", linewidth=0.8)
    _theory_bands(axes, curves)
    if spans_decades(curves.span):
        axes.set_xscale("log")
    axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
    axes.minorticks_off()
    axes.set_xlim(*curves.span)
    axes.set_ylim(*fitted([], low=curves.floor, high=1.0))
    axes.set_xlabel("length")
    axes.set_ylabel("accuracy, %")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    _legend(axes, len(curves.series))


def _theory_bands(axes: Axes, curves: LengthCurves) -> None:
    """A band for each verdict above the plot, from the end of training on."""
    known = [(i, series.theory) for i, series in enumerate(curves.series) if series.theory]
    start, end = curves.beyond
    transform = axes.get_xaxis_transform()
    for row, (place, theory) in enumerate(known):
        low, high = (
            _above(axes, 3.0 + _BAND * (len(known) - row - 1)),
            _above(axes, 2.0 + _BAND * (len(known) - row)),
        )
        box: dict[str, Any] = {"transform": transform, "clip_on": False, "linewidth": 0}
        axes.fill_between([start, end], low, high, color=_THEORY[theory.status], alpha=0.16, **box)
        axes.annotate(
            f"{THEORY_MARKS[theory.status]} {THEORY_WORDS[theory.status]}",
            (start, (low + high) / 2),
            xycoords=("data", "axes fraction"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center_baseline",
            fontsize=5.5,
            color=_THEORY[theory.status],
            annotation_clip=False,
        )
        axes.plot(
            [start],
            [(low + high) / 2],
            "o",
            color=_colour(place),
            markersize=3,
            transform=transform,
            clip_on=False,
        )


_BAND = 7.5
"""Height of a band of theory, in points."""


def _above(axes: Axes, points: float) -> float:
    """The height of a place above the plot, as a share of the plot."""
    figure = axes.get_figure()
    assert figure is not None
    height = figure.get_size_inches()[1] * 72 * _PLOT_SHARE  # type: ignore[union-attr]
    return float(1.0 + points / height)


_PLOT_SHARE = 0.62
"""About how much of a figure's height is its plot; bands need it before the layout is known."""


def _room_above(record: Record) -> float:
    """The distance of the title from the plot, in points."""
    bands = sum(s.theory is not None for s in record.series) if isinstance(record, LengthCurves) else 0
    return 6.0 + 1.15 * _BAND * bands


def _draw_lines(axes: Axes, chart: LineChart) -> None:
    places = {name: i for i, name in enumerate(chart.series)}
    named: set[str] = set()
    for line in chart.lines:
        points = chart.shown(line)
        if not points:
            continue
        xs, ys = [x for x, _ in points], [math.nan if y is None else y for _, y in points]
        first = line.series not in named and not line.thin
        named |= {line.series} if first else set()
        width, opacity = (0.6, 0.5) if line.thin else (1.4, 1.0)
        label = line.series if first else "_nolegend_"
        axes.plot(xs, ys, color=_colour(places[line.series]), linewidth=width, alpha=opacity, label=label)
    if chart.log_x:
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis, axes.get_xlim())
    if chart.log_y:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, axes.get_ylim())
    elif chart.zero:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    for mark in chart.marks:
        axes.axvline(mark.x, color="#64748b", linestyle="--", linewidth=0.8)
        style: dict[str, Any] = {"va": "bottom", "ha": "center", "fontsize": 6, "color": "#475569"}
        axes.annotate(mark.label, (mark.x, 1.005), xycoords=("data", "axes fraction"), **style)
    axes.set_xlabel(chart.x_title)
    axes.set_ylabel(chart.y_title)
    _legend(axes, len(places))


def _plain_ticks(axis: Axis, ends: tuple[float, float]) -> None:
    """Puts ticks at round numbers, written as numbers and not as powers."""
    places = round_numbers(*ends)
    axis.set_ticks(places, labels=[f"{place:,g}" for place in places])
    axis.set_ticks([], minor=True)


def _draw_groups(axes: Axes, groups: tuple[PointGroup, ...]) -> None:
    for i, group in enumerate(groups):
        found = [(x, y) for x, y in group.points if math.isfinite(x) and math.isfinite(y)]
        style: dict[str, Any] = {"markersize": 2.5, "alpha": 0.7, "markeredgewidth": 0}
        axes.plot(*_columns(found), "o", color=_colour(i), label=group.label, **style)
    _legend(axes, len(groups))


def _draw_spectrum(axes: Axes, plot: SpectrumPlot) -> None:
    turn = [2 * math.pi * i / 180 for i in range(181)]
    axes.plot([math.cos(a) for a in turn], [math.sin(a) for a in turn], color="#64748b", linewidth=0.8)
    _draw_groups(axes, plot.groups)
    axes.set_aspect("equal")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")


def _draw_scatter(axes: Axes, plot: Scatter) -> None:
    _draw_groups(axes, plot.groups)
    axes.set_xlabel(plot.x_title)
    axes.set_ylabel(plot.y_title)


def _draw_heat(axes: Axes, heat: HeatMap) -> None:
    values = [[math.nan if v is None else v for v in row] for row in heat.values]
    extent = heat.extent or 1.0
    signed = min(heat.finite, default=0.0) < 0
    image = axes.imshow(
        values,
        aspect="auto",
        cmap="PuOr" if signed else "Blues",
        vmin=-extent if signed else 0,
        vmax=extent,
        interpolation="nearest",
    )
    axes.grid(visible=False)
    for set_ticks, names in ((axes.set_xticks, heat.columns), (axes.set_yticks, heat.rows)):
        step = max(1, math.ceil(len(names) / 32))
        set_ticks(range(0, len(names), step), names[::step])
    axes.set_xlabel(heat.x_title)
    axes.set_ylabel(heat.y_title)
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes)


def _draw_bars(axes: Axes, chart: BarChart) -> None:
    places = range(len(chart.bars))
    axes.barh(places, [bar.value for bar in chart.bars], color=COLOURS[0], height=0.6)
    for i, bar in enumerate(chart.bars):
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [i, i], color="#334155", linewidth=1)
        axes.annotate(
            bar.text, (bar.value, i), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7
        )
    axes.set_yticks(places, [bar.label for bar in chart.bars])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, chart.end * 1.12)
    axes.set_xlabel(chart.value_title)


def _legend(axes: Axes, count: int) -> None:
    if not 1 < count <= 2 * len(COLOURS):
        return
    figure = axes.get_figure()
    assert figure is not None
    if figure.get_size_inches()[0] < _NARROW:  # type: ignore[union-attr]
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2, columnspacing=1.0)
    else:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


_NARROW = 4.5
"""Width in inches below which a legend stands under its figure, not beside it."""


_DRAW: dict[type, Callable[[Axes, Any], None]] = {
    LengthCurves: _draw_lengths,
    LineChart: _draw_lines,
    SpectrumPlot: _draw_spectrum,
    Scatter: _draw_scatter,
    HeatMap: _draw_heat,
    BarChart: _draw_bars,
}
