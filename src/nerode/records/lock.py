"""The lock of a run store, for one driver alone, and leases of its runs, for several that share it.

A lock file names its owner. Whether the owner still lives is asked of the system, never of a clock.

A lease is the right of one process to one run: a file `lease-N.json` in the work folder of its run. Number N
is made exclusively, in one step on a shared file system, too. Who finds that the process of N is gone makes
N + 1; of several who try, one succeeds. A process on another machine is taken for gone when its lease has not
been renewed for a while, by the clock of who waits: clocks need not agree.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import threading
import time
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


SECONDS_TO_RENEW = 10.0
"""Time between two renewals of a lease."""

PATIENCE = 90.0
"""Time without renewal after which a process on another machine is taken for gone."""

_NAME = re.compile(r"lease-(\d+)\.json\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The newest lease of a run.

    Attributes:
        work: the work folder of the run.
        number: how many leases there were, this one included.
    """

    work: Path
    number: int

    @property
    def path(self) -> Path:
        """The file of the lease."""
        return self.work / f"lease-{self.number}.json"

    @property
    def life(self) -> str:
        """Whether its process lives: "alive", "dead", or "unknown" for one that cannot be seen from here."""
        owner = read_owner(self.path)
        # A lease that names nobody yet is being written, or its writer died; time will tell.
        return "unknown" if owner is None else owner.life

    @property
    def beat(self) -> int:
        """A number that every renewal changes; 0 if the lease is gone."""
        try:
            return self.path.stat().st_mtime_ns
        except OSError:
            return 0


def newest_lease(work: Path) -> Lease | None:
    """Returns the lease of the run with this work folder; None if it has none."""
    try:
        names = os.listdir(work)
    except OSError:
        return None
    numbers = [int(found[1]) for name in names if (found := _NAME.match(name))]
    return Lease(work=work, number=max(numbers)) if numbers else None


def require_no_workers(root: Path) -> None:
    """Refuses a store on which workers are at work, for who holds its lock.

    Raises:
        InputError: if a run has a lease whose process lives, or may live on another machine.
    """
    for work in sorted({path.parent for path in (root / ".work").glob("*/lease-*.json")}):
        lease = newest_lease(work)
        owner = None if lease is None else read_owner(lease.path)
        if owner is None or owner.life == "dead":
            continue
        raise InputError(
            f"{root} is in use by a worker, process {owner.pid} on {owner.host}; join it with --worker, wait "
            f"for it, or, if it has ended, delete {work}/lease-*.json"
        )


def require_no_driver(root: Path) -> None:
    """Refuses a store that one driver has for itself, for a worker.

    Raises:
        InputError: if its driver lives, or may live on another machine.
    """
    owner = read_owner(root / LOCK)
    if owner is not None and owner.life != "dead":
        raise InputError(
            f"{root} is in use by process {owner.pid} on {owner.host}, which is no worker; wait for it, or "
            "end it and run it again with --worker"
        )


class LeaseWatch:
    """Observations of the leases of others, by one driver."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._seen: dict[Path, tuple[int, float]] = {}

    def is_gone(self, lease: Lease) -> bool:
        """Returns whether the process of a lease is gone."""
        life, beat, now = lease.life, lease.beat, time.monotonic()
        if life != "unknown":
            return life == "dead"
        before, since = self._seen.get(lease.path, (None, now))
        if before != beat:
            since = now
        self._seen[lease.path] = (beat, since)
        return now - since > self._patience


@contextmanager
def leased(work: Path, *, instead_of: int) -> Iterator[bool]:
    """Takes the lease of a run if nobody else has it, and yields whether it did.

    Args:
        work: the work folder of the run.
        instead_of: the number of the last lease, whose process is gone; 0 for none.
    """
    # A process of this machine that died meanwhile may be replaced, too.
    newest = newest_lease(work)
    if newest is not None and newest.number > instead_of and newest.life != "dead":
        yield False
        return
    mine = Lease(work=work, number=(0 if newest is None else newest.number) + 1)
    if not _make(mine):
        yield False
        return
    ended = threading.Event()
    renewal = threading.Thread(target=_renew, args=(mine, ended), daemon=True)
    renewal.start()
    try:
        yield True
    finally:
        ended.set()
        renewal.join()
        for number in range(1, mine.number + 1):
            with suppress(OSError):
                (work / f"lease-{number}.json").unlink()


def _make(lease: Lease) -> bool:
    """Makes the file of a lease, whole; returns whether it was not there."""
    new = lease.work / f"new-lease-{os.getpid()}-{threading.get_ident()}"
    try:
        lease.work.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps({"owner": to_mapping(current_owner())}) + "\n", encoding="utf-8")
        # A link is made in one step and never over another file; the lease appears with its content.
        os.link(new, lease.path)
    except (FileExistsError, FileNotFoundError):
        # Somebody was faster, or has finished the run and cleared its work folder away.
        return False
    finally:
        with suppress(OSError):
            new.unlink()
    return True


def _renew(lease: Lease, ended: threading.Event) -> None:
    while not ended.wait(SECONDS_TO_RENEW):
        with suppress(OSError):
            os.utime(lease.path)
