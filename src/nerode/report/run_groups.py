"""Runs that belong together: one task, and in it one model with all its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nerode.report.run_files import RunFile
from nerode.report.run_labels import canonical, labelled_groups


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
