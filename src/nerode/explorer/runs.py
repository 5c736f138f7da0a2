"""The runs of the folder that the server was started with: a list that can be followed, and one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError, read_json
from nerode.explorer.orders import RunOrder, RunsOrder
from nerode.records import LOCK, RunStore, list_runs, read_metrics, read_owner, read_result
from nerode.study import name_run, run_item, task_title, theory_of_spec

_NAME = re.compile(r"[0-9a-f]{16}\Z")
_MAX_ANALYSIS_BYTES = 16_000_000
_MOST_HISTORY = 400
"""Validations that a curve shows."""


def list_all(order: RunsOrder) -> dict[str, Any]:
    """Returns the outlines of finished runs, what is under way, and whether a sweep is running."""
    root = _root(order.root)
    store = RunStore(root)
    found = list_runs(store)
    failures = {failure.key[:16]: failure.message for failure in store.failures()}
    owner = read_owner(root / LOCK)
    return {
        "root": root.name,
        "runs": [
            {
                **name_run(run.spec, run.result),
                "task": _task(run.spec),
                "name": run.name,
                "measure": run.result.get("measure"),
                "steps": run.result.get("steps"),
                "stopped": run.result.get("stopped"),
                "reaches": run.result.get("extrapolates_to"),
                "parameters": run.result.get("parameters"),
                "evaluations": run.result.get("evaluations") or [],
                "theory": _theory(run.spec),
            }
            for run in found
            if not run.damage
        ],
        "damaged": [run.name for run in found if run.damage],
        "unfinished": [{"name": name, "failure": failures.get(name, "")} for name in store.unfinished()],
        "running": owner is not None and owner.life == "alive",
    }


def _theory(spec: Mapping[str, Any]) -> dict[str, str] | None:
    """Status and reason of the verdict on a run; None if nothing is known of its task or its layers."""
    found = theory_of_spec(spec)
    return None if found is None else {"status": found.status, "reason": found.reason}


def _task(spec: Mapping[str, Any]) -> str | None:
    """The task with its language: runs on different languages are not drawn together."""
    task = spec.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("name"), str):
        return None
    settings = task.get("settings")
    return task_title(task["name"], settings if isinstance(settings, dict) else {})


def show(order: RunOrder) -> dict[str, Any]:
    """Returns what one run found, with its curves and what `nerode analyse` wrote, if it did.

    Raises:
        InputError: if there is no such run.
    """
    folder = run_folder(order)
    result = read_result(folder)
    history = read_metrics(folder)
    step = max(1, len(history) // _MOST_HISTORY)
    return {
        **run_item(result, Path(order.name)),
        "name": order.name,
        "spec": result.get("spec"),
        "history": [*history[:-1:step], *history[-1:]],
        "analysis": _analysis(folder / "analysis" / "analysis.json"),
    }


def run_folder(order: RunOrder) -> Path:
    """Returns where a run is, or raises InputError for a name that is none."""
    if not _NAME.match(order.name):
        raise InputError(f"{order.name[:40]!r} is not the name of a run; these have 16 hexadecimal digits")
    return _root(order.root) / order.name


def _root(given: str) -> Path:
    if not given:
        raise InputError("the page was started without runs; start `nerode explore --runs DIR`")
    return Path(given)


def _analysis(path: Path) -> Any:
    """The stored analysis; None if there is none or it cannot be read."""
    try:
        return read_json(path, max_bytes=_MAX_ANALYSIS_BYTES)
    except FormatError:
        return None
