"""Aids of the trainer: states that are passed on, noise on the initial state, words with long holds."""

import numpy as np
import pytest
import torch

from nerode.core import InputError, stream
from nerode.records import TaskConfig, TrainingAids, TrainSpec, merge_tables
from nerode.tasks import build_task
from nerode.training import run, run_key, spec_model, train
from nerode.training.aids import add_holds, first_state
from tests.training.tiny import TINY, tiny


def spec_of(task="predict-tomita-5", layers="lstm", **aids):
    settings = {"longest": 12} if task.startswith("predict") else {}
    run = {"steps": 4, "evaluate_every": 4, "test_lengths": [12]} | ({"aids": aids} if aids else {})
    model = {"layers": layers, "width": 8}
    task_table = {"name": task, "settings": settings}
    return TrainSpec.from_mapping(merge_tables(TINY, {"run": run}) | {"model": model, "task": task_table})


def parts_of(spec):
    task = build_task(spec.task)
    return task, spec_model(spec.model, task, seed=0)


def test_a_passed_state_is_that_after_a_sequence_that_leads_back_to_the_start():
    task, model = parts_of(spec_of("states-tomita-5"))
    batch = task.draw("train", 8, 16, stream(0, "some"))
    state = first_state(model, batch, task, TrainingAids(passed=0.5), seed=3, step=7)
    fresh = model.initial_state(16)
    others = task.draw("train", 8, 16, stream(3, "passed", 7))
    back = task.leads_back(others)
    dfa = task.language.dfa()
    assert back.tolist() == [dfa.run(word) == dfa.start for word in others.inputs.tolist()]
    assert 0 < back.sum() < 16
    with torch.no_grad():
        after = run(model, others.inputs)[1]
    for name, value in state.items():
        assert torch.equal(value[:8], fresh[name][:8])
        allowed = after[name][torch.from_numpy(np.flatnonzero(back))]
        assert all(any(torch.equal(row, one) for one in allowed) for row in value[8:])


def test_noise_has_the_deviation_that_was_asked_for_and_depends_on_seed_and_step_alone():
    task, model = parts_of(spec_of())
    batch = task.draw("train", 8, 256, stream(0, "some"))
    aids = TrainingAids(noise=0.5)
    first, again, other = (first_state(model, batch, task, aids, seed=0, step=step) for step in (1, 1, 2))
    fresh = model.initial_state(256)
    for name, value in first.items():
        assert torch.equal(value, again[name])
        assert not torch.equal(value, other[name])
        assert 0.4 < float((value - fresh[name]).std()) < 0.6
    assert first_state(model, batch, task, TrainingAids(), seed=0, step=1) is None


@pytest.mark.parametrize("name", ["predict-tomita-5", "predict-flip-flop", "recognise-tomita-3", "states-s3"])
def test_words_with_holds_are_words_of_training_with_a_long_loop_and_correct_targets(name):
    task = build_task(TaskConfig(name=name))
    batch = task.draw("train", 30, 16, stream(0, "some"))
    mixed = add_holds(batch, task, TrainingAids(holds=0.5), seed=0, step=0)
    assert mixed.inputs.shape == batch.inputs.shape
    held = [row for row, word in enumerate(mixed.inputs.tolist()) if _longest_repeat(word) >= 14]
    assert len(held) >= 6
    assert set(task.split_of(mixed)) == {"train"}
    assert torch.equal(task.label(mixed.inputs.numpy()).targets, mixed.targets)
    assert torch.equal(mixed.inputs[8:], batch.inputs[8:])


def _longest_repeat(word):
    """Letters of the longest part of a word with period 1 or 2."""
    longest = 0
    for period in (1, 2):
        here = period
        for place in range(period, len(word)):
            here = here + 1 if word[place] == word[place - period] else period
            longest = max(longest, here)
    return longest


def test_a_run_with_aids_is_trained_has_a_key_of_its_own_and_survives_its_record():
    plain, aided = spec_of(), spec_of(passed=0.25, noise=0.1, holds=0.25)
    assert run_key(plain) != run_key(aided)
    assert "aids" not in plain.to_mapping()["run"]
    assert TrainSpec.from_mapping(aided.to_mapping()) == aided
    record, _ = train(aided)
    assert record.steps == 4
    assert record.history[0].loss != train(plain)[0].history[0].loss


@pytest.mark.parametrize(
    ("task", "layers", "aids", "says"),
    [
        ("parity", "lstm", {"holds": 0.5}, "is not about one"),
        ("predict-tomita-5", "transformer", {"noise": 0.5}, "that of attention grows"),
        ("predict-aabbccddee", "lstm", {"passed": 0.5}, "lead back to the start; aabbccddee has none"),
        ("predict-tomita-5", "lstm", {"passed": 2.0}, "run.aids.passed is 2.0; it has to be from 0 to 1"),
        ("predict-tomita-5", "lstm", {"noise": -1.0}, "run.aids.noise is -1.0"),
    ],
)
def test_aids_that_a_run_cannot_have_are_refused_with_a_sentence(task, layers, aids, says):
    with pytest.raises(InputError, match=says):
        train(spec_of(task, layers, **aids))


def test_holds_need_new_words():
    with pytest.raises(InputError, match="needs new words"):
        tiny(run={"epochs": 1, "sample": 8, "aids": {"holds": 0.5}})
