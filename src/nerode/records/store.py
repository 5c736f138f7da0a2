"""The run store: one folder per run, there whole or not at all; outlines of its runs, and pruning.

    <first 16 digits of the key>/
        spec.json          the spec as it was written
        environment.json   versions and machine
        metrics.jsonl      one measurement per line
        result.json        the outcome of the run, with its whole key
        …                  what the run itself wrote (model/)
    .work/<the same digits>/
        scratch/           survives when the run is stopped: its checkpoint
        failure.json       the message of the last failure
        lease-N.json       the process that has the run, where several share the store
        attempt-…/         a folder in the making
    .damaged/              folders that could not be read, set aside
    .index.jsonl           outlines for quick lists; the folders are the truth

`train`, `sweep` and `reproduce` share the store. Outlines are kept in one
file, and read again from every folder that changed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import (
    Disk,
    FormatError,
    InputError,
    claim_folder,
    decode_text,
    from_mapping,
    parse_json,
    read_bytes,
    read_json,
    read_text,
    to_mapping,
)
from nerode.records.lock import GUARD, LOCK, locked, require_no_workers
from nerode.records.run_record import RUN_FORMAT, RunRecord

SPEC = "spec.json"
ENVIRONMENT = "environment.json"
METRICS = "metrics.jsonl"
RESULT = "result.json"
FAILURE = "failure.json"
WORK = ".work"
DAMAGED = ".damaged"

_NAME = re.compile(r"[0-9a-f]{16}\Z")
_KEY = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """The outcome of a run of any kind; files of its own it has written into its folder.

    Attributes:
        result: plain values.
        environment: versions and machine.
        metrics: measurements on the way.
    """

    result: dict[str, Any]
    environment: dict[str, Any]
    metrics: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """A run under way.

    Attributes:
        key: of the run.
        out: the folder in the making, new and empty.
        scratch: a folder that the next attempt will find again if this one is stopped.
    """

    key: str
    out: Path
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """The failure of a run: its key, the message and the stack trace."""

    key: str
    message: str
    trace: str


class RunStore:
    """A folder of runs.

    Args:
        root: the folder.
        disk: the file system.
    """

    def __init__(self, root: Path, *, disk: Disk | None = None) -> None:
        self.root = root
        self.disk = disk or Disk()

    def create(self) -> None:
        """Makes the folder if it is not there.

        Raises:
            InputError: if it cannot be made.
        """
        try:
            self.disk.make_folder(self.root)
        except OSError as error:
            raise InputError(f"cannot make {self.root}: {error.strerror}; choose another place") from None

    def require_writable(self) -> None:
        """Raises InputError if the folder, or the one that it would be made in, cannot be written to."""
        there = next(place for place in (self.root, *self.root.absolute().parents) if place.exists())
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            raise InputError(f"cannot write {self.root}: {error.strerror}; choose another place") from None

    def folder(self, key: str) -> Path:
        """Returns where the finished run of this key is."""
        return self.root / run_name(key)

    def work(self, key: str) -> Path:
        """Returns where the run of this key is while it is under way."""
        return self.root / WORK / run_name(key)

    def names(self) -> list[str]:
        """Returns the names of the folders of finished runs, in order.

        Raises:
            InputError: if there is no store.
        """
        try:
            with os.scandir(self.root) as entries:
                return sorted(e.name for e in entries if _NAME.match(e.name) and e.is_dir())
        except OSError as error:
            raise InputError(f"there is no folder of runs at {self.root}: {error.strerror}") from None

    def is_done(self, key: str) -> bool:
        """Returns whether there is a finished run of this key that can be read.

        Raises:
            InputError: if another run has its place.
        """
        folder = self.folder(key)
        try:
            found = read_key(folder)
        except FormatError:
            return False
        if found != key:
            raise InputError(f"{folder} holds the run {found}; this is {key}. Choose another place")
        return True

    def begin(self, key: str) -> RunAttempt:
        """Begins a run, or goes on with it."""
        work = self.work(key)
        attempt = RunAttempt(key=key, out=work / f"attempt-{uuid.uuid4().hex}", scratch=work / "scratch")
        self.disk.make_folder(attempt.scratch)
        self.disk.make_folder(attempt.out)
        return attempt

    def publish(self, attempt: RunAttempt, spec: dict[str, Any], output: RunOutput) -> None:
        """Makes the run of an attempt appear as finished. If it was published meanwhile, that one stays.

        Raises:
            OSError: if the disk failed; the run then counts as finished only if all of it was written.
        """
        out, folder = attempt.out, self.folder(attempt.key)
        metrics = "".join(_line(row) for row in output.metrics)
        for name, text in (
            (SPEC, _text(spec)),
            (ENVIRONMENT, _text(output.environment)),
            (METRICS, metrics),
            (RESULT, _text({**output.result, "key": attempt.key})),
        ):
            self.disk.write(out / name, text.encode())
        self._sync_tree(out)
        try:
            self.disk.rename(out, folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            if not self.is_done(attempt.key):
                self.set_aside(folder)
                self.disk.rename(out, folder)
        self.disk.sync(self.root)
        self.clear_work(attempt.key)

    def clear_work(self, key: str) -> None:
        """Removes the work on a run that is done; a process that was killed may have left it."""
        # The run is safe; what is left of an attempt is only in the way.
        with suppress(OSError):
            self.disk.remove(self.work(key))

    def abandon(self, attempt: RunAttempt) -> None:
        """Removes what an attempt wrote, but for its scratch."""
        with suppress(OSError):
            self.disk.remove(attempt.out)

    def discard(self, attempt: RunAttempt) -> None:
        """Removes what an attempt wrote, and the folders around it that are empty then."""
        self.abandon(attempt)
        with suppress(OSError):
            for folder in (attempt.scratch, self.work(attempt.key), self.root / WORK, self.root):
                folder.rmdir()

    def clear_attempts(self, *, but: Collection[str] = ()) -> None:
        """Removes what killed attempts and finished runs have left. Only for who holds the lock.

        Args:
            but: the keys of runs that go on without a driver.
        """
        done, going_on = set(self.names()), {run_name(key) for key in but}
        left = [path for path in (self.root / WORK).glob("*") if path.name in done]
        for path in (*left, *(self.root / WORK).glob("*/attempt-*")):
            if path.parent.name not in going_on:
                with suppress(OSError):
                    self.disk.remove(path)

    def set_aside(self, folder: Path) -> Path:
        """Moves a folder that cannot be read out of the way, and returns where it is now."""
        place = self.root / DAMAGED / f"{folder.name}-{uuid.uuid4().hex[:8]}"
        self.disk.make_folder(place.parent)
        self.disk.rename(folder, place)
        return place

    def clear_attempts_of(self, key: str) -> None:
        """Removes what killed attempts at one run have left. Only for who holds its lease."""
        for path in self.work(key).glob("attempt-*"):
            with suppress(OSError):
                self.disk.remove(path)

    def note_failure(self, failure: RunFailure) -> None:
        """Keeps the failure of a run."""
        self.disk.make_folder(self.work(failure.key))
        self.disk.replace(self.work(failure.key) / FAILURE, _text(to_mapping(failure)).encode())

    def failures(self) -> list[RunFailure]:
        """Returns the failures of runs that have not succeeded since."""
        found = [_read_failure(path) for path in sorted((self.root / WORK).glob(f"*/{FAILURE}"))]
        return [failure for failure in found if not self.is_done(failure.key)]

    def unfinished(self) -> list[str]:
        """Returns the names of runs that were begun and are not finished, in order."""
        names = {path.name for path in (self.root / WORK).glob("*") if _NAME.match(path.name)}
        return sorted(names - set(self.names()))

    def _sync_tree(self, top: Path) -> None:
        for folder, _, files in os.walk(top, topdown=False):
            for name in sorted(files):
                self.disk.sync(Path(folder, name))
            self.disk.sync(Path(folder))


def claim_store(root: Path, *, force: bool = False) -> None:
    """Refuses a folder for runs that holds other things, before any work is done; runs may lie deeper in it.

    Raises:
        InputError: as `claim_folder`.
    """
    holds = (WORK, DAMAGED, *(f"{deeper}{RESULT}" for deeper in ("*/", "*/*/", "*/*/*/")))
    # A sweep that is killed early leaves its lock, and perhaps the file that was to become it.
    claim_folder(
        root,
        holds=holds,
        form=RUN_FORMAT,
        of="runs of nerode",
        force=force,
        ignored=(LOCK, GUARD, f".{'[0-9a-f]' * 32}.new"),
    )


def run_name(key: str) -> str:
    """Returns the name of the folder of a run: the first 16 digits of its key."""
    if not _KEY.match(key):
        raise InputError(f"the run key {key!r} is not a SHA-256 hash; it has to be 64 hexadecimal digits")
    return key[:16]


def read_key(folder: Path) -> str:
    """Returns the whole key of a finished run.

    Raises:
        FormatError: if the folder is not that of a finished run.
    """
    return str(read_result(folder)["key"])


def read_result(folder: Path) -> dict[str, Any]:
    """Returns the outcome of a finished run of any kind, with its `key`.

    Raises:
        FormatError: if the folder is not that of a finished run.
    """
    result = _read_object(folder / RESULT)
    key = result.get("key")
    if not isinstance(key, str) or not _KEY.match(key):
        raise FormatError("does not say which run it is of: it has no key", path=folder / RESULT)
    return result


def read_spec(folder: Path) -> dict[str, Any]:
    """Returns the spec of a finished run as it was written, or raises FormatError."""
    return _read_object(folder / SPEC)


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Returns the measurements of a finished run, or raises FormatError."""
    path = folder / METRICS
    text = decode_text(read_bytes(path), path=path)
    lines = enumerate(text.split("\n"), start=1)
    return [parse_json(line, path=path, line=number) for number, line in lines if line]


