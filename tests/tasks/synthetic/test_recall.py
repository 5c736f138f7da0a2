"""Values looked up in the raw sequence."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import build_task
from nerode.tasks.task import SPLITS


def recall(**settings):
    return build_task(TaskConfig(name="associative-recall", settings=settings))


@pytest.mark.parametrize("labels", ["all", "last"])
@pytest.mark.parametrize("length", [3, 5, 21, 81])
def test_values_by_looking_them_up(labels, length):
    task = recall(labels=labels, keys=6, values=4)
    assert (task.letters, task.outputs) == (10, 4)
    batch = task.sample(length, 50, np.random.default_rng(length))
    for word, targets, mask in zip(
        batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True
    ):
        known = {}
        for i, letter in enumerate(word):
            if i % 2:
                assert 6 <= letter < 10
                assert known.setdefault(word[i - 1], letter - 6) == letter - 6
                assert not mask[i]
            else:
                assert letter < 6
                asked = i == length - 1 or labels == "all"
                assert mask[i] == (asked and letter in known)
                if mask[i]:
                    assert targets[i] == known[letter]
        assert mask[-1]


def test_lengths_and_splits():
    task = recall()
    assert task.training_lengths == (5, 41)
    assert [n for n in range(10) if task.trains_on(n)] == [5, 7, 9]
    rng = np.random.default_rng(0)
    drawn = [{tuple(w) for w in task.draw(s, 5, 300, rng).inputs.tolist()} for s in SPLITS]
    assert len(set.union(*drawn)) == sum(map(len, drawn))
    assert recall(shortest=6, longest=40).training_lengths == (7, 39)


def test_settings_that_make_no_task():
    for length in (1, 4):
        with pytest.raises(InputError, match=f"no sequence of length {length}"):
            recall().sample(length, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="keys is 0"):
        recall(keys=0)
    with pytest.raises(InputError, match="the only length is 6"):
        recall(shortest=6, longest=6)
    with pytest.raises(InputError, match="range from 3 on"):
        recall(shortest=2)
