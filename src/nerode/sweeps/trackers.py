"""Finished runs for the viewers that people have: TensorBoard and Weights & Biases. Both are optional."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nerode.core import InputError
from nerode.sweeps.export import flatten
from nerode.sweeps.index import Outline
from nerode.sweeps.store import RunStore, read_metrics

Tracker = Callable[[RunStore, Outline, Path], None]


def export_tensorboard(store: RunStore, run: Outline, out: Path) -> None:
    """Writes the measurements of a run as TensorBoard events into a folder of `out`."""
    _require("tensorboard", package="tensorboard", extra="tensorboard")
    module = _require("torch.utils.tensorboard", package="torch", extra="torch")
    writer = module.SummaryWriter(str(out / run.name))
    try:
        for step, values in _measurements(store, run):
            for name, value in values.items():
                writer.add_scalar(name, value, step)
    finally:
        writer.close()


def export_wandb(store: RunStore, run: Outline, out: Path) -> None:
    """Writes a run as an offline run of Weights & Biases into `out`; `wandb sync` sends it on."""
    wandb = _require("wandb", package="wandb", extra="wandb")
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


def _measurements(store: RunStore, run: Outline) -> Iterator[tuple[int, dict[str, float]]]:
    """The numbers of each measurement by dotted name, with its step."""
    for number, row in enumerate(read_metrics(store.root / run.name), start=1):
        values = dict(_numbers(row))
        yield int(values.pop("step", number)), values


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in flatten(row):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value


def _require(module: str, *, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise InputError(
            f"{package} is not installed; install it with: pip install 'nerode[{extra}]'"
        ) from None
