"""Finished runs for other programs: CSV, JSON lines, TensorBoard, Weights & Biases.

Rows of CSV and JSON lines have the same columns throughout. The viewers are optional.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from nerode.core import load_extra
from nerode.records import RunOutline, RunStore, read_metrics


def flat_rows(runs: Sequence[RunOutline]) -> list[dict[str, Any]]:
    """Returns one row for each run and tested length, all with the same columns in the same order.

    A run without scores by length has one row. Tables become columns with dotted names, lists become JSON
    text, and what a run does not have is None. Damaged runs are left out.
    """
    rows = [row for run in runs if not run.damage for row in _rows(run)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as CSV with a heading."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["key"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def to_json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as JSON, one object per line."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def flatten(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields plain values by dotted name; lists as JSON text."""
    for name, value in table.items():
        place = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping):
            yield from flatten(value, place)
        elif isinstance(value, list):
            yield place, json.dumps(value, ensure_ascii=False)
        else:
            yield place, value


def _rows(run: RunOutline) -> Iterator[dict[str, Any]]:
    result = dict(run.result)
    scores = result.pop("evaluations", None) or [{}]
    shared = {"key": run.key, **dict(flatten(run.spec, "spec")), **dict(flatten(result, "result"))}
    for score in scores:
        yield {**shared, **dict(flatten(score, "score"))}


class Tracker(Protocol):
    """An open run of a viewer, to which measurements are added."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Adds the measurements of one step."""
        ...

    def close(self, summary: Mapping[str, Any]) -> None:
        """Ends the run, with what it found."""
        ...


class _TensorBoard:
    """A folder of TensorBoard events."""

    def __init__(self, out: Path, name: str, config: Mapping[str, Any], *, live: bool) -> None:
        load_extra("tensorboard")
        self._writer = load_extra("torch.utils.tensorboard").SummaryWriter(str(out / name))
        self._live = live

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        if self._live:
            self._writer.flush()

    def close(self, summary: Mapping[str, Any]) -> None:
        self._writer.close()


class _WeightsAndBiases:
    """A run of Weights & Biases: offline when it is exported, as the user has configured it when live."""

    def __init__(self, out: Path, name: str, config: Mapping[str, Any], *, live: bool) -> None:
        wandb = load_extra("wandb")
        out.mkdir(parents=True, exist_ok=True)
        more = {"reinit": "create_new"} if live else {"mode": "offline"}
        self._run = wandb.init(
            dir=str(out), project="nerode", id=name, name=name, config=dict(config), **more
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self, summary: Mapping[str, Any]) -> None:
        self._run.summary.update(dict(flatten(summary)))
        self._run.finish()


_VIEWERS: dict[str, Callable[..., Tracker]] = {"tensorboard": _TensorBoard, "wandb": _WeightsAndBiases}
TRACKERS = tuple(_VIEWERS)
"""The viewers by name."""


def open_tracker(viewer: str, out: Path, name: str, config: Mapping[str, Any], *, live: bool) -> Tracker:
    """Returns an open run of a viewer.

    Args:
        viewer: one of TRACKERS.
        out: the folder that the viewer reads.
        name: of the run.
        config: its settings.
        live: whether it is watched while it is written.

    Raises:
        MissingExtra: if the viewer is not installed.
    """
    return _VIEWERS[viewer](out, name, config, live=live)


def export_run(viewer: str, store: RunStore, run: RunOutline, out: Path) -> None:
    """Writes a finished run for a viewer into `out`; for Weights & Biases `wandb sync` sends it on."""
    tracker = open_tracker(viewer, out, run.name, run.spec, live=False)
    try:
        for step, values in _measurements(store, run):
            tracker.log(step, values)
    finally:
        tracker.close(run.result)


def _measurements(store: RunStore, run: RunOutline) -> Iterator[tuple[int, dict[str, float]]]:
    """The numbers of each measurement by dotted name, with its step."""
    for number, row in enumerate(read_metrics(store.root / run.name), start=1):
        values = dict(_numbers(row))
        yield int(values.pop("step", number)), values


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in flatten(row):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
