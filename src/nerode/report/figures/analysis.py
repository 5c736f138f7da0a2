"""The figures of an analysis, from its JSON alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nerode.report.figures.charts import (
    ChartLine,
    HeatMap,
    LineChart,
    Mark,
    PointGroup,
    Scatter,
    SpectrumPlot,
)
from nerode.report.terminal.analysis import number

Json = Mapping[str, Any]

_MOST_LABELS = 8
"""Labels that have a colour of their own in a scatter plot; the rest is shown together."""

_MOST_COLUMNS = 64
_MOST_HEADS = 8


def spectrum_plots(found: Json) -> list[SpectrumPlot]:
    """Returns the eigenvalues of each layer around the unit circle, or as strips if all are real."""
    plots = []
    for layer in found["spectra"]:
        kind = "" if layer["linear"] else ", of the derivative"
        groups = tuple(
            PointGroup(label=s["label"], points=tuple((a, b) for a, b in s["eigenvalues"]))
            for s in layer["spectra"]
        )
        stretch = layer["stretch"]
        if stretch is not None and stretch["weights"] is not None:
            own = tuple((a, b) for a, b in stretch["weights"]["eigenvalues"])
            groups = (*groups, PointGroup(label="U, the recurrent weights", points=own))
        outside = sum(s["outside"] for s in layer["spectra"])
        counted = sum(s["counted"] for s in layer["spectra"])
        said = f"{outside:,} of {counted:,} eigenvalues lie outside the unit circle."
        title = f"Eigenvalues of layer {layer['layer']}{kind}"
        plots.append(SpectrumPlot(title=title, groups=groups, caption=said))
    return plots


def product_figures(found: Json) -> list[LineChart]:
    """Returns the norms of products of transitions of each layer."""
    figures = []
    for layer in found["spectra"]:
        one = layer["source"] == "one matrix"
        rows = layer["products"]
        lines = [ChartLine(series="norm" if one else "largest", points=_points(rows, "n", "largest"))]
        if not one:
            lines.append(ChartLine(series="median", points=_points(rows, "n", "median")))
        stretch = layer["stretch"]
        if stretch is not None and stretch["free"]:
            free = tuple((float(n), v) for n, v in enumerate(stretch["free"], start=1))
            lines.append(ChartLine(series="without inputs", points=free))
        title = (
            f"Norms of powers, layer {layer['layer']}"
            if one
            else f"Norms of products, layer {layer['layer']}"
        )
        figures.append(
            LineChart(
                title=title,
                x_title="transitions",
                y_title="norm",
                lines=tuple(lines),
                log_y=True,
                caption=_stretch_words(stretch),
            )
        )
    return figures


def context_figure(found: Json) -> LineChart | None:
    """Returns what changing a letter does by distance, with the other windows as marks."""
    context = found["context"]
    if context is None:
        return None
    marks = []
    for layer in context["layers"]:
        for key, name in (("by_spectrum", "spectrum"), ("by_norm", "norm"), ("by_nilpotency", "nilpotency")):
            if layer[key] is not None:
                marks.append(Mark(x=float(layer[key]), label=f"{name}, layer {layer['layer']}"))
    marks.append(Mark(x=float(context["by_intervention"]), label="intervention"))
    series = (("mean", "mean change"), ("largest", "largest change"), ("flips", "share of other answers"))
    return LineChart(
        title="What changing one letter does to later answers",
        x_title="letters back",
        y_title="change",
        lines=_merged(
            ChartLine(series=name, points=tuple((float(c["back"]), c[key]) for c in context["changes"]))
            for key, name in series
        ),
        marks=tuple(marks),
        zero=True,
        caption=f"Windows are marked where they fall inside the figure; what is below "
        f"{number(context['eps'])} counts as forgotten.",
    )


def _merged(lines: Iterable[ChartLine]) -> tuple[ChartLine, ...]:
    """Lines without repetition: those that are the same everywhere are one, with all their names."""
    names: dict[tuple[tuple[float, float | None], ...], list[str]] = {}
    for line in lines:
        names.setdefault(line.points, []).append(line.series)
    return tuple(ChartLine(series=" = ".join(found), points=points) for points, found in names.items())


def cluster_figures(found: Json) -> list[tuple[Scatter, ...]]:
    """Returns for each kind of label the hidden states of the network and of the untrained one."""
    figures = []
    for clusters in found["clusters"]:
        pair = []
        for which in ("trained", "untrained"):
            seen = clusters[which]
            if seen is None:
                continue
            first, second = seen["explained"]
            pair.append(
                Scatter(
                    title=f"Hidden states by {clusters['labelled_by']}, {which}",
                    groups=_groups(clusters["shown"], seen["points"]),
                    x_title=f"first axis ({100 * first:.0f} %)",
                    y_title=f"second axis ({100 * second:.0f} %)",
                    caption=f"{100 * seen['neighbours']:.0f} % have the label of their nearest neighbour.",
                )
            )
        figures.append(tuple(pair))
    return figures


def trace_figures(found: Json) -> list[HeatMap]:
    """Returns states and gates along the word."""
    trace = found["trace"]
    if trace is None:
        return []
    word = trace["word"][:_MOST_COLUMNS]
    figures = []
    for strip in trace["strips"]:
        shown, size = len(strip["rows"]), strip["size"]
        part = "" if shown == size else f": {shown} of {size} coordinates, evenly spaced"
        figures.append(
            _with_range(
                HeatMap(
                    title=f"{strip['kind'].capitalize()} {strip['name']} of layer {strip['layer']}{part}",
                    x_title="letter",
                    y_title="coordinate",
                    columns=tuple(word),
                    rows=tuple(str(c) for c in strip["coordinates"]),
                    values=tuple(tuple(row[:_MOST_COLUMNS]) for row in strip["rows"]),
                )
            )
        )
    return figures


def _with_range(heat: HeatMap) -> HeatMap:
    """The table with the ends of its scale in the caption."""
    return replace(heat, caption=f"{heat.caption} {heat.range}".strip())


def attention_figures(found: Json) -> list[HeatMap]:
    """Returns where the heads look along the word."""
    attention = found["attention"]
    if attention is None:
        return []
    word = tuple(attention["word"][:_MOST_COLUMNS])
    return [
        _with_range(
            HeatMap(
                title=f"Attention of layer {head['layer']}, head {head['head']}",
                x_title="looked at",
                y_title="from",
                columns=word,
                rows=word,
                values=tuple(tuple(row[: len(word)]) for row in head["weights"][: len(word)]),
                caption=f"{number(head['distance'], 2)} letters back on average, entropy "
                f"{number(head['entropy'], 2)} bits.",
            )
        )
        for head in attention["heads"][:_MOST_HEADS]
    ]


def margin_figure(found: Json) -> LineChart | None:
    """Returns the margin by length."""
    margins = found["margins"]
    if margins is None:
        return None
    lengths = [row["length"] for row in margins["lengths"]]
    series = (("least", "least"), ("low", "1 in 100 below"), ("median", "median"))
    return LineChart(
        title="Margin of the correct answer by length",
        x_title="length",
        y_title="margin",
        lines=tuple(
            ChartLine(series=name, points=tuple((float(r["length"]), r[key]) for r in margins["lengths"]))
            for key, name in series
        ),
        marks=(Mark(x=float(margins["trained"]), label="longest of training"),),
        log_x=len(lengths) > 1 and lengths[-1] >= 8 * lengths[0],
        zero=True,
    )


def forgetting_figure(found: Json) -> LineChart | None:
    """Returns the margin of a written bit by the number of ignored bits after it."""
    forgetting = found["forgetting"]
    if forgetting is None:
        return None
    lines = []
    for row in forgetting["streams"]:
        name = f"{row['stream']}, bit {row['bit']}"
        lines.append(ChartLine(series=name, points=tuple((float(n), m) for n, m in row["margins"])))
    return LineChart(
        title="Margin of a written bit, after bits to ignore",
        x_title="ignored bits",
        y_title="margin",
        lines=tuple(lines),
        log_x=True,
        zero=True,
        caption="Below 0 the bit is lost.",
    )


def _points(rows: Sequence[Json], x: str, y: str) -> tuple[tuple[float, float | None], ...]:
    return tuple((float(row[x]), row[y]) for row in rows)


def _stretch_words(stretch: Json | None) -> str:
    if stretch is None:
        return ""
    bound = "" if stretch["bound"] is None else f" and at most {number(stretch['bound'])}"
    return f"The Lipschitz constant of one step is at least {number(stretch['sampled'])}{bound}."


def _groups(labels: Sequence[str], points: Sequence[Sequence[float]]) -> tuple[PointGroup, ...]:
    """The points by label; the commonest labels have a group of their own, if there are too many."""
    found: dict[str, list[tuple[float, float]]] = {}
    for label, (x, y) in zip(labels, points, strict=True):
        found.setdefault(label, []).append((x, y))
    order = sorted(found, key=lambda label: (-len(found[label]), label))
    if len(order) <= _MOST_LABELS:
        return tuple(PointGroup(label=label, points=tuple(found[label])) for label in sorted(order))
    kept = order[: _MOST_LABELS - 1]
    rest = [point for label in order[_MOST_LABELS - 1 :] for point in found[label]]
    groups = [PointGroup(label=label, points=tuple(found[label])) for label in kept]
    return (*groups, PointGroup(label=f"{len(order) - len(kept)} other labels", points=tuple(rest)))
