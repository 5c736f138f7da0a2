"""What is trained on: lengths, splits, and the same sequences for the same step."""

from __future__ import annotations

import pytest
import torch

from nerode.core import InputError
from nerode.records import RunSpec, TaskConfig
from nerode.tasks import Parity, build_task
from nerode.tasks.synthetic.regular import RegularSettings
from nerode.training.data import (
    FixedData,
    FreshData,
    curriculum_batches,
    lengths_of,
    training_data,
    validation_batches,
)


class EvenOnly(Parity):
    """Words of even length only."""

    def sample(self, length, count, rng):
        if length % 2:
            raise InputError("odd")
        return super().sample(length, count, rng)


def even(shortest=5, longest=14):
    return EvenOnly(RegularSettings(shortest=shortest, longest=longest))


def test_lengths_without_sequences_are_not_trained_on():
    assert lengths_of(even(), "train") == (6, 8, 10, 12, 14)
    with pytest.raises(InputError, match="no sequence in the train split from length 5 to 5"):
        lengths_of(even(5, 5), "train")
    data = FreshData(even(), RunSpec(batch=4))
    seen = {data.batch(step, 14).inputs.shape[1] for step in range(60)}
    assert seen == {6, 8, 10, 12, 14}
    assert {data.batch(step, 9).inputs.shape[1] for step in range(30)} == {6, 8}
    assert data.batch(0, 1).inputs.shape[1] == 6


def test_a_step_has_its_sequences_in_any_order_of_asking():
    task = build_task(TaskConfig(name="parity"))
    for run in (RunSpec(batch=4), RunSpec(batch=4, epochs=3, sample=20)):
        one, two = training_data(task, run), training_data(task, run)
        steps = list(range(10))
        forward = [one.batch(s, 40).inputs for s in steps]
        backward = [two.batch(s, 40).inputs for s in reversed(steps)][::-1]
        assert all(torch.equal(a, b) for a, b in zip(forward, backward, strict=True))


def test_seeds_have_sequences_of_their_own():
    task = build_task(TaskConfig(name="parity"))
    first, second = (FreshData(task, RunSpec(seed=s)).batch(0, 40).inputs for s in (0, 1))
    assert first.shape == second.shape
    assert not torch.equal(first, second)


def test_training_and_validation_are_apart():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 8, "longest": 12}))
    data = FreshData(task, RunSpec())
    trained = {tuple(w) for step in range(200) for w in data.batch(step, 12).inputs.tolist()}
    validated = {
        tuple(w) for batch in validation_batches(task, data.lengths, 256) for w in batch.inputs.tolist()
    }
    assert len(trained) > 3000
    assert not trained & validated


def test_a_fixed_sample_has_as_many_sequences_as_asked_for():
    data = FixedData(build_task(TaskConfig(name="parity")), RunSpec(batch=3, epochs=2, sample=50))
    epoch = [data.batch(step, 40) for step in range(data.batches)]
    assert sum(map(len, epoch)) == 50
    assert data.steps == 2 * data.batches
    assert max(map(len, epoch)) <= 3


def test_validation_is_spread_over_the_lengths():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 10, "longest": 40}))
    batches = validation_batches(task, range(10, 41), 256)
    lengths = [b.inputs.shape[1] for b in batches]
    assert (len(lengths), lengths[0], lengths[-1]) == (8, 10, 40)
    assert sum(map(len, batches)) == 256


def test_short_lengths_are_judged_by_what_there_is():
    task = build_task(TaskConfig(name="parity", settings={"shortest": 1, "longest": 10}))
    with pytest.raises(InputError, match="no validation sequence from length 1 to 1"):
        validation_batches(task, [1], 8)
    (batch,) = curriculum_batches(task, [1], 8)
    assert set(task.split_of(batch)) == {"train"}
    (batch,) = curriculum_batches(task, [10], 8)
    assert set(task.split_of(batch)) == {"validation"}


def test_a_language_with_one_word_a_length_is_validated_at_other_lengths():
    task = build_task(TaskConfig(name="predict-tomita-1"))
    lengths = lengths_of(task, "train")
    batches = validation_batches(task, lengths, 40)
    found = {batch.inputs.shape[1] for batch in batches}
    assert found
    assert not found & set(lengths)
    assert all(set(task.split_of(batch)) == {"validation"} for batch in batches)
