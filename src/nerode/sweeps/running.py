"""Sweeps: kinds of runs, jobs, executors on this machine and on clusters, and the driver.

What is done stays; what is missing is run in processes here, or on a cluster.

A driver that dies leaves its jobs in the queue of Slurm: they go on and publish their outcome. One that is
started again meanwhile asks for the missing runs a second time; of two equal runs the first to end stays.
"""

from __future__ import annotations

import errno
import functools
import importlib
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from nerode.core import (
    Emit,
    FormatError,
    InputError,
    LostJob,
    WorkerPool,
    from_mapping,
    load_extra,
    to_mapping,
)
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
        """Carries out all jobs, and stops when the disk fails.

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

    def outcome(status: str, message: str = "") -> RunOutcome:
        return RunOutcome(key=job.key, status=status, message=message, seconds=time.monotonic() - begun)  # type: ignore[arg-type]

    try:
        if store.is_done(job.key):
            return outcome("done")
        attempt = store.begin(job.key)
    except (OSError, InputError) as error:
        return outcome("disk", _reason(error))
    try:
        output = runner.run(job.spec, attempt.out, attempt.scratch)
        store.publish(attempt, job.spec, output)
        return outcome("done")
    except Exception as error:
        store.abandon(attempt)
        message = _reason(error)
        if isinstance(error, FileNotFoundError) and store.is_done(job.key):
            # Another process had the same run, was faster, and has cleared the work away.
            return outcome("done")
        if _is_disk_error(error):
            return outcome("disk", message)
        with suppress(OSError):
            failure = RunFailure(key=job.key, message=message, trace=traceback.format_exc())
            store.note_failure(failure)
        return outcome("failed", message)


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
        """Carries out all jobs, and stops when the disk fails."""
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
        outcomes: of the others, in the order in which they finished.
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
        for job in missing:
            # A worker that was killed between its last two steps has left its work.
            if store.is_done(job.key):
                store.clear_work(job.key)
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


FOLDER = ".slurm"
_MINUTES = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class RayExecutor:
    """Tasks of Ray, one processor each.

    Attributes:
        address: of a cluster ("auto" for the one that this machine belongs to); None starts one here.
        processes: runs at once, where one is started here.
        retries: how often a run is begun again whose process died.
    """

    address: str | None = None
    processes: int = 1
    retries: int = 3

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Carries out all jobs, and stops when the disk fails."""
        ray = load_extra("ray")
        # Ray prints what it has to say about processes that die; standard output is for results.
        with redirect_stdout(sys.stderr):
            self._run(ray, jobs, str(store.resolve()), runner, on_outcome)

    def _run(self, ray: Any, jobs: Sequence[RunJob], store: str, runner: str, on_outcome: OnOutcome) -> None:
        started = not ray.is_initialized()
        if started:
            self._start(ray)
        try:
            task = ray.remote(num_cpus=1, max_retries=self.retries)(run_on_node)
            _collect_ray(ray, {task.remote(store, runner, to_mapping(job)): job for job in jobs}, on_outcome)
        finally:
            if started:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        if self.address is not None:
            require_answer(self.address)
        quiet = {"include_dashboard": False, "num_cpus": self.processes} if self.address is None else {}
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = "here" if self.address is None else f"at {self.address}"
            raise InputError(f"there is no Ray {where}: {error}") from None


