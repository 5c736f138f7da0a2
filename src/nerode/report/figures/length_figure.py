"""The figure of length generalisation: runs, published values, and verdicts of theory."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from nerode.core import InputError
from nerode.records import VerdictSummary
from nerode.report.figures.plot import (
    Figure,
    Key,
    Plot,
    Scale,
    colour,
    fitted,
    label,
    label_width,
    number_axis,
    spans_decades,
)
from nerode.report.notation import LEAST_SEEDS, STATUS_MARKS, STATUS_WORDS, percent, seeds_text
from nerode.report.picture import Circle, Group, Ink, Rectangle

_STRIP = 17.0
"""Height of the band of one series, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedCurve:
    """One run: its seed, the accuracy at each tested length, and the length of a word that it gets wrong."""

    seed: int
    points: tuple[tuple[int, float], ...]
    wrong: int | None = None

    def __post_init__(self) -> None:
        lengths = [length for length, _ in self.points]
        if lengths != sorted(set(lengths)):
            raise InputError(f"the lengths {lengths} of seed {self.seed} are not in order, each once")

    @property
    def cross(self) -> tuple[int, float] | None:
        """The point of the curve at the length of the wrong word; None without one."""
        if self.wrong is None or not self.points:
            return None
        at = min(self.points, key=lambda point: abs(point[0] - self.wrong))  # type: ignore[operator]
        return self.wrong, at[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSeries:
    """All runs of one architecture."""

    label: str
    runs: tuple[SeedCurve, ...]
    theory: VerdictSummary | None = None

    @property
    def has_median(self) -> bool:
        """Whether there are enough seeds for a median."""
        return len(self.runs) >= LEAST_SEEDS

    def medians(self) -> list[tuple[int, float, float, float, int]]:
        """Returns length, median, least, largest and number of seeds."""
        found: dict[int, list[float]] = {}
        for run in self.runs:
            for length, value in run.points:
                found.setdefault(length, []).append(value)
        return [(n, median(v), min(v), max(v), len(v)) for n, v in sorted(found.items())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published value.

    Attributes:
        label: the architecture, as the series calls it if it is the same.
        x: the length; None if it holds for all lengths of the figure.
        y: the value.
        source: where it was published.
    """

    label: str
    x: float | None
    y: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCurves(Figure):
    """The content of a figure of length generalisation.

    Attributes:
        title: above the figure.
        measure: what the accuracy is a share of.
        series: the architectures.
        trained: shortest and longest length of training; None if unknown.
        published: reference values.
        caption: below the figure.
    """

    title: str
    measure: str
    series: tuple[LengthSeries, ...]
    trained: tuple[int, int] | None = None
    published: tuple[Published, ...] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        labels = [series.label for series in self.series]
        if len(set(labels)) != len(labels):
            raise InputError(f"two series have the same label: {labels}; give each its own")

    @property
    def lengths(self) -> list[int]:
        """All tested lengths."""
        return sorted({x for s in self.series for run in s.runs for x, _ in run.points})

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the axis of lengths: all tested and published ones, and some of those of training."""
        found = [*self.lengths, *(item.x for item in self.published if item.x is not None)]
        found += [run.wrong for series in self.series for run in series.runs if run.wrong]
        if not found:
            return 1.0, 2.0
        first, last = float(min(found)), float(max(found))
        if self.trained:
            first = min(first, max(self.trained[0], self.trained[1] / 2))
        return (first, last) if first < last else (max(first - 1, 0.5), last + 1)

    @property
    def beyond(self) -> tuple[float, float]:
        """The lengths beyond training, as far as the axis goes; the whole axis if there are none on it."""
        first, last = self.span
        longest = self.trained[1] if self.trained else first
        return (float(longest), last) if first < longest < last else (first, last)

    @property
    def _marked(self) -> list[int]:
        """The tested lengths, and before them that of the shortest word that is answered incorrectly."""
        crossed = [run.wrong for s in self.series for run in s.runs if run.cross and run.wrong]
        least = min(crossed, default=self.lengths[0])
        return [least, *self.lengths] if least < self.lengths[0] else list(self.lengths)

    @property
    def floor(self) -> float:
        """The beginning of the axis of accuracies: 0, unless all of them are far above it."""
        return min([0.0 if min(self.values, default=0.0) < 0.45 else 0.4, *self.values])

    @property
    def values(self) -> list[float]:
        """All accuracies, published ones too."""
        measured = [y for s in self.series for run in s.runs for _, y in run.points]
        return measured + [item.y for item in self.published]

    def keys(self) -> tuple[Key, ...]:
        """Returns the architectures with their verdicts, then those that are only published."""
        own = [
            Key(label=s.label, note=STATUS_MARKS[s.theory.status] if s.theory else "") for s in self.series
        ]
        known = {series.label for series in self.series}
        others = dict.fromkeys(item.label for item in self.published if item.label not in known)
        return (*own, *(Key(label=name, note="(published)", mark="dashed") for name in others))

    def plot(self, width: float) -> Plot:
        """Returns the curves beyond the zone of training, with a band of theory for each above them."""
        log = spans_decades(self.span)
        x = number_axis("length", *self.span, log=log)
        if self.lengths:
            x = Scale(
                title="length",
                low=x.low,
                high=x.high,
                log=log,
                ticks=tuple((n, f"{n:,}") for n in self._marked),
            )
        y = number_axis("accuracy, %", *fitted([], low=self.floor, high=1.0), percent=True)
        bands = sum(series.theory is not None for series in self.series)
        plot = Plot(width=width, height=240.0 if width > 500 else 190.0, x=x, y=y, above=_STRIP * bands)
        if self.trained and self.beyond[0] == self.trained[1]:
            plot.zone(self.trained[1], f"trained up to {self.trained[1]:,}")
        for place, series in enumerate(self.series):
            _put_runs(plot, series, place)
        self._put_published(plot)
        for place, series in enumerate(self.series):
            for run in series.runs:
                if run.cross:
                    tip = (
                        f"{series.label} seed {run.seed}: answers a word of {run.wrong:,} letters incorrectly"
                    )
                    plot.cross(*run.cross, place, tip)
        self._put_theory(plot)
        return plot

    def _put_published(self, plot: Plot) -> None:
        places = {key.label: i for i, key in enumerate(self.keys())}
        for item in self.published:
            place, tip = places[item.label], f"{item.label}, published: {percent(item.y)} ({item.source})"
            if item.x is None:
                plot.line([(self.span[0], item.y), (self.span[1], item.y)], place, width=1.7, dashed=True)
            else:
                plot.diamond(item.x, item.y, place, tip)
        for place, source in dict.fromkeys((places[p.label], p.source) for p in self.published):
            own = [
                (p.x, p.y)
                for p in self.published
                if p.x is not None and (places[p.label], p.source) == (place, source)
            ]
            plot.line(own, place, width=1.5, dashed=True)

    def _put_theory(self, plot: Plot) -> None:
        """A band for each verdict, from the end of training on, in the colour of its verdict."""
        left, right = (plot.at(end, plot.y.low)[0] for end in self.beyond)
        top = plot.top - 6 - _STRIP * sum(series.theory is not None for series in self.series)
        for place, series in enumerate(self.series):
            if series.theory is None:
                continue
            theory = series.theory
            text = f"{STATUS_MARKS[theory.status]} {STATUS_WORDS[theory.status]}"
            ink = Ink(fill=f"{theory.status}-ink", bold=True)
            whole = f"{text} at every length"
            if theory.status == "yes" and label_width(whole) <= right - left:
                text = whole
            dot = Circle(x=left - 9, y=top + 7, r=3.4, ink=Ink(fill=colour(place)))
            box = Rectangle(x=left, y=top, width=right - left, height=14, ink=Ink(fill=f"{theory.status}-bg"))
            name = label(left + 5, top + 11, text, ink=ink)
            tip = f"{series.label}: {theory.reason} ({theory.reference})"
            plot.add(Group(items=(dot, box, name), css="theory", title=tip), series=place)
            top += _STRIP

    def words(self) -> str:
        """Returns where each median begins and ends."""
        parts = []
        for series in self.series:
            medians = series.medians()
            if medians:
                said = [
                    f"{seeds_text(*found[1:])} at length {found[0]:,}" for found in (medians[0], medians[-1])
                ]
                parts.append(f"{series.label}: {', '.join(said)}")
        return f"Accuracy against length ({self.measure}). " + "; ".join(parts) + "."


def _put_runs(plot: Plot, series: LengthSeries, place: int) -> None:
    """Every seed is a line; behind a median they are thin."""
    many = series.has_median
    for run in series.runs:
        plot.line(run.points, place, width=1.0 if many else 1.8, opacity=0.4 if many else 1.0)
        for length, value in run.points:
            tip = f"{series.label} seed {run.seed}: {percent(value)} at length {length:,}"
            plot.dot(length, value, place, tip=tip, size=2.0 if many else 3.0, opacity=0.5 if many else 1.0)
    medians = series.medians() if many else []
    plot.line([(n, middle) for n, middle, *_ in medians], place, width=2.6)
    for n, middle, low, high, seeds in medians:
        tip = f"{series.label}: {seeds_text(middle, low, high, seeds)} at length {n:,}"
        plot.dot(n, middle, place, tip=tip, size=3.6)
