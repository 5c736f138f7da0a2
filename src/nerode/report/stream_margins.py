"""How long a written bit is remembered: the tests after training on flip-flop streams, over all seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nerode.report.figures.line_chart import ChartLine, LineChart
from nerode.study import RunFile, TaskGroup


def stream_chart(task: TaskGroup) -> LineChart | None:
    """Returns the least margin over bits and streams, against the bits ignored; None if there was no test."""
    lines = []
    for model in task.models:
        for run in model.runs:
            points = tuple(_least(run))
            if points:
                lines.append(ChartLine(series=model.label, name=f"seed {run.seed}", points=points))
    if not lines:
        return None
    return LineChart(
        title="Margin of a written bit, after bits to ignore",
        x_title="ignored bits",
        y_title="least margin",
        lines=tuple(lines),
        log_x=True,
        zero=True,
        caption="The least over both bits and all streams; one line a seed. Below 0 the bit is lost.",
    )


def _least(run: RunFile) -> Iterator[tuple[float, float | None]]:
    found: dict[int, float] = {}
    for row in _reads(run.result.get("examination")):
        ignored, margin = row.get("ignored"), row.get("margin")
        if isinstance(ignored, int) and isinstance(margin, int | float):
            found[ignored] = min(found.get(ignored, float("inf")), float(margin))
    yield from ((float(n), found[n]) for n in sorted(found))


def _reads(examination: Any) -> Iterator[dict[str, Any]]:
    streams = examination.get("streams") if isinstance(examination, dict) else None
    for stream in streams if isinstance(streams, list) else ():
        reads = stream.get("reads") if isinstance(stream, dict) else None
        yield from (row for row in (reads if isinstance(reads, list) else ()) if isinstance(row, dict))
