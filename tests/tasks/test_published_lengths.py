"""Every name of these tasks draws what it promises: shapes, types, all lengths and axes of its tests."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.records import TaskConfig
from nerode.tasks import build_task, resolve_task
from nerode.tasks.table import all_tasks

KINDS = {
    "state-tracking",
    "copying",
    "denoising",
    "counting",
    "even-pairs",
    "cycle-navigation",
    "modular-arithmetic",
    "modular-arithmetic-brackets",
    "associative-recall",
}


def names():
    _, presets = all_tasks()
    return sorted(KINDS | {name for name, (kind, _) in presets.items() if kind in KINDS})


@pytest.mark.parametrize("name", names())
def test_all_that_is_tested_can_be_drawn(name):
    kind, _ = resolve_task(TaskConfig(name=name))
    task = build_task(TaskConfig(name=name))
    rng = np.random.default_rng(0)
    lengths = task.test_lengths or kind.test_lengths
    assert lengths
    assert max(lengths) > task.training_lengths[1]
    for length in lengths:
        check(task, task.draw("test", length, 3, rng), 3, length)
    for axis in task.axes:
        assert set(axis.values) - set(axis.trained)
        for value in axis.values:
            batch = task.draw_at(axis.name, value, 3, rng)
            check(task, batch, 3, batch.inputs.shape[1])
    low, high = task.training_lengths
    assert task.trains_on(low)
    assert task.trains_on(high)
    for split in ("train", "validation"):
        check(task, task.draw(split, high, 5, rng), 5, high)


def check(task, batch, count, length):
    assert batch.mask.shape == (count, length)
    assert batch.mask.dtype == torch.bool
    assert batch.mask.any(1).all()
    if task.letters is None:
        assert batch.inputs.shape == (count, length, task.features)
        assert batch.targets.shape == (count, length, task.outputs)
    else:
        assert batch.inputs.shape == batch.targets.shape == (count, length)
        assert batch.inputs.dtype == batch.targets.dtype == torch.int64
        assert 0 <= batch.inputs.min() <= batch.inputs.max() < task.letters
        assert 0 <= batch.targets.min() <= batch.targets.max() < task.outputs
    assert torch.isfinite(task.loss(torch.zeros(count, length, task.outputs), batch))
