"""A driver to be killed: `python -m tests.sweeps.drive STORE LOG RUNS PAUSE`."""

from __future__ import annotations

import sys
from pathlib import Path

from nerode.sweeps.running import LocalExecutor, RunJob, run_sweep
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


if __name__ == "__main__":
    drive(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
