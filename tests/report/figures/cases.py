"""One record of each kind of figure, with any text in every place that takes a text."""

from __future__ import annotations

import math
from collections.abc import Callable

from nerode.report.figures.charts import (
    Bar,
    BarChart,
    ChartLine,
    HeatMap,
    LineChart,
    Mark,
    PointGroup,
    Scatter,
    SpectrumPlot,
)
from nerode.report.figures.length_figure import (
    LengthCurves,
    LengthSeries,
    Published,
    SeedCurve,
    VerdictSummary,
)
from nerode.report.figures.plot import Figure

Text = Callable[[str], str]


def plain(text: str) -> str:
    return text


def length_curves(text: Text = plain) -> LengthCurves:
    """Two architectures: one that fails beyond training, one that does not, and a third from a paper."""
    falling = [SeedCurve(seed=s, points=((40, 1.0), (80, 0.7 - s / 10), (400, 0.0))) for s in range(3)]
    steady = [SeedCurve(seed=s, points=((40, 1.0), (80, 1.0), (400, 1.0))) for s in range(3)]
    return LengthCurves(
        title=text("lengths"),
        measure=text("sequences"),
        series=(
            LengthSeries(
                label=text("falling"),
                runs=tuple(falling),
                theory=VerdictSummary(status="no", reason=text("reason"), reference=text("source")),
            ),
            LengthSeries(
                label=text("steady"),
                runs=tuple(steady),
                theory=VerdictSummary(
                    status="yes", reason=text("other reason"), reference=text("other source")
                ),
            ),
        ),
        trained=(3, 60),
        published=(
            Published(label=text("falling"), x=80, y=0.5, source=text("a paper")),
            Published(label=text("elsewhere"), x=None, y=0.3, source=text("another paper")),
        ),
        caption=text("caption"),
    )


_BROKEN = ((1, 1.0), (10, 0.1), (100, None), (1000, 0.01))


def line_chart(text: Text = plain) -> LineChart:
    return LineChart(
        title=text("margins"),
        x_title=text("length"),
        y_title=text("margin"),
        lines=(
            ChartLine(series=text("a"), name=text("seed 0"), points=_BROKEN, thin=True),
            ChartLine(series=text("a"), name=text("median"), points=((1, 1.0), (1000, 0.02))),
            ChartLine(series=text("b"), points=((1, 2.0), (1000, -1.0))),
        ),
        marks=(Mark(x=700, label=text("horizon")),),
        log_x=True,
        log_y=True,
        caption=text("caption"),
    )


def spectrum(text: Text = plain) -> SpectrumPlot:
    on_circle = tuple((math.cos(a), math.sin(a)) for a in range(5))
    groups = (
        PointGroup(label=text("a"), points=on_circle),
        PointGroup(label=text("b"), points=((0.2, 0.1), (3.0, 4.0))),
    )
    return SpectrumPlot(title=text("spectrum"), groups=groups, caption=text("caption"))


def scatter(text: Text = plain) -> Scatter:
    groups = tuple(
        PointGroup(label=text(f"q{i}"), points=((i, 0.0), (i, 0.5), (i + 0.5, math.nan))) for i in range(3)
    )
    return Scatter(title=text("states"), groups=groups, x_title=text("x"), y_title=text("y"))


def heat_map(text: Text = plain) -> HeatMap:
    return HeatMap(
        title=text("states"),
        x_title=text("letter"),
        y_title=text("unit"),
        columns=(text("a"), text("b"), text("a")),
        rows=(text("0"), text("1")),
        values=((0.5, -1.0, None), (0.0, 0.25, 1.0)),
        caption=text("caption"),
    )


def bar_chart(text: Text = plain) -> BarChart:
    return BarChart(
        title=text("successes"),
        value_title=text("share"),
        bars=(
            Bar(label=text("mamba"), value=0.0, text=text("0 of 5")),
            Bar(label=text("lstm"), value=0.9, text=text("9 of 10"), low=0.8, high=1.0),
        ),
        largest=1.0,
        caption=text("caption"),
    )


RECORDS: tuple[Callable[..., Figure], ...] = (
    length_curves,
    line_chart,
    spectrum,
    scatter,
    heat_map,
    bar_chart,
)


def all_figures(text: Text = plain) -> list[Figure]:
    """Every kind of figure."""
    return [make(text) for make in RECORDS]
