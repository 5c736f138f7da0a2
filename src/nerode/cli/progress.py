"""Progress of commands that take longer than a second, on the error stream."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from nerode.report import RunRow, duration, live_table, make_console

if TYPE_CHECKING:
    from nerode.records import RunRecord, TrainSpec
    from nerode.sweeps import Tracker
    from nerode.training import ProgressEvent


class Progress:
    """Progress through a known number of parts.

    On a terminal it is a bar with the total and the time left; elsewhere one line per part. The first line
    comes at once, before any work.

    Args:
        what: the work, for example "sweep".
        total: number of parts.
        unit: name of a part.
        quiet: whether to show nothing.
        terse: whether a terminal shows the bar alone.
    """

    def __init__(
        self, what: str, total: int, *, unit: str = "run", quiet: bool = False, terse: bool = False
    ) -> None:
        self._terse = terse
        self._total, self._done, self._begun = total, 0, time.monotonic()
        self._bar: Any = None
        self._quiet = quiet or not total
        if self._quiet:
            return
        units = unit if total == 1 else f"{unit}s"
        if sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
            self._bar = Bar(*columns, TextColumn("{task.fields[left]}"), console=make_console(stderr=True))
            self._task = self._bar.add_task(f"{what}: {total:,} {units}", total=total, left="")
        else:
            click.echo(f"{what}: {total:,} {units}", err=True)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def end(self, line: str) -> None:
        """Reports that a part is done."""
        self._done += 1
        if self._quiet:
            return
        left = self._left()
        if self._bar is not None:
            if not self._terse:
                self._bar.console.print(line, markup=False, highlight=False)
            self._bar.update(self._task, advance=1, left=left)
            return
        click.echo(f"[{self._done}/{self._total}] {line}{', ' + left if left else ''}", err=True)

    def _left(self) -> str:
        """The time left if the parts that remain take as long as those that are done."""
        remaining = self._total - self._done
        if remaining <= 0:
            return ""
        return f"about {duration((time.monotonic() - self._begun) / self._done * remaining)} left"


class Board:
    """Shows how runs get on: a table that is drawn anew on a terminal, one line per event elsewhere.

    Args:
        specs: the runs.
        live: whether there is a terminal.
    """

    def __init__(self, specs: list[TrainSpec], *, live: bool) -> None:
        self.rows = [RunRow(title=spec.model.title, seed=spec.run.seed) for spec in specs]
        self._live: Any = None
        if live:
            from rich.live import Live

            console = make_console(stderr=True)
            self._width = console.width
            self._live = Live(console=console, refresh_per_second=4, transient=True)
            self._live.update(live_table(self.rows, width=self._width))
        else:
            click.echo(f"{len(specs)} {'run' if len(specs) == 1 else 'runs'}", err=True)
        self._stack = ExitStack()
        self._trackers: list[Tracker] = []

    def log_to(self, viewer: str, out: Path, specs: list[TrainSpec]) -> None:
        """Also sends loss and accuracy of every run to a viewer, while it is trained."""
        from nerode.records import run_name
        from nerode.sweeps import open_tracker
        from nerode.training import run_key

        for spec in specs:
            name = run_name(run_key(spec))
            self._trackers.append(open_tracker(viewer, out, name, spec.to_mapping(), live=True))

    def __enter__(self) -> Board:
        if self._live is not None:
            self._stack.enter_context(self._live)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def see(self, number: int, sight: ProgressEvent) -> None:
        """Shows how a run gets on."""
        row = self.rows[number]
        if row.state.startswith("done"):
            return
        row.state = "testing" if sight.event == "testing" else "training"
        row.step, row.steps, row.loss = sight.step, sight.steps, sight.loss
        row.accuracy, row.samples_per_second = sight.accuracy, sight.samples_per_second
        row.seconds_left = None if sight.event == "testing" else sight.seconds_left
        if self._trackers and sight.event != "testing":
            accuracy = {} if sight.accuracy is None else {"accuracy": sight.accuracy}
            self._trackers[number].log(sight.step, {"loss": sight.loss, "longest": sight.longest, **accuracy})
        self._draw(row, say=sight.event == "validation")

    def end(self, number: int, record: RunRecord) -> None:
        """Shows that a run is finished."""
        row = self.rows[number]
        how = {
            "steps": "done",
            "threshold": "done, learnt",
            "judge": "done, stopped by its judge",
            "divergence": "done, diverged",
        }
        row.state, row.step = how[record.stopped], record.steps
        row.samples_per_second = row.seconds_left = None
        if record.history:
            row.accuracy = record.history[-1].validation.accuracy(record.measure)
            row.loss = record.history[-1].loss
        if self._trackers:
            self._trackers[number].close({"reaches": record.extrapolates_to, "steps": record.steps})
        self._draw(row, say=True)

    def _draw(self, row: RunRow, *, say: bool) -> None:
        if self._live is not None:
            self._live.update(live_table(self.rows, width=self._width))
        elif say:
            click.echo(row.line(), err=True)
