"""Training runs in a terminal: a live table, and tables of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table
from rich.text import Text

from nerode.records import Measure, RunRecord
from nerode.study import RunFile, labelled_groups


@dataclass(slots=True, kw_only=True)
class RunRow:
    """A run in the live table.

    Attributes:
        title: name of the model.
        seed: of the run.
        state: what it is doing.
        step: updates made.
        steps: updates at most; 0 if not yet known.
        loss: latest training loss.
        accuracy: of the last validation.
        samples_per_second: training sequences.
        seconds_left: at most.
    """

    title: str
    seed: int
    state: str = "waiting"
    step: int = 0
    steps: int = 0
    loss: float | None = None
    accuracy: float | None = None
    samples_per_second: float | None = None
    seconds_left: float | None = None

    def line(self) -> str:
        """Returns the run in one line, for where there is no terminal."""
        parts = [f"{self.title} seed {self.seed}: {self.state}"]
        if self.steps:
            parts.append(f"step {self.step:,}/{self.steps:,}")
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4g}")
        if self.accuracy is not None:
            parts.append(f"accuracy {share(self.accuracy)}")
        if self.samples_per_second is not None:
            parts.append(f"{self.samples_per_second:,.0f} samples/s")
        if self.seconds_left:
            parts.append(f"{duration(self.seconds_left)} left at most")
        return ", ".join(parts)


NARROW = 100
"""Columns of a terminal below which tables leave out what a reader needs least."""


def live_table(rows: Iterable[RunRow], *, width: int = 120) -> Table:
    """Returns the table that is shown while runs are under way, without loss and speed where it is narrow."""
    wide = width >= NARROW
    last = ("samples/s", "left at most") if wide else ("left",)
    view = _plain_table("model", "seed", "", "step", *(("loss",) if wide else ()), "accuracy", *last)
    for row in rows:
        loss = "" if row.loss is None else f"{row.loss:.4g}"
        speed = "" if row.samples_per_second is None else f"{row.samples_per_second:,.0f}"
        view.add_row(
            Text(row.title, style="cyan"),
            str(row.seed),
            Text(row.state, style="green" if row.state.startswith("done") else "dim"),
            f"{row.step:,}/{row.steps:,}" if row.steps else "",
            *((loss,) if wide else ()),
            "" if row.accuracy is None else share(row.accuracy),
            *((speed,) if wide else ()),
            duration(row.seconds_left) if row.seconds_left else "",
        )
    return view


def results_table(runs: Sequence[RunFile], measure: Measure, *, width: int = 120) -> Table:
    """Returns model × length: every seed with its status, then the median and the range of each model.

    A run that diverged was not tested; it counts as 0.

    Args:
        runs: the runs.
        measure: which accuracy.
        width: columns of the terminal; a narrow one has no steps and times, and the range in two rows.
    """
    wide = width >= NARROW
    records = [run.record for run in runs]
    lengths = sorted({score.length for record in records for score in record.evaluations})
    costs = ("steps", "cpu s") if wide else ()
    view = _plain_table("model", "seed", *costs, *map(str, lengths), "status")
    for label, places in labelled_groups(records):
        group = [records[place] for place in places]
        for number, place in enumerate(places):
            title = Text(label if number == 0 else "", style="cyan")
            seed, *rest = _result_row(runs[place], lengths, measure)
            view.add_row(title, seed, *(rest if wide else rest[2:]))
        if len(group) > 1:
            empty = ("",) * len(costs)
            view.add_row("", "median", *empty, *_summary(group, lengths, measure, median), style="bold")
            if wide:
                view.add_row("", "range", *empty, *_range(group, lengths, measure), style="dim")
                continue
            view.add_row("", "worst", *_summary(group, lengths, measure, min), style="dim")
            view.add_row("", "best", *_summary(group, lengths, measure, max), style="dim")
    return view


def _result_row(run: RunFile, lengths: Sequence[int], measure: Measure) -> list[str]:
    record = run.record
    found = {score.length: score.accuracy(measure) for score in record.evaluations}
    return [
        str(run.seed),
        f"{record.steps:,}{' diverged' if record.divergence is not None else ''}",
        f"{record.cpu_seconds:.1f}",
        *(share(found[n]) if n in found else "–" for n in lengths),
        run.status(measure=measure).cell,
    ]


def _values(group: Sequence[RunRecord], length: int, measure: Measure) -> list[float]:
    """The scores at a length, none if no run was tested there."""
    found = [s.accuracy(measure) for record in group for s in record.evaluations if s.length == length]
    diverged = sum(record.divergence is not None for record in group)
    return found + [0.0] * diverged if found else []


def _summary(
    group: Sequence[RunRecord],
    lengths: Sequence[int],
    measure: Measure,
    which: Callable[[Sequence[float]], float],
) -> list[str]:
    columns = [_values(group, length, measure) for length in lengths]
    return [share(which(values)) if values else "–" for values in columns]


def _range(group: Sequence[RunRecord], lengths: Sequence[int], measure: Measure) -> list[str]:
    columns = [_values(group, length, measure) for length in lengths]
    return [f"{share(min(values))}–{share(max(values))}" if values else "–" for values in columns]


def axes_table(records: Sequence[RunRecord], measure: Measure) -> Table | None:
    """Returns the scores along the other quantities of a task; None if it has none."""
    places = list(dict.fromkeys((a.axis, a.value) for record in records for a in record.axes))
    if not places:
        return None
    view = _plain_table("model", "seed", *(f"{axis} {value}" for axis, value in places))
    for label, own in labelled_groups(records):
        for record in (records[place] for place in own):
            found = {(a.axis, a.value): a.score.accuracy(measure) for a in record.axes}
            cells = [share(found[place]) if place in found else "–" for place in places]
            view.add_row(Text(label, style="cyan"), str(record.complete.run.seed), *cells)
    return view


def _plain_table(*headings: str) -> Table:
    view = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        view.add_column(
            heading, justify="left" if number < 3 and heading != "steps" else "right", no_wrap=True
        )
    return view


def share(value: float) -> str:
    """Returns a share with three digits that is 1 only if it is exactly 1, and 0 only if it is exactly 0."""
    if value in (0, 1):
        return str(int(value))
    return f"{math.copysign(min(max(abs(value), 0.001), 0.999), value):.3f}".replace("0.", ".", 1)


def duration(seconds: float) -> str:
    """Returns a time in the unit that one would say it in."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
