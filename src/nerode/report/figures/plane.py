"""Points of a plane: eigenvalues around the unit circle, and hidden states along their principal axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nerode.report.figures.marks import (
    SHOWN,
    colour_channel,
    layered,
    legend_of,
    number_axis,
    only,
    rounded,
    tooltip,
)
from nerode.report.figures.vega import NUM_COLOURS, Figure, FigureTable, Json, LegendEntry

_MOST_LABELS = 3 * NUM_COLOURS
"""Labels that a legend can hold; colours beyond them say nothing."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointGroup:
    """Points that share a colour and a place in the legend."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumPlot:
    """Eigenvalues (real and imaginary part) beside the unit circle."""

    title: str
    groups: tuple[PointGroup, ...]
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Points by two coordinates."""

    title: str
    groups: tuple[PointGroup, ...]
    x_title: str = "first principal axis"
    y_title: str = "second principal axis"
    caption: str = ""


def spectrum_figure(plot: SpectrumPlot) -> Figure:
    """Returns the figure of a page."""
    rows = _rows(plot.groups)
    for row in rows:
        row["modulus"] = rounded(math.hypot(row["x"], row["y"]))
    angles = (2 * math.pi * i / 90 for i in range(91))
    rows += [
        {"kind": "circle", "place": i, "x": rounded(math.cos(a)), "y": rounded(math.sin(a))}
        for i, a in enumerate(angles)
    ]
    reach = 1.08 * max([1.0, *(abs(row[name]) for row in rows for name in ("x", "y"))])
    x = number_axis("x", "real part", domain=(-reach, reach))
    y = number_axis("y", "imaginary part", domain=(-reach, reach))
    circle = {
        "transform": [only("circle")],
        "mark": {"type": "line", "color": "var(--edge)", "strokeWidth": 1.25},
        "encoding": {"x": x, "y": y, "order": {"field": "place", "type": "quantitative"}},
    }
    tip = {"series": "", "x": "real", "y": "imaginary", "modulus": "modulus"}
    return Figure(
        spec=_spec(rows, plot.groups, x, y, tip, under=[circle]),
        title=plot.title,
        caption=plot.caption,
        alternative=_spectrum_words(plot),
        legend=_legend(plot.groups),
        table=_spectrum_table(plot),
        shape="square",
    )


def scatter_figure(plot: Scatter) -> Figure:
    """Returns the figure of a page."""
    rows = _rows(plot.groups)
    x, y = (
        number_axis(name, title, domain=_span([row[name] for row in rows]))
        for name, title in (("x", plot.x_title), ("y", plot.y_title))
    )
    tip = {"series": "label", "x": plot.x_title, "y": plot.y_title}
    count = sum(len(group.points) for group in plot.groups)
    return Figure(
        spec=_spec(rows, plot.groups, x, y, tip, under=[]),
        title=plot.title,
        caption=plot.caption,
        alternative=f"{plot.title}: {count} points of {len(plot.groups)} labels.",
        legend=_legend(plot.groups),
        table=FigureTable(
            title="the groups as a table",
            headings=("label", "points", "middle"),
            rows=tuple((g.label, str(len(g.points)), _middle(g)) for g in plot.groups),
        ),
        shape="square",
    )


def _rows(groups: tuple[PointGroup, ...]) -> list[Json]:
    return [
        {"kind": "point", "series": group.label, "x": rounded(a), "y": rounded(b)}
        for group in groups
        for a, b in group.points
        if math.isfinite(a) and math.isfinite(b)
    ]


def _spec(
    rows: list[Json],
    groups: tuple[PointGroup, ...],
    x: Json,
    y: Json,
    tip: dict[str, str],
    *,
    under: list[Json],
) -> Json:
    labels = [group.label for group in groups]
    colour = colour_channel(labels) if len(labels) <= _MOST_LABELS else {"value": "var(--c1)"}
    size, opacity = (22, 0.55) if len(rows) > 400 else (44, 0.75)
    points = {
        "transform": [only("point"), SHOWN],
        "mark": {"type": "point", "filled": True, "size": size, "opacity": opacity},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip(*tip)},
    }
    return layered(rows, *under, points, height=360, titles=tip)


def _legend(groups: tuple[PointGroup, ...]) -> tuple[LegendEntry, ...]:
    if not 1 < len(groups) <= _MOST_LABELS:
        return ()
    return legend_of([group.label for group in groups], mark="point")


def _span(values: list[float]) -> list[float]:
    if not values:
        return [-1.0, 1.0]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def _middle(group: PointGroup) -> str:
    if not group.points:
        return "–"
    xs, ys = zip(*group.points, strict=True)
    return f"({sum(xs) / len(xs):.3g}, {sum(ys) / len(ys):.3g})"


def _moduli(group: PointGroup) -> list[float]:
    return [math.hypot(a, b) for a, b in group.points]


def _spectrum_table(plot: SpectrumPlot) -> FigureTable:
    rows = []
    for group in plot.groups:
        moduli = _moduli(group)
        outside = sum(m > 1 for m in moduli)
        rows.append((group.label, str(len(moduli)), f"{max(moduli, default=0):.4g}", str(outside)))
    return FigureTable(
        title="the moduli as a table",
        headings=("", "eigenvalues", "largest modulus", "outside the circle"),
        rows=tuple(rows),
    )


def _spectrum_words(plot: SpectrumPlot) -> str:
    parts = [f"{row[0]}: {row[1]}, largest modulus {row[2]}" for row in _spectrum_table(plot).rows]
    return f"{plot.title}: eigenvalues in the complex plane. " + "; ".join(parts) + "."
