"""Clusters: a real Ray, in a process of its own, and submitit with processes of its own for Slurm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nerode.core import InputError
from nerode.records import RunStore
from nerode.sweeps.clusters import RayExecutor, SlurmExecutor
from nerode.sweeps.running import run_sweep
from tests.sweeps.test_training_sweeps import FILE, found
from tests.sweeps.toy import NAME, assert_right, job

ROOT = Path(__file__).parents[2]

TOYS = """
import sys
from pathlib import Path
from nerode.sweeps.running import run_sweep
from nerode.sweeps.clusters import RayExecutor
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


@pytest.mark.skipif(shutil.which("srun") is not None, reason="there is a Slurm here")
def test_without_slurm_the_error_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot submit to slurm"):
        SlurmExecutor().run([job(1)], store=tmp_path, runner=NAME, on_outcome=lambda outcome: None)


def test_without_submitit_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(InputError, match=r"pip install 'nerode\[slurm\]'"):
        SlurmExecutor().run([job(1)], store=tmp_path, runner=NAME, on_outcome=lambda outcome: None)
