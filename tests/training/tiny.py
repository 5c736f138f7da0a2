"""Small specs for tests, and a task of features and bits."""

from __future__ import annotations

import numpy as np
import torch

from nerode.records import TrainSpec, merge_tables
from nerode.tasks import Batch, Task
from nerode.tasks.task import Axis, Memory

TINY = {
    "task": {"name": "parity", "settings": {"shortest": 4, "longest": 10}},
    "model": {"layers": "gru", "width": 4, "settings": {"hidden": 4}},
    "optimiser": {"rate": 1e-2},
    "run": {
        "steps": 20,
        "batch": 8,
        "evaluate_every": 5,
        "validation": 32,
        "test_lengths": [10, 20],
        "test_sequences": 16,
    },
}


def tiny(**tables) -> TrainSpec:
    return TrainSpec.from_mapping(merge_tables(TINY, tables))


class Signs(Task):
    """Two features at each position; the bits are their signs. Even positions do not count."""

    name = "signs"
    memory = Memory.STABLE
    features = 2
    outputs = 2
    training_lengths = (2, 9)
    targets_are_bits = True
    axes = (Axis(name="scale", trained=(1,), values=(1, 3)),)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        x = torch.from_numpy(rng.normal(size=(count, length, 2)))
        mask = torch.arange(length).remainder(2).eq(1).expand(count, -1)
        return Batch(inputs=x, targets=x > 0, mask=mask)

    def draw_at(self, axis: str, value: int, count: int, rng: np.random.Generator) -> Batch:
        batch = self.sample(8, count, rng)
        return Batch(inputs=batch.inputs * value, targets=batch.targets, mask=batch.mask)

    def examine(self, answer, rng: np.random.Generator) -> dict:
        scores, _ = answer(torch.ones(1, 3, 2, dtype=torch.float64), None)
        return {"signs": (scores > 0).tolist(), "gradient": scores.requires_grad}
