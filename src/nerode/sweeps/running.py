"""Sweeps: kinds of runs, jobs, executors on this machine and on clusters, the driver, and workers.

What is done stays; what is missing is run in processes here, or on a cluster. One driver has a store for
itself; workers share one, and each run belongs to the worker that has its lease.

A driver that dies leaves its jobs in the queue of Slurm: they go on and publish their outcome. One that is
started again meanwhile waits for them and submits the other runs.
"""

from __future__ import annotations

import errno
import functools
import importlib
import json
import os
import random
import re
import socket
import subprocess
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
from nerode.records import (
    PATIENCE,
    LeaseWatch,
    RunFailure,
    RunOutput,
    RunStore,
    leased,
    list_runs,
    locked,
    newest_lease,
    read_result,
    require_no_driver,
    require_no_workers,
)


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
        status: "done"; "elsewhere", another worker has it or has finished it; "failed", the run raised an
            error; "lost", its process died too often; "disk", the store could not be written.
        message: what was wrong.
        seconds: of the clock, for the last attempt.
    """

    key: str
    status: Literal["done", "elsewhere", "failed", "lost", "disk"]
    message: str = ""
    seconds: float = 0.0


OnOutcome = Callable[[RunOutcome], None]


class Executor(Protocol):
    """A way to carry out jobs: processes here, or a cluster."""

    def under_way(self, store: Path) -> frozenset[str]:
        """Returns the keys of runs that an earlier driver has begun and that go on without it."""
        ...

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


def execute_leased(store: RunStore, runner: RunKind, job: RunJob, *, instead_of: int = 0) -> RunOutcome:
    """Carries out a run unless it is done or another process has its lease, and returns its outcome.

    Args:
        store: the run store, which others use at the same time.
        runner: the kind of run.
        job: what to run.
        instead_of: the number of a lease whose process is gone.
    """
    elsewhere = RunOutcome(key=job.key, status="elsewhere")
    try:
        require_no_driver(store.root)
        if store.is_done(job.key):
            return elsewhere
        with leased(store.work(job.key), instead_of=instead_of) as mine:
            if not mine:
                return elsewhere
            if store.is_done(job.key):
                # It was finished between the look and the lease, which made its work folder anew.
                store.clear_work(job.key)
                return elsewhere
            store.clear_attempts_of(job.key)
            return execute(store, runner, job)
    except (OSError, InputError) as error:
        return RunOutcome(key=job.key, status="disk", message=_reason(error))


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

    def under_way(self, store: Path) -> frozenset[str]:
        """Returns no keys: processes die with their driver."""
        return frozenset()

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
        outcomes: of the others, in the order in which they finished; "elsewhere" for runs of other workers.
        set_aside: folders that could not be read and were moved away, to be run again.
    """

    keys: tuple[str, ...]
    before: tuple[str, ...]
    outcomes: tuple[RunOutcome, ...]
    set_aside: tuple[Path, ...]

    @property
    def problems(self) -> list[RunOutcome]:
        """The runs that are not done."""
        return [outcome for outcome in self.outcomes if outcome.status not in ("done", "elsewhere")]


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
        require_no_workers(root)
        store.clear_attempts(but=executor.under_way(root))
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
    _require_disk(root, outcomes, len(before), len(jobs))
    return SweepReport(
        keys=tuple(job.key for job in jobs),
        before=tuple(before),
        outcomes=tuple(outcomes),
        set_aside=tuple(set_aside),
    )


def _require_disk(root: Path, outcomes: Sequence[RunOutcome], before: int, wanted: int) -> None:
    """Raises InputError if a run could not be written."""
    for outcome in outcomes:
        if outcome.status == "disk":
            finished = before + sum(o.status == "done" for o in outcomes)
            raise InputError(
                f"cannot write {root}: {outcome.message}. The {finished} finished runs of {wanted} are "
                "safe; make room, or make the folder writable, and run again"
            )


