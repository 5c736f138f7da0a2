"""Training dynamics: loss and validation accuracy of every run, against the updates made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from nerode.report.figures.line_chart import ChartLine, LineChart


def dynamics_charts(
    runs: Sequence[tuple[str, int, Sequence[Mapping[str, Any]]]], *, measure: str
) -> tuple[LineChart, LineChart]:
    """Returns loss and accuracy against steps: every seed thin, the median of those still training thick.

    Args:
        runs: label, seed and history of each run.
        measure: the accuracy to show.
    """
    loss = [(label, seed, _column(history, lambda row: row["loss"])) for label, seed, history in runs]
    accuracy = [
        (label, seed, _column(history, lambda row: row["validation"][measure]))
        for label, seed, history in runs
    ]
    return (
        LineChart(
            title="Loss in training", x_title="updates", y_title="loss", lines=_lines(loss), log_y=True
        ),
        LineChart(
            title="Accuracy in validation",
            x_title="updates",
            y_title="accuracy",
            lines=_lines(accuracy),
            zero=True,
            caption="At the lengths of training. In the median, a run that stopped keeps its last value.",
        ),
    )


Points = tuple[tuple[float, float | None], ...]


def _column(
    history: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], float | None]
) -> Points:
    return tuple((float(row["step"]), read(row)) for row in history)


def _lines(curves: Sequence[tuple[str, int, Points]]) -> tuple[ChartLine, ...]:
    lines: list[ChartLine] = []
    for label in dict.fromkeys(label for label, _, _ in curves):
        group = [(seed, points) for name, seed, points in curves if name == label]
        if len(group) == 1:
            lines.append(ChartLine(series=label, name=f"seed {group[0][0]}", points=group[0][1]))
            continue
        lines += [
            ChartLine(series=label, name=f"seed {seed}", points=points, thin=True) for seed, points in group
        ]
        lines.append(ChartLine(series=label, name="median", points=_median([points for _, points in group])))
    return tuple(lines)


def _median(curves: Sequence[Points]) -> Points:
    """The median at each step; a run that stopped keeps its last value, so that success does not vanish."""
    steps = sorted({x for points in curves for x, _ in points})
    filled = []
    for points in curves:
        known = dict(points)
        last: float | None = None
        values = []
        for step in steps:
            last = known.get(step, last)
            values.append(last)
        filled.append(values)
    columns = [[v for v in column if v is not None] for column in zip(*filled, strict=True)]
    return tuple((x, median(column) if column else None) for x, column in zip(steps, columns, strict=True))
