"""The lock of a run store: one driver at a time, and a lock file that names its owner.

Whether the owner still lives is asked of the system, never of a clock.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nerode.core import Disk, FormatError, InputError, from_mapping, read_json, to_mapping

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
    """Returns the owner of a lock file; None if there is none, or it names nobody."""
    try:
        return from_mapping(Owner, read_json(path)["owner"])
    except (ValueError, KeyError, TypeError):
        # A lock file appears whole, so one that names nobody was not written by a driver.
        return None


def _mark(path: Path) -> str | None:
    try:
        found = read_json(path)
    except FormatError:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process on a machine, distinct from a later one with the same number.

    Attributes:
        pid: its number.
        host: the machine.
        boot: the machine's present life.
        space: the container, as far as numbers of processes go.
        started: ticks from boot to its start.
    """

    pid: int
    host: str
    boot: str
    space: str
    started: str

    @property
    def life(self) -> Literal["alive", "dead", "unknown"]:
        """Whether the process lives; "unknown" for one that cannot be seen from here."""
        here = current_owner()
        if self.host != here.host:
            return "unknown"
        if self.boot != here.boot:
            return "dead"
        if self.space != here.space:
            return "unknown"
        return "alive" if _start(self.pid) == self.started else "dead"


def current_owner() -> Owner:
    """Returns this process."""
    pid = os.getpid()
    return Owner(
        pid=pid, host=socket.gethostname(), boot=_boot(), space=_space(), started=_start(pid) or "unknown"
    )


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"


def _start(pid: int) -> str | None:
    """Ticks from boot to the start of a process; None if there is none, or only its remains."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _start_without_proc(pid)
    except OSError:
        return None
    # The name of the program may hold blanks and brackets; what follows the last bracket does not.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _start_without_proc(pid: int) -> str | None:
    """The answer where there is no /proc: only whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "unknown"
