"""Results of training by language and architecture, and the verdicts on what was trained."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from nerode.core import Budget, NerodeError, Reference, UnknownName, read_json, read_json_lines
from nerode.languages import Language, resolve_language
from nerode.languages.groups import finite_monoid
from nerode.records import (
    MARKS,
    RESULT,
    RunRecord,
    TableResult,
    VerdictSummary,
)
from nerode.study.check import check_language
from nerode.study.runs import ModelGroup, TaskGroup, group_runs, read_run_file
from nerode.verdict import (
    Architecture,
    Sense,
    Status,
    Verdict,
    VerdictTable,
    VerdictTask,
    decide,
    declaration_trouble,
    find_architecture,
)

_LANGUAGES = {
    "parity": ("parity", VerdictTask.RECOGNISE),
    "even-pairs": ("even-pairs", VerdictTask.RECOGNISE),
    "flip-flop": ("flip-flop", VerdictTask.PREDICT),
}
"""Tasks about one language."""

_LANGUAGE_TASKS = {
    "language-recognition": VerdictTask.RECOGNISE,
    "language-prediction": VerdictTask.PREDICT,
    "language-next-token": VerdictTask.PREDICT,
}
"""Tasks that name their language in their settings."""

_SECONDS = 20.0
"""Time limit of a verdict on a run."""

_SECONDS_PER_LINE = 60.0
"""Time limit of the verdict on a line of a reproduced table."""


def summarise_verdict(language: str, architecture: str) -> VerdictSummary | None:
    """Returns the verdict at finite precision, None if no language or no architecture is named."""
    if not language or not architecture:
        return None
    table = _table(language, architecture)
    found = table[architecture, Sense.FINITE_PRECISION]
    return _summary(found, robust=table[architecture, Sense.ROBUST].status.value)


@functools.lru_cache(maxsize=512)
def _table(language: str, architecture: str) -> VerdictTable:
    return decide(
        resolve_language(language),
        architectures=[architecture],
        task=VerdictTask.PREDICT,
        budget=Budget(seconds=_SECONDS_PER_LINE),
    )


def _summary(verdict: Verdict, *, robust: str = "") -> VerdictSummary:
    reference = "" if verdict.reference is None else str(verdict.reference)
    return VerdictSummary(
        status=verdict.status.value, reason=verdict.reason, reference=reference, robust=robust
    )


class TheoryOfRuns:
    """The verdicts for the models of one task; all are open if nothing is known of the task."""

    def __init__(self, task: TaskGroup, *, sense: Sense = Sense.FINITE_PRECISION) -> None:
        self.sense = sense
        self.language, self.task = _language_of_task(task)
        self._known: dict[str, VerdictTable] = {}

    def of(self, model: ModelGroup) -> VerdictSummary | None:
        """Returns the verdict for a model; None if its architecture or its task is not one of theory.

        The verdict for an own model whose weights contradict its declaration is open, and says so. That a
        "yes" is none for η-finite systems, where states are disturbed, is told behind its reason.
        """
        record = model.runs[0].record
        if record.theory and (trouble := declaration_trouble(record.theory, record.transitions)):
            return VerdictSummary(status="open", reason=trouble)
        verdict = self.verdict(model)
        if verdict is None:
            return None
        robust = self._known[verdict.architecture][verdict.architecture, Sense.ROBUST]
        found = _summary(verdict, robust=robust.status.value)
        if (verdict.status, robust.status) != (Status.YES, Status.NO) or self.sense is Sense.ROBUST:
            return found
        cited = "" if robust.reference is None else f" [{robust.reference}]"
        less = f"not as an η-finite system, under noise: {robust.reason}{cited}"
        return replace(found, reason=f"{found.reason}; {less}")

    def verdict(self, model: ModelGroup) -> Verdict | None:
        """Returns the whole verdict.

        A stack of different layers can do what one of them can; what none of them can alone is not known of
        the stack.
        """
        rows = architectures_of(model.runs[0].record)
        if self.language is None or not rows:
            return None
        try:
            found = [self._verdict(row) for row in rows]
        except NerodeError:
            return None
        if len(found) == 1:
            return found[0]
        return next((verdict for verdict in found if verdict.status is Status.YES), None)

    def _verdict(self, row: Architecture) -> Verdict:
        assert self.language is not None
        if row.name not in self._known:
            self._known[row.name] = decide(
                self.language, architectures=[row.name], task=self.task, budget=Budget(seconds=_SECONDS)
            )
        return self._known[row.name][row.name, self.sense]


def architectures_of(record: RunRecord) -> list[Architecture]:
    """Returns the rows of theory for the layers of a model, each once; none if one of them has no row.

    The row of an own model is the one that it is declared to be of, unless its weights say otherwise.
    """
    if record.theory:
        trouble = declaration_trouble(record.theory, record.transitions)
        return [] if trouble else [find_architecture(record.theory)]
    layers = record.complete.model.get("layers")
    if not isinstance(layers, list):
        return []
    found: dict[str, Architecture] = {}
    for layer in layers:
        try:
            row = find_architecture(str(_layer_name(layer)))
        except UnknownName:
            return []
        found[row.name] = row
    return list(found.values())


def _layer_name(layer: Any) -> str | None:
    """The architecture of a layer of a spec; None if it has no name."""
    if not isinstance(layer, Mapping) or not isinstance(layer.get("name"), str):
        return layer if isinstance(layer, str) else None
    name: str = layer["name"]
    settings = layer.get("settings")
    signed = isinstance(settings, Mapping) and settings.get("signed") is True
    return f"{name}-signed" if signed and not name.endswith("-signed") else name


def works_of(task: TaskGroup, theory: TheoryOfRuns) -> list[Reference]:
    """Returns the works behind the architectures and the verdicts of a task, each once."""
    found: dict[Reference, None] = {}
    for model in task.models:
        found |= dict.fromkeys(row.reference for row in architectures_of(model.runs[0].record))
        verdict = theory.verdict(model)
        if verdict is not None and verdict.reference is not None:
            found[verdict.reference] = None
    return list(found)


def verdict_of_task(task: str, settings: Mapping[str, Any], architecture: str) -> Verdict | None:
    """Returns the verdict at finite precision on a task, with the smallest known size; None without theory.

    Args:
        task: its name.
        settings: all of its settings.
        architecture: of one kind of layers.
    """
    name, asked = _language_name(task, settings)
    if name is None:
        return None
    try:
        row = find_architecture(architecture).name
        budget = Budget(seconds=_SECONDS)
        table = check_language(resolve_language(name), architectures=[row], task=asked, budget=budget).table
    except (NerodeError, OSError):
        return None
    return table[row]


def _language_of_task(task: TaskGroup) -> tuple[Language | None, VerdictTask]:
    name, asked = _language_name(task.name, task.settings)
    if name is None:
        return None, asked
    try:
        return resolve_language(name), asked
    except (NerodeError, OSError):
        return None, asked


def _language_name(task: str, settings: Mapping[str, Any]) -> tuple[str | None, VerdictTask]:
    if task in _LANGUAGES:
        return _LANGUAGES[task]
    name = settings.get("language")
    if task in _LANGUAGE_TASKS and isinstance(name, str):
        return name, _LANGUAGE_TASKS[task]
    if task == "state-tracking" and settings.get("letters") == "elements" and settings.get("tokens") == 1:
        # Over all elements of a group, who can say when the product is 1 can say which element it is.
        monoid = str(settings.get("monoid"))
        return (monoid if _is_group(monoid) else None), VerdictTask.RECOGNISE
    return None, VerdictTask.PREDICT


def _is_group(name: str) -> bool:
    try:
        return finite_monoid(name).is_group
    except NerodeError:
        return False


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
        statuses: of the runs, each with its mark first; none where they were not stored.
    """

    language: str
    architecture: str
    model: str
    points: tuple[Point, ...]
    seeds: int
    threshold: float
    source: str
    statuses: tuple[str, ...] = ()

    @property
    def generalises(self) -> bool:
        """Whether the median seed passes the longest tests and at most half of the seeds are refuted."""
        return self.points[-1].median >= self.threshold and 2 * self._count("refuted") <= self.seeds

    @property
    def learned(self) -> bool:
        """Whether the median seed masters the lengths of training."""
        return self.points[0].median >= self.threshold

    @property
    def status(self) -> str:
        """The status of the trained networks: "proved" (one of them), "refuted" or "tested".

        Those that fail at a tested length are refuted by that.
        """
        if self._count("proved"):
            return "proved"
        refuted = self.statuses and self._count("refuted") == len(self.statuses)
        return "refuted" if refuted or not self.generalises else "tested"

    def _count(self, kind: str) -> int:
        return sum(status.startswith(MARKS[kind]) for status in self.statuses)


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
    return [*found, *_settled_outcomes(folder / "settled" / "results.jsonl")]


