"""With submitit's own processes in the place of Slurm's, which is not here."""

from __future__ import annotations

import shutil
import sys

import pytest

from nerode.core import InputError
from nerode.records import RunStore
from nerode.sweeps.clusters import SlurmExecutor
from nerode.sweeps.driver import run_sweep
from tests.sweeps.toy import NAME, assert_right, job


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
