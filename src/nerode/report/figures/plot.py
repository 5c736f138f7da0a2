"""The one way to draw a figure: a record puts its lines, points and boxes on a `Plot`, which is a picture.

A page shows the picture in two widths, for wide windows and for phones; a paper has it at its own width. What
a series is called, its colour and its place in the legend are the same everywhere.
"""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from markupsafe import Markup

from nerode.core import InputError, write_atomically
from nerode.report.pages.render import environment
from nerode.report.picture import (
    PICTURE_FORMATS,
    Circle,
    Curve,
    Group,
    Ink,
    Picture,
    Point,
    Rectangle,
    Shape,
    Words,
    text_width,
    to_svg,
)
from nerode.study import shorten

NUM_COLOURS = 8
WIDE, HALF, PHONE = 940.0, 420.0, 340.0
"""Widths on pages, in pixels: of a whole card, of half a card, and of a card on a phone."""

_SIZE = 11.0
ROOM_RIGHT = 14.0
_ROOM_BELOW = 38.0
_ROOM_ABOVE = 22.0
_PIXELS_PER_INCH = 96
_LARGEST = 1e300
_LEAST = 1e-280
_LEAST_SHARE = 1e-9
"""Numbers that an axis can tell apart, as a share of their size."""
MARK_HEIGHT = 13.0
"""Room for the name of a place on the axis below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One series in the legend.

    Attributes:
        label: its name.
        note: written behind it.
        mark: how it is drawn.
    """

    label: str
    note: str = ""
    mark: Literal["line", "dashed", "point"] = "line"

    @property
    def text(self) -> str:
        """Name and note."""
        return f"{self.label} {self.note}".rstrip()


class Figure(ABC):
    """The record of a figure; templates show it by its name.

    Attributes:
        title: above the figure.
        caption: below it.
    """

    __slots__ = ()
    title: str
    caption: str

    @abstractmethod
    def plot(self, width: float) -> Plot:
        """Returns what is drawn, at a width in pixels."""

    def picture(self, width: float) -> Picture:
        """Returns the figure for a file of its own, with title and legend."""
        return self.plot(width).picture(title=self.title, keys=self.keys(), words=self.words())

    @abstractmethod
    def keys(self) -> tuple[Key, ...]:
        """Returns the legend; a series is drawn in the colour of its place here."""

    @abstractmethod
    def words(self) -> str:
        """Returns what the figure shows, for those who do not see it."""

    def __html__(self) -> Markup:
        """The figure in its two widths."""
        return self._markup((("wide", WIDE), ("phone", PHONE)))

    @property
    def half(self) -> Markup:
        """The figure for a place of half the width."""
        return self._markup((("half", HALF),))

    def _markup(self, widths: Iterable[tuple[str, float]]) -> Markup:
        drawings = [
            (name, to_svg(self.plot(width).picture(), css=f"chart {name}", colours="page"))
            for name, width in widths
        ]
        template = environment().get_template("figure.html.j2")
        return Markup(template.render(figure=self, keys=self.keys(), drawings=drawings))


class HasPicture(Protocol):
    """A thing with a picture of any width: a figure, or several."""

    def picture(self, width: float) -> Picture:
        """Returns the picture at a width in pixels."""
        ...


