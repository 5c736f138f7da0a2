"""The worker pool: jobs in processes that die with their driver, for training, sweeps and the atlas.

When the standard input of a worker ends, the driver is gone or wants no more, and the worker ends at once, in
the middle of a job if need be.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from nerode.core.budget import charge_for, is_limited
from nerode.core.errors import InputError

Job = TypeVar("Job")
Result = TypeVar("Result")
Emit = Callable[[Any], None]
"""Sends an event from a job to the driver."""

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_SECONDS_TO_END = 10.0
_SECONDS_BETWEEN_LOOKS = 0.2
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LostJob:
    """The outcome of a job whose process died too often.

    Attributes:
        deaths: how often.
        status: exit status of the last process; minus the signal that killed it.
    """

    deaths: int
    status: int

    @property
    def message(self) -> str:
        """The reason in words."""
        how = f"signal {-self.status}" if self.status < 0 else f"exit status {self.status}"
        return f"its process died {self.deaths} times, last with {how}"


class WorkerPool(Generic[Job, Result]):
    """Processes of one thread each that carry out jobs.

    Args:
        function: what is done with a job; a function of a module, or a `functools.partial` of one. Its second
            argument sends events to the driver.
        processes: how many at once.
        retries: how often a job is begun again whose process died.

    Raises:
        InputError: if a number makes no sense.
    """

    def __init__(self, function: Callable[[Job, Emit], Result], *, processes: int, retries: int = 0) -> None:
        if processes < 1:
            raise InputError(f"the number of processes is {processes}; it has to be 1 or more")
        if retries < 0:
            raise InputError(f"the number of retries is {retries}; it has to be 0 or more")
        self._function = function
        self._processes, self._retries = processes, retries
        self._waiting: deque[tuple[int, Job]] = deque()
        self._deaths: Counter[int] = Counter()
        self._workers: dict[Connection, _Worker[Job]] = {}

    def run(
        self, jobs: Sequence[Job], *, on_event: Callable[[int, Any], None] | None = None
    ) -> Iterator[tuple[int, Result | LostJob]]:
        """Yields the number and the result of each job as it ends; an exception of a job is raised here.

        Leaving the iterator ends all processes, those in the middle of a job too. The processor time of the
        processes counts against the running budget.

        Args:
            jobs: begun in this order.
            on_event: is called with the number of a job and what it sent.
        """
        self._waiting.extend(enumerate(jobs))
        try:
            self._start(self._processes)
            while self._workers:
                for ready in wait(list(self._workers), _SECONDS_BETWEEN_LOOKS if is_limited() else None):
                    assert isinstance(ready, Connection)
                    ended = self._hear(self._workers[ready], on_event)
                    if ended is not None:
                        yield ended
                charge_for(worker.process.pid for worker in self._workers.values())
        except KeyboardInterrupt:
            self._interrupt()
            raise
        finally:
            self._shut_down()

    def drop_waiting(self) -> None:
        """Drops the jobs that have not begun; those under way are finished."""
        self._waiting.clear()

    def _start(self, count: int) -> None:
        for _ in range(min(count, len(self._waiting))):
            worker: _Worker[Job] = _Worker(self._function)
            self._workers[worker.connection] = worker
            worker.give(*self._waiting.popleft())

    def _hear(
        self, worker: _Worker[Job], on_event: Callable[[int, Any], None] | None
    ) -> tuple[int, Result | LostJob] | None:
        """Takes one message of a worker; returns the end of its job, if it is one."""
        number, _ = worker.current
        try:
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionError):
            return self._replace(worker)
        if kind == "event":
            if on_event is not None:
                on_event(number, value)
            return None
        if kind == "error":
            raise value
        if self._waiting:
            worker.give(*self._waiting.popleft())
        else:
            self._stop(worker)
        return number, value

    def _replace(self, worker: _Worker[Job]) -> tuple[int, LostJob] | None:
        """Replaces a worker that died; its job waits again unless that happened too often."""
        number, job = worker.current
        status = self._stop(worker)
        self._deaths[number] += 1
        lost = self._deaths[number] > self._retries
        if not lost:
            self._waiting.append((number, job))
        self._start(1)
        return (number, LostJob(deaths=self._deaths[number], status=status)) if lost else None

    def _stop(self, worker: _Worker[Job]) -> int:
        del self._workers[worker.connection]
        return worker.end()

    def _interrupt(self) -> None:
        """Asks jobs that are made of steps to end after the present one; they keep what they have done."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGINT)

    def _shut_down(self) -> None:
        self._waiting.clear()
        for worker in list(self._workers.values()):
            self._stop(worker)


