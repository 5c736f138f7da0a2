"""Requests of the page, each in a process of its own that is killed when it takes too much.

The processes come from the fork server of `multiprocessing`, which imports everything once (`preloaded`). A
process that runs out of time or memory harms nothing but itself, and the next one starts in milliseconds. A
pool of `concurrent.futures` would lose all its requests with one that is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
from dataclasses import dataclass, field, fields
from multiprocessing.connection import Connection
from typing import Any

from nerode.core import InputError


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


_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
"""For the fork server; with the last one it reads no code from the folder that the user happens to be in."""

_START_SECONDS = 60.0
"""For the fork server to import everything; a cold disk and a busy machine are slow."""

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


@dataclass
class Workers:
    """Answers to requests, each computed in a process of its own.

    Attributes:
        limits: of each request.
    """

    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["nerode.explorer.preloaded"])
        self._free = asyncio.Semaphore(self.limits.together)
        self._waiting = 0
        self._started: asyncio.Task[None] | None = None

    async def warm(self) -> None:
        """Returns when the fork server can be copied: at once, but for the first requests of a server."""
        if self._started is None:
            self._started = asyncio.create_task(asyncio.to_thread(self._start))
        await asyncio.shield(self._started)

    def _start(self) -> None:
        before = {name: os.environ.get(name) for name in _ENVIRONMENT}
        os.environ.update(_ENVIRONMENT)
        try:
            process = self._context.Process(target=int, daemon=True)
            process.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        process.join()

    async def run(self, job: str, payload: dict[str, Any]) -> bytes:
        """Returns the answer to a request as JSON.

        Args:
            job: what to do, a name of `jobs.JOBS`.
            payload: about what.

        Raises:
            RequestRefused: if it takes too long or too much memory, or if too many others wait.
        """
        if self._waiting >= self.limits.waiting:
            raise RequestRefused(503, "busy", "too many requests wait; try again in a moment")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        try:
            await self._ready()
            begun = loop.time()
            async with asyncio.timeout(self.limits.patience):
                await self._free.acquire()
        except TimeoutError:
            raise _busy() from None
        finally:
            self._waiting -= 1
        try:
            return await self._run(job, payload, max(0.5, self.limits.seconds - (loop.time() - begun)))
        finally:
            self._free.release()

    async def _ready(self) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self.warm()
        except TimeoutError:
            raise RequestRefused(
                503, "busy", "the computing process is still starting; try again in a moment"
            ) from None

    async def _run(self, job: str, payload: dict[str, Any], seconds: float) -> bytes:
        limits = self.limits
        bounds = {"seconds": seconds, "cpu_seconds": limits.cpu_seconds, "memory": limits.memory}
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_compute, args=(sender, job, payload, bounds), daemon=True)

        def start() -> None:
            with sender:
                process.start()

        try:
            await asyncio.to_thread(start)
            return await asyncio.to_thread(_read, receiver, seconds + _GRACE, limits.answer)
        except EOFError:
            raise (_too_long(limits) if seconds > limits.seconds - _GRACE else _busy()) from None
        finally:
            # The process of a page that has gone away ends, too.
            if process.pid is not None:
                process.kill()


def _compute(sender: Connection, job: str, payload: dict[str, Any], bounds: dict[str, Any]) -> None:
    """Answers one request, in a process of its own."""
    from nerode.explorer.jobs import answer, set_limits

    set_limits(**bounds)
    with contextlib.suppress(BrokenPipeError):
        sender.send_bytes(answer(job, payload))


def _read(receiver: Connection, seconds: float, most: int) -> bytes:
    """The answer; EOFError if there is none in time, or if the process has ended without one."""
    with receiver:
        if not receiver.poll(seconds):
            raise EOFError
        try:
            return receiver.recv_bytes(most)
        except OSError:
            message = f"the answer is larger than {most:,} bytes; ask for less"
            raise RequestRefused(200, "budget", message) from None


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
