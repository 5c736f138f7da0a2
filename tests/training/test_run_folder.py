"""Run folders: whole or not at all, read back as they were, and done only once."""

from __future__ import annotations

import json
import os

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from nerode.core import FormatError, InputError
from nerode.models import read_model
from nerode.records import read_run, run_name
from nerode.training import run_folder, run_key
from nerode.training.loop import train
from nerode.training.runs import run_in, write_run

from .tiny import tiny


@pytest.fixture(scope="module")
def trained():
    return train(tiny(run={"steps": 6}))


def test_a_run_is_read_back_as_it_was(trained, tmp_path):
    record, model = trained
    write_run(tmp_path / "run", record, model)
    assert read_run(tmp_path / "run") == record
    names = sorted(p.name for p in (tmp_path / "run").iterdir())
    assert names == ["environment.json", "metrics.jsonl", "model", "result.json", "spec.json"]
    assert os.listdir(tmp_path) == ["run"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [5, 6]
    x = torch.tensor([[0, 1, 1, 0]])
    assert torch.equal(read_model(tmp_path / "run" / "model")(x)[0], model.eval()(x)[0])


def test_the_same_run_stays_and_another_is_refused(trained, tmp_path):
    record, model = trained
    write_run(tmp_path / "run", record, model)
    before = (tmp_path / "run" / "result.json").stat().st_ino
    write_run(tmp_path / "run", record, model)
    assert (tmp_path / "run" / "result.json").stat().st_ino == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds something else"):
        write_run(tmp_path / "other", record, model)
    assert sorted(os.listdir(tmp_path)) == ["other", "run"]


def test_nothing_is_left_when_a_write_fails(trained, tmp_path, monkeypatch):
    record, model = trained
    real, calls = run_folder.write_atomically, []

    def fail(path, text):
        calls.append(path.name)
        if len(calls) == 4:
            raise InputError("disk full")
        real(path, text)

    monkeypatch.setattr(run_folder, "write_atomically", fail)
    with pytest.raises(InputError, match="disk full"):
        write_run(tmp_path / "run", record, model)
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_said(trained, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_run(tmp_path / "file" / "run", trained[0], None)


def test_damage_is_said(trained, tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_run(tmp_path)
    write_run(tmp_path / "run", *trained)
    (tmp_path / "run" / "metrics.jsonl").write_text("{")
    with pytest.raises(FormatError, match=r"metrics.jsonl: is not JSON"):
        read_run(tmp_path / "run")
    (tmp_path / "run" / "result.json").write_text("[]")
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    with pytest.raises(FormatError, match="is not the record of a run"):
        read_run(tmp_path / "run")
    (tmp_path / "run" / "result.json").write_bytes(b"\xff")
    with pytest.raises(FormatError, match="is not UTF-8"):
        read_run(tmp_path / "run")


def test_a_finished_run_is_not_trained_again(tmp_path, monkeypatch):
    spec = tiny(run={"steps": 6})
    record = run_in(tmp_path, spec)
    assert os.listdir(tmp_path) == [run_name(run_key(spec))]
    monkeypatch.setattr(run_folder, "train", None)
    assert run_in(tmp_path, spec) == record
    other = tiny(run={"steps": 7})
    (tmp_path / run_name(run_key(spec))).rename(tmp_path / run_name(run_key(other)))
    with pytest.raises(InputError, match="holds another run"):
        run_in(tmp_path, other)


def test_a_run_that_was_stopped_goes_on(tmp_path):
    spec = tiny()

    def stop(sight):
        if sight.event == "validation" and sight.step == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(tmp_path, spec, watch=stop, checkpoint_every=0.0)
    assert not (tmp_path / run_name(run_key(spec))).exists()
    steps = []
    record = run_in(tmp_path, spec, watch=lambda sight: steps.append(sight.step))
    assert min(steps) >= 9
    assert os.listdir(tmp_path / ".work") == []
    whole, _ = train(spec)
    assert record.history == whole.history
    assert record.evaluations == whole.evaluations


def test_divergence_has_a_folder_without_a_model(tmp_path):
    spec = tiny(optimiser={"name": "sgd", "rate": 1e6, "clip": 0}, model={"layers": "elman-relu"})
    record = run_in(tmp_path, spec)
    assert record.divergence is not None
    assert not (tmp_path / run_name(run_key(spec)) / "model").exists()
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
    weights = load_file(tmp_path / run_name(run_key(spec)) / "model" / "weights.safetensors")
    assert weights["table"].shape == (2, 2)
    assert weights["table"].abs().sum() > 0


def test_a_place_that_cannot_be_written_is_told_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")

    def never(*arguments, **options):
        raise AssertionError("it was trained")

    monkeypatch.setattr(run_folder, "train", never)
    with pytest.raises(InputError, match="choose another place"):
        run_in(tmp_path / "file" / "runs", tiny(run={"steps": 6}))
