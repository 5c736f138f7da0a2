"""The report of runs: measurements beside theory and published values, with charts of training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from nerode.core import InputError, Reference
from nerode.records import HistoryRow, Measure, VerdictSummary
from nerode.report.figures.charts import Bar, BarChart, ChartLine, LineChart
from nerode.report.figures.length_figure import LengthCurves, LengthSeries, Published, SeedCurve
from nerode.report.notation import LEAST_SEEDS
from nerode.report.pages.render import Bibliography
from nerode.report.tables.runs import ResultTable, success_table
from nerode.report.tables.verdicts import sense_title
from nerode.reproduce import PAPERS, LengthRange, Paper, PaperTable, TableCell, TableLine
from nerode.study import (
    MEASURES,
    LeftOut,
    ModelGroup,
    RunFile,
    TaskGroup,
    TheoryOfRuns,
    architectures_of,
    group_runs,
    works_of,
)
from nerode.verdict import Sense


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
        for paper, table, line in _published_lines(known):
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


def _published_lines(papers: Iterable[Paper]) -> Iterator[tuple[Paper, PaperTable, TableLine]]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """The report on one task.

    Attributes:
        task: the runs.
        theories: what is known of each model, in the order of the models.
        published: what papers have published.
        table: the results.
        curves: accuracy against length.
        dynamics: loss and accuracy in training.
        successes: how many runs master the longest length; None if nothing was tested.
        streams: how long a bit is remembered; None if the task does not ask.
        works: behind the architectures, the verdicts and the published values.
    """

    task: TaskGroup
    theories: tuple[VerdictSummary | None, ...]
    published: tuple[PublishedValue, ...]
    table: ResultTable
    curves: LengthCurves
    dynamics: tuple[LineChart, LineChart]
    successes: BarChart | None
    streams: LineChart | None
    works: tuple[Reference, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A report.

    Attributes:
        tasks: by task.
        left_out: what is in the folders and in no figure.
        sense: the arithmetic that the verdicts are about.
    """

    tasks: tuple[TaskReport, ...]
    left_out: tuple[LeftOut, ...]
    sense: Sense

    @property
    def runs(self) -> list[RunFile]:
        """All runs."""
        return [run for report in self.tasks for model in report.task.models for run in model.runs]

    def bibliography(self) -> Bibliography:
        """Returns all works that the report uses."""
        found = Bibliography()
        for report in self.tasks:
            for reference in report.works:
                found.cite(reference)
        return found


def make_report(
    runs: Sequence[RunFile],
    *,
    left_out: Sequence[LeftOut] = (),
    measure: Measure | None = None,
    sense: Sense = Sense.FINITE_PRECISION,
    task_works: Mapping[str, Reference] | None = None,
    names: Mapping[str, str] | None = None,
) -> RunReport:
    """Returns the report of runs.

    Args:
        runs: the runs.
        left_out: what could not be read.
        measure: the accuracy to show; by default the one by which the runs were judged.
        sense: the arithmetic that the verdicts are about.
        task_works: where each task was published, by its name.
        names: how models are to be called, by their labels.

    Raises:
        InputError: if a name is for a model that no run has.
    """
    known = task_works or {}
    tasks = _renamed(group_runs(runs, measure=measure), names or {})
    return RunReport(
        tasks=tuple(_task_report(task, sense, known) for task in tasks),
        left_out=tuple(left_out),
        sense=sense,
    )


def _renamed(tasks: Sequence[TaskGroup], names: Mapping[str, str]) -> list[TaskGroup]:
    labels = sorted({model.label for task in tasks for model in task.models})
    for name in names:
        if name not in labels:
            raise InputError(f"no model is called {name!r}; the models are {', '.join(labels)}")
    return [
        replace(
            task,
            models=tuple(replace(model, label=names.get(model.label, model.label)) for model in task.models),
        )
        for task in tasks
    ]


def _task_report(task: TaskGroup, sense: Sense, task_works: Mapping[str, Reference]) -> TaskReport:
    theory = TheoryOfRuns(task, sense=sense)
    theories = tuple(theory.of(model) for model in task.models)
    published = published_values(task)
    works = dict.fromkeys([task_works[task.name]] if task.name in task_works else [])
    works |= dict.fromkeys(works_of(task, theory)) | dict.fromkeys(value.reference for value in published)
    histories = [(model.label, run.seed, run.record.history) for model in task.models for run in model.runs]
    return TaskReport(
        task=task,
        theories=theories,
        published=tuple(published),
        table=success_table(task, theories),
        curves=_curves(task, theories, published, sense),
        dynamics=dynamics_charts(histories, measure=task.measure),
        successes=_successes(task),
        streams=stream_chart(task),
        works=tuple(works),
    )


