from __future__ import annotations

import os
import time

import pytest

from nerode.core import InputError
from nerode.records import LOCK, RunStore, list_runs, locked
from nerode.sweeps.running import LocalExecutor, run_sweep
from tests.sweeps.toy import NAME, assert_right, contents, job

YEAR_1970, YEAR_2100 = 0.0, 4_102_444_800.0


def set_clock(root, when: float) -> None:
    """Makes all files look as if they had been written at another time."""
    for path in [root, *root.rglob("*")]:
        os.utime(path, (when, when))


@pytest.mark.parametrize("when", [YEAR_1970, YEAR_2100])
def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch, when):
    root, jobs = tmp_path / "runs", [job(seed) for seed in range(4)]
    executor = LocalExecutor(processes=1)
    run_sweep(jobs[:2], root=root, runner=NAME, executor=executor)
    before = contents(root)
    set_clock(root, when)
    monkeypatch.setattr(time, "time", lambda: pytest.fail("the clock was asked"))
    report = run_sweep(jobs, root=root, runner=NAME, executor=executor)
    assert len(report.before) == len(report.outcomes) == 2
    assert before.items() <= contents(root).items()
    set_clock(root, when)
    assert sorted(run.result["seed"] for run in list_runs(RunStore(root))) == [0, 1, 2, 3]
    for name in RunStore(root).names():
        assert_right(root / name)


@pytest.mark.parametrize("when", [YEAR_1970, YEAR_2100])
def test_a_lock_does_not_grow_old(tmp_path, when):
    with locked(tmp_path):
        os.utime(tmp_path / LOCK, (when, when))
        with pytest.raises(InputError, match="in use"), locked(tmp_path):
            raise AssertionError
