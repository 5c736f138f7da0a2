from __future__ import annotations

import errno
import json
import os

import pytest

from nerode.core import FormatError, InputError
from nerode.records import RunOutput, RunStore, read_metrics, run_name
from nerode.records.store import read_key
from nerode.sweeps.running import execute
from tests.sweeps.toy import TOY, Toy, assert_right, job


def test_a_run_appears_whole(tmp_path):
    store = RunStore(tmp_path / "runs")
    store.create()
    wanted = job(3)
    assert not store.is_done(wanted.key)
    assert execute(store, TOY, wanted).status == "done"
    assert store.is_done(wanted.key)
    assert store.names() == [run_name(wanted.key)]
    assert_right(store.folder(wanted.key))
    assert read_key(store.folder(wanted.key)) == wanted.key
    assert [row["sum"] for row in read_metrics(store.folder(wanted.key))] == [3, 9, 18, 30, 45]
    assert not list((store.root / ".work").iterdir()), "nothing is left of the attempt"


def test_a_done_run_is_not_repeated(tmp_path):
    store, log = RunStore(tmp_path), tmp_path / "log"
    wanted = job(3, log=str(log))
    assert [execute(store, TOY, wanted).status for _ in range(2)] == ["done", "done"]
    assert log.read_text() == "3\n"


def test_scratch_survives_and_the_attempt_does_not(tmp_path):
    store = RunStore(tmp_path)
    wanted = job(3)
    first = store.begin(wanted.key)
    (first.scratch / "checkpoint.json").write_text(json.dumps([4, 30]))
    (first.out / "result.json").write_text('{"key": "half')
    assert not store.is_done(wanted.key)
    assert store.unfinished() == [run_name(wanted.key)]
    store.clear_attempts()
    assert not first.out.exists()
    second = store.begin(wanted.key)
    assert second.out != first.out
    assert (second.scratch / "checkpoint.json").exists()
    execute(store, TOY, wanted)
    assert_right(store.folder(wanted.key))


def test_two_processes_with_the_same_run_publish_once(tmp_path):
    store, wanted = RunStore(tmp_path), job(2)
    attempts = [store.begin(wanted.key) for _ in range(2)]
    outputs = [TOY.run(wanted.spec, a.out, a.scratch) for a in attempts]
    store.publish(attempts[0], wanted.spec, outputs[0])
    inode = (store.folder(wanted.key) / "result.json").stat().st_ino
    # The first has removed the work of both; that the second notices is all that is asked of it.
    with pytest.raises(OSError, match="No such file"):
        store.publish(attempts[1], wanted.spec, outputs[1])
    assert (store.folder(wanted.key) / "result.json").stat().st_ino == inode
    assert_right(store.folder(wanted.key))


def test_a_run_that_another_process_finished_meanwhile_is_done(tmp_path):
    store, wanted = RunStore(tmp_path), job(2)

    class Slow(Toy):
        def run(self, spec, out, scratch):
            assert execute(store, TOY, wanted).status == "done"
            return super().run(spec, out, scratch)

    assert execute(store, Slow(), wanted).status == "done"
    assert_right(store.folder(wanted.key))


@pytest.mark.parametrize("content", ["", '{"key": "12', "[]", '{"total": 1}', '{"key": "12"}', "\xff"])
def test_a_damaged_result_is_not_done_and_is_set_aside(tmp_path, content):
    store, wanted = RunStore(tmp_path), job(2)
    execute(store, TOY, wanted)
    (store.folder(wanted.key) / "result.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(FormatError, match=r"result\.json"):
        read_key(store.folder(wanted.key))
    assert not store.is_done(wanted.key)
    assert execute(store, TOY, wanted).status == "done"
    assert_right(store.folder(wanted.key))
    assert len(list((tmp_path / ".damaged").iterdir())) == 1


def test_another_run_in_the_same_place_is_refused(tmp_path):
    store, wanted = RunStore(tmp_path), job(2)
    execute(store, TOY, wanted)
    other = wanted.key[:16] + "0" * 48
    with pytest.raises(InputError, match="holds the run"):
        store.is_done(other)


def test_failures_are_kept_until_the_run_succeeds(tmp_path):
    store = RunStore(tmp_path)
    bad = job(1, crash="error")
    outcome = execute(store, TOY, bad)
    assert (outcome.status, outcome.message) == ("failed", "RuntimeError: this run fails")
    (failure,) = store.failures()
    assert failure.key == bad.key
    assert "in run" in failure.trace
    attempt = store.begin(bad.key)
    store.publish(attempt, bad.spec, RunOutput(result={}, environment={}))
    assert store.failures() == []


@pytest.mark.parametrize(("code", "status"), [(errno.ENOSPC, "disk"), (errno.EACCES, "failed")])
def test_a_full_disk_is_told_from_an_error_of_the_run(tmp_path, code, status):
    class Broken(Toy):
        def run(self, spec, out, scratch):
            try:
                raise OSError(code, os.strerror(code))
            except OSError as error:
                # So does everything that writes files whole or not at all.
                raise InputError(f"cannot write: {error.strerror}") from None

    outcome = execute(RunStore(tmp_path), Broken(), job(1))
    assert outcome.status == status
    assert os.strerror(code) in outcome.message


def test_numbers_that_are_not_finite_fail_the_run(tmp_path):
    store, wanted = RunStore(tmp_path), job(1)
    attempt = store.begin(wanted.key)
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.publish(attempt, wanted.spec, RunOutput(result={"loss": float("nan")}, environment={}))
    assert not store.is_done(wanted.key)


def test_keys_are_hashes():
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        run_name("../../etc/passwd")


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make"):
        RunStore(tmp_path / "file" / "runs").create()
    with pytest.raises(InputError, match="no folder of runs"):
        RunStore(tmp_path / "nowhere").names()
