"""Finished runs from their folders: by task and model, with all seeds together; in lists; as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from nerode.core import FormatError, InputError, Shown, plural, read_json, to_frame, to_mapping
from nerode.languages import with_powers
from nerode.records import (
    ANALYSIS_FORMAT,
    RESULT,
    Measure,
    RunRecord,
    RunStatus,
    RunStore,
    Settlement,
    read_run,
    read_settlement,
    run_status,
    status_of_tests,
)
from nerode.study.words import shorten

MEASURES: Mapping[Measure, str] = {
    "token": "share of correct positions",
    "sequence": "share of sequences that are correct throughout",
    "final": "share of sequences with a correct last answer",
    "scaled": "share of correct positions, a uniform guess at 0",
}

_ANALYSES = ("analysis/analysis.json", "analysis.json")
"""Places of the files of `nerode analyse`, inside the folder of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A finished run.

    Attributes:
        folder: its folder.
        record: its record.
        analysis: the JSON of `nerode analyse`; None if it was not asked.
        settled: what `nerode prove` has found; None if it was not asked.
    """

    folder: Path
    record: RunRecord
    analysis: Mapping[str, Any] | None = None
    settled: Settlement | None = None

    @property
    def seed(self) -> int:
        """The seed."""
        return self.record.complete.run.seed

    def status(self, *, measure: Measure | None = None, threshold: float | None = None) -> RunStatus:
        """Returns its status by a measure and a threshold; by default those of the run."""
        return run_status(self.record, self.settled, measure=measure, threshold=threshold)

    @property
    def status_line(self) -> str:
        """The status as in a table, with the word that the run gets wrong if it is that which counts."""
        status, settled = self.status(), self.settled
        if settled is None or settled.word is None or len(settled.word) != status.length:
            return status.cell
        return f"{status.cell}: {with_powers(settled.word)}{_of_test(settled)}"

    @property
    def ignored_margins(self) -> dict[int, float]:
        """Of tests of a written bit the least margin over bits and streams, by the number of ignored bits."""
        found: dict[int, float] = {}
        for row in _reads(self.record.examination):
            ignored, margin = row.get("ignored"), row.get("margin")
            if isinstance(ignored, int) and isinstance(margin, int | float):
                found[ignored] = min(found.get(ignored, float("inf")), float(margin))
        return dict(sorted(found.items()))


def _reads(examination: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rows of the streams of an examination; files may be the user's own."""
    streams = examination.get("streams")
    for stream in streams if isinstance(streams, list) else ():
        reads = stream.get("reads") if isinstance(stream, dict) else None
        yield from (row for row in (reads if isinstance(reads, list) else ()) if isinstance(row, dict))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An entry of the folders that is in no figure, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Shown):
    """The finished runs of some folders.

    Attributes:
        files: the runs, each once.
        left_out: what could not be read.
    """

    files: tuple[RunFile, ...]
    left_out: tuple[LeftOut, ...] = ()

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[RunRecord]:
        return (run.record for run in self.files)

    def __repr__(self) -> str:
        return f"<{plural(len(self.files), 'run')} on {plural(len(group_runs(self.files)), 'task')}>"

    def columns(self) -> dict[str, list[object]]:
        """Returns every measured number in tidy form: one row per run and length, by column.

        The accuracy of every measure is a share between 0 and 1. A run that diverged was not tested and has
        no rows.
        """
        found: dict[str, list[object]] = {name: [] for name in (*_COLUMNS, *MEASURES)}
        for task in group_runs(self.files):
            for model in task.models:
                for run in model.runs:
                    record = run.record
                    about = (
                        *(run.folder.name, task.title, model.label, run.seed),
                        *(record.steps, record.parameters, record.cpu_seconds),
                    )
                    for score in sorted(record.evaluations, key=lambda score: score.length):
                        for name, value in zip(_COLUMNS, (*about, score.length), strict=True):
                            found[name].append(value)
                        for measure in MEASURES:
                            found[measure].append(score.accuracy(measure))
        return found

    def frame(self) -> Any:
        """Returns every measured number as a tidy `pandas.DataFrame`; `columns` needs no pandas."""
        return to_frame(self.columns())


_COLUMNS = ("run", "task", "model", "seed", "steps", "parameters", "cpu_seconds", "length")


def find_runs(*folders: str | Path) -> Runs:
    """Returns the finished runs of folders of runs and of run folders: `nr.runs("runs").frame()`.

    Raises:
        InputError: if a place is no folder, or if there is no run at all.
    """
    files, left_out = read_run_files([Path(folder) for folder in folders or ("runs",)])
    return Runs(files=tuple(files), left_out=tuple(left_out))


