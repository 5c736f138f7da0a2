"""Words to train on: from a pool that depends on nothing but the language, in one split only."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.task import SPLITS


def task(name, **settings):
    return build_task(TaskConfig(name=name, settings=settings))


@pytest.mark.parametrize("name", ["predict-tomita-3", "next-dyck-1", "predict-a5", "states-s3"])
def test_splits_are_disjoint(name):
    built = task(name)
    rng = np.random.default_rng(0)
    for length in (10, 16, 24):
        drawn = {s: built.draw(s, length, 40, rng) for s in SPLITS}
        words = {s: set(map(tuple, b.inputs.tolist())) for s, b in drawn.items()}
        assert not words["train"] & words["validation"]
        assert not words["train"] & words["test"]
        assert not words["validation"] & words["test"]
        assert all(set(built.split_of(batch)) == {s} for s, batch in drawn.items())
        assert all(batch.inputs.shape == (40, length) for batch in drawn.values())


@pytest.mark.parametrize("name", ["predict-tomita-3", "predict-a5", "recognise-parity", "next-shuffle-2"])
def test_a_batch_depends_on_the_generator_alone(name):
    first, second = task(name), task(name)
    for seed in (5, 6, 7):
        second.draw("train", 20, 8, np.random.default_rng(seed + 1))
        ours = first.draw("train", 20, 8, np.random.default_rng(seed))
        theirs = second.draw("train", 20, 8, np.random.default_rng(seed))
        assert torch.equal(ours.inputs, theirs.inputs)
        assert torch.equal(ours.targets, theirs.targets)


def test_labels_of_the_pool_are_those_of_the_words():
    for name in ("predict-tomita-3", "predict-a5", "next-dyck-2", "recognise-tomita-5"):
        built = task(name)
        batch = built.draw("train", 24, 32, np.random.default_rng(1))
        again = built.label(batch.inputs.numpy())
        assert torch.equal(batch.targets, again.targets)
        assert torch.equal(batch.mask, again.mask)


def test_the_pool_has_about_as_many_words_as_asked_for():
    built = task("predict-tomita-4", pool=256)
    words = {
        tuple(w)
        for seed in range(60)
        for w in built.draw("train", 40, 50, np.random.default_rng(seed)).inputs.tolist()
    }
    assert 250 <= len(words) <= 256
    fresh = task("predict-tomita-4", pool=0)
    words = {
        tuple(w)
        for seed in range(20)
        for w in fresh.draw("train", 40, 50, np.random.default_rng(seed)).inputs.tolist()
    }
    assert len(words) > 990


@pytest.mark.parametrize("count", [65, 200, 256, 257, 500])
@pytest.mark.parametrize("name", ["predict-tomita-4", "predict-a5"])
def test_large_batches_have_no_word_twice(name, count):
    built = task(name)
    batch = built.draw("train", 40, count, np.random.default_rng(0))
    assert len(batch) == len(set(map(tuple, batch.inputs.tolist()))) == count
    assert set(built.split_of(batch)) == {"train"}
    assert torch.equal(batch.targets, built.label(batch.inputs.numpy()).targets)


def test_settings_that_make_no_task():
    with pytest.raises(InputError, match="pool is -1"):
        task("predict-parity", pool=-1)
    with pytest.raises(InputError, match="not a range"):
        task("predict-parity", shortest=0)
    with pytest.raises(InputError, match="for testing only"):
        task("predict-parity").draw("train", 51, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("predict-tomita-3", (50, 100, 150, 500)),
        ("predict-dyck-1", (50, 100, 150, 500)),
        ("predict-aaaa-star", (40, 100, 148, 500)),
        ("predict-ngram-seed", (20,)),
        ("recognise-012-star-02-star", (50, 100, 150, 500)),
        ("recognise-ngram-seed", (21,)),
        ("states-tomita-2", (50, 100, 150, 500)),
        ("states-ngram-seed", (20,)),
    ],
)
def test_the_longest_tested_length_of_each_bin_has_words(name, lengths):
    built = task(name)
    assert built.test_lengths == lengths
    for length in lengths:
        assert built.has(length)
        assert len(built.draw("test", length, 2, np.random.default_rng(0))) == 2
    assert built.has(47) == (name in {"recognise-012-star-02-star", "predict-tomita-3", "states-tomita-2"})
