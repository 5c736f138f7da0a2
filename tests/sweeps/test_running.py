"""Clusters: a real Ray, in a process of its own, and submitit with processes of its own for Slurm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nerode.core import InputError
from nerode.records import RunStore, list_runs, locked
from nerode.sweeps.running import LocalExecutor, RayExecutor, SlurmExecutor, _array_limit, run_sweep
from tests.sweeps.drive import submit
from tests.sweeps.test_training_sweeps import FILE, found
from tests.sweeps.toy import NAME, assert_right, contents, job


def sweep(root, jobs, *, processes=2, retries=1, on_outcome=None):
    executor = LocalExecutor(processes=processes, retries=retries)
    return run_sweep(jobs, root=root, runner=NAME, executor=executor, on_outcome=on_outcome)


def test_a_sweep_runs_what_is_missing(tmp_path):
    jobs, seen = [job(seed) for seed in range(6)], []
    report = sweep(tmp_path / "runs", jobs[:4], on_outcome=seen.append)
    assert [o.status for o in report.outcomes] == ["done"] * 4
    assert seen == list(report.outcomes)
    before = contents(tmp_path / "runs")
    report = sweep(tmp_path / "runs", jobs)
    assert set(report.before) == {j.key for j in jobs[:4]}
    assert {o.key for o in report.outcomes} == {j.key for j in jobs[4:]}
    after = contents(tmp_path / "runs")
    assert before.items() <= after.items()
    store = RunStore(tmp_path / "runs")
    assert len(store.names()) == 6
    for name in store.names():
        assert_right(store.root / name)
    assert sweep(tmp_path / "runs", jobs).outcomes == ()


def test_runs_that_fail_or_die_do_not_stop_the_others(tmp_path):
    jobs = [job(1, crash="error"), job(2, crash="exit"), *(job(seed) for seed in range(3, 7))]
    report = sweep(tmp_path, jobs)
    assert {o.key: o.status for o in report.problems} == {jobs[0].key: "failed", jobs[1].key: "lost"}
    (lost,) = (o for o in report.problems if o.status == "lost")
    assert lost.message == "its process died 2 times, last with exit status 9"
    assert len(list_runs(RunStore(tmp_path))) == 4


def test_a_damaged_run_is_set_aside_and_run_again(tmp_path):
    jobs = [job(1), job(2)]
    sweep(tmp_path, jobs)
    before = contents(tmp_path)
    (RunStore(tmp_path).folder(jobs[0].key) / "result.json").write_text("{")
    report = sweep(tmp_path, jobs)
    assert report.before == (jobs[1].key,)
    (path,) = report.set_aside
    assert (path / "result.json").read_text() == "{"
    assert contents(tmp_path) == before


def test_files_of_the_user_do_not_take_the_place_of_modules(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise RuntimeError('not the json you know')")
    monkeypatch.chdir(tmp_path)
    assert not sweep(tmp_path / "runs", [job(1)]).problems


def test_two_drivers_on_one_folder(tmp_path):
    tmp_path.joinpath("runs").mkdir()
    with locked(tmp_path / "runs"), pytest.raises(InputError, match="in use by process"):
        sweep(tmp_path / "runs", [job(1)])
    sweep(tmp_path / "runs", [job(1)])


def test_a_full_disk_ends_the_sweep_with_a_clear_error(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only who may mount a file system can fill one")
    try:
        jobs = [job(seed) for seed in range(10, 40)]
        with pytest.raises(InputError, match=r"No space left.* finished runs of 30 are safe; make room"):
            sweep(place, jobs)
        store = RunStore(place)
        assert 0 < len(store.names()) < 30
        for name in store.names():
            assert_right(place / name)
        subprocess.run(["mount", "-o", "remount,size=10m", str(place)], check=True)
        sweep(place, jobs)
        assert len(store.names()) == 30
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("arguments", [{"processes": 0}, {"retries": -1}])
def test_numbers_that_make_no_sense_are_refused(arguments):
    with pytest.raises(InputError, match="it has to be"):
        LocalExecutor(**arguments)


def test_workers_die_with_the_driver(tmp_path):
    jobs = "[job(seed, steps=1000, pause=0.1) for seed in range(2)]"
    code = f"from tests.sweeps.test_running import *; sweep(Path({str(tmp_path)!r}), {jobs})"
    driver = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while len(list((tmp_path / ".work").glob("*/scratch/checkpoint.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    assert len(children) == 2
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    while any(_runs(int(pid)) for pid in children):
        assert time.monotonic() < deadline, "a worker outlived its driver"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


ROOT = Path(__file__).parents[2]

TOYS = """
import sys
from pathlib import Path
from nerode.sweeps.running import run_sweep
from nerode.sweeps.running import RayExecutor
from tests.sweeps.toy import NAME, job

