"""Runs from their folders, as plain values: nothing here needs torch."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError
from nerode.records import RESULT, RunStore, read_metrics, read_result
from nerode.report.training_runs import MEASURES

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
