from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from nerode.records import LOCK, RunStore, list_runs
from nerode.records.store import WORK
from tests.sweeps.drive import drive, jobs
from tests.sweeps.toy import assert_right, contents

RUNS = 24
PAUSE = 0.008


def start(root: Path, log: Path, runs: int = RUNS, pause: float = PAUSE) -> subprocess.Popen[bytes]:
    arguments = [str(root), str(log), str(runs), str(pause)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweeps.drive", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def kill_one(driver: subprocess.Popen[bytes], rng: random.Random, turn: int) -> tuple[str, str] | None:
    """Ends the driver or one of its workers at a random moment; None if it was done before.

    Signals take turns, and so do the two, so that each is seen however few there are.

    Returns who was ended, and by which signal.
    """
    chosen = SIGNALS[turn % 3]
    try:
        driver.wait(rng.uniform(0.0, 0.7))
        assert driver.returncode == 0
        return None
    except subprocess.TimeoutExpired:
        pass
    if turn // 3 % 2 and (workers := workers_of(driver)):
        try:
            os.kill(int(rng.choice(workers)), chosen)
            return "worker", chosen.name
        except ProcessLookupError:
            return None
    if driver.poll() is not None:
        return None
    driver.send_signal(chosen)
    driver.wait(120)
    return "driver", chosen.name


def workers_of(driver: subprocess.Popen[bytes]) -> list[str]:
    """The workers, waiting until there are some: a busy machine takes its time to start them."""
    for _ in range(2000):
        try:
            found = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        except FileNotFoundError:
            return []
        if found or driver.poll() is not None:
            return found
        time.sleep(0.01)
    return []


def check(root: Path, finished: set[str]) -> set[str]:
    """Everything that counts as finished is right, and nothing that was finished is lost."""
    store = RunStore(root)
    names = set(store.names()) if root.exists() else set()
    assert finished <= names
    for name in names:
        assert_right(root / name)
    return names


def attack(tmp_path: Path, kills: int, seed: int) -> Counter[tuple[str, str]]:
    """Runs sweeps and ends their processes until there were `kills` of them; returns how many of each."""
    rng, log = random.Random(seed), tmp_path / "log"
    drive(tmp_path / "reference", log, RUNS, PAUSE)
    reference = contents(tmp_path / "reference")
    count: Counter[tuple[str, str]] = Counter()
    sweeps = 0
    while count.total() < kills:
        root, before = tmp_path / f"{sweeps}", Counter(count)
        sweeps += 1
        log.unlink()
        finished: set[str] = set()
        driver = start(root, log)
        while driver.poll() is None or driver.returncode != 0:
            if driver.poll() is not None:
                driver = start(root, log)
            enough = count.total() >= kills
            killed = None if enough else kill_one(driver, rng, count.total())
            if killed is not None:
                count[killed] += 1
            elif driver.poll() is None:
                driver.wait(120)
            finished = check(root, finished)
        assert finished == {job.key[:16] for job in jobs(log, RUNS, PAUSE)}
        assert contents(root) == reference
        assert len(list_runs(RunStore(root))) == RUNS
        repeated = len(log.read_text().splitlines()) - RUNS
        # A dead driver takes two runs with it, a dead worker one; nothing else is run twice.
        here = count - before
        assert repeated <= sum(n * (2 if who == "driver" else 1) for (who, _), n in here.items())
        assert not list((root / WORK).glob("*"))
    return count


def test_twelve_kills(tmp_path):
    count = attack(tmp_path, 12, seed=1)
    assert {who for who, _ in count} == {"driver", "worker"}
    assert {name for _, name in count} == {"SIGKILL", "SIGTERM", "SIGINT"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_kills(tmp_path):
    count = attack(tmp_path, 1000, seed=2)
    assert len(count) == 6
    assert min(count.values()) >= 60


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    """The checkpoint of a run survives the driver and is used."""
    root, log = tmp_path / "runs", tmp_path / "log"
    driver = start(root, log, 2, 0.3)
    deadline = time.monotonic() + 60
    checkpoints: list[Path] = []
    while len(checkpoints) < 2:
        assert time.monotonic() < deadline
        checkpoints = list((root / ".work").glob("*/scratch/checkpoint.json"))
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    # The workers die with it, and are not half a second later in the middle of a run.
    time.sleep(0.5)
    before = [path.read_text() for path in checkpoints]
    time.sleep(0.5)
    assert [path.read_text() for path in checkpoints] == before
    # A sum that no run would find shows that the checkpoint is read.
    for path in checkpoints:
        path.write_text("[6, 1000000]")
    drive(root, log, 2, 0.3)
    assert [run.result["total"] for run in list_runs(RunStore(root))] == [1_000_000, 1_000_000]


def test_an_interrupted_driver_leaves_nothing_locked(tmp_path):
    root, log = tmp_path / "runs", tmp_path / "log"
    driver = start(root, log, 2, 0.3)
    deadline = time.monotonic() + 60
    while len(list((root / ".work").glob("*/scratch/checkpoint.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    workers = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    driver.send_signal(signal.SIGINT)
    driver.wait(30)
    assert len(workers) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not (root / LOCK).exists()
    drive(root, log, 2, 0.3)
    check(root, set())
