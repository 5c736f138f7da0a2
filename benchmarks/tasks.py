"""Tasks: processor time of a batch of training, of its set-up, and its share of a step of an LSTM(128).

The share should be under 5 %; it is larger for models that are smaller than that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from nerode.core import InputError
from nerode.records import TaskConfig, TrainSpec
from nerode.tasks import Task, build_task
from nerode.training.loop import Trainer

SIZE = 64
BATCHES = 20
NAMES = (
    *("parity", "a5", "a5-generators", "copying", "counting", "counting-long"),
    *("predict-tomita-3", "predict-012-star-02-star", "predict-d-12", "predict-dyck-1", "predict-dyck-8-10"),
    *("predict-shuffle-6", "predict-boolean-5", "predict-anbn", "predict-a5"),
    *("next-dyck-2", "recognise-tomita-3", "recognise-dyck-1", "states-s3", "states-a5"),
    *("recognise-contains-abaab", "recognise-subsequence-abcdefgh"),
    *("flip-flop", "bounded-dyck-small", "ngram-text"),
)


def longest_trained(task: Task) -> int:
    """Returns the longest length of training that has sequences."""
    low, high = task.training_lengths
    for length in range(high, low - 1, -1):
        try:
            # All of the pool, if there is one.
            for seed in range(20):
                task.draw("train", length, SIZE, np.random.default_rng(seed))
        except InputError:
            continue
        return length
    raise InputError(f"{task.name} has no sequence to train on")


def least_milliseconds(work: Callable[[], object], *, times: int, blocks: int) -> float:
    """Returns the processor time of a call, the least over some blocks: others may use the machine."""
    found = []
    for _ in range(blocks):
        begun = time.process_time()
        for _ in range(times):
            work()
        found.append(time.process_time() - begun)
    return 1e3 * min(found) / times


def measure(name: str) -> tuple[int, float, float, float]:
    """Returns the longest length of training, and the milliseconds of set-up, of a batch and of a step."""
    begun = time.process_time()
    task = build_task(TaskConfig(name=name))
    length = longest_trained(task)
    setting_up = 1e3 * (time.process_time() - begun)
    rng = np.random.default_rng(0)
    batch = least_milliseconds(lambda: task.draw("train", length, SIZE, rng), times=BATCHES, blocks=8)
    return length, setting_up, batch, step_milliseconds(name, task, length)


def step_milliseconds(name: str, task: Task, length: int) -> float:
    """Returns the time of an update of an LSTM on one batch, without drawing it."""
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": name},
            "model": {"layers": "lstm", "width": 128, "settings": {"hidden": 128}},
            "run": {"evaluate_every": 10**9, "steps": 10**9, "batch": SIZE},
        }
    )
    trainer = Trainer(spec)
    drawn = task.draw("train", length, SIZE, np.random.default_rng(0))
    trainer.data.batch = lambda step, longest: drawn  # type: ignore[method-assign]
    return least_milliseconds(trainer.step, times=1, blocks=4)


def main() -> None:
    """Prints a row for each task."""
    torch.set_num_threads(1)
    print(f"{'task':32} {'batch':>9} {'set-up ms':>10} {'batch ms':>9} {'step ms':>8} {'share':>6}")
    for name in NAMES:
        length, setting_up, batch, step = measure(name)
        share = f"{100 * batch / (batch + step):.1f} %"
        size = f"{SIZE} x {length}"
        print(f"{name:32} {size:>9} {setting_up:10.1f} {batch:9.3f} {step:8.2f} {share:>6}", flush=True)