_SETTLED_COMMAND = "python -m benchmarks settled"
_LONGEST_TRAINED = 40
"""Longest training length of the settled studies; their rows give multiples of it."""


def _settled_outcomes(path: Path) -> list[TrainingOutcome]:
    """Outcomes of training through exact gates and beside it; none if there is no such file."""
    if not path.is_file():
        return []
    groups: dict[tuple[str, str, str, int], list[Mapping[str, Any]]] = {}
    for row in read_json_lines(path):
        language = _TASKS_OF_A_LANGUAGE.get(row["task"], row["task"].removeprefix("predict-"))
        part = row.get("part", "exact")
        groups.setdefault((language, row["architecture"], part, row["layers"]), []).append(row)
    return [
        TrainingOutcome(
            language=language,
            architecture=name,
            model=f"{name}, {layers} {'layer' if layers == 1 else 'layers'}"
            + (", trained through exact gates" if part == "exact" else ""),
            points=tuple(
                _point(f"{int(times) * _LONGEST_TRAINED:,}", [row["accuracy"][times] for row in rows])
                for times in rows[0]["accuracy"]
            ),
            seeds=len(rows),
            threshold=1.0,
            source=_SETTLED_COMMAND,
            statuses=tuple(map(_settled_status, rows)),
        )
        for (language, name, part, layers), rows in groups.items()
    ]