def read_run_files(places: Sequence[Path]) -> tuple[list[RunFile], list[LeftOut]]:
    """Returns the runs of folders of runs and of run folders, each once, and what had to be left out.

    Raises:
        InputError: if a place is no folder, or if there is no run at all.
    """
    found: dict[str, RunFile] = {}
    left_out: list[LeftOut] = []
    for place in places:
        if (place / RESULT).exists():
            folders = [place]
        else:
            store = RunStore(place)
            folders = [place / name for name in store.names()]
            left_out += [
                LeftOut(path=str(place / failure.key[:16]), why=f"failed: {failure.message}")
                for failure in store.failures()
            ]
        for folder in folders:
            try:
                run = read_run_file(folder)
                found.setdefault(run.record.key, run)
            except FormatError as error:
                left_out.append(LeftOut(path=str(folder), why=str(error)))
    if not found:
        named = ", ".join(map(str, places))
        why = f"; {left_out[0].path}: {left_out[0].why}" if left_out else ""
        raise InputError(f"there is no finished run in {named}{why}; `nerode train` makes them")
    return list(found.values()), left_out


def read_run_file(folder: Path) -> RunFile:
    """Returns a finished run with its analysis and its settlement, as far as there are any.

    Raises:
        FormatError: if the run cannot be read.
    """
    return RunFile(
        folder=folder,
        record=read_run(folder),
        analysis=_read_analysis(folder),
        settled=settled_run(folder),
    )


def _read_analysis(folder: Path) -> dict[str, Any] | None:
    for name in _ANALYSES:
        try:
            data = read_json(folder / name)
        except FormatError:
            continue
        if isinstance(data, dict) and data.get("format") == ANALYSIS_FORMAT:
            return data
    return None


def labelled_groups(records: Sequence[RunRecord]) -> list[tuple[str, list[int]]]:
    """Returns the models of runs, each with a name of its own and with the places of its runs, by seed.

    The name is the title of the model; where two models share it, with the settings in which they differ.
    """
    groups: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        groups.setdefault(_canonical([record.title, _without_seed(record)]), []).append(place)
    labels = _labels([records[places[0]] for places in groups.values()])
    return [
        (label, sorted(places, key=lambda place: records[place].complete.run.seed))
        for label, places in zip(labels, groups.values(), strict=True)
    ]


def _canonical(value: object) -> str:
    """A text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, default=str)


def _without_seed(record: RunRecord) -> dict[str, Any]:
    plain = record.complete.to_mapping()
    return {**plain, "run": {name: value for name, value in plain["run"].items() if name != "seed"}}


def _labels(records: Sequence[RunRecord]) -> list[str]:
    """The titles; where two are the same, with the settings in which their runs differ."""
    titles = [record.title for record in records]
    flat = [_flat(_without_seed(record)) for record in records]
    labels = []
    for title, own in zip(titles, flat, strict=True):
        same = [other for name, other in zip(titles, flat, strict=True) if name == title]
        names = [key for key in own if _differ(same, key)]
        shown = ", ".join(dict.fromkeys(f"{name.rpartition('.')[2]} {own[name]}" for name in names))
        labels.append(f"{title} · {shorten(shown, 60)}" if shown else title)
    return _numbered(labels)


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values by dotted name, those of lists by their places."""
    found: dict[str, Any] = {}
    todo: list[tuple[str, Any]] = [("", table)]
    while todo:
        place, value = todo.pop()
        if isinstance(value, Mapping):
            todo += [(f"{place}.{name}", inner) for name, inner in reversed([*value.items()])]
        elif isinstance(value, list):
            todo += [(f"{place}.{i}", inner) for i, inner in reversed([*enumerate(value)])]
        else:
            found[place] = value
    return found


def _differ(tables: Iterable[Mapping[str, Any]], key: str) -> bool:
    return len({_canonical(table.get(key)) for table in tables}) > 1