def _curves(
    task: TaskGroup,
    theories: Sequence[VerdictSummary | None],
    published: Sequence[PublishedValue],
    sense: Sense,
) -> LengthCurves:
    series = []
    for model, theory in zip(task.models, theories, strict=True):
        tested = [(run, model.counted(run, task.measure)) for run in model.runs]
        seeds = tuple(
            SeedCurve(
                seed=run.seed, points=points, wrong=run.settled.first_wrong_length if run.settled else None
            )
            for run, points in tested
            if points
        )
        series.append(LengthSeries(label=model.label, runs=seeds, theory=theory))
    points = reference_points(published, task.measure)
    thick = any(len(item.runs) >= LEAST_SEEDS for item in series)
    said = ["Every seed is a thin line, the median a thick one." if thick else "Every seed is a line."]
    if any(model.diverged for model in task.models):
        said.append("A run that diverged is at 0.")
    if any(run.wrong for one in series for run in one.runs):
        said.append("✗: a word of this length is answered incorrectly.")
    if any(theories):
        said.append(f"Bands above the plot: theory, at {sense_title(sense)}.")
    if points:
        said.append("Diamonds are published values.")
    return LengthCurves(
        title=f"Accuracy against length · {MEASURES.get(task.measure, task.measure)}",
        measure=MEASURES.get(task.measure, task.measure),
        series=tuple(series),
        trained=task.trained,
        published=points,
        caption=" ".join(said),
    )


def _successes(task: TaskGroup) -> BarChart | None:
    lengths = task.lengths
    if not lengths:
        return None
    bars = []
    for model in task.models:
        count, runs = model.mastering(lengths[-1], task.measure, task.threshold), len(model.runs)
        bars.append(Bar(label=model.label, value=count / runs, text=f"{count} of {runs}"))
    return BarChart(
        title=f"Runs that pass the tests of every length up to {lengths[-1]:,}",
        value_title="share of runs",
        bars=tuple(bars),
        largest=1.0,
        caption=f"{task.threshold:g} or more passes; a run that diverged, or that answers a word of at most "
        "this length incorrectly, has failed.",
    )


def report_json(report: RunReport) -> dict[str, object]:
    """Returns the report as plain values: every cell of every table, by name."""
    return {
        "format": "nerode-report-1",
        "sense": report.sense.value,
        "tasks": [_task_json(item) for item in report.tasks],
        "left_out": [{"path": item.path, "why": item.why} for item in report.left_out],
        "works": [work.key for _, work in report.bibliography()],
    }


def _task_json(item: TaskReport) -> dict[str, object]:
    task = item.task
    models = []
    for model, theory in zip(task.models, item.theories, strict=True):
        cells = {str(n): model.summary(n, task.measure) for n in task.lengths}
        models.append(
            {
                "model": model.label,
                "parameters": model.runs[0].record.parameters,
                "seeds": model.seeds,
                "diverged": model.diverged,
                "lengths": {
                    n: {"median": c.median, "low": c.low, "high": c.high, "seeds": c.seeds}
                    for n, c in cells.items()
                    if c is not None
                },
                "masters_longest": model.mastering(task.lengths[-1], task.measure, task.threshold)
                if task.lengths
                else None,
                "theory": None
                if theory is None
                else {"status": theory.status, "reason": theory.reason, "source": theory.reference},
            }
        )
    return {
        "task": task.name,
        "settings": dict(task.settings),
        "measure": task.measure,
        "threshold": task.threshold,
        "trained": task.trained,
        "models": models,
        "published": [
            {"label": p.label, "x": p.lengths[1], "y": p.value, "measure": p.measure, "source": p.where}
            for p in item.published
        ],
    }


def dynamics_charts(
    runs: Sequence[tuple[str, int, Sequence[HistoryRow]]], *, measure: Measure
) -> tuple[LineChart, LineChart]:
    """Returns loss and accuracy against steps: every seed thin, the median of those still training thick.

    Args:
        runs: label, seed and history of each run.
        measure: the accuracy to show.
    """
    loss = [(label, seed, _column(history, lambda row: row.loss)) for label, seed, history in runs]
    accuracy = [
        (label, seed, _column(history, lambda row: row.validation.accuracy(measure)))
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


def _column(history: Sequence[HistoryRow], read: Callable[[HistoryRow], float | None]) -> Points:
    return tuple((float(row.step), read(row)) for row in history)


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


def stream_chart(task: TaskGroup) -> LineChart | None:
    """Returns the least margin over bits and streams, against the bits ignored; None if there was no test."""
    lines = []
    for model in task.models:
        for run in model.runs:
            points = tuple((float(n), margin) for n, margin in run.ignored_margins.items())
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
        caption="The least over both bits and all streams; one line per seed. Below 0 the bit is lost.",
    )
