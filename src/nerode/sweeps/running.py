"""Sweeps: kinds of runs, jobs, executors, and the driver.

What is done stays; what is missing is run in processes here, or on a cluster.
"""

from __future__ import annotations

import errno
import functools
import importlib
import os
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from nerode.core import Emit, FormatError, InputError, LostJob, WorkerPool
from nerode.records import RunFailure, RunOutput, RunStore, list_runs, locked, read_result


class RunKind(Protocol):
    """A kind of run. A run is a pure function of its spec."""

    def key(self, spec: dict[str, Any]) -> str:
        """Returns the SHA-256 hash that names the run; raises InputError for a spec that does not fit."""
        ...

    def run(self, spec: dict[str, Any], out: Path, scratch: Path) -> RunOutput:
        """Carries the run out.

        Args:
            spec: all that it depends on.
            out: an empty folder for files that belong to its result.
            scratch: a folder that is still there when the run was stopped and is begun again.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """A run that is asked for."""

    key: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The end of a job.

    Attributes:
        key: of the run.
        status: "done"; "failed", the run raised an error; "lost", its process died too often; "disk", the
            store could not be written.
        message: what was wrong.
        seconds: of the clock, for the last attempt.
    """

    key: str
    status: Literal["done", "failed", "lost", "disk"]
    message: str = ""
    seconds: float = 0.0


OnOutcome = Callable[[RunOutcome], None]


class Executor(Protocol):
    """A way to carry out jobs: processes here, or a cluster."""

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Carries out all jobs; ends early when the disk fails.

        Args:
            jobs: the runs, in the order in which they are to be begun.
            store: the folder of the run store.
            runner: "module:name" of the kind of run, for processes that begin with nothing.
            on_outcome: is called with the end of each job, in the process that called.
        """
        ...


def load_run_kind(name: str) -> RunKind:
    """Returns the kind of run that "module:name" says. Only for names from this program, never from files.

    Raises:
        InputError: if there is none.
    """
    module_name, _, attribute = name.partition(":")
    try:
        runner: RunKind = getattr(importlib.import_module(module_name), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise InputError(f"there is no kind of run {name!r}: {error}") from None
    return runner


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""Errors that the next run would meet as well."""


def execute(store: RunStore, runner: RunKind, job: RunJob) -> RunOutcome:
    """Carries out a run unless it is done, and returns its outcome. No error of the run leaves it."""
    begun = time.monotonic()

    def ended(status: str, message: str = "") -> RunOutcome:
        return RunOutcome(key=job.key, status=status, message=message, seconds=time.monotonic() - begun)  # type: ignore[arg-type]

    try:
        if store.is_done(job.key):
            return ended("done")
        attempt = store.begin(job.key)
    except (OSError, InputError) as error:
        return ended("disk", _reason(error))
    try:
        output = runner.run(job.spec, attempt.out, attempt.scratch)
        store.publish(attempt, job.spec, output)
        return ended("done")
    except Exception as error:
        store.abandon(attempt)
        message = _reason(error)
        if isinstance(error, FileNotFoundError) and store.is_done(job.key):
            # Another process had the same run, was faster, and has cleared the work away.
            return ended("done")
        if _is_disk_error(error):
            return ended("disk", message)
        with suppress(OSError):
            failure = RunFailure(key=job.key, message=message, trace=traceback.format_exc())
            store.note_failure(failure)
        return ended("failed", message)


def _is_disk_error(error: BaseException) -> bool:
    """Whether the disk is behind it: `write_atomically` turns its errors into InputErrors of this context."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in DISK_ERRORS:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalExecutor:
    """Processes on this machine, of one thread each, which die with the driver.

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

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Carries out all jobs; ends early when the disk fails."""
        pool: WorkerPool[RunJob, RunOutcome] = WorkerPool(
            functools.partial(_execute_in_worker, store, runner),
            processes=min(self.processes, len(jobs)),
            retries=self.retries,
        )
        for number, outcome in pool.run(jobs):
            if isinstance(outcome, LostJob):
                outcome = RunOutcome(key=jobs[number].key, status="lost", message=outcome.message)
            if outcome.status == "disk":
                pool.drop_waiting()
            on_outcome(outcome)


def _execute_in_worker(root: Path, runner: str, job: RunJob, emit: Emit) -> RunOutcome:
    return execute(RunStore(root), load_run_kind(runner), job)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The end of a sweep.

    Attributes:
        keys: all runs of the sweep.
        before: those that were done before.
        outcomes: of the others, in the order in which they ended.
        set_aside: folders that could not be read and were moved away, to be run again.
    """

    keys: tuple[str, ...]
    before: tuple[str, ...]
    outcomes: tuple[RunOutcome, ...]
    set_aside: tuple[Path, ...]

    @property
    def problems(self) -> list[RunOutcome]:
        """The runs that are not done."""
        return [outcome for outcome in self.outcomes if outcome.status != "done"]


def run_sweep(
    jobs: Sequence[RunJob],
    *,
    root: Path,
    runner: str,
    executor: Executor,
    on_outcome: OnOutcome | None = None,
) -> SweepReport:
    """Carries out the runs that are not done yet, and returns the outcomes.

    Args:
        jobs: all runs of the sweep.
        root: where the store is, or is to be.
        runner: "module:name" of the kind of run.
        executor: carries them out.
        on_outcome: is called with the end of each run.

    Raises:
        InputError: if the store cannot be written, or another driver has it. What is done is safe.
    """
    store = RunStore(root)
    store.create()
    outcomes: list[RunOutcome] = []

    def note(outcome: RunOutcome) -> None:
        outcomes.append(outcome)
        if on_outcome is not None:
            on_outcome(outcome)

    with locked(root):
        store.clear_attempts()
        set_aside = [store.set_aside(folder) for job in jobs if _is_damaged(folder := store.folder(job.key))]
        before = [job.key for job in jobs if store.is_done(job.key)]
        done = set(before)
        missing = [job for job in jobs if job.key not in done]
        if missing:
            executor.run(missing, store=root, runner=runner, on_outcome=note)
        list_runs(store)
    for outcome in outcomes:
        if outcome.status == "disk":
            finished = len(before) + sum(o.status == "done" for o in outcomes)
            raise InputError(
                f"cannot write {root}: {outcome.message}. The {finished} finished runs of {len(jobs)} are "
                "safe; make room, or make the folder writable, and run again"
            )
    return SweepReport(
        keys=tuple(job.key for job in jobs),
        before=tuple(before),
        outcomes=tuple(outcomes),
        set_aside=tuple(set_aside),
    )


def _is_damaged(folder: Path) -> bool:
    if not folder.exists():
        return False
    try:
        read_result(folder)
    except FormatError:
        return True
    return False
