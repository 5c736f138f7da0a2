"""Runs on this machine: processes of one thread each, which die with the driver."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nerode.core import InputError, from_mapping, to_mapping
from nerode.sweeps.runner import Job, Outcome, Watch

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_SECONDS_TO_END = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalExecutor:
    """Processes on this machine.

    Attributes:
        processes: how many.
        retries: how often a run is begun again whose process died.
    """

    processes: int = field(default_factory=lambda: os.cpu_count() or 1)
    retries: int = 3

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise InputError(f"the number of processes is {self.processes}; it has to be 1 or more")
        if self.retries < 0:
            raise InputError(f"the number of retries is {self.retries}; it has to be 0 or more")

    def run(self, jobs: Sequence[Job], *, store: Path, runner: str, watch: Watch) -> None:
        """Carries out all jobs; ends early when the disk fails."""
        crew = _Crew(store, runner, jobs, self.retries, watch)
        try:
            crew.hire(min(self.processes, len(jobs)))
            crew.work()
        finally:
            crew.dismiss()


class _Worker:
    """One process and the job that it has."""

    def __init__(self, store: Path, runner: str) -> None:
        self.job: Job | None = None
        # -P: a file random.py in the user's folder must not take the place of Python's.
        command = [sys.executable, "-P", "-m", "nerode.sweeps.worker"]
        self.process = subprocess.Popen(
            [*command, str(store), runner, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(_THREADS, "1")},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def give(self, job: Job) -> None:
        """Hands a job over; a worker that is dead is noticed when its answers end."""
        self.job = job
        with suppress(BrokenPipeError):
            self.stdin.write((json.dumps(to_mapping(job)) + "\n").encode())
            self.stdin.flush()

    def end(self) -> int:
        """Ends the process and returns its exit status."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        try:
            return self.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class _Crew:
    """The workers of one call."""

    def __init__(self, store: Path, runner: str, jobs: Sequence[Job], retries: int, watch: Watch) -> None:
        self.store, self.runner, self.retries, self.watch = store, runner, retries, watch
        self.waiting = deque(jobs)
        self.deaths: Counter[str] = Counter()
        self.workers: dict[int, _Worker] = {}
        self.selector = selectors.DefaultSelector()

    def hire(self, number: int) -> None:
        """Starts workers and gives each a job."""
        for _ in range(min(number, len(self.waiting))):
            worker = _Worker(self.store, self.runner)
            self.workers[worker.stdout.fileno()] = worker
            self.selector.register(worker.stdout, selectors.EVENT_READ)
            worker.give(self.waiting.popleft())

    def work(self) -> None:
        """Waits for answers until there is nothing left to wait for."""
        while self.workers:
            for ready, _ in self.selector.select():
                worker = self.workers[ready.fd]
                # One answer for each job, so nothing stays behind in the buffer.
                line = worker.stdout.readline()
                if line.endswith(b"\n"):
                    self._answered(worker, from_mapping(Outcome, json.loads(line)))
                else:
                    self._died(worker)

    def _answered(self, worker: _Worker, outcome: Outcome) -> None:
        worker.job = None
        if outcome.status == "disk":
            self.waiting.clear()
        self.watch(outcome)
        if self.waiting:
            worker.give(self.waiting.popleft())
        else:
            self._let_go(worker)

    def _died(self, worker: _Worker) -> None:
        job, status = worker.job, self._let_go(worker)
        if job is not None:
            self.deaths[job.key] += 1
            if self.deaths[job.key] > self.retries:
                text = f"its process died {self.deaths[job.key]} times, last with {_describe(status)}"
                self.watch(Outcome(key=job.key, status="lost", message=text))
            else:
                self.waiting.append(job)
        self.hire(1)

    def _let_go(self, worker: _Worker) -> int:
        self.selector.unregister(worker.stdout)
        del self.workers[worker.stdout.fileno()]
        return worker.end()

    def dismiss(self) -> None:
        """Ends all workers, those in the middle of a run too."""
        for worker in list(self.workers.values()):
            self._let_go(worker)
        self.selector.close()


def _describe(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
