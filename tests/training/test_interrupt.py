"""Control-C ends a training run after a step, with a checkpoint from which the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = 40_000


def start(out: Path, *, jobs: int) -> subprocess.Popen[str]:
    command = [
        "train",
        "parity",
        "--arch",
        "elman",
        "--seeds",
        "2",
        "--steps",
        str(ROUNDS),
        "--settle",
        "off",
    ]
    settings = ["--set", "run.stop.threshold=1.1", "--set", "model.width=4", "--lengths", "40"]
    return subprocess.Popen(
        [sys.executable, "-m", "nerode", *command, *settings, "--jobs", str(jobs), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_training(driver: subprocess.Popen[str], runs: int) -> None:
    """Reads what is said until all runs under way have made a step."""
    assert driver.stderr is not None
    said: set[str] = set()
    while len(said) < runs:
        line = driver.stderr.readline()
        assert line, "the driver ended"
        if "training, step" in line:
            said.add(line.partition(":")[0])


@pytest.mark.parametrize("jobs", [1, 2])
def test_control_c_leaves_a_checkpoint_of_every_run_under_way(tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "runs"
    driver = start(out, jobs=jobs)
    wait_for_training(driver, jobs)
    # As a terminal does: to all processes at once where there is one, to the driver alone from a script.
    os.killpg(driver.pid, signal.SIGINT) if jobs == 1 else driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130, said
    assert "each run from its last checkpoint" in said
    checkpoints = list(out.glob(".work/*/scratch/checkpoint.safetensors"))
    assert len(checkpoints) == jobs, said