class _Worker(Generic[Job]):
    """One process, seen from the driver, and the job that it has."""

    def __init__(self, function: Callable[[Job, Emit], Any]) -> None:
        self.current: tuple[int, Job]
        self.connection, other = Pipe()
        handle = other.fileno()
        # -P: a file random.py in the user's folder must not take the place of Python's.
        command = [sys.executable, "-P", "-c", "from nerode.core.workers import serve; serve()"]
        self.process = subprocess.Popen(
            [*command, str(os.getpid()), str(handle)],
            stdin=subprocess.PIPE,
            # Standard output is for results of the driver; what jobs print goes to standard error.
            stdout=2,
            pass_fds=[handle],
            env={**os.environ, **dict.fromkeys(_THREADS, "1")},
        )
        other.close()
        self._send(function)

    def give(self, number: int, job: Job) -> None:
        """Hands a job over; a worker that is dead is noticed when its messages end."""
        self.current = number, job
        self._send(job)

    def _send(self, value: object) -> None:
        with suppress(ConnectionError):
            self.connection.send(value)

    def end(self) -> int:
        """Ends the process and returns its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.connection.close()
        try:
            return self.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def serve() -> None:
    """Works in a new process until its input ends. Arguments: the process of the driver, the connection."""
    driver, handle = map(int, sys.argv[1:])
    _die_with(driver)
    # Control-C goes to the whole group; a job that is made of steps ends after the present one.
    signal.signal(signal.SIGINT, lambda *_: _INTERRUPTED.set())
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    connection = Connection(handle)

    def emit(event: Any) -> None:
        # A driver that was interrupted listens no longer; the job ends by itself, with what it has.
        with suppress(ConnectionError):
            connection.send(("event", event))

    function: Callable[[Any, Emit], Any] | None = None
    while True:
        try:
            if function is None:
                function = connection.recv()
            reply = ("result", function(connection.recv(), emit))
        except EOFError:
            # The other guard holds the input, for which an interpreter that shuts down would wait.
            sys.stdout.flush()
            os._exit(0)
        except KeyboardInterrupt:
            os._exit(130)
        except Exception as error:
            reply = ("error", _picklable(error))
        connection.send(reply)


def _picklable(error: Exception) -> Exception:
    """The error, or one with the same message where it cannot be sent as it is."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  (its own bytes)
        return error
    except Exception:
        return InputError(str(error)) if isinstance(error, InputError) else RuntimeError(repr(error))


def _die_with(driver: int) -> None:
    """Asks the kernel for SIGKILL when the driver dies; the end of the input is the second guard."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != driver:
        os._exit(1)


def _end_with_the_input() -> None:
    sys.stdin.buffer.read()
    if _STEPPING.is_set():
        # The job writes down what it has, and ends the process itself. On a busy machine the input may end
        # before the main thread has noted the signal.
        _INTERRUPTED.set()
        time.sleep(0.8 * _SECONDS_TO_END)
    os._exit(0)


_INTERRUPTED = threading.Event()
"""Whether Control-C was pressed, for jobs that are made of steps."""

_STEPPING = threading.Event()
"""Whether the present job asks after each step."""


@contextmanager
def interrupted_between_steps() -> Iterator[Callable[[], bool]]:
    """Lets Control-C wait for the end of a step: yields a function that says whether it was pressed.

    A second Control-C ends at once. Outside the main thread, whose signals cannot be had, it is as ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        _INTERRUPTED.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # In a worker of a pool the signal is noted already.
    own = before is signal.default_int_handler
    if own:
        signal.signal(signal.SIGINT, note)
    _STEPPING.set()
    try:
        yield _INTERRUPTED.is_set
    except KeyboardInterrupt:
        _INTERRUPTED.clear()
        raise
    finally:
        _STEPPING.clear()
        if own:
            signal.signal(signal.SIGINT, before)
