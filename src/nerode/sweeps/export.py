"""Finished runs for other programs: CSV, JSON lines, TensorBoard, Weights & Biases.

Rows of CSV and JSON lines have the same columns throughout. The viewers are optional.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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


Tracker = Callable[[RunStore, RunOutline, Path], None]


def export_tensorboard(store: RunStore, run: RunOutline, out: Path) -> None:
    """Writes the measurements of a run as TensorBoard events into a folder of `out`."""
    load_extra("tensorboard")
    module = load_extra("torch.utils.tensorboard")
    writer = module.SummaryWriter(str(out / run.name))
    try:
        for step, values in _measurements(store, run):
            for name, value in values.items():
                writer.add_scalar(name, value, step)
    finally:
        writer.close()


def export_wandb(store: RunStore, run: RunOutline, out: Path) -> None:
    """Writes a run as an offline run of Weights & Biases into `out`; `wandb sync` sends it on."""
    wandb = load_extra("wandb")
    out.mkdir(parents=True, exist_ok=True)
    tracked = wandb.init(
        mode="offline", dir=str(out), project="nerode", id=run.name, name=run.name, config=run.spec
    )
    try:
        for step, values in _measurements(store, run):
            tracked.log(values, step=step)
        tracked.summary.update(dict(flatten(run.result)))
    finally:
        tracked.finish()


TRACKERS: dict[str, Tracker] = {"tensorboard": export_tensorboard, "wandb": export_wandb}


def _measurements(store: RunStore, run: RunOutline) -> Iterator[tuple[int, dict[str, float]]]:
    """The numbers of each measurement by dotted name, with its step."""
    for number, row in enumerate(read_metrics(store.root / run.name), start=1):
        values = dict(_numbers(row))
        yield int(values.pop("step", number)), values


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in flatten(row):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
