"""What a figure of length generalisation shows: the runs, published values, and what theory says."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from nerode.core import InputError
from nerode.study import VerdictSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedCurve:
    """One run: its seed, and the accuracy at each tested length."""

    seed: int
    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        lengths = [length for length, _ in self.points]
        if lengths != sorted(set(lengths)):
            raise InputError(f"the lengths {lengths} of seed {self.seed} are not in order, each once")


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSeries:
    """All runs of one architecture."""

    label: str
    runs: tuple[SeedCurve, ...]
    theory: VerdictSummary | None = None

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
class LengthCurves:
    """What a figure of length generalisation shows.

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
        """Where the axis of lengths begins and ends: all tested and all published ones are on it."""
        found = [*self.lengths, *(item.x for item in self.published if item.x is not None)]
        if not found:
            return 1.0, 2.0
        first, last = float(min(found)), float(max(found))
        return (first, last) if first < last else (max(first - 1, 0.5), last + 1)

    @property
    def beyond(self) -> tuple[float, float]:
        """The lengths beyond training, as far as the axis goes; the whole axis if there are none on it."""
        first, last = self.span
        longest = self.trained[1] if self.trained else first
        return (float(longest), last) if first < longest < last else (first, last)

    @property
    def floor(self) -> float:
        """Where the axis of accuracies begins: at 0, unless all of them are far above it."""
        return min([0.0 if min(self.values, default=0.0) < 0.45 else 0.4, *self.values])

    @property
    def values(self) -> list[float]:
        """All accuracies, published ones too."""
        measured = [y for s in self.series for run in s.runs for _, y in run.points]
        return measured + [item.y for item in self.published]
