"""Training runs in a store: trained once, continued, whole or not at all, alone or in processes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from nerode.core import Disk, FormatError, InputError
from nerode.models import read_model
from nerode.records import RunStore, read_run, run_name
from nerode.training import run_all, run_in, run_key, runs
from nerode.training.loop import train, train_run
from tests.records.faulty_disk import FaultyDisk

from .tiny import tiny


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished run: its folder, its record and the model as it was trained."""
    out, spec = tmp_path_factory.mktemp("runs"), tiny(run={"steps": 6})
    record = run_in(out, spec)
    return out / run_name(record.key), record, train(spec)[1]


def names(out):
    return sorted(path.name for path in out.iterdir() if not path.name.startswith("."))


def test_a_run_is_read_back_as_it_was(done):
    folder, record, model = done
    assert read_run(folder) == record
    assert names(folder) == [
        "environment.json",
        "language.json",
        "metrics.jsonl",
        "model.safetensors",
        "result.json",
        "spec.json",
        "subject.json",
    ]
    assert record.key == record.complete.key
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [5, 6]
    x = torch.tensor([[0, 1, 1, 0]])
    assert torch.equal(read_model(folder)(x)[0], model.eval()(x)[0])


def refusal(out, spec) -> str:
    """Runs, and returns the message if the disk was refused."""
    try:
        run_in(out, spec)
    except InputError as error:
        return str(error)
    return ""


def test_the_disk_may_fail_anywhere(tmp_path, monkeypatch):
    """Every operation of the store fails once; what is not whole is not there, and the next try succeeds."""
    spec = tiny(run={"steps": 2, "test_lengths": [10]})
    trained = train_run(spec)
    monkeypatch.setattr(runs, "train_run", lambda *_, **__: trained)
    counting = FaultyDisk(-1)

    def use(disk: Disk) -> None:
        monkeypatch.setattr(runs, "RunStore", lambda root: RunStore(root, disk=disk))

    use(counting)
    run_in(tmp_path / "count", spec)
    refused = 0
    for k in range(counting.count):
        out = tmp_path / f"{k}"
        use(FaultyDisk(k, code=errno.ENOSPC))
        message = refusal(out, spec)
        refused += bool(message)
        assert not message or "No space left on device; choose another place" in message
        if out.exists() and names(out):
            assert read_run(out / run_name(run_key(spec))) == trained[0]
        use(Disk())
        assert run_in(out, spec) == trained[0]
    assert refused > 10


