"""Finished runs from their folders, by task and model, with all seeds of a model together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from nerode.core import FormatError, InputError
from nerode.records import RESULT, RunStore, read_metrics, read_result
from nerode.study.words import shorten

MEASURES = {
    "token": "share of positions that are right",
    "sequence": "share of sequences that are right throughout",
    "final": "share of sequences whose last answer is right",
    "scaled": "share of positions that are right, a uniform guess at 0",
}

RUN_FORMAT = "nerode-run"
ANALYSIS_FORMAT = "nerode-analysis-1"
_ANALYSES = ("analysis/analysis.json", "analysis.json")
"""Where `nerode analyse` puts what it found, inside the folder of a run."""

_NEEDED = ("title", "complete", "spec", "evaluations", "measure", "threshold", "steps", "parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A finished run.

    Attributes:
        folder: where it is.
        result: what it found.
        history: its validations.
        analysis: what `nerode analyse` found of it; None if it was not asked.
    """

    folder: Path
    result: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    analysis: dict[str, Any] | None = None

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.result["complete"]["run"]["seed"])


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in the folders that is in no figure, and why."""

    path: str
    why: str


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
                run = _read_run(folder)
                found.setdefault(run.result["key"], run)
            except FormatError as error:
                left_out.append(LeftOut(path=str(folder), why=str(error)))
    if not found:
        named = ", ".join(map(str, places))
        why = f"; {left_out[0].path}: {left_out[0].why}" if left_out else ""
        raise InputError(
            f"there is no finished run in {named}{why}; `nerode train` and `nerode sweep` make them"
        )
    return list(found.values()), left_out


def _read_run(folder: Path) -> RunFile:
    path = folder / RESULT
    result = read_result(folder)
    if result.get("format") != RUN_FORMAT:
        raise FormatError("is not the record of a training run", path=path)
    missing = [name for name in _NEEDED if name not in result]
    if missing:
        raise FormatError(f"has no {', '.join(missing)}", path=path)
    run = RunFile(
        folder=folder,
        result=result,
        history=tuple(read_metrics(folder)),
        analysis=_read_analysis(folder),
    )
    _check(run, path)
    return run


def _check(run: RunFile, path: Path) -> None:
    """Looks at every value that a report uses, so that a damaged file is told apart from a bug."""
    result, history = run.result, run.history
    try:
        places = [int(row["length"]) for row in result["evaluations"]]
        steps = [int(row["step"]) for row in history]
        scores = [float(row[name]) for row in result["evaluations"] for name in MEASURES]
        scores += [float(row["validation"][name]) for row in history for name in MEASURES]
        scores += [float(row["loss"]) for row in history if row["loss"] is not None]
        scores += [run.seed, float(result["threshold"]), int(result["steps"]), int(result["parameters"])]
        task = result["complete"]["task"]
        texts = [task["name"], result["title"], result["measure"]]
        tables = [task["settings"], result["complete"]["run"], result["complete"]["model"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"is damaged: {type(error).__name__} {error}", path=path) from None
    if len(set(places)) < len(places) or len(set(steps)) < len(steps):
        raise FormatError("is damaged: a length or a step is there twice", path=path)
    if not all(map(math.isfinite, scores)):
        raise FormatError("is damaged: a number is not finite", path=path)
    if not all(isinstance(text, str) for text in texts) or result["measure"] not in MEASURES:
        raise FormatError("is damaged: task, title or measure is not what it should be", path=path)
    if not all(isinstance(table, dict) for table in tables):
        raise FormatError("is damaged: settings are not a table", path=path)


def _read_analysis(folder: Path) -> dict[str, Any] | None:
    for name in _ANALYSES:
        try:
            data = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(data, dict) and data.get("format") == ANALYSIS_FORMAT:
            return data
    return None


Result = Mapping[str, Any]


def labelled_groups(results: Sequence[Result]) -> list[tuple[str, list[int]]]:
    """Returns the models of runs, each with a name of its own and with the places of its runs, by seed.

    The name is the title of the model; where two models share it, with the settings in which they differ.
    """
    groups: dict[str, list[int]] = {}
    for place, result in enumerate(results):
        groups.setdefault(canonical([result["title"], _without_seed(_settings(result))]), []).append(place)
    labels = _labels([results[places[0]] for places in groups.values()])
    return [
        (label, sorted(places, key=lambda place: seed_of(results[place])))
        for label, places in zip(labels, groups.values(), strict=True)
    ]


def seed_of(result: Result) -> int:
    """Returns the seed of a run."""
    return int(_settings(result)["run"]["seed"])


def canonical(value: Any) -> str:
    """Returns a text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, default=str)


