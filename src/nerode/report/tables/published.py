"""Published values of the tasks and models of runs, from the tables of `nerode reproduce`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nerode.core import Reference
from nerode.report.figures.length_figure import Published
from nerode.reproduce import PAPERS, LengthRange, Paper, PaperTable, TableCell, TableLine
from nerode.study import ModelGroup, TaskGroup, architectures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedValue:
    """A number of a paper about a model of a report.

    Attributes:
        label: the model of the report.
        column: the heading in the paper.
        lengths: shortest and longest length that it is about.
        measure: the accuracy, as the reports call it.
        value: the number.
        printed: as the paper prints it.
        where: paper and table.
        reference: the work.
    """

    label: str
    column: str
    lengths: tuple[int, int]
    measure: str
    value: float
    printed: str
    where: str
    reference: Reference


def published_values(task: TaskGroup, papers: Iterable[Paper] | None = None) -> list[PublishedValue]:
    """Returns what papers have published about the task and the architectures of a report."""
    known = list(PAPERS.values()) if papers is None else list(papers)
    found = []
    for model in task.models:
        names = {row.name for row in architectures_of(model.runs[0].record)}
        for paper, table, line in _lines(known):
            if line.architecture in names and len(names) == 1 and _same_task(task, line):
                found += [_value(model, paper, table, cell) for cell in line.cells if _is_shown(cell)]
    return found


def reference_points(values: Iterable[PublishedValue], measure: str) -> tuple[Published, ...]:
    """Returns the values that are of the measure of a figure, at both ends of the lengths they are about."""
    return tuple(
        Published(label=value.label, x=length, y=value.value, source=f"{value.where}, {value.column}")
        for value in values
        if value.measure == measure
        for length in dict.fromkeys(value.lengths)
    )


def _lines(papers: Iterable[Paper]) -> Iterator[tuple[Paper, PaperTable, TableLine]]:
    for paper in papers:
        for table in paper.tables:
            # Ticks and crosses are no accuracies.
            if not table.ticks:
                for line in table.lines:
                    yield paper, table, line


def _same_task(task: TaskGroup, line: TableLine) -> bool:
    """Whether a line of a paper is about the same kind of task, and about the same language or monoid."""
    if line.cpu is None or line.stands_in:
        return False
    asked: Mapping[str, Any] = line.cpu.get("task", {})
    settings = asked.get("settings", {})
    named = [name for name in ("language", "monoid", "modulus") if name in settings or name in task.settings]
    return asked.get("name") == task.name and all(settings.get(n) == task.settings.get(n) for n in named)


def _measure(reading: LengthRange) -> str:
    """The measure as reports call it, or in words where reports have none like it."""
    if not reading.chance:
        return reading.measure
    return "scaled" if reading.measure == "token" else f"{reading.measure}, a guess at 0"


def _is_shown(cell: TableCell) -> bool:
    return cell.published is not None and isinstance(cell.reading, LengthRange)


def _value(model: ModelGroup, paper: Paper, table: PaperTable, cell: TableCell) -> PublishedValue:
    assert cell.published is not None
    assert isinstance(cell.reading, LengthRange)
    return PublishedValue(
        label=model.label,
        column=cell.column,
        lengths=(cell.reading.low, cell.reading.high),
        measure=_measure(cell.reading),
        value=cell.published,
        printed=cell.printed or f"{cell.published:g}",
        where=f"{paper.reference}, {table.where}",
        reference=paper.reference,
    )
