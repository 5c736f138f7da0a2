"""Runs side by side: the same results, errors come through, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from nerode.core import InputError
from nerode.records import read_run, run_name
from nerode.training import run_key
from nerode.training.runs import run_all

from .tiny import tiny

DRIVER = """
import sys
from pathlib import Path
from nerode.training.pool import run_all
from nerode.training.spec import TrainSpec

def spec(seed):
    return TrainSpec.from_mapping({
        "task": {"name": "parity"},
        "model": {"layers": "gru", "width": 4},
        "run": {"steps": 10**9, "seed": seed, "evaluate_every": 10**9},
    })

if __name__ == "__main__":
    import multiprocessing, threading, time
    def tell():
        while True:
            print(*[p.pid for p in multiprocessing.active_children()], flush=True)
            time.sleep(0.2)
    threading.Thread(target=tell, daemon=True).start()
    list(run_all([spec(0), spec(1)], Path(sys.argv[1]), jobs=2))
"""


def test_runs_side_by_side(tmp_path):
    specs = [tiny(run={"seed": seed, "steps": 10}) for seed in range(3)]
    seen = set()
    found = dict(
        run_all(specs, tmp_path, jobs=2, watch=lambda number, sight: seen.add((number, sight.event)))
    )
    assert sorted(found) == [0, 1, 2]
    assert seen >= {(n, e) for n in range(3) for e in ("validation", "testing")}
    for number, spec in enumerate(specs):
        assert read_run(tmp_path / run_name(run_key(spec))) == found[number]


def test_errors_come_through(tmp_path):
    specs = [tiny(model={"module": "absent_module_of_test:build"}, run={"seed": s}) for s in range(2)]
    with pytest.raises(InputError, match="no module"):
        list(run_all(specs, tmp_path, jobs=2))


def test_a_killed_driver_takes_its_workers_along(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    driver = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "runs")],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        workers = _workers(driver)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        driver.stdout.close()
    deadline = time.monotonic() + 30
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_lives, workers))


def _workers(driver) -> list[int]:
    for line in driver.stdout:
        pids = [int(word) for word in line.split()]
        if len(pids) == 2:
            return pids
    raise AssertionError("the driver ended before it had two workers")


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