def run_worker(
    jobs: Sequence[RunJob],
    *,
    root: Path,
    runner: str,
    processes: int = 1,
    retries: int = 3,
    patience: float = PATIENCE,
    on_outcome: OnOutcome | None = None,
) -> SweepReport:
    """Carries out the runs that no other worker on this store has, until all are done; returns the outcomes.

    Args:
        jobs: all runs of the sweep.
        root: where the store is, or is to be.
        runner: "module:name" of the kind of run.
        processes: runs at once, here.
        retries: how often a run is begun again whose process died.
        patience: seconds without a sign of life after which a worker on another machine is taken for gone.
        on_outcome: is called with the end of each run that this worker made, or that another one finished.

    Raises:
        InputError: if the store cannot be written, or a driver has it for itself. What is done is safe.
    """
    store = RunStore(root)
    store.create()
    require_no_driver(root)
    outcomes: dict[str, RunOutcome] = {}
    watch = LeaseWatch(patience)
    load_run_kind(runner)
    old = {failure.key: failure for failure in store.failures()}
    before = [job.key for job in jobs if store.is_done(job.key)]
    # Workers begin at different places of the list, so that they rarely ask for the same lease.
    first = random.SystemRandom().randrange(len(jobs)) if jobs else 0
    waiting = [job for job in (*jobs[first:], *jobs[:first]) if job.key not in set(before)]

    def note(outcome: RunOutcome) -> None:
        outcomes[outcome.key] = outcome
        if on_outcome is not None:
            on_outcome(outcome)

    while waiting:
        free = [(job, number) for job in waiting if (number := _may_take(store, job, watch)) is not None]
        pool: WorkerPool[tuple[RunJob, int], RunOutcome] = WorkerPool(
            functools.partial(_execute_leased_in_worker, root, runner),
            processes=max(1, min(processes, len(free))),
            retries=retries,
        )
        for place, outcome in pool.run(free):
            key = free[place][0].key
            if isinstance(outcome, LostJob):
                outcome = RunOutcome(key=key, status="lost", message=outcome.message)
            if outcome.status == "disk":
                pool.drop_waiting()
            if outcome.status != "elsewhere":
                note(outcome)
        _require_disk(root, tuple(outcomes.values()), len(before), len(jobs))
        failed = {f.key: f for f in store.failures() if old.get(f.key) != f}
        for job in waiting:
            if job.key not in outcomes and store.is_done(job.key):
                note(RunOutcome(key=job.key, status="elsewhere"))
            elif job.key not in outcomes and job.key in failed:
                note(RunOutcome(key=job.key, status="failed", message=failed[job.key].message))
        waiting = [job for job in waiting if job.key not in outcomes]
        if waiting:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    for job in jobs:
        # A worker that was killed between its last two steps has left its work.
        if (
            store.work(job.key).exists()
            and store.is_done(job.key)
            and _may_take(store, job, watch) is not None
        ):
            store.clear_work(job.key)
    list_runs(store)
    return SweepReport(
        keys=tuple(job.key for job in jobs),
        before=tuple(before),
        outcomes=tuple(outcomes.values()),
        set_aside=(),
    )


def _may_take(store: RunStore, job: RunJob, watch: LeaseWatch) -> int | None:
    """The number of the lease of a run whose process is gone, 0 if it has none; None while it is taken."""
    lease = newest_lease(store.work(job.key))
    if lease is None:
        return 0
    return lease.number if watch.is_gone(lease) else None


def _execute_leased_in_worker(root: Path, runner: str, job: tuple[RunJob, int], emit: Emit) -> RunOutcome:
    return execute_leased(RunStore(root), load_run_kind(runner), job[0], instead_of=job[1])


def _is_damaged(folder: Path) -> bool:
    if not folder.exists():
        return False
    try:
        read_result(folder)
    except FormatError:
        return True
    return False


FOLDER = ".slurm"
SUBMITTED = "submitted.jsonl"
_ARRAY_LIMIT = 1000
_SECONDS_UNKNOWN = 600.0
_MINUTES = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class RayExecutor:
    """Tasks of Ray, one processor for each thread of a run.

    Attributes:
        address: of a cluster ("auto" for the one that this machine belongs to); None starts one here.
        processes: runs at once, where one is started here.
        retries: how often a run is begun again whose process died.
    """

    address: str | None = None
    processes: int = 1
    retries: int = 3

    def under_way(self, store: Path) -> frozenset[str]:
        """Returns no keys: processes die with their driver."""
        return frozenset()

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
            task = ray.remote(max_retries=self.retries)(run_on_node)
            running = {
                task.options(num_cpus=_threads(job)).remote(store, runner, to_mapping(job)): job
                for job in jobs
            }
            _collect_ray(ray, running, on_outcome)
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


