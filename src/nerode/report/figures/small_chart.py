"""Small charts as plain SVG, for pages without an engine: a few series over a few columns, and sparklines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 400.0, 168.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 30.0, 12.0, 17.0, 22.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartReading:
    """One value of a chart.

    Attributes:
        text: the value in words.
        middle: a share: the height of the point.
        low: the worst seed.
        high: the best seed.
    """

    text: str
    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSeries:
    """A named row of readings, one per column; None where nothing was measured."""

    name: str
    strong: bool
    readings: tuple[ChartReading | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallChart:
    """A chart of shares between 0 and 1; templates show it by its name.

    Attributes:
        columns: headings, from left to right.
        series: at most six are told apart by colour.
        shape: lines for lengths, bars for kinds.
    """

    columns: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    shape: Literal["lines", "bars"] = "lines"

    def __html__(self) -> Markup:
        """The chart as markup; every reading is an element that a mouse, a finger or a key can reach."""
        draw = _lines if self.shape == "lines" else _bars
        told = "; ".join(f"{item.name}: {_told(self.columns, item)}" for item in self.series)
        return Markup(
            f'<svg class="small-chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
            f'aria-label="{escape(told)}">{"".join(_frame(self))}{"".join(draw(self))}</svg>'
        )


def _told(columns: Sequence[str], item: ChartSeries) -> str:
    pairs = zip(columns, item.readings, strict=True)
    return ", ".join(f"{column} {reading.text}" for column, reading in pairs if reading is not None)


def _height(share: float) -> float:
    bounded = min(1.0, max(0.0, share))
    return round(_HEIGHT - _BOTTOM - bounded * (_HEIGHT - _TOP - _BOTTOM), 1)


def _middle(chart: SmallChart, column: int) -> float:
    """The horizontal place of a column."""
    room = _WIDTH - _LEFT - _RIGHT
    if chart.shape == "bars":
        return _LEFT + room * (column + 0.5) / len(chart.columns)
    return round(_LEFT + 14 + (room - 44) * column / max(1, len(chart.columns) - 1), 1)


def _frame(chart: SmallChart) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        y = _height(share)
        yield f'<path class="rule" d="M{_LEFT:g} {y}H{_WIDTH - _RIGHT:g}"/>'
        place = f'x="{_LEFT - 5:g}" y="{y + 3.5:g}"'
        yield f'<text class="axis" {place} text-anchor="end">{100 * share:.0f}</text>'
    for i, column in enumerate(chart.columns):
        x, y = _middle(chart, i), _HEIGHT - 6
        yield f'<text class="axis" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(column)}</text>'


def _lines(chart: SmallChart) -> Iterator[str]:
    for number, item in enumerate(chart.series):
        known = [(i, reading) for i, reading in enumerate(item.readings) if reading is not None]
        top = [f"{_middle(chart, i):g} {_height(r.high)}" for i, r in known]
        under = [f"{_middle(chart, i):g} {_height(r.low)}" for i, r in reversed(known)]
        path = "L".join(f"{_middle(chart, i):g} {_height(r.middle)}" for i, r in known)
        yield f'<g class="series s{number % 6 + 1}{" strong" if item.strong else ""}" data-series="{number}">'
        if len(known) > 1:
            yield f'<path class="range" d="M{"L".join((*top, *under))}Z"/><path class="line" d="M{path}"/>'
        for i, reading in known:
            place = f'cx="{_middle(chart, i):g}" cy="{_height(reading.middle)}"'
            yield f'<circle class="dot" {place} r="3.2"/>{_target(chart, item, i, reading, place)}'
        yield "</g>"


def _target(chart: SmallChart, item: ChartSeries, i: int, reading: ChartReading, place: str) -> str:
    said = escape(f"{item.name}, {chart.columns[i]}: {reading.text}")
    return f'<circle class="touch" {place} r="11" data-told="{said}"><title>{said}</title></circle>'


def _bars(chart: SmallChart) -> Iterator[str]:
    room = (_WIDTH - _LEFT - _RIGHT) / len(chart.columns)
    width = min(54.0, room * 0.8 / len(chart.series))
    for number, item in enumerate(chart.series):
        yield f'<g class="series s{number % 6 + 1}{" strong" if item.strong else ""}" data-series="{number}">'
        for i, reading in enumerate(item.readings):
            if reading is None:
                continue
            x = _middle(chart, i) + (number - len(chart.series) / 2) * width + 2
            y = min(_height(reading.middle), _height(0) - 2)
            said = escape(f"{item.name}, {chart.columns[i]}: {reading.text}")
            size = f'x="{x:g}" width="{width - 4:g}"'
            yield f'<rect class="bar" {size} y="{y:g}" height="{_height(0) - y:g}" rx="2"/>'
            yield f'<text class="value" x="{x + width / 2 - 2:g}" y="{y - 4:g}" text-anchor="middle">'
            yield f"{escape(reading.text)}</text>"
            touch = f'{size} y="{_TOP:g}" height="{_HEIGHT - _TOP - _BOTTOM:g}"'
            yield f'<rect class="touch" {touch} data-told="{said}"><title>{said}</title></rect>'
        yield "</g>"


def sparkline(points: Sequence[tuple[float, float, float]]) -> Markup:
    """Returns a line of shares between 0 and 1 without axes; each column has a lowest, middle and highest."""
    width, height = 96, 20
    step = (width - 6) / max(1, len(points) - 1)

    def place(i: int, share: float) -> str:
        return f"{3 + i * step:.1f} {height - 3 - min(1.0, max(0.0, share)) * (height - 6):.1f}"

    middle = [place(i, point[1]) for i, point in enumerate(points)]
    edge = [place(i, p[2]) for i, p in enumerate(points)]
    edge += [place(i, p[0]) for i, p in reversed(list(enumerate(points)))]
    x, y = middle[-1].split()
    body = f'<path class="range" d="M{"L".join(edge)}Z"/><path class="line" d="M{"L".join(middle)}"/>'
    return Markup(
        f'<svg class="sparkline" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'aria-hidden="true">{body if len(points) > 1 else ""}<circle cx="{x}" cy="{y}" r="2.4"/></svg>'
    )
