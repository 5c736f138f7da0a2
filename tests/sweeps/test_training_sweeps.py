"""Sweeps of real training."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nerode.records import Divergence, RunStore, TrainSpec, read_run
from nerode.sweeps.running import RunJob, execute
from nerode.training import TRAINING, run_key
from nerode.training.loop import Trainer
from nerode.training.runs import CHECKPOINT

FILE = """
[base]
task.name = "parity"
task.settings = {{shortest = 4, longest = 8}}
model.width = 4
[base.run]
steps = 40
batch = 8
evaluate_every = 10
validation = 16
test_lengths = [8, 16]
test_sequences = 8
[grid]
model.layers = ["gru", "mamba"]
optimiser.rate = [1e-2, 3e-3, 1e-3]
run.seed = {seeds}
"""

TIMES = ("cpu_seconds", "evaluation_cpu_seconds", "environment")


def start(file: Path, out: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nerode.cli.main", "sweep", str(file), "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def found(root: Path) -> dict[str, object]:
    """All that the runs found, bit for bit, but for times and machines."""
    store: dict[str, object] = {}
    for name in RunStore(root).names():
        folder = root / name
        record = read_run(folder).to_json()
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name not in ("result.json", "environment.json")
        }
        result = json.dumps({k: v for k, v in record.items() if k not in TIMES}, sort_keys=True)
        store[name] = (result, files)
    return store


SPEC = {
    "task": {"name": "parity", "settings": {"shortest": 4, "longest": 8}},
    "model": {"layers": "gru", "width": 4, "settings": {"hidden": 4}},
    "run": {"steps": 20, "batch": 4, "evaluate_every": 5, "validation": 8, "test_lengths": [8]},
}


def run_here(root: Path, spec: dict[str, Any]) -> Path:
    store, job = RunStore(root), RunJob(key=TRAINING.key(spec), spec=spec)
    assert execute(store, TRAINING, job).status == "done"
    return store.folder(job.key)


def test_a_run_goes_on_from_its_checkpoint_with_the_same_bits(tmp_path):
    run_here(tmp_path / "whole", SPEC)
    store, spec = RunStore(tmp_path / "stopped"), TrainSpec.from_mapping(SPEC)
    trainer = Trainer(spec)
    for _ in range(12):
        trainer.step()
    checkpoint = store.begin(run_key(spec)).scratch / CHECKPOINT
    trainer.save(checkpoint)
    run_here(store.root, SPEC)
    assert found(store.root) == found(tmp_path / "whole")
    assert not checkpoint.exists()


def test_a_checkpoint_is_really_used(tmp_path):
    """One that ends after the twelfth step as if it had diverged there gives a run that did."""
    store, spec = RunStore(tmp_path), TrainSpec.from_mapping(SPEC)
    trainer = Trainer(spec)
    for _ in range(12):
        trainer.step()
    trainer.progress.divergence = Divergence(step=12, what="loss")
    trainer.save(store.begin(run_key(spec)).scratch / CHECKPOINT)
    assert read_run(run_here(tmp_path, SPEC)).steps == 12


def test_divergence_is_a_result(tmp_path):
    wild = {**SPEC, "optimiser": {"name": "sgd", "rate": 1e38, "clip": 0.0}}
    folder = run_here(tmp_path, wild)
    record = read_run(folder)
    assert record.stopped == "divergence"
    assert record.evaluations == ()
    assert not (folder / "model").exists()
    assert RunStore(tmp_path).is_done(record.key)


@pytest.mark.slow
def test_a_grid_of_24_runs_killed_continued_and_extended(tmp_path):
    file, four, five = tmp_path / "s.toml", tmp_path / "four.toml", tmp_path / "five.toml"
    four.write_text(FILE.format(seeds=[0, 1, 2, 3]))
    five.write_text(FILE.format(seeds=[0, 1, 2, 3, 4]))
    assert start(five, tmp_path / "whole").wait(500) == 0
    whole = found(tmp_path / "whole")
    assert len(whole) == 30

    file.write_text(four.read_text())
    out = tmp_path / "killed"
    for wanted in (3, 9, 15):
        driver = start(file, out)
        while not out.exists() or len(RunStore(out).names()) < wanted:
            assert driver.poll() is None
            time.sleep(0.01)
        driver.kill()
        driver.wait()
    assert start(file, out).wait(500) == 0
    assert len(found(out)) == 24
    file.write_text(five.read_text())
    assert start(file, out).wait(500) == 0
    assert found(out) == whole