def _threads(job: RunJob) -> int:
    """The threads that a run asks for."""
    run = job.spec.get("run")
    threads = run.get("threads", 1) if isinstance(run, Mapping) else 1
    return threads if isinstance(threads, int) and threads > 0 else 1


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
        limit: the most jobs of one array; None asks Slurm.
    """

    processes: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "slurm"
    poll: float = 5.0
    limit: int | None = None

    def under_way(self, store: Path) -> frozenset[str]:
        """Returns the keys of runs that an earlier driver has submitted and that are still in the queue."""
        if not (store / FOLDER / SUBMITTED).exists():
            return frozenset()
        return frozenset(self._queued(load_extra("submitit"), store.resolve() / FOLDER))

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Submits the jobs that are not in the queue yet, in arrays, and waits for all.

        Those that have not begun are cancelled when the disk fails.
        """
        submitit = load_extra("submitit")
        place = store.resolve()
        queued = self._queued(submitit, place / FOLDER)
        new = [job for job in jobs if job.key not in queued]
        size = self.limit or _array_limit()
        parts = [new[first : first + size] for first in range(0, len(new), size)]
        executor = self._executor(submitit, place / FOLDER, arrays=max(1, len(parts)))
        waiting = {queued[job.key]: job for job in jobs if job.key in queued}
        for part in parts:
            with executor.batch():
                submitted = [executor.submit(SlurmRun(str(place), runner, to_mapping(job))) for job in part]
            rows = [
                {"key": job.key, "job": own.job_id, "cluster": self.cluster, "time": time.time()}
                for own, job in zip(submitted, part, strict=True)
            ]
            with (place / FOLDER / SUBMITTED).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            waiting.update(zip(submitted, part, strict=True))
        self._collect(waiting, RunStore(store), frozenset(queued), on_outcome)

    def _queued(self, submitit: Any, folder: Path) -> dict[str, Any]:
        """The jobs of earlier drivers that are still in the queue, by the key of their run."""
        found: dict[str, Any] = {}
        try:
            lines = (folder / SUBMITTED).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            # A driver that was killed may have left half of the last line.
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                if row["cluster"] != self.cluster:
                    continue
                age = time.time() - float(row["time"])
                kind = submitit.LocalJob if self.cluster == "local" else submitit.SlurmJob
                job = kind(folder=folder, job_id=str(row["job"]))
                if self._is_queued(job, age):
                    found[str(row["key"])] = job
                else:
                    found.pop(str(row["key"]), None)
        return found

    def _is_queued(self, job: Any, age: float) -> bool:
        """Whether a job that another driver has submitted waits or runs."""
        if self.cluster == "local":
            # The name of a local job is the number of its process.
            return not job.paths.result_pickle.exists() and Path(f"/proc/{int(job.job_id)}").exists()
        # Slurm does not know a job at once, and forgets old ones.
        return not job.done(force_check=True) and (job.state != "UNKNOWN" or age < _SECONDS_UNKNOWN)

    def _executor(self, submitit: Any, folder: Path, *, arrays: int) -> Any:
        settings = {"name": "nerode", "timeout_min": _MINUTES, "cpus_per_task": 1, **self.settings}
        if self.cluster == "slurm":
            settings.setdefault("slurm_array_parallelism", -(-self.processes // arrays))
        try:
            executor = submitit.AutoExecutor(folder=str(folder), cluster=self.cluster)
            executor.update_parameters(**settings)
        except (RuntimeError, ValueError, NameError, TypeError) as error:
            raise InputError(f"cannot submit to {self.cluster}: {error}") from None
        return executor

    def _collect(
        self, waiting: dict[Any, RunJob], store: RunStore, queued: frozenset[str], on_outcome: OnOutcome
    ) -> None:
        while waiting:
            for submitted, job in list(waiting.items()):
                adopted = job.key in queued
                if self._is_queued(submitted, 0.0) if adopted else not submitted.done():
                    continue
                del waiting[submitted]
                outcome = _adopted_outcome(store, job) if adopted else _slurm_outcome(submitted, job)
                on_outcome(outcome)
                if outcome.status == "disk":
                    for other in waiting:
                        other.cancel()
                    return
            if waiting:
                time.sleep(self.poll)


def _adopted_outcome(store: RunStore, job: RunJob) -> RunOutcome:
    """The end of a job that an earlier driver has submitted: what the store says of its run."""
    if store.is_done(job.key):
        return RunOutcome(key=job.key, status="done")
    told = [failure.message for failure in store.failures() if failure.key == job.key]
    message = told[0] if told else "it left the queue without a result; run again to submit it anew"
    return RunOutcome(key=job.key, status="failed" if told else "lost", message=message)


def _array_limit() -> int:
    """The most jobs that one array may have, as Slurm says; its default where it does not say."""
    try:
        command = ["scontrol", "show", "config"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return _ARRAY_LIMIT
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", said, re.MULTILINE)
    # The numbers of an array begin with 0 and stay below the limit.
    return max(1, int(found[1]) - 1) if found else _ARRAY_LIMIT


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


_SECONDS_BETWEEN_LOOKS = 0.5
"""Time after which a worker looks again at the runs that others have."""

_SECONDS_TO_ANSWER = 5.0
"""Time in which the machine of a Ray cluster has to answer."""
