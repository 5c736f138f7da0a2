"""Training specs from tables, TOML files and `--set a.b=c`; the complete spec and the key of a run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nerode.core import FormatError, InputError
from nerode.records import CompleteSpec, TrainSpec
from nerode.tasks import build_task, complete_task, resolve_task, task_file_hashes
from nerode.training.model_building import complete_model, model_file_hashes


def make_spec(tables: Mapping[str, Any]) -> TrainSpec:
    """Returns the spec that tables describe, its task checked.

    Raises:
        InputError: if a setting does not fit; UnknownName if there is no such task or setting.
    """
    spec = TrainSpec.from_mapping(tables)
    resolve_task(spec.task)
    return spec


def tested_lengths(spec: TrainSpec) -> tuple[int, ...]:
    """Returns the lengths to test, in order: the spec's, or the task's, or multiples of the longest."""
    kind, _ = resolve_task(spec.task)
    task = build_task(spec.task)
    longest = task.training_lengths[1]
    chosen = (
        spec.run.test_lengths
        or task.test_lengths
        or kind.test_lengths
        or tuple(longest * k for k in (1, 2, 4, 8))
    )
    return tuple(sorted(set(chosen)))


def complete_spec(spec: TrainSpec) -> CompleteSpec:
    """Returns the spec with all defaults written out.

    A default that is written and one that is not give the same complete spec.
    """
    return CompleteSpec(
        task=complete_task(spec.task),
        model=complete_model(spec.model, build_task(spec.task)),
        optimiser=spec.optimiser,
        run=replace(spec.run, test_lengths=tested_lengths(spec)),
        files={**task_file_hashes(spec.task), **model_file_hashes(spec.model)},
    )


def run_key(spec: TrainSpec) -> str:
    """Returns the hash of the complete spec: the name of the run."""
    return complete_spec(spec).key


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the tables of a TOML file.

    Raises:
        FormatError: if it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise FormatError("is not UTF-8 text", path=path) from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"is not TOML: {error}", path=path) from None


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Returns nested tables for texts like "optimiser.rate=1e-3".

    What stands behind the sign is read as a TOML value (numbers, lists, true, tables), and as plain text if
    it is none.

    Raises:
        InputError: for a text without a name or a sign, or for names that contradict each other.
    """
    tables: dict[str, Any] = {}
    for text in assignments:
        name, sign, value = text.partition("=")
        parts = [part.strip() for part in name.split(".")]
        if not sign or not all(parts):
            raise InputError(f"{text!r} does not set anything; write it like optimiser.rate=1e-3")
        place = tables
        for part in parts[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise InputError(f"{text!r} sets a part of {part}, which another setting made a plain value")
        place[parts[-1]] = _value(value.strip())
    return tables


def merge(base: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables joined, later ones over earlier ones, table by table."""
    joined = dict(base)
    for other in others:
        for name, value in other.items():
            before = joined.get(name)
            both = isinstance(before, Mapping) and isinstance(value, Mapping)
            joined[name] = merge(before, value) if both else value  # type: ignore[arg-type]
    return joined


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