def save_figure(figure: HasPicture, path: Path, *, width: float = 5.5) -> None:
    """Writes a figure as SVG, PDF or TikZ; the same record gives the same bytes.

    Args:
        figure: what is shown.
        path: ends in .svg, .pdf, .tikz or .tex.
        width: in inches.

    Raises:
        InputError: if the file is of another kind, or PDF is asked for without matplotlib.
    """
    if path.suffix not in PICTURE_FORMATS:
        raise InputError(f"figures are written as {', '.join(PICTURE_FORMATS)}; {path} is none of these")
    write_atomically(path, PICTURE_FORMATS[path.suffix](figure.picture(width * _PIXELS_PER_INCH)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One axis.

    Attributes:
        title: beside it.
        low: value at its beginning.
        high: value at its end.
        ticks: values with their texts.
        log: whether equal factors take equal room.
    """

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Returns the place of a value, 0 at the beginning and 1 at the end."""
        if self.log:
            first = math.log(self.low)
            share = (math.log(value) - first) / (math.log(self.high) - first)
        else:
            share = (value - self.low) / (self.high - self.low)
        # What is far outside is drawn a little outside.
        return max(-1.0, min(2.0, share))


def number_axis(title: str, low: float, high: float, *, log: bool = False, percent: bool = False) -> Scale:
    """Returns an axis with ticks at round numbers; ends that are equal, or nearly, are moved apart."""
    least = 1 / _LARGEST if log else -_LARGEST
    low, high = (min(max(end, least), _LARGEST) for end in (low, high))
    if log and low >= high:
        low, high = low / 2, low * 2
    elif not log and high - low <= _LEAST_SHARE * max(abs(low), abs(high), _LEAST):
        room = max(0.5, _LEAST_SHARE * abs(low))
        low, high = low - room, high + room
    places = round_numbers(low, high) if log else multiples(low, high, 4)
    ticks = tuple((v, f"{100 * v:.4g}" if percent else f"{v:,.6g}") for v in places)
    return Scale(title=title, low=low, high=high, ticks=ticks, log=log)


def place_axis(title: str, names: Sequence[str]) -> Scale:
    """Returns an axis with one place for each name: the i-th is around i + 1/2."""
    ticks = tuple((i + 0.5, name) for i, name in enumerate(names))
    return Scale(title=title, low=0.0, high=float(max(1, len(names))), ticks=ticks)


def room_left(y: Scale, width: float) -> float:
    """Returns the room that the texts of the axis on the left take."""
    widest = max((label_width(text) for _, text in y.ticks), default=0.0)
    return min(widest + 8, 0.4 * width)


class Plot:
    """A plane between two axes, on which lines, points and boxes are put."""

    def __init__(
        self, *, width: float, height: float, x: Scale, y: Scale, above: float = 0.0, bars: bool = False
    ) -> None:
        """Begins with axes, ticks and grid.

        Args:
            width: of the whole, in pixels.
            height: of the plane.
            x: the axis below.
            y: the axis on the left.
            above: room above the plane.
            bars: whether the axis on the left has names: they have no grid, and the first is on top.
        """
        self.width, self.x, self.y = width, x, y
        self.bars = bars
        self.left = room_left(y, width)
        self.top = (_ROOM_ABOVE if y.title else 6.0) + above
        self.inner_width = width - self.left - ROOM_RIGHT
        self.inner_height = height
        self.whole_height = self.top + height + (_ROOM_BELOW if x.title else 22.0)
        self._under: list[Shape] = []
        self._over: list[Shape] = []
        self._series: dict[int, list[Shape]] = {}
        self._draw_axes()

    def at(self, x: float, y: float) -> Point:
        """Returns the pixel of two values."""
        share = self.y.share(y)
        down = share if self.bars else 1 - share
        return (
            self.left + self.inner_width * self.x.share(x),
            self.top + self.inner_height * down,
        )

    @property
    def bottom(self) -> float:
        """The height of the axis below."""
        return self.top + self.inner_height

    def add(self, *shapes: Shape, series: int | None = None) -> None:
        """Adds shapes; those of a series are hidden with it."""
        self._over.append(
            Group(items=shapes, css=f"s{series + 1}") if series is not None else Group(items=shapes)
        )

    def line(
        self,
        points: Sequence[tuple[float, float | None]],
        series: int,
        *,
        width: float = 2.0,
        opacity: float = 1.0,
        dashed: bool = False,
    ) -> None:
        """Adds a line through points; it has a gap where a value is missing."""
        ink = Ink(stroke=colour(series), width=width, opacity=opacity, dashed=dashed or series >= NUM_COLOURS)
        parts: list[list[Point]] = [[]]
        for px, py in points:
            if py is None:
                parts.append([])
            else:
                parts[-1].append(self.at(px, py))
        curves = [Curve(points=tuple(part), ink=ink) for part in parts if len(part) > 1]
        if curves:
            self.add(*curves, series=series)

    def dot(
        self,
        x: float,
        y: float,
        series: int,
        *,
        tip: str = "",
        size: float = 3.0,
        opacity: float = 1.0,
    ) -> None:
        """Adds a point."""
        px, py = self.at(x, y)
        circle = Circle(x=px, y=py, r=size, ink=Ink(fill=colour(series), opacity=opacity))
        self.add(Group(items=(circle,), css="tip", title=tip) if tip else circle, series=series)

    def cross(self, x: float, y: float, series: int, tip: str) -> None:
        """Adds a cross."""
        px, py = self.at(x, y)
        ink = Ink(stroke=colour(series), width=2.4)
        ways = ((-1, -1, 1, 1), (-1, 1, 1, -1))
        bars = [
            Curve(points=((px + 5 * a, py + 5 * b), (px + 5 * c, py + 5 * d)), ink=ink) for a, b, c, d in ways
        ]
        self.add(Group(items=tuple(bars), css="cross", title=tip), series=series)

    def diamond(self, x: float, y: float, series: int, tip: str) -> None:
        """Adds an empty diamond."""
        px, py = self.at(x, y)
        corners = ((px, py - 5), (px + 5, py), (px, py + 5), (px - 5, py))
        shape = Curve(points=corners, closed=True, ink=Ink(fill="card", stroke=colour(series), width=1.7))
        self.add(Group(items=(shape,), title=tip), series=series)

    def mark_x(self, x: float, text: str, *, row: int = 0) -> None:
        """Adds a dashed line across the plane, with its name above, on the side where there is room."""
        px, _ = self.at(x, self.y.low)
        self._under.append(
            Curve(points=((px, self.top), (px, self.bottom)), ink=Ink(stroke="edge", width=1, dashed=True))
        )
        right = px > self.left + 0.6 * self.inner_width
        place = px - 4 if right else px + 4
        self._over.append(
            label(place, self.top - 4 - MARK_HEIGHT * row, text, anchor="end" if right else "start")
        )

    def zone(self, x: float, text: str) -> None:
        """Shades the plane from its beginning to a value, and names the part in the lower corner."""
        px, _ = self.at(x, self.y.low)
        if px <= self.left:
            return
        self._under.append(
            Rectangle(
                x=self.left, y=self.top, width=px - self.left, height=self.inner_height, ink=Ink(fill="soft")
            )
        )
        edge = Curve(points=((px, self.top), (px, self.bottom)), ink=Ink(stroke="edge", width=1, dashed=True))
        self._under.append(edge)
        inside = label_width(text) < px - self.left
        place = px - 5 if inside else px + 5
        self._over.append(label(place, self.bottom - 7, text, anchor="end" if inside else "start"))

    def picture(self, *, title: str = "", keys: Sequence[Key] = (), words: str = "") -> Picture:
        """Returns the picture; a file of its own has title and legend inside it."""
        head, height = head_of(title, keys if len(keys) > 1 else (), self.width)
        return Picture(
            items=(*head, *self._under, *self._over),
            box=(0.0, -height, self.width, self.whole_height + height),
            title=title,
            description=words,
        )

    def _draw_axes(self) -> None:
        left, right = self.left, self.left + self.inner_width
        for value, _ in self.x.ticks:
            px = self.at(value, self.y.low)[0]
            self._under.append(Curve(points=((px, self.top), (px, self.bottom)), ink=_GRID))
        for value, text in self.y.ticks:
            py = self.at(self.x.low, value)[1]
            if not self.bars:
                self._under.append(Curve(points=((left, py), (right, py)), ink=_GRID))
            short = shorten(text, max(4, int((left - 6) / (0.56 * _SIZE)))) if self.bars else text
            self._under.append(label(left - 6, py + 4, short, anchor="end"))
        self._under.append(Curve(points=((left, self.bottom), (right, self.bottom)), ink=_AXIS))
        for px, text in self._fitting():
            self._under.append(label(px, self.bottom + 15, text, anchor="middle"))
        self._under.append(label(right, self.bottom + 32, self.x.title, anchor="end"))
        if self.y.title:
            self._under.append(label(0.0, _ROOM_ABOVE - 11, self.y.title))

    def _fitting(self) -> list[tuple[float, str]]:
        """The texts of the axis below that do not meet; the last one is always there."""
        found: list[tuple[float, str]] = []
        limit = math.inf
        for value, text in reversed(self.x.ticks):
            half = label_width(text) / 2
            px = min(self.at(value, self.y.low)[0], self.width - half)
            if px + half < limit:
                found.append((px, text))
                limit = px - half - 4
        return found[::-1]


_MUTED = Ink(fill="muted")
_GRID = Ink(stroke="line", width=1.0)
_AXIS = Ink(stroke="edge", width=1.0)


def label_width(text: str) -> float:
    """Returns an upper estimate of the width of a label, in pixels."""
    return text_width(text, _SIZE)


def label(x: float, y: float, text: str, *, anchor: str = "start", ink: Ink = _MUTED) -> Words:
    """Returns a line of text at a pixel, in the size of all texts of a figure."""
    return Words(x=x, y=y, text=text, ink=ink, size=_SIZE, anchor=anchor)


def head_of(title: str, keys: Sequence[Key], width: float) -> tuple[list[Shape], float]:
    """Returns title and legend above the line 0, and their height."""
    lines = textwrap.wrap(title, max(20, int(width / 6.6)))
    rows: list[list[tuple[int, Key, float]]] = [[]] if keys else []
    x = 0.0
    for number, key in enumerate(keys):
        room = 22 + label_width(key.text) + 10
        if x and x + room > width:
            rows.append([])
            x = 0.0
        rows[-1].append((number, key, x))
        x += room
    height = 17.0 * len(lines) + 16.0 * len(rows) + 4.0
    shapes: list[Shape] = []
    y = -height + 12.0
    for line in lines:
        shapes.append(Words(x=0.0, y=y, text=line, ink=Ink(fill="ink", bold=True), size=12.5, anchor="start"))
        y += 17.0
    for row in rows:
        for number, key, left in row:
            tint = colour(number)
            dashed = key.mark == "dashed" or number >= NUM_COLOURS
            shapes += [
                Circle(x=left + 8, y=y - 4, r=3.4, ink=Ink(fill=tint))
                if key.mark == "point"
                else Curve(
                    points=((left, y - 4), (left + 16, y - 4)), ink=Ink(stroke=tint, width=2.6, dashed=dashed)
                ),
                label(left + 21, y, key.text, ink=Ink(fill="ink")),
            ]
        y += 16.0
    return shapes, height if lines or rows else 0.0


def colour(series: int) -> str:
    """Returns the name of the colour of a series; after the last one they begin again."""
    return f"c{series % NUM_COLOURS + 1}"


def round_numbers(low: float, high: float) -> list[float]:
    """Returns the ticks of a logarithmic axis: powers of ten, and more where these are hardly any."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 7))
    found = [10.0**k for k in range(first, last + 1, step) if low <= 10.0**k <= high]
    if len(found) > 2:
        return found
    digits = (1, 2, 5)
    found = [d * 10.0**k for k in range(first, last + 1) for d in digits if low <= d * 10.0**k <= high]
    return found if len(found) > 2 or low >= high else multiples(low, high, 3)


def multiples(low: float, high: float, least: int) -> list[float]:
    """Returns at least so many multiples of a round number between two numbers, and not many more."""
    unit = 10.0 ** math.floor(math.log10((high - low) / least))
    step = next(d * unit for d in (5, 2, 1) if (high - low) / (d * unit) >= least)
    return [float(f"{i * step:.12g}") for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def spans_decades(values: Iterable[float]) -> bool:
    """Returns whether numbers are better shown by their logarithms."""
    found = [v for v in values if math.isfinite(v)]
    return bool(found) and min(found) > 0 and max(found) > 8 * min(found)


def fitted(
    values: Iterable[float], *, low: float | None = None, high: float | None = None
) -> tuple[float, float]:
    """Returns the range of the numbers, a little wider; `low` and `high` are always inside it."""
    found = [v for v in values if math.isfinite(v)]
    found += [v for v in (low, high) if v is not None]
    if not found:
        return 0.0, 1.0
    least, most = min(found), max(found)
    room = 0.04 * (most - least) or max(0.5, _LEAST_SHARE * abs(most))
    return least - room, most + room


def sparkline(points: Sequence[tuple[float, float, float]]) -> Markup:
    """Returns a line of shares between 0 and 1 without axes; each column has a lowest, middle and highest."""
    width, height = 96.0, 20.0
    step = (width - 6) / max(1, len(points) - 1)

    def place(i: int, share: float) -> Point:
        return 3 + i * step, height - 3 - min(1.0, max(0.0, share)) * (height - 6)

    middle = tuple(place(i, point[1]) for i, point in enumerate(points))
    edge = [place(i, p[2]) for i, p in enumerate(points)]
    edge += [place(i, p[0]) for i, p in reversed(list(enumerate(points)))]
    shapes: list[Shape] = [
        Curve(points=tuple(edge), closed=True, ink=Ink(fill="c1", opacity=0.16)),
        Curve(points=middle, ink=Ink(stroke="c1", width=1.5)),
    ]
    dot = Circle(x=middle[-1][0], y=middle[-1][1], r=2.4, ink=Ink(fill="c1"))
    picture = Picture(
        items=(*(shapes if len(points) > 1 else ()), dot), box=(0.0, 0.0, width, height), title=""
    )
    return to_svg(picture, css="sparkline", colours="page")
