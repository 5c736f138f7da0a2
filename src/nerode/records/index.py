"""Outlines of the finished runs of a store, and pruning.

Outlines are kept in one file, and read again from every folder that changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import FormatError
from nerode.records.lock import locked
from nerode.records.store import DAMAGED, RESULT, SPEC, WORK, RunStore, read_result, read_spec, run_name

INDEX = ".index.jsonl"

_LONG = ("history", "spec", "complete", "environment", "key")
"""Keys that an outline leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutline:
    """A finished run in short.

    Attributes:
        name: of its folder.
        key: of the run; empty if the folder is damaged.
        spec: what it was asked for.
        result: what it found, without the long parts.
        damage: why it cannot be read; empty if it can.
    """

    name: str
    key: str
    spec: dict[str, Any]
    result: dict[str, Any]
    damage: str = ""


def list_runs(store: RunStore) -> list[RunOutline]:
    """Returns the outlines of all finished runs, by name. The index is brought up to date if it can be.

    Raises:
        InputError: if there is no store.
    """
    known = _read_index(store.root / INDEX)
    rows: dict[str, tuple[str, RunOutline]] = {}
    fresh = 0
    for name in store.names():
        signature = _signature(os.path.join(store.root, name))
        row = known.get(name)
        if row is None or row[0] != signature:
            row = (signature, _outline(store.root / name))
            fresh += 1
        rows[name] = row
    if fresh or len(rows) != len(known):
        # Without the index the list is only slower: a store that cannot be written can still be read.
        with suppress(OSError):
            store.disk.replace(store.root / INDEX, _index_content(rows))
    return [outline for _, outline in rows.values()]


def _signature(folder: str) -> str:
    """A text that changes when one of the files does."""
    parts = []
    for name in (RESULT, SPEC):
        try:
            found = os.stat(f"{folder}/{name}")
            parts.append(f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}")
        except OSError:
            parts.append("none")
    return " ".join(parts)


def _outline(folder: Path) -> RunOutline:
    try:
        result = read_result(folder)
        short = {name: value for name, value in result.items() if name not in _LONG}
        # As it was understood, where the result says so: with all its defaults.
        spec = result.get("spec") or read_spec(folder)
        return RunOutline(name=folder.name, key=result["key"], spec=spec, result=short)
    except FormatError as error:
        return RunOutline(name=folder.name, key="", spec={}, result={}, damage=str(error))


def _index_content(rows: dict[str, tuple[str, RunOutline]]) -> bytes:
    lines = []
    for signature, outline in rows.values():
        # What is damaged is looked at again each time.
        if not outline.damage:
            row = [outline.name, signature, outline.key, outline.spec, outline.result]
            lines.append(json.dumps(row))
    return ("\n".join(lines) + "\n").encode()


def _read_index(path: Path) -> dict[str, tuple[str, RunOutline]]:
    """The rows of the index; those that are not what they should be are left out, to be read again."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    rows = {}
    for line in lines:
        try:
            name, signature, key, spec, result = json.loads(line)
            rows[name] = (signature, RunOutline(name=name, key=key, spec=spec, result=result))
        except (ValueError, TypeError):
            continue
    return rows


def removable(store: RunStore, *, keep: Collection[str] | None = None) -> list[Path]:
    """Returns the folders that are no finished run: left by runs that were stopped or failed, or damaged.

    Args:
        store: the store.
        keep: keys of the runs to keep; all others are removable as well. None keeps all that are finished.
    """
    found = [store.root / WORK / name for name in store.unfinished()]
    found += sorted((store.root / DAMAGED).glob("*"))
    names = None if keep is None else {run_name(key) for key in keep}
    for run in list_runs(store):
        if run.damage or (names is not None and run.name not in names):
            found.append(store.root / run.name)
    return found


def prune(store: RunStore, folders: Collection[Path]) -> None:
    """Removes folders.

    Raises:
        InputError: if a driver is at work in the store.
    """
    with locked(store.root):
        for folder in folders:
            # Out of the way in one step, so that nobody ever reads half of a run.
            grave = store.root / WORK / f"removed-{folder.name}"
            store.disk.make_folder(grave.parent)
            store.disk.remove(grave)
            store.disk.rename(folder, grave)
            store.disk.remove(grave)
        list_runs(store)
