"""Processes for requests: one each, copied from a template, within limits, killed when it overstays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field, fields
from typing import Any

from nerode.core import InputError
from nerode.explorer.template_process import DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on requests; all are above zero.

    Attributes:
        body: bytes of a request.
        answer: bytes of an answer.
        seconds: from the moment a request is taken up to its end; then its process is killed.
        cpu_seconds: processor time of a request, whole seconds.
        memory: bytes of address space of a request.
        together: requests that are computed at the same time; others wait.
        waiting: requests that may wait; more are refused.
    """

    body: int = 8_000_000
    answer: int = 24_000_000
    seconds: float = 12.0
    cpu_seconds: int = 10
    memory: int = 3 << 30
    together: int = 4
    waiting: int = 32

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not getattr(self, limit.name) > 0:
                raise InputError(
                    f"a limit of {getattr(self, limit.name)} {limit.name} is not positive; give more"
                )


_GRACE = 1.0
"""Seconds between the alarm inside a process and its end by force from outside."""


class RequestRefused(Exception):
    """A request that was not answered: why, and with which HTTP status.

    What is wrong with the question itself has the status 200: it is an answer, which the page shows.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        self.status = status
        self.kind = kind
        super().__init__(message)


class TemplateProcess:
    """A process that is copied for each request; it is started on first use and again when it has died."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Returns when the process is ready."""
        async with self._starting:
            if self._process is not None and self._process.poll() is None:
                return
            self.stop()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            with theirs:
                # It reads no code from the folder that the user happens to be in.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "nerode.explorer.template_process", self.kind],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=environment,
                )
            self._control = ours
            if await asyncio.get_running_loop().sock_recv(ours, 1) != DONE:
                raise RequestRefused(500, "internal", "the computing process did not start")

    async def connect(self) -> socket.socket:
        """Returns a connection to a fresh copy."""
        await self.start()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        assert self._control is not None
        with theirs:
            try:
                socket.send_fds(self._control, [b"\0"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise RequestRefused(503, "busy", "the computing process is not there; try again") from None
        return ours

    def stop(self) -> None:
        """Ends the process; copies that are at work end by their own limits."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@dataclass
class Workers:
    """Answers to requests, each computed in a process of its own.

    Attributes:
        limits: of each request.
    """

    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._templates = {kind: TemplateProcess(kind) for kind in ("exact", "floats")}
        self._free = asyncio.Semaphore(self.limits.together)
        self._waiting = 0

    async def warm(self) -> None:
        """Starts the processes, the one that is needed first first."""
        for template in self._templates.values():
            with contextlib.suppress(RequestRefused):
                await template.start()

    def stop(self) -> None:
        """Ends the processes."""
        for template in self._templates.values():
            template.stop()

    async def run(self, job: str, payload: dict[str, Any], *, floats: bool = False) -> bytes:
        """Returns the answer to a request as JSON.

        Args:
            job: what to do, a name of `jobs.JOBS`.
            payload: about what.
            floats: whether it needs torch.

        Raises:
            RequestRefused: if it takes too long or too much memory, or if too many others wait.
        """
        if self._waiting >= self.limits.waiting:
            raise RequestRefused(503, "busy", "too many requests wait; try again in a moment")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._run(self._templates["floats" if floats else "exact"], job, payload)
        finally:
            self._free.release()

    async def _run(self, template: TemplateProcess, job: str, payload: dict[str, Any]) -> bytes:
        limits = self.limits
        connection = await template.connect()
        reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 20)
        pid = 0
        try:
            async with asyncio.timeout(limits.seconds + _GRACE):
                pid = int(await reader.readline() or 0)
                bounds = {
                    "seconds": limits.seconds,
                    "cpu_seconds": limits.cpu_seconds,
                    "memory": limits.memory,
                }
                order = {"job": job, "payload": payload, "limits": bounds}
                writer.write(json.dumps(order).encode() + b"\n")
                answer = await _read_to_end(reader, limits.answer)
        except TimeoutError:
            raise _too_long(limits) from None
        except (ConnectionError, ValueError):
            raise RequestRefused(503, "busy", "the computing process went away; try again") from None
        finally:
            # Until the connection is closed on the other side the number belongs to that process.
            if pid and not reader.at_eof():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            writer.close()
        if not answer.endswith(DONE):
            raise _too_long(limits)
        return answer[: -len(DONE)]


def _too_long(limits: Limits) -> RequestRefused:
    return RequestRefused(
        200,
        "budget",
        f"this took more than {limits.seconds:g} seconds, {limits.cpu_seconds} of them of the processor, or "
        f"more than {limits.memory >> 20:,} MB; it was stopped. The command line has no such limit",
    )


async def _read_to_end(reader: asyncio.StreamReader, most: int) -> bytes:
    parts, size = [], 0
    while part := await reader.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > most:
            raise RequestRefused(200, "budget", f"the answer is larger than {most:,} bytes; ask for less")
    return b"".join(parts)
