"""Finished runs in lists and as JSON objects, from the outlines of a store: runs of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


LIST_HEADINGS = ("run", "task", "model", "seed", "steps", "", "reaches")


def run_item(result: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Returns a run as the command line prints it: by task, architecture, seed and length.

    The folder is None for a run that has none.
    """
    return {
        **name_run(result.get("spec") or {}, result),
        **{name: result.get(name) for name in RESULT_KEYS},
        "status": "done",
        "lengths": {str(score["length"]): score for score in result.get("evaluations") or ()},
        "folder": None if folder is None else str(folder),
    }


def name_run(spec: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns task, architecture and seed of a run; None where it does not have them."""
    return {
        "task": _inside(spec, "task", "name"),
        "architecture": result.get("title"),
        "seed": _inside(spec, "run", "seed"),
    }


def list_row(name: str, spec: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns a finished run as cells: folder, task, model, seed, steps, how it ended, how far it reaches."""
    named = name_run(spec, result)
    reaches = result.get("extrapolates_to")
    return (
        name,
        *("" if value is None else str(value) for value in named.values()),
        f"{result['steps']:,}" if isinstance(result.get("steps"), int) else "",
        {"divergence": "diverged", "threshold": "done, learnt"}.get(str(result.get("stopped")), "done"),
        "–" if reaches is None else str(reaches),
    )


def _inside(table: Mapping[str, Any], *names: str) -> Any:
    place: Any = table
    for name in names:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place