def test_damage_is_said(done, tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        read_run(tmp_path)
    for name in ("result.json", "metrics.jsonl"):
        (tmp_path / name).write_bytes((done[0] / name).read_bytes())
    assert read_run(tmp_path) == done[1]
    (tmp_path / "metrics.jsonl").write_text("{")
    with pytest.raises(FormatError, match=r"metrics.jsonl.* is not JSON"):
        read_run(tmp_path)
    (tmp_path / "metrics.jsonl").write_text("")
    (tmp_path / "result.json").write_text("[]")
    with pytest.raises(FormatError, match="is not a JSON object"):
        read_run(tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(FormatError, match="is not the record of a run"):
        read_run(tmp_path)
    (tmp_path / "result.json").write_bytes(b"\xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_run(tmp_path)


def test_a_run_that_cannot_begin_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no module"):
        run_in(tmp_path / "runs", tiny(model={"module": "absent_module_of_test:build"}))
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_is_no_run_is_set_aside(tmp_path):
    spec = tiny(run={"steps": 3})
    place = tmp_path / run_name(run_key(spec))
    place.mkdir()
    (place / "letter.txt").write_text("dear")
    record = run_in(tmp_path, spec)
    assert read_run(place) == record
    (kept,) = (tmp_path / ".damaged").glob("*/letter.txt")
    assert kept.read_text() == "dear"


def test_a_finished_run_is_not_trained_again(tmp_path, monkeypatch):
    spec = tiny(run={"steps": 6})
    record = run_in(tmp_path, spec)
    assert names(tmp_path) == [run_name(run_key(spec))]
    monkeypatch.setattr(runs, "train_run", None)
    assert run_in(tmp_path, spec) == record
    other = tiny(run={"steps": 7})
    (tmp_path / run_name(run_key(spec))).rename(tmp_path / run_name(run_key(other)))
    with pytest.raises(InputError, match="holds the run"):
        run_in(tmp_path, other)


def test_a_run_that_was_stopped_goes_on(tmp_path):
    spec = tiny()

    def stop(event):
        if event.event == "validation" and event.step == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(tmp_path, spec, on_progress=stop, checkpoint_every=0.0)
    assert not (tmp_path / run_name(run_key(spec))).exists()
    steps = []
    record = run_in(tmp_path, spec, on_progress=lambda event: steps.append(event.step))
    assert min(steps) >= 9
    assert os.listdir(tmp_path / ".work") == []
    whole, _ = train(spec)
    assert record.history == whole.history
    assert record.evaluations == whole.evaluations


def test_divergence_has_a_folder_without_a_model(tmp_path):
    spec = tiny(optimiser={"name": "sgd", "rate": 1e6, "clip": 0}, model={"layers": "elman-relu"})
    record = run_in(tmp_path, spec)
    assert record.divergence is not None
    assert not (tmp_path / run_name(run_key(spec)) / "model.safetensors").exists()
    assert run_in(tmp_path, spec) == record


def test_the_weights_of_own_models_are_kept(tmp_path):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(2, 2))
            self.same = self.table

        def forward(self, x, state=None):
            return self.table[x], None

    spec = tiny(run={"steps": 3})
    run_in(tmp_path, spec, build=lambda task: Own())
    weights = load_file(tmp_path / run_name(run_key(spec)) / "model.safetensors")
    assert weights["table"].shape == (2, 2)
    assert weights["table"].abs().sum() > 0


def test_a_place_that_cannot_be_written_is_told_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")

    def never(*arguments, **options):
        raise AssertionError("it was trained")

    monkeypatch.setattr(runs, "train_run", never)
    with pytest.raises(InputError, match="choose another place"):
        run_in(tmp_path / "file" / "runs", tiny(run={"steps": 6}))


DRIVER = """
import sys
from pathlib import Path
from nerode.training import run_all
from nerode.records import TrainSpec

def spec(seed):
    return TrainSpec.from_mapping({
        "task": {"name": "parity"},
        "model": {"layers": "gru", "width": 4},
        "run": {"steps": 10**9, "seed": seed, "evaluate_every": 10**9},
    })

if __name__ == "__main__":
    list(run_all([spec(0), spec(1)], Path(sys.argv[1]), jobs=2))
"""


def test_runs_side_by_side(tmp_path):
    specs = [tiny(run={"seed": seed, "steps": 10}) for seed in range(3)]
    seen = set()
    found = dict(
        run_all(specs, tmp_path, jobs=2, on_progress=lambda number, event: seen.add((number, event.event)))
    )
    assert sorted(found) == [0, 1, 2]
    assert seen >= {(n, e) for n in range(3) for e in ("validation", "testing")}
    for number, spec in enumerate(specs):
        assert read_run(tmp_path / run_name(run_key(spec))) == found[number]


def test_errors_come_through(tmp_path):
    specs = [tiny(model={"module": "absent_module_of_test:build"}, run={"seed": s}) for s in range(2)]
    with pytest.raises(InputError, match="no module"):
        list(run_all(specs, tmp_path, jobs=2))


def test_a_killed_driver_takes_its_workers_along(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    driver = subprocess.Popen([sys.executable, str(script), str(tmp_path / "runs")], env=environment)
    try:
        workers = _workers(driver, tmp_path / "runs" / ".work")
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    deadline = time.monotonic() + 30
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_lives, workers))


def _workers(driver, work) -> list[int]:
    """The workers, once both have begun a run."""
    while len(list(work.glob("*/scratch"))) < 2:
        assert driver.poll() is None, "the driver ended before it had two workers"
        time.sleep(0.1)
    with open(f"/proc/{driver.pid}/task/{driver.pid}/children") as file:
        pids = [int(pid) for pid in file.read().split()]
    assert len(pids) == 2
    return pids


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