def _settled_status(row: Mapping[str, Any]) -> str:
    status = row.get("status") or ("proved" if row.get("proved") else "unsettled")
    detail = {"proved": "every length", "unsettled": row.get("reason", "")}.get(status, "")
    word = row.get("word")
    return " ".join(filter(None, (MARKS[status], detail, " ".join(word[:24]) if word else "")))


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
                statuses=line.ends,
            )


def read_runs(folder: Path) -> list[TrainingOutcome]:
    """Returns what the runs of a folder found about languages; runs that differ in the seed go together.

    A run that diverged was not tested; it counts as 0 wherever the others were. A model of which no run was
    tested has no numbers and is left out.

    Raises:
        FormatError: for a file that cannot be read.
    """
    paths = sorted(folder.glob(f"*/{RESULT}"))
    runs = [read_run_file(path.parent) for path in paths if _is_training(read_json(path))]
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
        statuses=model.statuses,
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


READINGS = {
    "beyond": "No weights are correct at every length, yet these pass all tests. Longer words will fail.",
    "forgets": "Correct weights exist. Training found weights that fail on some words.",
    "unlearned": "Correct weights exist. Training did not find them in its steps.",
}
"""Kinds of disagreement, each with its meaning."""


def declared_verdicts(
    trained: Iterable[TrainingOutcome], languages: Iterable[str], sense: Sense
) -> dict[tuple[str, str], str]:
    """Returns what theory says of trained models that declare a class, by language and class.

    Named architectures are left out: a page that shows them has their verdicts.
    """
    names = {name.lower() for name in languages}
    pairs = {(item.language, item.architecture) for item in trained if item.language in names}
    found = {}
    for language, architecture in sorted(pairs):
        try:
            row = find_architecture(architecture)
        except UnknownName:
            continue
        if row.is_class:
            table = decide(resolve_language(language), architectures=[row.name])
            found[language, architecture] = table[row.name, sense].status.value
    return found


def find_disagreements(
    trained: Iterable[TrainingOutcome], verdicts: Mapping[tuple[str, str], str]
) -> list[Disagreement]:
    """Returns the models that surprise: those beyond theory first, then by how far accuracy falls.

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
            found.append(Disagreement(trained=item, verdict=verdict, kind=kind, reading=READINGS[kind]))
    order = list(READINGS)
    return sorted(
        found, key=lambda d: (order.index(d.kind), d.trained.points[-1].median - d.trained.points[0].median)
    )
