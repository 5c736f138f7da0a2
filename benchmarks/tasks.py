"""Tasks: processor time of a batch of training, after set-up, and of the set-up."""

from __future__ import annotations

import time

import numpy as np
import torch

from nerode.core.errors import InputError
from nerode.tasks.table import TaskConfig

BATCHES = 200
NAMES = (
    *("parity", "a5", "a5-generators", "copying", "counting"),
    *("predict-tomita-3", "predict-012-star-02-star", "predict-d-12", "predict-dyck-1", "predict-dyck-8-10"),
    *("predict-shuffle-6", "predict-boolean-5", "predict-anbn", "predict-a5"),
    *("next-dyck-2", "recognise-tomita-3", "recognise-dyck-1", "states-s3", "states-a5"),
    *("flip-flop", "bounded-dyck-small", "ngram-text"),
)


def measure(name: str, size: int = 32) -> tuple[int, float, float]:
    """Returns the longest length of training, and the milliseconds of the set-up and of a batch."""
    begun = time.process_time()
    task = TaskConfig(name=name).build()
    low, high = task.training_lengths
    for length in range(high, low - 1, -1):
        try:
            # All of the pool, if there is one.
            for seed in range(20):
                task.draw("train", length, size, np.random.default_rng(seed))
            break
        except InputError:
            continue
    ready = time.process_time()
    rng = np.random.default_rng(0)
    for _ in range(BATCHES):
        task.draw("train", length, size, rng)
    done = time.process_time()
    return length, 1e3 * (ready - begun), 1e3 * (done - ready) / BATCHES


def main() -> None:
    """Prints a row for each task."""
    torch.set_num_threads(1)
    print(f"{'task':28} {'batch':>8} {'set-up ms':>10} {'batch ms':>9}")
    for name in NAMES:
        length, setting_up, batch = measure(name)
        print(f"{name:28} {f'32 x {length}':>8} {setting_up:10.1f} {batch:9.3f}")
