"""Runs that belong together: one task, and in it one model with all its seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nerode.report.lettering import shorten
from nerode.report.run_files import RunFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the seeds of a model found somewhere."""

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

    def points(self, run: RunFile, measure: str) -> tuple[tuple[int, float], ...]:
        """Returns length and accuracy of a run, by length."""
        return tuple(sorted((int(row["length"]), float(row[measure])) for row in run.result["evaluations"]))

    def summary(self, length: int, measure: str) -> Summary | None:
        """Returns the scores at a length, None if no run was tested there."""
        values = [y for run in self.runs for x, y in self.points(run, measure) if x == length]
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
        about = self.settings.get("language") or self.settings.get("monoid")
        return f"{self.name} · {about}" if isinstance(about, str) else self.name

    @property
    def trained(self) -> tuple[int, int] | None:
        """The shortest and the longest length of training, None if the settings do not say."""
        short, long = self.settings.get("shortest"), self.settings.get("longest")
        return (short, long) if isinstance(short, int) and isinstance(long, int) else None

    @property
    def lengths(self) -> list[int]:
        """All lengths that were tested."""
        runs = [run for model in self.models for run in model.runs]
        return sorted({int(row["length"]) for run in runs for row in run.result["evaluations"]})


def group_runs(runs: Sequence[RunFile], *, measure: str | None = None) -> list[TaskGroup]:
    """Returns the runs by task, in the order of the titles.

    Args:
        runs: all runs.
        measure: the accuracy to show; by default the one by which the first run of a task was judged.
    """
    tasks: dict[str, list[RunFile]] = {}
    for run in runs:
        tasks.setdefault(_canonical(run.result["complete"]["task"]), []).append(run)
    return sorted((_task_group(group, measure) for group in tasks.values()), key=lambda task: task.title)


def _task_group(runs: Sequence[RunFile], measure: str | None) -> TaskGroup:
    first = runs[0].result
    models: dict[str, list[RunFile]] = {}
    for run in runs:
        complete = run.result["complete"]
        own = {key: value for key, value in complete.items() if key != "run"}
        own["run"] = {key: value for key, value in complete["run"].items() if key != "seed"}
        models.setdefault(_canonical([run.result["title"], own]), []).append(run)
    labels = _labels([group[0] for group in models.values()])
    return TaskGroup(
        name=str(first["complete"]["task"]["name"]),
        settings=first["complete"]["task"]["settings"],
        # The names of folders are hashes, whose order says nothing.
        models=tuple(
            ModelGroup(label=label, runs=tuple(sorted(group, key=lambda run: run.seed)))
            for label, group in sorted(zip(labels, models.values(), strict=True), key=lambda pair: pair[0])
        ),
        measure=measure or str(first["measure"]),
        threshold=float(first["threshold"]),
    )


def _labels(runs: Sequence[RunFile]) -> list[str]:
    """The titles; where two are the same, with the settings in which their runs differ."""
    titles = [str(run.result["title"]) for run in runs]
    flat = [_flat(run.result["complete"]) for run in runs]
    labels = []
    for title, own in zip(titles, flat, strict=True):
        same = [other for name, other in zip(titles, flat, strict=True) if name == title]
        names = [key for key in own if key != ".run.seed" and _differ(same, key)]
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
    return len({_canonical(table.get(key)) for table in tables}) > 1


def _numbered(labels: Sequence[str]) -> list[str]:
    """The labels, the second of two equal ones with a number."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
