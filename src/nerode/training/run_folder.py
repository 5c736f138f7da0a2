"""A run on disk: a folder that is there whole or not at all.

    spec.json          the spec as it was written
    environment.json   versions and machine
    metrics.jsonl      one validation a line
    result.json        all else that the run found
    model/             the trained model; absent after divergence

While a run is under way, its checkpoint is in `.work` beside the folders of finished runs.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import nn

from nerode.core import FormatError, InputError, write_atomically
from nerode.models import Model, save_model
from nerode.training.loop import Watch, train
from nerode.training.model_spec import Build
from nerode.training.record import RunRecord
from nerode.training.spec import TrainSpec

SPEC = "spec.json"
ENVIRONMENT = "environment.json"
METRICS = "metrics.jsonl"
RESULT = "result.json"
MODEL = "model"
WEIGHTS = "weights.safetensors"
"""The weights of a model of the user's own, inside MODEL; those of the zoo have a config beside them."""

CHECKPOINT = "checkpoint.safetensors"
WORK = ".work"


def folder_name(key: str) -> str:
    """Returns what the folder of a run is called."""
    return key[:16]


def write_run(folder: Path, record: RunRecord, model: nn.Module | None) -> None:
    """Publishes a run: a reader sees the whole folder or none.

    If the same run is there already, it stays.

    Args:
        folder: the new folder.
        record: what the run found.
        model: the trained model; None to keep none.

    Raises:
        InputError: if the folder holds something else, or cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}; choose another place") from None
    try:
        _fill(temporary, record, model)
        _publish(temporary, folder, record.key)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _fill(folder: Path, record: RunRecord, model: nn.Module | None) -> None:
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)
    data = record.to_json()
    history = data.pop("history")
    write_atomically(folder / SPEC, _text(record.spec))
    write_atomically(folder / ENVIRONMENT, _text(record.environment))
    write_atomically(folder / METRICS, "".join(_line(row) for row in history))
    write_atomically(folder / RESULT, _text(data))
    if model is not None:
        write_model(folder / MODEL, model)
        _flush(folder / MODEL)
    _flush(folder)


def write_model(folder: Path, model: nn.Module) -> None:
    """Writes a trained model: one of the zoo with its config, the weights alone of one of the user's own."""
    if isinstance(model, Model):
        save_model(folder, model)
        return
    weights = {name: v.detach().clone().contiguous() for name, v in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, save(weights))


def _publish(temporary: Path, folder: Path, key: str) -> None:
    try:
        os.rename(temporary, folder)
    except OSError as error:
        if not folder.exists():
            raise InputError(f"cannot write {folder}: {error.strerror}; choose another place") from None
        # Another process was faster with the same run, which then has the same content.
        if not (folder / RESULT).exists() or read_run(folder).key != key:
            raise InputError(f"{folder} holds something else; choose another place") from None
        return
    _flush(folder.parent)


def read_run(folder: Path) -> RunRecord:
    """Returns what a run found, from its folder.

    Raises:
        FormatError: if a file is missing or is not what it claims to be.
    """
    data = _read_json(folder / RESULT)
    lines = _read_text(folder / METRICS).splitlines()
    try:
        history = [json.loads(line) for line in lines]
    except ValueError as error:
        raise FormatError(f"is not JSON: {error}", path=folder / METRICS) from None
    if isinstance(data, dict):
        data["history"] = history
    return RunRecord.from_json(data, path=str(folder / RESULT))


def run_in(
    out: Path,
    spec: TrainSpec,
    *,
    build: Build | None = None,
    watch: Watch | None = None,
    checkpoint_every: float = 30.0,
) -> RunRecord:
    """Returns what a run found: from its folder in `out` if it was done before, by training it otherwise.

    A run that was stopped goes on from its last checkpoint.

    Args:
        out: where the folders of runs are.
        spec: all that the run depends on.
        build: makes a model of the user's own.
        watch: is told how the run gets on.
        checkpoint_every: seconds between two checkpoints.
    """
    folder = out / folder_name(spec.key)
    if (folder / RESULT).exists():
        record = read_run(folder)
        if record.key != spec.key:
            raise InputError(f"{folder} holds another run; choose another place")
        # The same run may have been written in another way, under another name.
        return replace(record, title=spec.model.title)
    work = out / WORK / folder.name
    # Before the run, whose work would be lost otherwise.
    require_writable(out)
    record, model = train(
        spec, build=build, checkpoint=work / CHECKPOINT, checkpoint_every=checkpoint_every, watch=watch
    )
    write_run(folder, record, None if record.divergence else model)
    shutil.rmtree(work, ignore_errors=True)
    return record


def require_writable(folder: Path) -> None:
    """Raises InputError if a folder, or the one that it would be made in, cannot be written to."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}; choose another place") from None


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_read_text(path))
    except ValueError as error:
        raise FormatError(f"is not JSON: {error}", path=path) from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8 text", path=path) from None
