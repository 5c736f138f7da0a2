"""Runs as an array of jobs on a Slurm cluster, by submitit. The store has to be on a disk that all share.

A driver that dies leaves its jobs in the queue: they go on and publish what they find. One that is started
again meanwhile asks for the missing runs a second time; of two equal runs the first to end stays.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nerode.core import InputError, from_mapping, to_mapping
from nerode.sweeps.execution import execute
from nerode.sweeps.runner import Job, Outcome, Watch, load_runner
from nerode.sweeps.store import RunStore

FOLDER = ".slurm"
_MINUTES = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmExecutor:
    """Jobs of Slurm, one processor each.

    Attributes:
        processes: runs at once.
        settings: of submitit, like timeout_min or slurm_partition.
        cluster: what submitit submits to; "local" tries it out on this machine.
        poll: seconds between two looks at the queue.
    """

    processes: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "slurm"
    poll: float = 5.0

    def run(self, jobs: Sequence[Job], *, store: Path, runner: str, watch: Watch) -> None:
        """Submits all jobs and waits for them; those not yet begun are cancelled when the disk fails."""
        submitit = _import_submitit()
        place = store.resolve()
        executor = self._executor(submitit, place / FOLDER)
        tasks = [SlurmRun(str(place), runner, to_mapping(job)) for job in jobs]
        with executor.batch():
            submitted = [executor.submit(task) for task in tasks]
        self._collect(dict(zip(submitted, jobs, strict=True)), watch)

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

    def _collect(self, waiting: dict[Any, Job], watch: Watch) -> None:
        while waiting:
            for submitted in [s for s in waiting if s.done()]:
                outcome = _outcome(submitted, waiting.pop(submitted))
                watch(outcome)
                if outcome.status == "disk":
                    for other in waiting:
                        other.cancel()
                    return
            if waiting:
                time.sleep(self.poll)


class SlurmRun:
    """One run, as submitit keeps it for the machine that will carry it out.

    Args:
        store: the folder of the run store.
        runner: the kind of run.
        job: what to run, as plain values.
    """

    def __init__(self, store: str, runner: str, job: dict[str, Any]) -> None:
        self.store, self.runner, self.job = store, runner, job

    def __call__(self) -> dict[str, Any]:
        """Carries the run out, and returns its outcome as plain values."""
        store, runner = RunStore(Path(self.store)), load_runner(self.runner)
        return to_mapping(execute(store, runner, from_mapping(Job, self.job)))

    def checkpoint(self) -> Any:
        """Is called by submitit when the time is up: the run goes back into the queue, to go on later."""
        return _import_submitit().helpers.DelayedSubmission(self)


def _outcome(submitted: Any, job: Job) -> Outcome:
    try:
        return from_mapping(Outcome, submitted.result())
    except Exception as error:
        # Errors of the run itself are outcomes; this is a job that Slurm ended, or that left no answer.
        reason = (str(error).strip().splitlines() or [""])[0]
        return Outcome(key=job.key, status="lost", message=f"{type(error).__name__}: {reason}")


def _import_submitit() -> Any:
    try:
        return importlib.import_module("submitit")
    except ModuleNotFoundError:
        raise InputError("submitit is not installed; install it with: pip install 'nerode[slurm]'") from None
