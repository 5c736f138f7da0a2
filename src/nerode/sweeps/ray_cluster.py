"""Runs on a Ray cluster, or on a Ray that is started here. The store has to be on a disk that all share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerode.core import InputError, from_mapping, to_mapping
from nerode.sweeps.execution import execute
from nerode.sweeps.runner import Job, Outcome, Watch, load_runner
from nerode.sweeps.store import RunStore


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

    def run(self, jobs: Sequence[Job], *, store: Path, runner: str, watch: Watch) -> None:
        """Carries out all jobs; ends early when the disk fails."""
        ray = _import_ray()
        # Ray prints what it has to say about processes that die; standard output is for results.
        with redirect_stdout(sys.stderr):
            self._run(ray, jobs, str(store.resolve()), runner, watch)

    def _run(self, ray: Any, jobs: Sequence[Job], store: str, runner: str, watch: Watch) -> None:
        started = not ray.is_initialized()
        if started:
            self._start(ray)
        try:
            task = ray.remote(num_cpus=1, max_retries=self.retries)(run_on_node)
            _collect(ray, {task.remote(store, runner, to_mapping(job)): job for job in jobs}, watch)
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
    return to_mapping(execute(RunStore(Path(store)), load_runner(runner), from_mapping(Job, job)))


def _collect(ray: Any, running: dict[Any, Job], watch: Watch) -> None:
    while running:
        ready, _ = ray.wait(list(running), num_returns=1)
        job = running.pop(ready[0])
        outcome = _outcome(ray, ready[0], job)
        watch(outcome)
        if outcome.status == "disk":
            for other in running:
                ray.cancel(other, force=True)
            return


def _outcome(ray: Any, reference: Any, job: Job) -> Outcome:
    try:
        return from_mapping(Outcome, ray.get(reference))
    except ray.exceptions.RayError as error:
        # Errors of the run itself are outcomes; this is a process or a machine that died too often.
        reason = (str(error).strip().splitlines() or [""])[0]
        return Outcome(key=job.key, status="lost", message=f"{type(error).__name__}: {reason}")


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError:
        raise InputError("ray is not installed; install it with: pip install 'nerode[ray]'") from None
