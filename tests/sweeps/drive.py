"""A driver to be killed: `python -m tests.sweeps.drive STORE LOG RUNS PAUSE [worker|slurm]`."""

from __future__ import annotations

import sys
from pathlib import Path

from nerode.sweeps.running import LocalExecutor, RunJob, RunOutcome, SlurmExecutor, run_sweep, run_worker
from nerode.sweeps.sweep_file import parse_sweep
from tests.sweeps.toy import NAME, TOY


def jobs(log: Path, runs: int, pause: float) -> list[RunJob]:
    base = {"steps": 6, "pause": pause, "log": str(log)}
    return parse_sweep({"base": base, "grid": {"seed": list(range(runs))}}).jobs(TOY)


def drive(root: Path, log: Path, runs: int, pause: float) -> None:
    report = run_sweep(
        jobs(log, runs, pause), root=root, runner=NAME, executor=LocalExecutor(processes=2, retries=1000)
    )
    assert not report.problems


def work(root: Path, log: Path, runs: int, pause: float) -> None:
    """Works on the same runs as others do; a line per run that this worker finished goes to LOG.done."""
    done = log.with_suffix(".done")

    def note(outcome: RunOutcome) -> None:
        if outcome.status == "done":
            with done.open("a") as file:
                file.write(f"{outcome.key}\n")

    report = run_worker(
        jobs(log, runs, pause), root=root, runner=NAME, processes=2, retries=1000, on_outcome=note
    )
    assert not report.problems


def submit(root: Path, log: Path, runs: int, pause: float) -> None:
    """Submits to processes that do not die with the driver, as jobs of Slurm do not."""
    executor = SlurmExecutor(cluster="local", poll=0.05, settings={"timeout_min": 2})
    report = run_sweep(jobs(log, runs, pause), root=root, runner=NAME, executor=executor)
    assert not report.problems


if __name__ == "__main__":
    function = {"worker": work, "slurm": submit}.get("".join(sys.argv[5:]), drive)
    function(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
