"""The worker pool: results, events, errors, deaths, and workers that never outlive their driver."""

from __future__ import annotations

import functools
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nerode.core import Budget, BudgetExceeded, InputError, LostJob, UnknownName, WorkerPool, enforce

SERVE = "from nerode.core.workers import serve; serve()"


@pytest.fixture(autouse=True)
def _jobs_can_be_imported(monkeypatch):
    """Workers are new processes, which find this module only by the path."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)


def square(offset: int, job: int, emit) -> int:
    print("a job may print what it likes")
    emit(("begun", job))
    return job * job + offset


def burn(job: int, emit) -> int:
    end = time.process_time() + job
    while time.process_time() < end:
        pass
    return job


def misbehave(job: str, emit) -> str:
    if job == "exit":
        os._exit(9)
    if job == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "input":
        raise UnknownName("job", "sqare", ["square"])
    if job == "error":
        raise ZeroDivisionError("no")
    if job == "path":
        return sys.executable
    return job


def test_results_and_events_come_with_the_number_of_their_job(capfd):
    events = []
    pool = WorkerPool(functools.partial(square, 100), processes=2)
    found = dict(pool.run([1, 2, 3, 4, 5], on_event=lambda number, event: events.append((number, event))))
    assert found == {0: 101, 1: 104, 2: 109, 3: 116, 4: 125}
    assert sorted(events) == [(n, ("begun", n + 1)) for n in range(5)]
    assert capfd.readouterr().out == ""


def test_a_large_job_and_a_large_result_fit_through():
    text = "x" * 5_000_000
    assert list(WorkerPool(misbehave, processes=1).run([text])) == [(0, text)]


def test_errors_of_jobs_are_raised_here():
    with pytest.raises(ZeroDivisionError, match="no"):
        list(WorkerPool(misbehave, processes=1).run(["fine", "error"]))
    with pytest.raises(InputError, match="sqare"):
        list(WorkerPool(misbehave, processes=1).run(["input"]))


def test_a_job_whose_process_dies_is_tried_again_and_then_lost():
    found = dict(WorkerPool(misbehave, processes=2, retries=1).run(["exit", "fine", "kill", "well"]))
    assert found == {
        0: LostJob(deaths=2, status=9),
        1: "fine",
        2: LostJob(deaths=2, status=-9),
        3: "well",
    }
    assert found[0].message == "its process died 2 times, last with exit status 9"
    assert found[2].message == "its process died 2 times, last with signal 9"


def test_jobs_that_wait_can_be_dropped():
    pool = WorkerPool(functools.partial(square, 0), processes=1)
    found = []
    for number, _ in pool.run(list(range(50))):
        found.append(number)
        pool.drop_waiting()
    assert len(found) <= 2


def test_leaving_early_ends_the_processes():
    pool = WorkerPool(functools.partial(square, 0), processes=2)
    results = pool.run(list(range(50)))
    next(results)
    processes = [worker.process for worker in pool._workers.values()]
    assert len(processes) == 2
    results.close()
    assert all(process.poll() is not None for process in processes)


def test_files_of_the_user_do_not_take_the_place_of_modules(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise RuntimeError('not the pickle you know')")
    monkeypatch.chdir(tmp_path)
    assert dict(WorkerPool(misbehave, processes=1).run(["fine"])) == {0: "fine"}


@pytest.mark.parametrize("arguments", [{"processes": 0}, {"processes": 1, "retries": -1}])
def test_numbers_that_make_no_sense_are_refused(arguments):
    with pytest.raises(InputError, match="it has to be"):
        WorkerPool(misbehave, **arguments)


def test_workers_die_without_the_help_of_the_kernel():
    """The end of the input is enough."""
    read, write = os.pipe()
    try:
        arguments = [sys.executable, "-c", SERVE, str(os.getpid()), str(read)]
        ended = subprocess.run(arguments, stdin=subprocess.DEVNULL, check=False, timeout=60, pass_fds=[read])
    finally:
        os.close(read)
        os.close(write)
    assert ended.returncode == 0


def test_a_worker_of_another_parent_does_not_begin():
    arguments = [sys.executable, "-c", SERVE, "1", "0"]
    assert subprocess.run(arguments, stdin=subprocess.DEVNULL, check=False).returncode == 1


def test_the_processor_time_of_jobs_at_work_counts():
    pool = WorkerPool(burn, processes=2)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(BudgetExceeded) as stopped, enforce(Budget(seconds=1.0)):
        list(pool.run([60, 60, 60]))
    assert stopped.value.resource == "seconds"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 30
