"""Leases: the right of one process to one run, so that several drivers can share a folder of runs.

A lease is a file `lease-N.json` in the work folder of its run. Number N is made exclusively, in one step on
a shared file system, too. Who finds that the process of N is gone makes N + 1; of several who try, one
succeeds. Whether a process on this machine lives is asked of the system. One on another machine is taken for
gone when its lease has not been renewed for a while, by the clock of who waits: clocks need not agree.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nerode.core import InputError, to_mapping
from nerode.records.lock import LOCK, current_owner, read_owner

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
