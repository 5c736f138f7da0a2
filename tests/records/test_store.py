from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from nerode.core import FormatError, InputError
from nerode.records import LOCK, RunOutput, RunStore, find_run, list_runs, read_metrics, run_name
from nerode.records.lock import GUARD
from nerode.records.store import INDEX, claim_store, read_key
from nerode.sweeps.running import execute
from tests.records.faulty_disk import FaultyDisk
from tests.sweeps.toy import TOY, Toy, assert_right, job
from tests.timing import within


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


def test_what_a_kill_after_publishing_has_left_is_cleared(tmp_path):
    store, wanted = RunStore(tmp_path), job(3)
    execute(store, TOY, wanted)
    left = store.begin(wanted.key)
    store.clear_attempts()
    assert not left.scratch.exists()
    assert not (tmp_path / ".work" / run_name(wanted.key)).exists()
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


@pytest.fixture
def store(tmp_path) -> RunStore:
    store = RunStore(tmp_path)
    for seed in range(4):
        execute(store, TOY, job(seed))
    return store


def totals(store) -> dict[int, int]:
    return {row.spec["seed"]: row.result["total"] for row in list_runs(store)}


def test_outlines_are_what_the_folders_hold(store):
    assert totals(store) == {0: 0, 1: 15, 2: 30, 3: 45}
    assert {row.key for row in list_runs(store)} == {job(seed).key for seed in range(4)}
    assert len((store.root / INDEX).read_text().splitlines()) == 4


@pytest.mark.parametrize("content", [b"", b"garbage", b"[1, 2]\n[]\nnull\n", b"\xff\xfe"])
def test_a_broken_index_changes_nothing(store, content):
    before = list_runs(store)
    (store.root / INDEX).write_bytes(content)
    assert list_runs(store) == before


def test_an_index_that_lies_about_folders_is_not_believed(store):
    list_runs(store)
    rows = [json.loads(line) for line in (store.root / INDEX).read_text().splitlines()]
    ghost = ["f" * 16, rows[0][1], "f" * 64, {"seed": 99}, {"total": 99}]
    lines = [json.dumps([r[0], "stale", r[2], r[3], {"total": -1}]) for r in rows] + [json.dumps(ghost)]
    (store.root / INDEX).write_text("\n".join(lines))
    assert totals(store) == {0: 0, 1: 15, 2: 30, 3: 45}


def test_a_changed_folder_is_read_again(store):
    list_runs(store)
    folder = store.folder(job(2).key)
    found = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**found, "total": 7}))
    # Not even a clock that was set back hides it.
    os.utime(folder / "result.json", (0, 0))
    assert totals(store)[2] == 7
    (folder / "result.json").write_text("{")
    damaged = [row for row in list_runs(store) if row.damage]
    assert [row.name for row in damaged] == [folder.name]
    assert "result.json" in damaged[0].damage


def test_a_store_that_cannot_be_written_can_be_listed(store):
    assert totals(RunStore(store.root, disk=FaultyDisk(0, stays=True))) == {0: 0, 1: 15, 2: 30, 3: 45}
    assert not (store.root / INDEX).exists()


def test_ten_thousand_runs_are_listed_in_two_seconds(tmp_path):
    store, number = RunStore(tmp_path), 10_000
    spec = {"task": {"name": "parity"}, "model": {"layers": "mamba", "width": 16}, "run": {"steps": 4000}}
    scores = [{"length": n, "token": 0.5, "sequence": 0.1, "final": 0.5, "loss": 0.7} for n in range(40, 48)]
    for seed in range(number):
        folder = tmp_path / f"{seed:016x}"
        folder.mkdir()
        own = {**spec, "seed": seed}
        result = {"key": folder.name + "0" * 48, "spec": own, "title": "mamba", "evaluations": scores}
        (folder / "result.json").write_text(json.dumps(result))
        (folder / "spec.json").write_text(json.dumps(own))
    assert len(list_runs(store)) == number
    rows = within(2.0, lambda: list_runs(store))
    assert sorted(row.spec["seed"] for row in rows) == list(range(number))


def test_runs_are_found_by_the_beginning_of_their_keys_and_as_the_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = job(3), job(4)
    for wanted, root in ((first, "runs"), (second, "runs/sweep")):
        store = RunStore(Path(root))
        store.create()
        execute(store, TOY, wanted)
    folders = [Path("runs") / run_name(first.key), Path("runs/sweep") / run_name(second.key)]
    os.utime(folders[0] / "result.json", (1, 1))
    for wanted, folder in zip((first, second), folders, strict=True):
        assert find_run(Path(wanted.key[:6])) == folder
        assert find_run(folder.parent / wanted.key[:6]) == folder
        assert find_run(folder) == folder
    assert find_run(Path("last")) == folders[1]
    assert find_run(Path("runs/last")) == folders[1]
    assert find_run(Path("0123456789")) == Path("0123456789"), "what names no run is left as it is"
    assert find_run(Path("flip-flop")) == Path("flip-flop")
    (tmp_path / "runs" / "ab00000000000000").mkdir()
    (tmp_path / "runs" / "ab11111111111111").mkdir()
    for folder in tmp_path.glob("runs/ab*"):
        (folder / "result.json").write_text("{}")
    with pytest.raises(InputError, match="give more of the key"):
        find_run(Path("ab"))
    with pytest.raises(InputError, match="there is no finished run in other"):
        find_run(Path("other/last"))


def test_what_an_early_kill_leaves_does_not_claim_a_folder(tmp_path):
    left = (LOCK, GUARD, f".{'0a' * 16}.new")
    for count in range(4):
        for name in left[:count]:
            (tmp_path / name).write_text("")
        claim_store(tmp_path)
    for name in ("mine.txt", ".new", f".{'0g' * 16}.new", f"{LOCK}.old"):
        (tmp_path / name).write_text("")
        with pytest.raises(InputError, match="has files in it, but not runs of nerode"):
            claim_store(tmp_path)
        (tmp_path / name).unlink()
    claim_store(tmp_path)
