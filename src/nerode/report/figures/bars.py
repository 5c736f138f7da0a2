"""Bars: how many runs of each kind succeeded, or any share with its range."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import InputError
from nerode.report.figures.marks import layered, number_axis, rounded, tooltip
from nerode.report.vega import Figure, FigureTable, Json, figure


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
    """What a figure of bars shows.

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
        """Where the axis ends."""
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
    return figure(
        _spec(chart, rows),
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


def _spec(chart: BarChart, rows: list[Json]) -> Json:
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
