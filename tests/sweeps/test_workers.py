"""Several drivers on one folder: each run belongs to one of them, whoever dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from nerode.core import InputError, to_mapping
from nerode.records import (
    LOCK,
    LeaseWatch,
    Owner,
    RunStore,
    current_owner,
    leased,
    list_runs,
    locked,
    newest_lease,
    prune,
)
from nerode.records.store import WORK
from nerode.sweeps.running import LocalExecutor, RunOutcome, run_sweep, run_worker
from tests.sweeps.drive import jobs
from tests.sweeps.test_kills import workers_of
from tests.sweeps.toy import NAME, TOY, assert_right, job

ELSEWHERE = Owner(pid=1, host="another-machine", boot="b", space="s", started="7")


def start(root: Path, log: Path, runs: int, pause: float) -> subprocess.Popen[bytes]:
    arguments = [str(root), str(log), str(runs), str(pause), "worker"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweeps.drive", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def attack(root: Path, log: Path, runs: int, kills: int, pause: float, seed: int) -> int:
    """Runs a sweep by two workers under kills; returns how many runs were begun again."""
    rng, count = random.Random(seed), 0
    drivers = [start(root, log, runs, pause) for _ in range(2)]
    lost = 0
    while any(driver.poll() != 0 for driver in drivers):
        time.sleep(rng.uniform(0.05, 0.4))
        for place, driver in enumerate(drivers):
            if driver.poll() not in (None, 0):
                drivers[place] = start(root, log, runs, pause)
        chosen = rng.choice(drivers)
        if count < kills and chosen.poll() is None and (processes := workers_of(chosen)):
            if count % 2:
                os.kill(int(rng.choice(processes)), signal.SIGKILL)
                lost += 1
            else:
                chosen.kill()
                chosen.wait()
                lost += len(processes)
            count += 1
    begun = Counter(log.read_text().split())
    again = begun.total() - runs
    finished = Counter(log.with_suffix(".done").read_text().split())
    assert len(begun) == runs
    assert set(RunStore(root).names()) == {own.key[:16] for own in jobs(log, runs, pause)}
    assert max(finished.values()) == 1, "a run was finished by two workers"
    assert again <= lost, "a run was begun again that nobody had lost"
    assert count == kills
    for name in RunStore(root).names():
        assert_right(root / name)
    assert not list((root / WORK).glob("*"))
    return again


def test_two_workers_with_kills_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    attack(tmp_path / "runs", tmp_path / "log", 60, 6, 0.01, seed=3)


def work(root: Path, seeds: range, **given: float) -> list[RunOutcome]:
    report = run_worker([job(seed) for seed in seeds], root=root, runner=NAME, **given)  # type: ignore[arg-type]
    return list(report.outcomes)


def test_one_worker_alone_does_all_and_finds_it_done(tmp_path: Path) -> None:
    assert {outcome.status for outcome in work(tmp_path, range(5))} == {"done"}
    assert work(tmp_path, range(5)) == []
    assert len(list_runs(RunStore(tmp_path))) == 5


def test_a_failing_run_is_tried_once_by_each_and_told(tmp_path: Path) -> None:
    report = run_worker([job(1, crash="error"), job(2)], root=tmp_path, runner=NAME)
    assert {outcome.status for outcome in report.outcomes} == {"done", "failed"}
    assert [outcome.message for outcome in report.problems] == ["RuntimeError: this run fails"]


def test_a_driver_and_workers_exclude_each_other(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.create()
    with locked(tmp_path), pytest.raises(InputError, match="--worker"):
        work(tmp_path, range(2))
    with leased(store.work(job(1).key), instead_of=0) as mine:
        assert mine
        with pytest.raises(InputError, match="join it with --worker"):
            run_sweep([job(1)], root=tmp_path, runner=NAME, executor=LocalExecutor(processes=1))
        with pytest.raises(InputError, match="join it with --worker"):
            prune(store, [])
    assert not (tmp_path / LOCK).exists()
    assert {outcome.status for outcome in work(tmp_path, range(2))} == {"done"}


def test_a_lease_is_held_by_one_and_given_back(tmp_path: Path) -> None:
    with leased(tmp_path, instead_of=0) as mine:
        assert mine
        with leased(tmp_path, instead_of=0) as second:
            assert not second
        found = newest_lease(tmp_path)
        assert found is not None
        assert found.life == "alive"
    assert newest_lease(tmp_path) is None


def test_a_worker_of_another_machine_is_waited_for_until_it_is_silent(tmp_path: Path) -> None:
    work_folder = RunStore(tmp_path).work(job(1).key)
    work_folder.mkdir(parents=True)
    path = work_folder / "lease-1.json"
    path.write_text(json.dumps({"owner": to_mapping(ELSEWHERE)}))
    watch, lease = LeaseWatch(patience=0.3), newest_lease(work_folder)
    assert lease is not None
    assert not watch.is_gone(lease)
    time.sleep(0.2)
    os.utime(path)
    assert not watch.is_gone(lease)
    time.sleep(0.2)
    assert not watch.is_gone(lease)
    time.sleep(0.2)
    assert watch.is_gone(lease)
    begun = time.monotonic()
    assert [outcome.status for outcome in work(tmp_path, range(1, 2), patience=1.0)] == ["done"]
    assert time.monotonic() - begun > 1.0


def test_a_dead_process_of_this_machine_is_replaced_at_once(tmp_path: Path) -> None:
    work_folder = RunStore(tmp_path).work(job(1).key)
    (work_folder / "attempt-left").mkdir(parents=True)
    dead = {**to_mapping(current_owner()), "pid": 2**22 - 1, "started": "1"}
    (work_folder / "lease-1.json").write_text(json.dumps({"owner": dead}))
    assert [outcome.status for outcome in work(tmp_path, range(1, 2))] == ["done"]
    assert not work_folder.exists()
    assert TOY.key({"seed": 1})[:16] in RunStore(tmp_path).names()
