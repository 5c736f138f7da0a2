"""Which process is meant, on which machine, and whether it still lives. No clock is asked."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told apart from a later one that got the same number.

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