def _settings(result: Result) -> Mapping[str, Any]:
    """The spec with all defaults, where the result has it."""
    found: Mapping[str, Any] = result.get("complete") or result["spec"]
    return found


def _without_seed(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {**spec, "run": {name: value for name, value in spec["run"].items() if name != "seed"}}


def _labels(results: Sequence[Result]) -> list[str]:
    """The titles; where two are the same, with the settings in which their runs differ."""
    titles = [str(result["title"]) for result in results]
    flat = [_flat(_without_seed(_settings(result))) for result in results]
    labels = []
    for title, own in zip(titles, flat, strict=True):
        same = [other for name, other in zip(titles, flat, strict=True) if name == title]
        names = [key for key in own if _differ(same, key)]
        said = ", ".join(dict.fromkeys(f"{name.rpartition('.')[2]} {own[name]}" for name in names))
        labels.append(f"{title} · {shorten(said, 60)}" if said else title)
    return _numbered(labels)


def _flat(table: Any) -> dict[str, Any]:
    """Plain values by dotted name, those of lists by their places."""
    found: dict[str, Any] = {}
    todo = [("", table)]
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
    return len({canonical(table.get(key)) for table in tables}) > 1


def _numbered(labels: Sequence[str]) -> list[str]:
    """The labels, the second of two equal ones with a number."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
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
    def diverged(self) -> list[int]:
        """The seeds of the runs that diverged."""
        return [run.seed for run in self.runs if run.result.get("divergence")]

    @property
    def lengths(self) -> list[int]:
        """All lengths that a run was tested at."""
        return sorted({int(row["length"]) for run in self.runs for row in run.result["evaluations"]})

    def points(self, run: RunFile, measure: str) -> tuple[tuple[int, float], ...]:
        """Returns length and accuracy of a run, by length; none if it diverged and was not tested."""
        return tuple(sorted((int(row["length"]), float(row[measure])) for row in run.result["evaluations"]))

    def counted(self, run: RunFile, measure: str) -> tuple[tuple[int, float], ...]:
        """Returns the points of a run as they count: 0 wherever the others were tested, if it diverged."""
        if run.result.get("divergence"):
            return tuple((length, 0.0) for length in self.lengths)
        return self.points(run, measure)

    def summary(self, length: int, measure: str) -> Summary | None:
        """Returns the scores of all seeds at a length, None if no run was tested there."""
        values = [y for run in self.runs for x, y in self.counted(run, measure) if x == length]
        if not values:
            return None
        return Summary(median=median(values), low=min(values), high=max(values), seeds=len(values))

    def mastering(self, length: int, measure: str, threshold: float) -> int:
        """Returns how many runs master a length and all shorter ones that were tested."""
        return sum(
            any(x == length for x, _ in points) and all(y >= threshold for x, y in points if x <= length)
            for points in (self.points(run, measure) for run in self.runs)
        )


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
    measure: str
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


def group_runs(runs: Sequence[RunFile], *, measure: str | None = None) -> list[TaskGroup]:
    """Returns the runs by task, in the order of the titles.

    Args:
        runs: all runs.
        measure: the accuracy to show; by default the one by which the first run of a task was judged.
    """
    tasks: dict[str, list[RunFile]] = {}
    for run in runs:
        tasks.setdefault(canonical(run.result["complete"]["task"]), []).append(run)
    return sorted((_task_group(group, measure) for group in tasks.values()), key=lambda task: task.title)


def _task_group(runs: Sequence[RunFile], measure: str | None) -> TaskGroup:
    first = runs[0].result
    models = [
        ModelGroup(label=label, runs=tuple(runs[place] for place in places))
        for label, places in labelled_groups([run.result for run in runs])
    ]
    return TaskGroup(
        name=str(first["complete"]["task"]["name"]),
        settings=first["complete"]["task"]["settings"],
        # The names of folders are hashes, whose order says nothing.
        models=tuple(sorted(models, key=lambda model: model.label)),
        measure=measure or str(first["measure"]),
        threshold=float(first["threshold"]),
    )