def _numbered(labels: Sequence[str]) -> list[str]:
    """The labels, the second of two equal ones with a number."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSummary:
    """Median and range over the seeds of a model."""

    median: float
    low: float
    high: float
    seeds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGroup:
    """All runs of one model on one task, which differ in the seed only.

    Attributes:
        label: the name of the model, with the settings that tell it from others of the same name.
        runs: by seed.
    """

    label: str
    runs: tuple[RunFile, ...]

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return [run.seed for run in self.runs]

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses of the runs: a mark with a length, and the word that a run gets wrong."""
        return tuple(run.status_line for run in self.runs)

    @property
    def diverged(self) -> list[int]:
        """The seeds of the runs that diverged."""
        return [run.seed for run in self.runs if run.record.divergence]

    @property
    def lengths(self) -> list[int]:
        """All lengths that a run was tested at."""
        return sorted({score.length for run in self.runs for score in run.record.evaluations})

    def points(self, run: RunFile, measure: Measure) -> tuple[tuple[int, float], ...]:
        """Returns length and accuracy of a run, by length; none if it diverged and was not tested."""
        return tuple(sorted((score.length, score.accuracy(measure)) for score in run.record.evaluations))

    def counted(self, run: RunFile, measure: Measure) -> tuple[tuple[int, float], ...]:
        """Returns the points of a run as they count: 0 wherever the others were tested, if it diverged."""
        if run.record.divergence:
            return tuple((length, 0.0) for length in self.lengths)
        return self.points(run, measure)

    def summary(self, length: int, measure: Measure) -> SeedSummary | None:
        """Returns the scores of all seeds at a length, None if no run was tested there."""
        values = [y for run in self.runs for x, y in self.counted(run, measure) if x == length]
        if not values:
            return None
        return SeedSummary(median=median(values), low=min(values), high=max(values), seeds=len(values))

    def mastering(self, length: int, measure: Measure, threshold: float) -> int:
        """Returns how many runs pass the tests of a length and of all shorter ones, without a wrong word."""
        return sum(run.status(measure=measure, threshold=threshold).passes(length) for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGroup:
    """All runs on one task.

    Attributes:
        name: of the task.
        settings: of the task, all of them.
        models: by label.
        measure: the accuracy that is shown.
        threshold: from which a length counts as mastered.
    """

    name: str
    settings: Mapping[str, Any]
    models: tuple[ModelGroup, ...]
    measure: Measure
    threshold: float

    @property
    def title(self) -> str:
        """The name of the task, with the language that it is about."""
        return task_title(self.name, self.settings)

    @property
    def trained(self) -> tuple[int, int] | None:
        """The shortest and the longest length of training, None if the settings do not say."""
        short, long = self.settings.get("shortest"), self.settings.get("longest")
        return (short, long) if isinstance(short, int) and isinstance(long, int) else None

    @property
    def lengths(self) -> list[int]:
        """All lengths that were tested."""
        return sorted({length for model in self.models for length in model.lengths})


def task_title(name: str, settings: Mapping[str, Any]) -> str:
    """Returns the name of a task, with the language that it is about."""
    about = settings.get("language") or settings.get("monoid")
    return f"{name} · {about}" if isinstance(about, str) else name


def group_runs(runs: Sequence[RunFile], *, measure: Measure | None = None) -> list[TaskGroup]:
    """Returns the runs by task, in the order of the titles.

    Args:
        runs: all runs.
        measure: the accuracy to show; by default the one by which the first run of a task was judged.
    """
    tasks: dict[str, list[RunFile]] = {}
    for run in runs:
        tasks.setdefault(_canonical(to_mapping(run.record.complete.task)), []).append(run)
    return sorted((_task_group(group, measure) for group in tasks.values()), key=lambda task: task.title)


def _task_group(runs: Sequence[RunFile], measure: Measure | None) -> TaskGroup:
    first = runs[0].record
    models = [
        ModelGroup(label=label, runs=tuple(runs[place] for place in places))
        for label, places in labelled_groups([run.record for run in runs])
    ]
    return TaskGroup(
        name=first.complete.task.name,
        settings=first.complete.task.settings,
        # The names of folders are hashes, whose order means nothing.
        models=tuple(sorted(models, key=lambda model: model.label)),
        measure=measure or first.measure,
        threshold=first.threshold,
    )


RESULT_KEYS = (
    "key",
    "parameters",
    "steps",
    "samples",
    "stopped",
    "divergence",
    "measure",
    "threshold",
    "first_failing_length",
    "extrapolates_to",
    "axes",
    "examination",
    "cpu_seconds",
)
"""What the JSON object of a run takes over from its result."""


LIST_HEADINGS = ("run", "task", "model", "seed", "steps", "", "status")


def run_item(result: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Returns a run as the command line prints it: by task, architecture, seed and length.

    The folder is None for a run that has none.
    """
    return {
        **_named(result.get("spec") or {}, result),
        **{name: result.get(name) for name in RESULT_KEYS},
        "status": "done",
        "lengths": {str(score["length"]): score for score in result.get("evaluations") or ()},
        "folder": None if folder is None else str(folder),
        "settled": None if (settled := settled_run(folder)) is None else settled.to_json(),
    }


def settled_run(folder: Path | None) -> Settlement | None:
    """Returns the stored settlement of a run; None if there is none, or none about its weights.

    Lists do not replay it: `nerode verify RUN` and `nerode report --language` do.
    """
    try:
        return None if folder is None else read_settlement(folder)
    except FormatError:
        return None


def _of_test(settled: Settlement) -> str:
    """The test that a run fails, where it is none of the words that its task asks about."""
    return f" ({settled.words})" if settled.method == "examination" else ""


def _named(spec: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns task, architecture and seed of a run; None where it does not have them."""
    return {
        "task": _inside(spec, "task", "name"),
        "architecture": result.get("title"),
        "seed": _inside(spec, "run", "seed"),
    }


def list_row(
    name: str, spec: Mapping[str, Any], result: Mapping[str, Any], settled: Settlement | None = None
) -> tuple[str, ...]:
    """Returns a finished run as cells: folder, task, model, seed, steps, stop and status."""
    scores = result.get("evaluations")
    lengths = [_inside(score, "length") for score in (scores if isinstance(scores, list) else ())]
    failing = result.get("first_failing_length")
    status = status_of_tests(
        [length for length in lengths if isinstance(length, int)],
        failing if isinstance(failing, int) else None,
        settled,
    )
    return (
        name,
        *("" if value is None else str(value) for value in _named(spec, result).values()),
        f"{result['steps']:,}" if isinstance(result.get("steps"), int) else "",
        {"divergence": "diverged", "threshold": "done, learnt"}.get(str(result.get("stopped")), "done"),
        status.cell,
    )


def _inside(table: Mapping[str, Any], *names: str) -> Any:
    place: Any = table
    for name in names:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place
