from __future__ import annotations

import json
import os
import time

import pytest

from nerode.records import RunStore, list_runs
from nerode.records.index import INDEX
from nerode.sweeps.running import execute
from tests.records.faulty_disk import FaultyDisk
from tests.sweeps.toy import TOY, job


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
    begun = time.process_time()
    rows = list_runs(store)
    assert time.process_time() - begun < 2.0
    assert sorted(row.spec["seed"] for row in rows) == list(range(number))
