"""The figure of length generalisation: runs, published values, and verdicts of theory."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from nerode.core import InputError
from nerode.records import VerdictSummary
from nerode.report.figures.marks import (
    SHOWN,
    colour_channel,
    dash_channel,
    fitted,
    layered,
    legend_of,
    line_at,
    number_axis,
    only,
    rounded,
    spans_decades,
    tooltip,
)
from nerode.report.figures.vega import Figure, FigureTable, Json
from nerode.report.notation import percent

THEORY_MARKS: dict[str, str] = {"yes": "✓", "no": "✗", "open": "?"}
THEORY_WORDS: dict[str, str] = {
    "yes": "possible at every length",
    "no": "impossible",
    "open": "open",
}
LEAST_SEEDS = 3
"""A median of fewer seeds would be a curve that no run has."""

_STRIP = 14
"""Height of the band of one series, in pixels."""

_TITLES = {
    "series": "model",
    "seed": "seed",
    "x": "length",
    "y": "accuracy",
    "shown": "median",
    "range": "range",
    "status": "at every length",
    "reason": "why",
    "source": "source",
}


def length_figure(curves: LengthCurves) -> Figure:
    """Returns the figure of a page."""
    labels = [series.label for series in curves.series]
    others = list(dict.fromkeys(item.label for item in curves.published if item.label not in labels))
    notes = [THEORY_MARKS[s.theory.status] if s.theory else "" for s in curves.series]
    notes += ["(published)"] * len(others)
    return Figure(
        spec=_spec(curves, [*labels, *others]),
        title=curves.title,
        caption=curves.caption,
        alternative=_words(curves),
        legend=legend_of([*labels, *others], notes=notes, dashed=others),
        table=_table(curves),
    )


def _spec(curves: LengthCurves, labels: list[str]) -> Json:
    lengths = curves.lengths
    log = spans_decades(curves.span)
    x = number_axis("x", "length", log=log, domain=curves.span, values=lengths)
    y = number_axis("y", "accuracy", domain=fitted([], low=curves.floor, high=1.0))
    y["axis"] |= {"tickCount": 6, "format": "%"}
    colour = colour_channel(labels)
    layers = _curve_layers({"x": x, "y": y, "color": colour}, dash_channel(labels))
    rows = _rows(curves)
    layers += _wrong_layers({"x": x, "y": y, "color": colour})
    layers += _training_layers(curves, x)
    layers += _theory_layers(curves, x, colour)
    layers += _published_layers(curves, x, y, colour)
    return layered(rows, *layers, height=320, titles=_TITLES)


def _curve_layers(place: Json, dash: Json) -> list[Json]:
    """Lines and points of single runs, of the seeds behind a median, and of the medians."""
    seeds, each = {"detail": {"field": "seed"}}, tooltip("series", "seed", "x", "y")
    layers: list[Json] = []
    for kind, line, point, detail, tip in (
        ("run", {"strokeWidth": 2}, {"size": 44, "opacity": 1}, seeds, each),
        ("seed", {"strokeWidth": 1, "opacity": 0.35}, {"size": 26, "opacity": 0.45}, seeds, each),
        (
            "median",
            {"strokeWidth": 2.75},
            {"size": 52, "opacity": 1},
            {},
            tooltip("series", "x", "shown", "range"),
        ),
    ):
        chosen = [only(kind), SHOWN]
        lines = {**place, "strokeDash": dash, **detail}
        points = {"type": "point", "filled": True, **point}
        layers += [
            {"transform": chosen, "mark": {"type": "line", **line}, "encoding": lines},
            {"transform": chosen, "mark": points, "encoding": {**place, "tooltip": tip}},
        ]
    return layers


def _rows(curves: LengthCurves) -> list[Json]:
    rows: list[Json] = []
    for series in curves.series:
        for run in series.runs:
            rows += [
                {
                    "kind": "seed" if series.has_median else "run",
                    "series": series.label,
                    "seed": run.seed,
                    "x": n,
                    "y": rounded(value),
                }
                for n, value in run.points
            ]
        rows += [
            {"kind": "wrong", "series": series.label, "seed": run.seed, "x": run.cross[0], "y": run.cross[1]}
            for run in series.runs
            if run.cross
        ]
        for n, middle, least, most, seeds in series.medians() if series.has_median else ():
            rows.append(
                {
                    "kind": "median",
                    "series": series.label,
                    "x": n,
                    "y": rounded(middle),
                    "shown": percent(middle),
                    "range": f"{percent(least)}–{percent(most)}, {seeds} seeds",
                }
            )
    start, end = curves.beyond
    for i, series in enumerate(s for s in curves.series if s.theory):
        assert series.theory is not None
        rows.append(
            {
                "kind": "theory",
                "series": series.label,
                "place": i,
                "x": start,
                "x2": end,
                "status": THEORY_WORDS[series.theory.status],
                "said": f"{THEORY_MARKS[series.theory.status]} {THEORY_WORDS[series.theory.status]}",
                "reason": series.theory.reason,
                "source": series.theory.reference,
            }
        )
    for item in curves.published:
        kind = "published-line" if item.x is None else "published"
        rows.append(
            {"kind": kind, "series": item.label, "x": item.x, "y": rounded(item.y), "source": item.source}
        )
    return rows


def _wrong_layers(place: Json) -> list[Json]:
    """A cross at the length of each word that a run answers incorrectly."""
    cross = {"type": "text", "text": "✗", "fontSize": 17, "fontWeight": 700}
    tip = tooltip("series", "seed", "x")
    return [{"transform": [only("wrong"), SHOWN], "mark": cross, "encoding": {**place, "tooltip": tip}}]


def _training_layers(curves: LengthCurves, x: Json) -> list[Json]:
    """A line where training ends, if there are longer tests."""
    domain = curves.span
    if curves.trained is None or not domain[0] <= curves.trained[1] < domain[1]:
        return []
    text = {"align": "left", "dx": 6, "text": f"trained up to {curves.trained[1]:,}"}
    return line_at(x, curves.trained[1], text, {"value": {"expr": "0.72 * height"}})


def _theory_layers(curves: LengthCurves, x: Json, colour: Json) -> list[Json]:
    """A band for each series above the plot, from the end of training on, in the colour of its verdict."""
    found = [series.theory for series in curves.series if series.theory]
    tip = tooltip("series", "status", "reason", "source")
    layers: list[Json] = []
    for place, theory in enumerate(found):
        top = -(_STRIP + 3) * (len(found) - place) - 5
        chosen = [only("theory"), {"filter": {"field": "place", "equal": place}}, SHOWN]
        band = {"type": "rect", "opacity": 1, "cornerRadius": 2, "color": f"var(--{theory.status}-bg)"}
        dot = {"type": "point", "filled": True, "size": 46, "opacity": 1, "xOffset": -9}
        text = {"type": "text", "align": "left", "dx": 5, "fontSize": 10.5, "fontWeight": 600}
        text["color"] = f"var(--{theory.status}-ink)"
        edges = {"x": x, "x2": {"field": "x2"}, "y": {"value": top}, "y2": {"value": top + _STRIP}}
        middle = {"x": x, "y": {"value": top + _STRIP / 2}}
        layers += [
            {"transform": chosen, "mark": mark, "encoding": encoding}
            for mark, encoding in (
                (band, {**edges, "tooltip": tip}),
                (dot, {**middle, "color": colour, "tooltip": tip}),
                (text, {**middle, "text": {"field": "said"}}),
            )
        ]
    return layers


def _published_layers(curves: LengthCurves, x: Json, y: Json, colour: Json) -> list[Json]:
    if not curves.published:
        return []
    tip = tooltip("series", "x", "y", "source")
    return [
        {
            "transform": [only("published"), SHOWN],
            "mark": {"type": "line", "strokeDash": [2, 4], "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y, "color": colour, "detail": {"field": "source"}},
        },
        {
            "transform": [only("published"), SHOWN],
            "mark": {
                "type": "point",
                "shape": "diamond",
                "size": 90,
                "strokeWidth": 1.75,
                "fill": "var(--card)",
            },
            "encoding": {"x": x, "y": y, "stroke": colour, "tooltip": tip},
        },
        {
            "transform": [only("published-line"), SHOWN],
            "mark": {"type": "rule", "strokeDash": [2, 4], "strokeWidth": 1.75},
            "encoding": {"y": y, "color": colour, "tooltip": tip},
        },
    ]


def _table(curves: LengthCurves) -> FigureTable:
    lengths = curves.lengths
    rows = []
    for series in curves.series:
        found = {n: seeds_text(mid, lo, hi, seeds) for n, mid, lo, hi, seeds in series.medians()}
        rows.append((series.label, str(len(series.runs)), *(found.get(n, "–") for n in lengths)))
    return FigureTable(
        title="the numbers as a table",
        headings=("model", "seeds", *(f"{n:,}" for n in lengths)),
        rows=tuple(rows),
    )


def _words(curves: LengthCurves) -> str:
    """The figure in words: where each median begins and ends."""
    parts = []
    for series in curves.series:
        medians = series.medians()
        if medians:
            said = [f"{seeds_text(*found[1:])} at length {found[0]:,}" for found in (medians[0], medians[-1])]
            parts.append(f"{series.label}: {', '.join(said)}")
    return f"Accuracy against length ({curves.measure}). " + "; ".join(parts) + "."


def seeds_text(middle: float, low: float, high: float, seeds: int) -> str:
    """Returns the scores of all seeds in %: the median with its range, or both values where there are two."""
    if seeds < LEAST_SEEDS:
        return percent(low) if low == high else f"{percent(low)}, {percent(high)}"
    return f"{percent(middle)} [{percent(low)}–{percent(high)}]"


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
class LengthCurves:
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
        """The ends of the axis of lengths: all tested and all published ones are on it."""
        found = [*self.lengths, *(item.x for item in self.published if item.x is not None)]
        found += [run.wrong for series in self.series for run in series.runs if run.wrong]
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
        """The beginning of the axis of accuracies: 0, unless all of them are far above it."""
        return min([0.0 if min(self.values, default=0.0) < 0.45 else 0.4, *self.values])

    @property
    def values(self) -> list[float]:
        """All accuracies, published ones too."""
        measured = [y for s in self.series for run in s.runs for _, y in run.points]
        return measured + [item.y for item in self.published]
