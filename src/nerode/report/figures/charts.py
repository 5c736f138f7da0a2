"""The kinds of figures: curves over a number, bars, points of a plane, and tables of numbers as colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from nerode.core import InputError
from nerode.report.figures.plot import (
    MARK_HEIGHT,
    ROOM_RIGHT,
    Figure,
    Key,
    Plot,
    Scale,
    fitted,
    label,
    label_width,
    number_axis,
    place_axis,
    room_left,
)
from nerode.report.picture import Curve, Group, Ink, Rectangle

_MOST_POINTS = 400
"""Points of one line that are drawn: more than there are pixels to tell them apart."""

_MOST_ALL = 8000
"""Points of all lines together: hundreds of runs are still to open."""

_MOST_DOTS = 60
"""Points of one line that can be pointed at."""


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
class LineChart(Figure):
    """Curves.

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
        return thinned(points, max(12, min(_MOST_POINTS, _MOST_ALL // len(self.lines))))

    def keys(self) -> tuple[Key, ...]:
        """Returns the legend."""
        return tuple(Key(label=name) for name in self.series)

    def plot(self, width: float) -> Plot:
        """Returns the curves, the thin ones below."""
        found = [(line, self.shown(line)) for line in self.lines]
        xs = [x for _, points in found for x, _ in points]
        ys = [y for _, points in found for _, y in points if y is not None]
        # A place between the curves is worth a look; one far beyond them would squeeze them.
        marks = [mark for mark in self.marks if xs and min(xs) <= mark.x <= max(xs) * 1.5]
        x, y = self._x_axis(xs, marks), self._y_axis(ys)
        plot = Plot(width=width, height=190.0, x=x, y=y, above=MARK_HEIGHT * len(marks))
        for row, mark in enumerate(marks):
            plot.mark_x(mark.x, mark.label, row=row)
        places = {name: i for i, name in enumerate(self.series)}
        with_dots = sum(len(points) for _, points in found) <= 40 * _MOST_DOTS
        for line, points in sorted(found, key=lambda item: not item[0].thin):
            place = places[line.series]
            width_, opacity = (1.0, 0.5) if line.thin else (2.2, 1.0)
            plot.line(points, place, width=width_, opacity=opacity)
            if with_dots and len(points) <= _MOST_DOTS and not line.thin:
                for px, py in points:
                    if py is not None:
                        plot.dot(px, py, place, tip=self._tip(line, px, py), size=2.6)
        return plot

    def _tip(self, line: ChartLine, x: float, y: float) -> str:
        return f"{f'{line.series} {line.name}'.rstrip()}: {y:.4g} at {x:,.6g}"

    def _x_axis(self, xs: Sequence[float], marks: Sequence[Mark]) -> Scale:
        ends = [*xs, *(mark.x for mark in marks)] or [1.0]
        return number_axis(self.x_title, min(ends), max(ends), log=self.log_x)

    def _y_axis(self, ys: Sequence[float]) -> Scale:
        if self.log_y:
            return number_axis(self.y_title, min(ys, default=1.0), max(ys, default=1.0), log=True)
        return number_axis(self.y_title, *fitted(ys, low=0 if self.zero else None))

    def words(self) -> str:
        """Returns where the curves of each series end."""
        parts = []
        for name in self.series:
            lines = [line for line in self.lines if line.series == name]
            ends = [p[-1][1] for p in (self.shown(line) for line in lines) if p and p[-1][1] is not None]
            if ends:
                span = f"{min(ends):.3g}" if len(ends) == 1 else f"{min(ends):.3g} to {max(ends):.3g}"
                parts.append(f"{name} ends at {span}")
        return f"{self.title}: {self.y_title} against {self.x_title}. " + "; ".join(parts) + "."


T = TypeVar("T")


def thinned(values: Sequence[T], most: int) -> list[T]:
    """Returns values at equal distances, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(i * step)] for i in range(most)]


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
class BarChart(Figure):
    """Bars.

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

    def keys(self) -> tuple[Key, ...]:
        """Returns no legend: each bar has its name."""
        return ()

    def plot(self, width: float) -> Plot:
        """Returns the bars, each with its range and its text: behind a short one, inside a long one."""
        y = place_axis("", [bar.label for bar in self.bars])
        x = number_axis(self.value_title, 0.0, self.end)
        plot = Plot(width=width, height=26.0 * max(1, len(self.bars)), x=x, y=y, bars=True)
        for i, bar in enumerate(self.bars):
            left, top = plot.at(0.0, i + 0.18)
            right, bottom = plot.at(bar.value, i + 0.82)
            box = Rectangle(
                x=left,
                y=top,
                width=right - left,
                height=bottom - top,
                ink=Ink(fill="c1", opacity=0.85),
            )
            text = bar.text or f"{bar.value:.3g}"
            if bar.value > 0:
                plot.add(Group(items=(box,), title=f"{bar.label}: {text}"))
            middle = (top + bottom) / 2
            if bar.low is not None and bar.high is not None:
                ends = (plot.at(bar.low, 0)[0], middle), (plot.at(bar.high, 0)[0], middle)
                plot.add(Curve(points=ends, ink=Ink(stroke="outline", width=1.5)))
                right = max(right, ends[1][0])
            if bar.text and right + label_width(text) > plot.left + plot.inner_width:
                plot.add(label(left + 6, middle + 4, text, ink=Ink(fill="card", bold=True)))
            elif bar.text:
                plot.add(label(right + 6, middle + 4, text, ink=Ink(fill="ink", bold=True)))
        return plot

    def words(self) -> str:
        """Returns every bar."""
        parts = [f"{bar.label}: {bar.text or format(bar.value, '.3g')}" for bar in self.bars]
        return f"{self.title}: {'; '.join(parts)}."


MOST_CELLS = 20_000
_TIPPED_CELLS = 700
_SHADES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap(Figure):
    """A table of numbers as colours: one colour for each sign, stronger for larger numbers.

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
    def range(self) -> str:
        """The least and the largest number as a sentence."""
        low, high = min(self.finite, default=0.0), max(self.finite, default=0.0)
        return f"From {low:.3g} to {high:.3g}{' (orange below 0)' if low < 0 else ''}."

    def keys(self) -> tuple[Key, ...]:
        """Returns no legend: the caption names the ends of the scale."""
        return ()

    def plot(self, width: float) -> Plot:
        """Returns the cells; where they are too many for tooltips, equal neighbours are one box."""
        extent = max(map(abs, self.finite), default=0.0) or 1.0
        height = max(40.0, min(420.0, 16.0 * len(self.rows)))
        step = math.ceil(12 * len(self.rows) / height)
        y = place_axis(self.y_title, [name if i % step == 0 else "" for i, name in enumerate(self.rows)])
        plot = Plot(width=width, height=height, x=place_axis(self.x_title, self.columns), y=y, bars=True)
        tipped = len(self.finite) <= _TIPPED_CELLS
        for i, row in enumerate(self.values):
            shades = [_shade(value, extent) for value in row]
            begin = 0
            for j in range(1, len(row) + 1):
                if j < len(row) and shades[j] == shades[begin] and not tipped:
                    continue
                if shade := shades[begin]:
                    tint, opacity = shade
                    (left, top), (right, bottom) = plot.at(begin, i), plot.at(j, i + 1)
                    box = Rectangle(
                        x=left,
                        y=top,
                        width=right - left,
                        height=bottom - top,
                        ink=Ink(fill=tint, opacity=opacity),
                    )
                    value = row[begin]
                    tip = f"{self.columns[begin]} at {begin + 1}, {self.y_title} {self.rows[i]}: {value:.4g}"
                    plot.add(Group(items=(box,), title=tip) if tipped else box)
                begin = j
        return plot

    def words(self) -> str:
        """Returns size and range."""
        return (
            f"{self.title}: {len(self.rows)} rows ({self.y_title}) by {len(self.columns)} columns "
            f"({self.x_title}). {self.range}"
        )


def _shade(value: float | None, extent: float) -> tuple[str, float] | None:
    if value is None or not math.isfinite(value):
        return None
    return "c1" if value >= 0 else "c2", max(0.03, round(abs(value) / extent * _SHADES) / _SHADES)


_MOST_LABELS = 24
"""Labels that a legend can hold; colours beyond them mean nothing."""

_MOST_SHOWN = 2000
_MOST_TIPPED = 600
_REAL = 1e-9
"""Imaginary parts below this are rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointGroup:
    """Points that share a colour and a place in the legend."""

    label: str
    points: tuple[tuple[float, float], ...]

    @property
    def finite(self) -> list[tuple[float, float]]:
        """The points that can be shown."""
        return [(a, b) for a, b in self.points if math.isfinite(a) and math.isfinite(b)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Figure):
    """Points of a plane.

    Attributes:
        title: above the figure.
        groups: the points.
        x_title: of the axis.
        y_title: of the axis.
        caption: below the figure.
    """

    title: str
    groups: tuple[PointGroup, ...]
    x_title: str = "first principal axis"
    y_title: str = "second principal axis"
    caption: str = ""

    def keys(self) -> tuple[Key, ...]:
        """Returns the labels, none where they are too many for colours."""
        return _point_keys(self.groups)

    def plot(self, width: float) -> Plot:
        """Returns the points."""
        points = [point for group in self.groups for point in group.finite]
        x, y = (
            number_axis(title, *fitted([p[i] for p in points]))
            for i, title in enumerate((self.x_title, self.y_title))
        )
        plot = Plot(width=width, height=min(0.7 * width, 300.0), x=x, y=y)
        _put_points(plot, self.groups)
        return plot

    def words(self) -> str:
        """Returns how many points there are."""
        count = sum(len(group.finite) for group in self.groups)
        return f"{self.title}: {count} points of {len(self.groups)} labels."


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumPlot(Figure):
    """Eigenvalues (real and imaginary part) beside the unit circle, or as strips if all are real."""

    title: str
    groups: tuple[PointGroup, ...]
    caption: str = ""

    def keys(self) -> tuple[Key, ...]:
        """Returns the letters; strips have them at their side."""
        return () if self.is_real else _point_keys(self.groups)

    @property
    def is_real(self) -> bool:
        """Whether all eigenvalues are real: in the plane they would cover each other."""
        return all(abs(b) < _REAL for group in self.groups for _, b in group.points)

    def plot(self, width: float) -> Plot:
        """Returns the circle and the points, or the strips."""
        points = [point for group in self.groups for point in group.finite]
        reach = 1.08 * max([1.0, *(abs(v) for point in points for v in point)])
        if self.is_real:
            return self._strips(width, reach)
        y = number_axis("imaginary part", -reach, reach)
        across = width - room_left(y, width) - ROOM_RIGHT
        side = min(across, 300.0)
        x = number_axis("real part", -reach * across / side, reach * across / side)
        plot = Plot(width=width, height=side, x=x, y=y)
        turns = [2 * math.pi * i / 90 for i in range(91)]
        circle = tuple(plot.at(math.cos(a), math.sin(a)) for a in turns)
        plot.add(Group(items=(Curve(points=circle, ink=Ink(stroke="edge", width=1.25)),), css="circle"))
        _put_points(plot, self.groups)
        return plot

    def _strips(self, width: float, reach: float) -> Plot:
        y = place_axis("", [group.label for group in self.groups])
        x = number_axis("eigenvalue (all are real)", -reach, reach)
        plot = Plot(width=width, height=34.0 * max(1, len(self.groups)), x=x, y=y, bars=True)
        for end in (-1.0, 0.0, 1.0):
            ends = (plot.at(end, 0.0), plot.at(end, y.high))
            plot.add(Curve(points=ends, ink=Ink(stroke="edge", width=1, dashed=True)))
        for i, group in enumerate(self.groups):
            for value, _ in thinned(group.finite, _MOST_SHOWN // len(self.groups)):
                ends = (plot.at(value, i + 0.2), plot.at(value, i + 0.8))
                plot.add(Curve(points=ends, ink=Ink(stroke="c1", width=1.5, opacity=0.4)))
        return plot

    def words(self) -> str:
        """Returns the largest modulus of each letter."""
        largest = [(g, max((math.hypot(a, b) for a, b in g.points), default=0.0)) for g in self.groups]
        parts = [f"{g.label}: {len(g.points)}, largest modulus {modulus:.4g}" for g, modulus in largest]
        return f"{self.title}: eigenvalues in the complex plane. " + "; ".join(parts) + "."


def _point_keys(groups: Sequence[PointGroup]) -> tuple[Key, ...]:
    if len(groups) > _MOST_LABELS:
        return ()
    return tuple(Key(label=group.label, mark="point") for group in groups)


def _put_points(plot: Plot, groups: Sequence[PointGroup]) -> None:
    count = sum(len(group.finite) for group in groups)
    size, opacity = (2.2, 0.55) if count > 400 else (3.0, 0.75)
    for i, group in enumerate(groups):
        series = i if len(groups) <= _MOST_LABELS else 0
        for x, y in thinned(group.finite, max(2, _MOST_SHOWN // len(groups))):
            tip = f"{group.label}: {x:.4g}, {y:.4g}" if count <= _MOST_TIPPED else ""
            plot.dot(x, y, series, tip=tip, size=size, opacity=opacity)
