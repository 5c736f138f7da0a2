"""Bars of shares with their range, and heat maps: tables of numbers as colours."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nerode.core import InputError
from nerode.report.figures.marks import layered, number_axis, rounded, tooltip
from nerode.report.figures.vega import Figure, FigureTable, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Attributes:
        label: what it is about.
        value: its length.
        text: what is written behind it ("4 of 5").
        low: beginning of its range; None for none.
        high: end of its range.
    """

    label: str
    value: float
    text: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """The content of a figure of bars.

    Attributes:
        title: above the figure.
        value_title: of the axis.
        bars: from top to bottom.
        largest: end of the axis; by default that of the bars.
        caption: below the figure.
    """

    title: str
    value_title: str
    bars: tuple[Bar, ...]
    largest: float | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        labels = [bar.label for bar in self.bars]
        if len(set(labels)) != len(labels):
            raise InputError(f"two bars of {self.title!r} have the same label; give each its own")

    @property
    def end(self) -> float:
        """The end of the axis."""
        if self.largest is not None:
            return self.largest
        return max((max(bar.value, bar.high or 0.0) for bar in self.bars), default=0.0) or 1.0


def bar_figure(chart: BarChart) -> Figure:
    """Returns the figure of a page."""
    rows = [
        {
            "label": bar.label,
            "value": rounded(bar.value),
            "text": bar.text,
            "low": rounded(bar.low),
            "high": rounded(bar.high),
        }
        for bar in chart.bars
    ]
    parts = [f"{bar.label}: {bar.text or format(bar.value, '.3g')}" for bar in chart.bars]
    return Figure(
        spec=_bar_spec(chart, rows),
        title=chart.title,
        caption=chart.caption,
        alternative=f"{chart.title}: {'; '.join(parts)}.",
        table=FigureTable(
            title="the bars as a table",
            headings=("", chart.value_title, ""),
            rows=tuple((bar.label, f"{bar.value:.4g}", bar.text) for bar in chart.bars),
        ),
        shape="fixed",
    )


def _bar_spec(chart: BarChart, rows: list[Json]) -> Json:
    x = number_axis("value", chart.value_title, domain=(0, chart.end))
    y = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "ticks": False, "domain": False, "labelLimit": 150, "labelPadding": 8},
        "scale": {"paddingInner": 0.35, "paddingOuter": 0.2},
    }
    tip = tooltip("label", "value", "text")
    bar = {"type": "bar", "color": "var(--c1)", "opacity": 0.8, "cornerRadiusEnd": 3}
    # Behind a short bar, inside a long one.
    long = f"datum.value > {0.75 * chart.end!r}"
    text = {
        "type": "text",
        "baseline": "middle",
        "fontWeight": 600,
        "align": {"expr": f"{long} ? 'right' : 'left'"},
        "dx": {"expr": f"{long} ? -7 : 7"},
        "color": {"expr": f"{long} ? 'var(--card)' : 'var(--ink)'"},
    }
    layers: list[Json] = [
        {"mark": bar, "encoding": {"x": x, "y": y, "tooltip": tip}},
        {"mark": text, "encoding": {"x": x, "y": y, "text": {"field": "text"}}},
    ]
    if any(item.low is not None and item.high is not None for item in chart.bars):
        rule = {"type": "rule", "strokeWidth": 1.5, "color": "var(--outline)"}
        span = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
        layers.insert(1, {"transform": [{"filter": "datum.low != null"}], "mark": rule, "encoding": span})
    titles = {"label": "", "value": chart.value_title, "text": ""}
    return layered(rows, *layers, height=30 * len(rows) + 50, titles=titles)


MOST_CELLS = 20_000
"""Each cell is an element of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The content of a heat map.

    Attributes:
        title: above the figure.
        x_title: of the columns.
        y_title: of the rows.
        columns: a name for each column (the letters of a word); they need not differ.
        rows: a name for each row.
        values: one tuple for each row; None where there is none.
        caption: below the figure.
    """

    title: str
    x_title: str
    y_title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows) or any(len(r) != len(self.columns) for r in self.values):
            raise InputError(
                f"the values of {self.title!r} are not {len(self.rows)} rows of {len(self.columns)} numbers"
            )
        size = f"{len(self.rows)} × {len(self.columns)}"
        if len(self.rows) * len(self.columns) > MOST_CELLS:
            raise InputError(
                f"{self.title!r} has {size} cells; a page can hold {MOST_CELLS:,}. Choose a part of it"
            )

    @property
    def finite(self) -> list[float]:
        """All numbers that can be shown."""
        return [v for row in self.values for v in row if v is not None and math.isfinite(v)]

    @property
    def extent(self) -> float:
        """The largest absolute value."""
        return max(map(abs, self.finite), default=0.0)


def heat_figure(heat: HeatMap) -> Figure:
    """Returns the figure of a page: one colour for each sign, stronger for larger numbers."""
    rows = [
        {
            "x": j,
            "y": i,
            "value": rounded(value),
            "size": rounded(abs(value)),
            "sign": "below 0" if value < 0 else "0 or above",
            "column": heat.columns[j],
            "row": heat.rows[i],
        }
        for i, line in enumerate(heat.values)
        for j, value in enumerate(line)
        if value is not None and math.isfinite(value)
    ]
    low, high = min(heat.finite, default=0.0), max(heat.finite, default=0.0)
    signs = " (orange below 0)" if low < 0 else ""
    return Figure(
        spec=_heat_spec(heat, rows),
        title=heat.title,
        caption=" ".join(filter(None, (heat.caption, f"From {low:.3g} to {high:.3g}{signs}."))),
        alternative=f"{heat.title}: {len(heat.rows)} rows ({heat.y_title}) by {len(heat.columns)} columns "
        f"({heat.x_title}), values from {low:.3g} to {high:.3g}.",
        shape="fixed",
    )


def _heat_spec(heat: HeatMap, rows: list[Json]) -> Json:
    return {
        "data": {"values": rows},
        "height": max(90, min(480, 16 * len(heat.rows) + 60)),
        "params": [
            {"name": "columns", "value": list(heat.columns)},
            {"name": "rows", "value": list(heat.rows)},
        ],
        "usermeta": {"titles": {"column": heat.x_title, "x": "place", "row": heat.y_title, "value": "value"}},
        "mark": {"type": "rect", "stroke": None},
        "encoding": {
            "x": _places("x", heat.x_title, "columns", len(heat.columns)),
            "y": _places("y", heat.y_title, "rows", len(heat.rows)),
            "fill": {
                "field": "sign",
                "type": "nominal",
                "scale": {"domain": ["0 or above", "below 0"], "range": ["var(--c1)", "var(--c2)"]},
                "legend": None,
            },
            "fillOpacity": {
                "field": "size",
                "type": "quantitative",
                "scale": {"domain": [0, rounded(heat.extent) or 1], "range": [0.04, 1], "nice": False},
                "legend": None,
            },
            "tooltip": tooltip("column", "x", "row", "value"),
        },
    }


def _places(field: str, title: str, names: str, count: int) -> Json:
    """The encoding of rows or columns by their place, with their names at the ticks.

    The names are the value of a parameter, so that none of them is ever read as an expression.
    """
    axis = {
        "title": title,
        "labelExpr": f"{names}[datum.value]",
        "labelLimit": 120,
        "labelAngle": 0,
        "labelPadding": 4,
        "labelSeparation": 2,
        "ticks": False,
        "domain": False,
    }
    scale = {"domain": list(range(count)), "padding": 0}
    return {"field": field, "type": "ordinal", "axis": axis, "scale": scale}