def read_run(folder: Path | str) -> RunRecord:
    """Returns the record of a finished training run.

    Raises:
        FormatError: if a file is missing or damaged, or if it is a run of another kind.
    """
    folder = Path(folder)
    result = _read_object(folder / RESULT)
    return RunRecord.from_json({**result, "history": read_metrics(folder)}, path=str(folder / RESULT))


def _read_failure(path: Path) -> RunFailure:
    try:
        return from_mapping(RunFailure, _read_object(path))
    except InputError as error:
        raise FormatError(str(error), path=path) from None


def _read_object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise FormatError("is not a JSON object", path=path)
    return found


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


INDEX = ".index.jsonl"
_MAX_BYTES = 1 << 30
"""Largest index that is read; without one the list is only slower."""

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
        lines = read_text(path, max_bytes=_MAX_BYTES).splitlines()
    except FormatError:
        return {}
    rows = {}
    for line in lines:
        try:
            name, signature, key, spec, result = json.loads(line)
            rows[name] = (signature, RunOutline(name=name, key=key, spec=spec, result=result))
        except (ValueError, TypeError, RecursionError):
            continue
    return rows


LAST = "last"
"""The name of the run that ended last."""

_PREFIX = re.compile(r"[0-9a-f]{2,64}\Z")


def find_run(place: Path) -> Path:
    """Returns the folder of a run that is named by the beginning of its key, or as "last".

    `dcb9` is looked for in `runs` and the folders of runs in it, `some/folder/dcb9` in that folder. A path
    that exists, or that names no run, is returned as it is.

    Raises:
        InputError: if several runs begin so, or if the last one is asked for and there is none.
    """
    last = place.name == LAST
    if not (last or _PREFIX.match(place.name)) or place.exists():
        return place
    root = place.parent if place.parent != Path() else Path("runs")
    found = [path.parent for depth in ("*", "*/*") for path in root.glob(f"{depth}/{RESULT}")]
    if last:
        if not found:
            raise InputError(f"there is no finished run in {root}; `nerode train` makes some")
        return max(found, key=lambda folder: (folder / RESULT).stat().st_mtime_ns)
    matching = sorted(folder for folder in found if folder.name.startswith(place.name[:16]))
    if len({folder.name for folder in matching}) > 1:
        names = ", ".join(str(folder) for folder in matching[:5])
        raise InputError(f"{len(matching)} runs begin with {place.name!r}: {names}; give more of the key")
    return matching[0] if matching else place


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
        require_no_workers(store.root)
        for folder in folders:
            # Out of the way in one step, so that nobody ever reads half of a run.
            grave = store.root / WORK / f"removed-{folder.name}"
            store.disk.make_folder(grave.parent)
            store.disk.remove(grave)
            store.disk.rename(folder, grave)
            store.disk.remove(grave)
        list_runs(store)