jobs = [*(job(seed) for seed in range(6)), job(6, crash="once"), job(7, crash="exit"), job(8, crash="error")]
executor = RayExecutor(processes=2, retries=1)
report = run_sweep(jobs, root=Path(sys.argv[1]), runner=NAME, executor=executor)
for outcome in report.problems:
    print(outcome.key, outcome.status, outcome.message)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_a_sweep_on_ray_with_killed_processes(tmp_path):
    done = run("-c", TOYS, str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    lines = sorted(line.split(maxsplit=2) for line in done.stdout.splitlines())
    wanted = sorted([(job(7, crash="exit").key, "lost"), (job(8, crash="error").key, "failed")])
    assert [tuple(line[:2]) for line in lines] == wanted
    store = RunStore(tmp_path / "runs")
    assert len(store.names()) == 7
    assert store.is_done(job(6, crash="once").key)
    for name in store.names():
        assert_right(store.root / name)


@pytest.mark.slow
def test_the_same_file_on_ray_and_on_this_machine(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(FILE.format(seeds=[0]))
    for executor in ("ray", "local"):
        done = run(
            "-m", "nerode.cli.main", "sweep", str(file), "--out", str(tmp_path / executor),
            "--executor", executor, "--jobs", "2",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len(found(tmp_path / "ray")) == 6
    assert found(tmp_path / "ray") == found(tmp_path / "local")


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'nerode\[ray\]'"):
        RayExecutor().run([job(1)], store=tmp_path, runner="", on_outcome=lambda outcome: None)


@pytest.mark.slow
def test_a_sweep_by_submitit(tmp_path):
    jobs = [job(1), job(2), job(3, crash="exit"), job(4, crash="error")]
    executor = SlurmExecutor(cluster="local", poll=0.05, settings={"timeout_min": 2})
    report = run_sweep(jobs, root=tmp_path, runner=NAME, executor=executor)
    assert {o.key: o.status for o in report.problems} == {jobs[2].key: "lost", jobs[3].key: "failed"}
    store = RunStore(tmp_path)
    assert len(store.names()) == 2
    for name in store.names():
        assert_right(tmp_path / name)


@pytest.mark.slow
def test_the_successor_of_a_dead_driver_waits_for_its_jobs_and_submits_none_twice(tmp_path):
    root, log = tmp_path / "runs", tmp_path / "log"
    arguments = [str(root), str(log), "3", "0.5", "slurm"]
    driver = subprocess.Popen([sys.executable, "-m", "tests.sweeps.drive", *arguments])
    submitted = root / ".slurm" / "submitted.jsonl"
    deadline = time.monotonic() + 60
    while not log.exists() or not submitted.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    submit(root, log, 4, 0.5)
    # The fourth run is new; of the others none was begun again, and none lost its work.
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert len(submitted.read_text().splitlines()) == 4
    for name in RunStore(root).names():
        assert_right(root / name)


@pytest.mark.slow
def test_arrays_are_split_at_the_limit(tmp_path, monkeypatch):
    submitit = pytest.importorskip("submitit")
    batches, real = [], submitit.AutoExecutor.batch

    def batch(self, *arguments, **keywords):
        batches.append(self)
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(submitit.AutoExecutor, "batch", batch)
    executor = SlurmExecutor(cluster="local", poll=0.05, settings={"timeout_min": 2}, limit=2)
    report = run_sweep([job(seed) for seed in range(5)], root=tmp_path, runner=NAME, executor=executor)
    assert len(batches) == 3
    assert [outcome.status for outcome in report.outcomes] == ["done"] * 5


def test_the_limit_of_arrays_is_what_slurm_says(monkeypatch):
    said = "Configuration data\nMaxArraySize            = 1001\nMaxJobCount = 10000\n"
    monkeypatch.setattr(
        "nerode.sweeps.running.subprocess.run",
        lambda *arguments, **keywords: subprocess.CompletedProcess(arguments, 0, said, ""),
    )
    assert _array_limit() == 1000


@pytest.mark.skipif(shutil.which("srun") is not None, reason="there is a Slurm here")
def test_without_slurm_the_error_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot submit to slurm"):
        SlurmExecutor().run([job(1)], store=tmp_path, runner=NAME, on_outcome=lambda outcome: None)


def test_without_submitit_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(InputError, match=r"pip install 'nerode\[slurm\]'"):
        SlurmExecutor().run([job(1)], store=tmp_path, runner=NAME, on_outcome=lambda outcome: None)
