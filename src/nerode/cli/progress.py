"""Progress of commands that take longer than a breath, on the error stream."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

from nerode.report import duration, make_console


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
        """Tells that a part has ended."""
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
