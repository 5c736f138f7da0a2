"""Mending: the folder that is written is a run with its own proof; the given model stays as it was."""

import json

import pytest
import torch
from safetensors.torch import save

import nerode as nr
from nerode.analysis import load_subject
from nerode.analysis.mending import choose_method, mend
from nerode.analysis.settle import replay_settlement
from nerode.core import Budget, InputError
from nerode.models import LayerConfig, ModelConfig, build_model, save_model
from nerode.records import TaskConfig, hash_tensors, read_run
from nerode.training import make_spec
from nerode.training.runs import run_in

QUICK = {"run": {"test_sequences": 4, "validation": 16, "test_lengths": [40]}}


def saved_model(folder, name="mingru", **settings):
    """A model of somebody else, with random weights, which reads the letters of set-reset."""
    layer = LayerConfig(name=name, settings={"learned_start": True, **settings})
    model = build_model(
        ModelConfig(layers=(layer,), letters=3, outputs=4, width=16, final_norm="rms"), seed=1
    )
    save_model(folder, model)
    return load_subject(folder)


def test_a_model_of_somebody_else_is_mended_and_its_proof_is_in_its_folder(tmp_path):
    subject = saved_model(tmp_path / "given")
    before = {name: value.clone() for name, value in subject.model.state_dict().items()}
    out = tmp_path / "new"
    task = TaskConfig(name="predict-set-reset")
    record, found = mend(subject, out, task=task, settings=QUICK)
    assert found.status == "proved"
    assert record.checks[0]["given"]
    assert record.spec.run.start == hash_tensors(save(before))
    assert all(torch.equal(before[name], value) for name, value in subject.model.state_dict().items())
    assert replay_settlement(out)[1] is not None
    assert read_run(out).key == record.key
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    again = load_subject(out)
    assert again.zoo_model.config == subject.zoo_model.config.complete()
    # What is there is replaced, whole.
    other, _ = mend(subject, out, task=task, seed=1, settings=QUICK)
    assert read_run(out).key == other.key != record.key


def test_failing_words_are_trained_on(tmp_path):
    tables = {
        "task": {"name": "parity", "settings": {"shortest": 1, "longest": 6}},
        "model": {"layers": "lstm", "width": 4, "settings": {"hidden": 8}},
        "optimiser": {"rate": 2e-2},
        "run": {"steps": 150, "seed": 2, **QUICK["run"]},
    }
    record = run_in(tmp_path / "runs", make_spec(tables))
    subject = load_subject(next(p for p in (tmp_path / "runs").iterdir() if (p / "result.json").exists()))
    assert choose_method(subject) == "gates"
    settings = {
        "run": {**QUICK["run"], "steps": 40, "evaluate_every": 20, "exact": {"states": 300, "tested": 8}},
    }
    mended, found = mend(
        subject, tmp_path / "new", method="words", settings=settings, budget=Budget(seconds=2)
    )
    assert mended.key != record.key
    assert mended.steps == 40 or mended.stopped == "judge"
    assert [check["words"] for check in mended.checks] == ["all"] * len(mended.checks)
    assert found.status in ("proved", "refuted", "unsettled")
    assert (
        json.loads((tmp_path / "new" / "settled" / "settlement.json").read_text())["status"] == found.status
    )


def test_the_method_follows_from_the_layers(tmp_path):
    assert choose_method(saved_model(tmp_path / "a")) == "gates"
    assert choose_method(saved_model(tmp_path / "b", "s4d", learned_start=False)) == "words"


def test_what_cannot_be_mended_is_refused(tmp_path):
    subject = saved_model(tmp_path / "given")
    with pytest.raises(InputError, match="has no task"):
        mend(subject, tmp_path / "new")
    with pytest.raises(InputError, match="reads 3 letters"):
        mend(subject, tmp_path / "new", task=TaskConfig(name="parity"))
    assert not (tmp_path / "new").exists()


def test_python_mends_a_folder_and_saves_what_is_proved(tmp_path):
    saved_model(tmp_path / "given")
    mended = nr.mend(tmp_path / "given", nr.language("set-reset"), seed=1)
    assert mended.settlement.status == "proved"
    assert str(mended).startswith("✓ ")
    mended.save(tmp_path / "kept")
    assert load_subject(tmp_path / "kept").record is not None
    assert replay_settlement(tmp_path / "kept")[1] is not None
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="other"):
        mended.save(tmp_path / "other")
    with pytest.raises(InputError, match="no task"):
        nr.mend(tmp_path / "given")


def test_attention_is_refused_in_a_sentence(tmp_path):
    layer = LayerConfig(name="transformer", settings={"heads": 1})
    model = build_model(ModelConfig(layers=(layer,), letters=3, outputs=4, width=8), seed=1)
    save_model(tmp_path / "given", model)
    with pytest.raises(InputError, match="has attention, whose state grows"):
        mend(load_subject(tmp_path / "given"), tmp_path / "out", task=TaskConfig(name="predict-set-reset"))
    assert not (tmp_path / "out").exists()