def require_answer(address: str) -> None:
    """Raises InputError if nobody answers at an address of Ray, which would try for minutes itself."""
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 1 << 16:
        raise InputError(f"--address is {address!r}; give HOST:PORT, like 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, UnicodeError) as error:
        reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
        raise InputError(
            f"there is no Ray at {address}: {reason}; `ray start --head` starts one, and says its address"
        ) from None


def run_on_node(store: str, runner: str, job: dict[str, Any]) -> dict[str, Any]:
    """Carries out one run on a machine of a cluster, and returns its outcome as plain values."""
    return to_mapping(execute(RunStore(Path(store)), load_run_kind(runner), from_mapping(RunJob, job)))


def _collect_ray(ray: Any, running: dict[Any, RunJob], on_outcome: OnOutcome) -> None:
    while running:
        ready, _ = ray.wait(list(running), num_returns=1)
        job = running.pop(ready[0])
        outcome = _ray_outcome(ray, ready[0], job)
        on_outcome(outcome)
        if outcome.status == "disk":
            for other in running:
                ray.cancel(other, force=True)
            return


def _ray_outcome(ray: Any, reference: Any, job: RunJob) -> RunOutcome:
    try:
        return from_mapping(RunOutcome, ray.get(reference))
    except ray.exceptions.RayError as error:
        # Errors of the run itself are outcomes; this is a process or a machine that died too often.
        return _lost(job, error)


def _lost(job: RunJob, error: Exception) -> RunOutcome:
    reason = (str(error).strip().splitlines() or [""])[0]
    return RunOutcome(key=job.key, status="lost", message=f"{type(error).__name__}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmExecutor:
    """Jobs of Slurm, one processor each.

    Attributes:
        processes: runs at once.
        settings: of submitit, like timeout_min or slurm_partition.
        cluster: what submitit submits to; "local" tries it out on this machine.
        poll: seconds between two checks of the queue.
    """

    processes: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "slurm"
    poll: float = 5.0

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Submits all jobs and waits for them; those not yet begun are cancelled when the disk fails."""
        submitit = load_extra("submitit")
        place = store.resolve()
        executor = self._executor(submitit, place / FOLDER)
        tasks = [SlurmRun(str(place), runner, to_mapping(job)) for job in jobs]
        with executor.batch():
            submitted = [executor.submit(task) for task in tasks]
        self._collect(dict(zip(submitted, jobs, strict=True)), on_outcome)

    def _executor(self, submitit: Any, folder: Path) -> Any:
        settings = {"name": "nerode", "timeout_min": _MINUTES, "cpus_per_task": 1, **self.settings}
        if self.cluster == "slurm":
            settings.setdefault("slurm_array_parallelism", self.processes)
        try:
            executor = submitit.AutoExecutor(folder=str(folder), cluster=self.cluster)
            executor.update_parameters(**settings)
        except (RuntimeError, ValueError, NameError, TypeError) as error:
            raise InputError(f"cannot submit to {self.cluster}: {error}") from None
        return executor

    def _collect(self, waiting: dict[Any, RunJob], on_outcome: OnOutcome) -> None:
        while waiting:
            for submitted in [s for s in waiting if s.done()]:
                outcome = _slurm_outcome(submitted, waiting.pop(submitted))
                on_outcome(outcome)
                if outcome.status == "disk":
                    for other in waiting:
                        other.cancel()
                    return
            if waiting:
                time.sleep(self.poll)


class SlurmRun:
    """One run, as submitit stores it for the machine that will carry it out.

    Args:
        store: the folder of the run store.
        runner: the kind of run.
        job: what to run, as plain values.
    """

    def __init__(self, store: str, runner: str, job: dict[str, Any]) -> None:
        self.store, self.runner, self.job = store, runner, job

    def __call__(self) -> dict[str, Any]:
        """Carries the run out, and returns its outcome as plain values."""
        return run_on_node(self.store, self.runner, self.job)

    def checkpoint(self) -> Any:
        """Is called by submitit when the time is up: the run goes back into the queue, to go on later."""
        return load_extra("submitit").helpers.DelayedSubmission(self)


def _slurm_outcome(submitted: Any, job: RunJob) -> RunOutcome:
    try:
        return from_mapping(RunOutcome, submitted.result())
    except Exception as error:
        # Errors of the run itself are outcomes; this is a job that Slurm stopped, or that left no answer.
        return _lost(job, error)


_SECONDS_TO_ANSWER = 5.0
"""Time in which the machine of a Ray cluster has to answer."""
