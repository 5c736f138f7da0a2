"""One driver at a time on one store: a lock file that names its owner."""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nerode.core import InputError, from_mapping, to_mapping
from nerode.sweeps.disk import Disk
from nerode.sweeps.owner import Owner, current_owner

LOCK = ".lock"
GUARD = ".lock-guard"


@contextmanager
def locked(root: Path, *, disk: Disk | None = None) -> Iterator[None]:
    """Holds the lock of a store. That of a process which died is taken over.

    Raises:
        InputError: if another driver has it, or may have it on another machine.
    """
    disk = disk or Disk()
    path, mark = root / LOCK, uuid.uuid4().hex
    try:
        with _guarded(root):
            _refuse_if_taken(path)
            content = json.dumps({"owner": to_mapping(current_owner()), "mark": mark}) + "\n"
            # Written beside it and renamed: the lock of a dead owner is replaced in one step.
            disk.replace(path, content.encode())
    except OSError as error:
        _release(root, mark)
        raise InputError(
            f"cannot lock {root}: {error.strerror}; choose a folder that can be written"
        ) from None
    try:
        yield
    finally:
        _release(root, mark)


def _release(root: Path, mark: str) -> None:
    """Removes the lock if it is still the one with this mark."""
    # A lock that stays behind on a broken disk names an owner that will soon be dead.
    with suppress(OSError), _guarded(root):
        if _mark(root / LOCK) == mark:
            (root / LOCK).unlink()


def _refuse_if_taken(path: Path) -> None:
    owner = read_owner(path)
    if owner is None or owner.life == "dead":
        return
    if owner.life == "alive":
        raise InputError(
            f"{path.parent} is in use by process {owner.pid}; wait for it, or end it, and run again"
        )
    raise InputError(
        f"{path.parent} is in use by process {owner.pid} on {owner.host}, which cannot be seen from here; "
        f"if it has ended, delete {path} and run again"
    )


def read_owner(path: Path) -> Owner | None:
    """Returns who holds a lock file; None if there is none, or it names nobody."""
    try:
        return from_mapping(Owner, json.loads(path.read_text(encoding="utf-8"))["owner"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        # A lock file appears whole, so one that names nobody was not written by a driver.
        return None


def _mark(path: Path) -> str | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get("mark") if isinstance(found, dict) else None


@contextmanager
def _guarded(root: Path) -> Iterator[None]:
    """Keeps two processes from looking at the lock file and changing it at the same time."""
    handle = os.open(root / GUARD, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
