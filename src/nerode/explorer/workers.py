"""Processes for requests, as the server sees them: one each, copied from a template, killed when too slow.

The server holds one end of a control socket and sends, for each request, the end of a fresh socket pair.
`jobs` is the other side. A copy that runs out of time or memory cannot harm anything but itself, and the
next one is made in milliseconds.
"""

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

DONE = b"\n"
"""The last byte of a whole answer, which JSON on one line does not have; without it the answer was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on requests; all are above zero.

    Attributes:
        body: bytes of a request.
        body_seconds: from the first byte of a request to the last one of its body.
        answer: bytes of an answer.
        seconds: from the moment a request is there to its end, once the server has started; then its process
            is killed.
        cpu_seconds: processor time of a request, whole seconds.
        memory: bytes of address space of a request.
        together: requests that are computed at the same time; others wait.
        waiting: requests that may wait; more are refused.
        patience: seconds that a request may wait to be computed; then it is refused.
    """

    body: int = 8_000_000
    body_seconds: float = 5.0
    answer: int = 24_000_000
    seconds: float = 8.5
    cpu_seconds: int = 8
    memory: int = 3 << 30
    together: int = 4
    waiting: int = 32
    patience: float = 4.0

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not getattr(self, limit.name) > 0:
                raise InputError(
                    f"a limit of {getattr(self, limit.name)} {limit.name} is not positive; give more"
                )


_TEMPLATE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from nerode.explorer.jobs import main; main(sys.argv[1])"
)
"""Control-C ends the server, not its templates, even while they are being imported."""

_START_SECONDS = 60.0
"""For a template to import everything; a cold disk and a busy machine are slow."""

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
        self._ready: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when the process is ready; whoever gives up waiting leaves it to the others."""
        died = self._process is not None and self._process.poll() is not None
        if self._ready is None or (self._ready.done() and (died or self._ready.exception() is not None)):
            self.stop()
            self._ready = asyncio.create_task(self._start())
        await asyncio.shield(self._ready)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            # It reads no code from the folder that the user happens to be in.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _TEMPLATE, self.kind],
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
        if self._ready is not None:
            self._ready.cancel()
            self._ready = None
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
        template = self._templates["floats" if floats else "exact"]
        if self._waiting >= self.limits.waiting:
            raise RequestRefused(503, "busy", "too many requests wait; try again in a moment")
        self._waiting += 1
        try:
            await self._ready(template)
            begun = asyncio.get_running_loop().time()
            async with asyncio.timeout(self.limits.patience):
                await self._free.acquire()
        except TimeoutError:
            raise _busy() from None
        finally:
            self._waiting -= 1
        try:
            waited = asyncio.get_running_loop().time() - begun
            return await self._run(template, job, payload, waited)
        finally:
            self._free.release()

    async def _ready(self, template: TemplateProcess) -> None:
        """Returns when a template can be copied: at once, but for the first requests of a server."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await template.start()
        except TimeoutError:
            raise RequestRefused(
                503, "busy", "the computing process is still starting; try again in a moment"
            ) from None

    async def _run(
        self, template: TemplateProcess, job: str, payload: dict[str, Any], waited: float
    ) -> bytes:
        limits = self.limits
        seconds = max(0.5, limits.seconds - waited)
        connection = await template.connect()
        reader, writer = await asyncio.open_connection(sock=connection, limit=1 << 20)
        pid = 0
        try:
            async with asyncio.timeout(seconds + _GRACE):
                pid = int(await reader.readline() or 0)
                bounds = {
                    "seconds": seconds,
                    "cpu_seconds": limits.cpu_seconds,
                    "memory": limits.memory,
                }
                order = {"job": job, "payload": payload, "limits": bounds}
                writer.write(json.dumps(order).encode() + b"\n")
                answer = await _read_to_end(reader, limits.answer)
        except TimeoutError:
            raise (_too_long(limits) if seconds > limits.seconds - _GRACE else _busy()) from None
        except (ConnectionError, ValueError):
            raise RequestRefused(503, "busy", "the computing process went away; try again") from None
        finally:
            # Until the connection is closed on the other side the number belongs to that process.
            if pid and not reader.at_eof():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            writer.close()
        if not answer.endswith(DONE):
            raise _too_long(limits) if seconds > limits.seconds - _GRACE else _busy()
        return answer[: -len(DONE)]


def _busy() -> RequestRefused:
    return RequestRefused(
        503, "busy", "this machine is busy with other requests of the page; try again in a moment"
    )


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
