"""Verdicts on what was trained: of a named language and architecture, and of the tasks and models of runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from nerode.core import Budget, NerodeError, Reference, UnknownName
from nerode.languages import Language, resolve_language
from nerode.languages.groups import finite_monoid
from nerode.records import RunRecord, VerdictSummary
from nerode.study.runs import ModelGroup, TaskGroup
from nerode.verdict import (
    Architecture,
    Sense,
    Status,
    Verdict,
    VerdictTable,
    VerdictTask,
    decide,
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
        self.language, self.task = _language(task)
        self._known: dict[str, Verdict] = {}

    def of(self, model: ModelGroup) -> VerdictSummary | None:
        """Returns the verdict for a model; None if its architecture or its task is not one of theory."""
        verdict = self.verdict(model)
        return None if verdict is None else _summary(verdict)

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
            table = decide(
                self.language, architectures=[row.name], task=self.task, budget=Budget(seconds=_SECONDS)
            )
            self._known[row.name] = table[row.name, self.sense]
        return self._known[row.name]


def architectures_of(record: RunRecord) -> list[Architecture]:
    """Returns the rows of theory for the layers of a model, each once; none if one of them has no row."""
    layers = record.complete.model.get("layers")
    if not isinstance(layers, list):
        return []
    found: dict[str, Architecture] = {}
    for layer in layers:
        name = str(layer.get("name"))
        if layer.get("settings", {}).get("signed") is True and not name.endswith("-signed"):
            name += "-signed"
        try:
            row = find_architecture(name)
        except UnknownName:
            return []
        found[row.name] = row
    return list(found.values())


def works_of(task: TaskGroup, theory: TheoryOfRuns) -> list[Reference]:
    """Returns the works behind the architectures and the verdicts of a task, each once."""
    found: dict[Reference, None] = {}
    for model in task.models:
        found |= dict.fromkeys(row.reference for row in architectures_of(model.runs[0].record))
        verdict = theory.verdict(model)
        if verdict is not None and verdict.reference is not None:
            found[verdict.reference] = None
    return list(found)


def _language(task: TaskGroup) -> tuple[Language | None, VerdictTask]:
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
