"""Sweeps from beginning to end: what is done stays, what is missing is run in processes or on a cluster."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nerode.core import Emit, FormatError, InputError, LostJob, WorkerPool
from nerode.records import RunStore, list_runs, locked, read_result
from nerode.sweeps.runner import Executor, OnOutcome, RunJob, RunOutcome, execute, load_run_kind


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
