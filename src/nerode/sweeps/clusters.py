"""Runs on clusters: Ray, and Slurm by submitit. The store has to be on a disk that all machines share.

A driver that dies leaves its jobs in the queue of Slurm: they go on and publish their outcome. One that is
started again meanwhile asks for the missing runs a second time; of two equal runs the first to end stays.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nerode.core import InputError, from_mapping, to_mapping
from nerode.records import RunStore
from nerode.sweeps.running import OnOutcome, RunJob, RunOutcome, execute, load_run_kind

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
        """Carries out all jobs; ends early when the disk fails."""
        ray = _import_ray()
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
        quiet = {"include_dashboard": False, "num_cpus": self.processes} if self.address is None else {}
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = "here" if self.address is None else f"at {self.address}"
            raise InputError(f"there is no Ray {where}: {error}") from None


def run_on_node(store: str, runner: str, job: dict[str, Any]) -> dict[str, Any]:
    """Carries out one run in a process of Ray, and returns its outcome as plain values."""
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
        reason = (str(error).strip().splitlines() or [""])[0]
        return RunOutcome(key=job.key, status="lost", message=f"{type(error).__name__}: {reason}")


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError:
        raise InputError("ray is not installed; install it with: pip install 'nerode[ray]'") from None


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

    def run(self, jobs: Sequence[RunJob], *, store: Path, runner: str, on_outcome: OnOutcome) -> None:
        """Submits all jobs and waits for them; those not yet begun are cancelled when the disk fails."""
        submitit = _import_submitit()
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
        store, runner = RunStore(Path(self.store)), load_run_kind(self.runner)
        return to_mapping(execute(store, runner, from_mapping(RunJob, self.job)))

    def checkpoint(self) -> Any:
        """Is called by submitit when the time is up: the run goes back into the queue, to go on later."""
        return _import_submitit().helpers.DelayedSubmission(self)


def _slurm_outcome(submitted: Any, job: RunJob) -> RunOutcome:
    try:
        return from_mapping(RunOutcome, submitted.result())
    except Exception as error:
        # Errors of the run itself are outcomes; this is a job that Slurm ended, or that left no answer.
        reason = (str(error).strip().splitlines() or [""])[0]
        return RunOutcome(key=job.key, status="lost", message=f"{type(error).__name__}: {reason}")


def _import_submitit() -> Any:
    try:
        return importlib.import_module("submitit")
    except ModuleNotFoundError:
        raise InputError("submitit is not installed; install it with: pip install 'nerode[slurm]'") from None
