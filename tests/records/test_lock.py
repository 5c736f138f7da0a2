from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nerode.core import InputError, to_mapping
from nerode.records import LOCK, Owner, current_owner, locked, read_owner


def write_lock(root, owner: Owner) -> None:
    (root / LOCK).write_text(json.dumps({"owner": to_mapping(owner), "mark": "x"}))


def stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def test_a_lock_names_its_owner_and_goes_away(tmp_path):
    with locked(tmp_path):
        assert read_owner(tmp_path / LOCK) == current_owner()
        assert current_owner().life == "alive"
    assert not (tmp_path / LOCK).exists()


def test_a_second_driver_is_refused(tmp_path):
    with locked(tmp_path):
        with pytest.raises(InputError, match=f"in use by process {os.getpid()}"), locked(tmp_path):
            raise AssertionError
        assert read_owner(tmp_path / LOCK) == current_owner(), "the refusal has not touched the lock"


def test_it_goes_away_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("change", [{"started": "1"}, {"boot": "another"}])
def test_the_lock_of_a_dead_process_is_taken_over(tmp_path, change):
    # The number of a process may have gone to another one; then its start is another.
    write_lock(tmp_path, replace(current_owner(), **change))
    with locked(tmp_path):
        assert read_owner(tmp_path / LOCK) == current_owner()


def test_a_process_that_ended_is_dead(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = replace(current_owner(), pid=child.pid, started=stat(child.pid)[19])
    assert owner.life == "alive"
    child.kill()
    while stat(child.pid)[0] != "Z":
        time.sleep(0.01)
    assert owner.life == "dead", "a zombie runs no sweep"
    child.communicate()
    assert owner.life == "dead"


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"space": "pid:[1]"}])
def test_an_owner_that_cannot_be_seen_keeps_its_lock(tmp_path, change):
    write_lock(tmp_path, replace(current_owner(), **change))
    with (
        pytest.raises(InputError, match="cannot be seen from here; if it has ended, delete"),
        locked(tmp_path),
    ):
        raise AssertionError


def test_a_file_that_names_nobody_is_replaced(tmp_path):
    (tmp_path / LOCK).write_text("{")
    with locked(tmp_path):
        assert read_owner(tmp_path / LOCK) == current_owner()


def test_only_one_of_many_takes_over(tmp_path):
    write_lock(tmp_path, replace(current_owner(), started="1"))
    code = (
        "import sys; from pathlib import Path; from nerode.records import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.readline()\n"
    )
    drivers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    losers = 0
    # The winner holds the lock until it is told to go, which happens when all others have given up.
    while losers < 4:
        losers = sum(d.poll() is not None for d in drivers)
        time.sleep(0.02)
    results = [d.communicate("go\n") for d in drivers]
    assert sorted(out for out, _ in results) == ["", "", "", "", "held\n"]
    assert sum("is in use by process" in err for _, err in results) == 4
