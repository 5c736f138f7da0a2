from __future__ import annotations

import errno
import os
import subprocess

import pytest

from nerode.core import InputError
from nerode.records import RunStore, locked
from nerode.sweeps.running import execute
from tests.records.faulty_disk import FaultyDisk
from tests.sweeps.toy import TOY, assert_right, job


def count_operations(tmp_path) -> int:
    disk = FaultyDisk(-1)
    assert execute(RunStore(tmp_path / "count", disk=disk), TOY, job(1)).status == "done"
    return disk.count


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_the_kth_operation_fails_for_every_k(tmp_path, code, stays):
    operations = count_operations(tmp_path)
    assert operations > 20, "two folders, four files of three operations, flushes, a rename"
    ended = []
    for k in range(operations):
        store = RunStore(tmp_path / f"{k}", disk=FaultyDisk(k, code=code, stays=stays))
        store.root.mkdir()
        ended.append(execute(store, TOY, job(7)).status)
        whole = RunStore(store.root)
        for name in whole.names():
            assert_right(whole.root / name)
        if ended[-1] == "done":
            assert whole.is_done(job(7).key)
        assert execute(whole, TOY, job(7)).status == "done"
        assert_right(whole.folder(job(7).key))
    # Only the removal of what is left may fail without anybody's being told.
    assert set(ended[:-1]) == {"disk"}
    assert ended[-1] == "done"


def test_a_failed_operation_loses_no_other_run(tmp_path):
    RunStore(tmp_path).create()
    execute(RunStore(tmp_path), TOY, job(1))
    for k in range(30):
        execute(RunStore(tmp_path, disk=FaultyDisk(k, stays=True)), TOY, job(2 + k))
        assert_right(RunStore(tmp_path).folder(job(1).key))


def test_the_lock_when_the_kth_operation_fails(tmp_path):
    for k in range(5):
        disk = FaultyDisk(k)
        with pytest.raises(InputError, match="cannot lock"), locked(tmp_path, disk=disk):
            raise AssertionError
        with locked(tmp_path):
            pass
    with locked(tmp_path, disk=FaultyDisk(5)):
        pass


def test_a_real_disk_that_is_full(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only who may mount a file system can fill one")
    try:
        store = RunStore(place / "runs")
        store.create()
        ended = [execute(store, TOY, job(seed)) for seed in range(10, 30)]
        assert {outcome.status for outcome in ended} == {"done", "disk"}
        assert "No space left" in next(o.message for o in ended if o.status == "disk")
        assert len(store.names()) == sum(o.status == "done" for o in ended)
        for name in store.names():
            assert_right(store.root / name)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_real_folder_that_is_read_only(tmp_path):
    place = tmp_path / "fixed"
    store = RunStore(place)
    execute(store, TOY, job(1))
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", str(place), str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        os.chmod(place, 0o500)
        if os.access(place, os.W_OK):
            pytest.skip("this user may write everywhere and may not mount")
    try:
        outcome = execute(store, TOY, job(2))
        assert outcome.status == "disk"
        assert "Read-only" in outcome.message or "denied" in outcome.message
        with pytest.raises(InputError, match="cannot lock"), locked(place):
            raise AssertionError
        assert execute(store, TOY, job(1)).status == "done", "what is there can still be read"
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", str(place)], check=True)
        os.chmod(place, 0o700)
