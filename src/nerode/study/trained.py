"""Results of training by language and architecture, from reproduced tables and from runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from nerode.core import UnknownName, read_json
from nerode.records import RESULT, TableResult, read_run
from nerode.study.runs import ModelGroup, RunFile, TaskGroup, group_runs
from nerode.study.theory import architectures_of
from nerode.verdict import find_architecture

REPRODUCTION = "nerode-reproduction"
RUN = "nerode-run"

_TASKS_OF_A_LANGUAGE = {"parity": "parity", "flip-flop": "flip-flop"}
"""Tasks about one language that is not in their settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Median and range over the seeds at one length.

    Attributes:
        label: a length, or what a paper calls a column.
        median: over the seeds.
        low: the worst seed.
        high: the best seed.
    """

    label: str
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOutcome:
    """The result of training one model on one language.

    Attributes:
        language: its name.
        architecture: name of the verdicts.
        model: what was trained.
        points: from lengths of training to the longest that was tested.
        seeds: how many runs.
        threshold: the share from which a length counts as mastered.
        source: the command or the folder that it comes from.
    """

    language: str
    architecture: str
    model: str
    points: tuple[Point, ...]
    seeds: int
    threshold: float
    source: str

    @property
    def generalises(self) -> bool:
        """Whether the median seed masters the longest length that was tested."""
        return self.points[-1].median >= self.threshold

    @property
    def learned(self) -> bool:
        """Whether the median seed masters the lengths of training."""
        return self.points[0].median >= self.threshold


def read_experiments(folder: Path) -> list[TrainingOutcome]:
    """Returns what the committed tables of experiments say about languages; none if there is no folder.

    Raises:
        FormatError: for a file that cannot be read.
    """
    found: list[TrainingOutcome] = []
    for path in sorted(folder.rglob("*.json")):
        data = read_json(path)
        if isinstance(data, dict) and data.get("format") == REPRODUCTION:
            found += _outcomes(TableResult.from_json(data, path=path))
    return found


def _outcomes(table: TableResult) -> Iterator[TrainingOutcome]:
    for line in table.lines:
        cells = [cell for cell in line.cells if cell.values]
        name = _architecture(line.architecture)
        if line.kind == "trained" and line.language and name and cells:
            yield TrainingOutcome(
                language=line.language.lower(),
                architecture=name,
                model=line.model,
                points=tuple(_point(cell.column, cell.values) for cell in cells),
                seeds=len(cells[0].values),
                threshold=table.threshold,
                source=table.command,
            )


def read_runs(folder: Path) -> list[TrainingOutcome]:
    """Returns what the runs of a folder found about languages; runs that differ in the seed go together.

    A run that diverged was not tested; it counts as 0 wherever the others were. A model of which no run was
    tested has no numbers and is left out.

    Raises:
        FormatError: for a file that cannot be read.
    """
    runs = [
        RunFile(folder=path.parent, record=read_run(path.parent))
        for path in sorted(folder.glob(f"*/{RESULT}"))
        if _is_training(read_json(path))
    ]
    found = [
        _outcome(task, model, folder) for task in group_runs(runs) if task.lengths for model in task.models
    ]
    return [item for item in found if item is not None]


def _is_training(data: object) -> bool:
    return isinstance(data, dict) and data.get("format") == RUN


def _outcome(task: TaskGroup, model: ModelGroup, folder: Path) -> TrainingOutcome | None:
    record = model.runs[0].record
    language, rows = _language(task.name, task.settings), architectures_of(record)
    if not language or len(rows) != 1 or not model.lengths:
        return None
    found = [(length, model.summary(length, record.measure)) for length in model.lengths]
    return TrainingOutcome(
        language=language,
        architecture=rows[0].name,
        model=record.title,
        points=tuple(
            Point(label=f"{length:,}", median=s.median, low=s.low, high=s.high)
            for length, s in found
            if s is not None
        ),
        seeds=len(model.runs),
        threshold=record.threshold,
        source=str(folder),
    )


def _language(task: str, settings: Mapping[str, Any]) -> str:
    name = settings.get("language") or _word_problem(settings) or _TASKS_OF_A_LANGUAGE.get(task, "")
    return str(name).lower()


def _word_problem(settings: Mapping[str, Any]) -> str:
    """The language that tells when the product is 1, where the letters are those of the task."""
    monoid = settings.get("monoid")
    if not monoid or settings.get("tokens", 1) != 1:
        return ""
    return {"elements": f"{monoid}", "generators": f"{monoid}-generators"}.get(
        settings.get("letters", ""), ""
    )


def _architecture(name: str) -> str | None:
    try:
        return find_architecture(name).name
    except UnknownName:
        return None


def _point(label: str, values: Iterable[float]) -> Point:
    found = list(values)
    return Point(label=label, median=median(found), low=min(found), high=max(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One model that does not do what theory says it can, or does what theory says it cannot.

    Attributes:
        trained: what was found.
        verdict: "yes" or "no".
        kind: "beyond" (theory says no, the longest tested length is correct), "forgets" (theory says yes,
            only the lengths of training are correct) or "unlearned" (theory says yes, not even those are).
        reading: what it means, in a sentence.
    """

    trained: TrainingOutcome
    verdict: str
    kind: str
    reading: str


_READINGS = {
    "beyond": "correct at the longest length tested, although no weights are correct at all: longer words "
    "will fail",
    "forgets": "weights that are correct at every length exist; training found others",
    "unlearned": "weights that are correct at every length exist; training did not find them in its steps",
}


def find_disagreements(
    trained: Iterable[TrainingOutcome], verdicts: Mapping[tuple[str, str], str]
) -> list[Disagreement]:
    """Returns the models that surprise, those beyond theory first.

    Args:
        trained: what training found.
        verdicts: "yes", "no" or "open" by language and architecture.
    """
    found = []
    for item in trained:
        verdict = verdicts.get((item.language, item.architecture), "open")
        kind = ""
        if verdict == "no" and item.generalises:
            kind = "beyond"
        elif verdict == "yes" and not item.generalises:
            kind = "forgets" if item.learned else "unlearned"
        if kind:
            found.append(Disagreement(trained=item, verdict=verdict, kind=kind, reading=_READINGS[kind]))
    order = list(_READINGS)
    return sorted(found, key=lambda d: order.index(d.kind))
