"""Sequences of any task as text or CSV, kept under the hash of what they are."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from nerode.core import InputError, stream, to_mapping, write_atomically
from nerode.records import TaskConfig
from nerode.tasks.table import build_task, complete_task, task_file_hashes
from nerode.tasks.task import SPLITS, Batch, Split, Task

Form = Literal["text", "csv"]

_COLUMNS = ("split", "length", "inputs", "targets", "mask")
_VERSION = 1
"""To be raised when the same spec gives another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSpec:
    """The specification of a file of sequences.

    Attributes:
        task: the task.
        split: which sequences.
        lengths: their lengths.
        count: how many of each length.
        seed: of the generator.
        form: "csv" with a header, or "text": the columns inputs, targets and mask separated by tabs.
    """

    task: TaskConfig
    split: Split = "train"
    lengths: tuple[int, ...]
    count: int
    seed: int = 0
    form: Form = "csv"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise InputError(f"split is {self.split!r}; allowed are {', '.join(SPLITS)}")
        if self.form not in ("text", "csv"):
            raise InputError(f"form is {self.form!r}; allowed are text, csv")
        if self.count < 1 or not self.lengths:
            raise InputError("there is nothing to export; give a length or more, and a count of 1 or more")

    @property
    def key(self) -> str:
        """The hash of the complete spec, every setting of the task written out."""
        content = {**to_mapping(self), "task": to_mapping(complete_task(self.task)), "version": _VERSION}
        files = task_file_hashes(self.task)
        text = json.dumps({**content, **({"files": files} if files else {})}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def export_sequences(spec: ExportSpec) -> str:
    """Returns the sequences as a text.

    Letters are written by their names if the task has names for them and by numbers otherwise; features as
    numbers. Values of a sequence are separated by spaces; several bits or features of one position by
    commas. The mask has a 1 for each position that counts.
    """
    task = build_task(spec.task)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    lines: list[str] = []
    if spec.form == "csv":
        writer.writerow(_COLUMNS)
    for length in spec.lengths:
        batch = task.draw(spec.split, length, spec.count, stream(spec.seed, "export", spec.split, length))
        for columns in _written(task, batch):
            if spec.form == "csv":
                writer.writerow((spec.split, length, *columns))
            else:
                lines.append("\t".join(columns) + "\n")
    return table.getvalue() if spec.form == "csv" else "".join(lines)


def cached_export(spec: ExportSpec, folder: Path) -> Path:
    """Returns the file of a spec in a folder; it is made if it is not there."""
    path = folder / f"{spec.task.name}-{spec.split}-{spec.key}.{'csv' if spec.form == 'csv' else 'txt'}"
    if not path.exists():
        write_atomically(path, export_sequences(spec))
    return path


def _written(task: Task, batch: Batch) -> Iterator[tuple[str, str, str]]:
    names = getattr(task, "alphabet", None)
    for inputs, targets, mask in zip(batch.inputs, batch.targets, batch.mask, strict=True):
        yield (
            _values(inputs, names if task.letters is not None else None),
            _values(targets),
            _values(mask),
        )


def _values(values: Tensor, names: tuple[str, ...] | None = None) -> str:
    return " ".join(_value(value, names) for value in values.tolist())


def _value(value: Any, names: tuple[str, ...] | None) -> str:
    if isinstance(value, list):
        return ",".join(_value(v, None) for v in value)
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    number = int(value)
    # Blanks and signals of a task may have no name.
    return names[number] if names is not None and number < len(names) else str(number)
