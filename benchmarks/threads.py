"""Whole training steps of every architecture: one thread against two.

A step is what `nerode train` does: a new batch, forward, loss, backward, clipping, update. What counts is the
clock on the wall, so the machine must be idle. Weights that differ in a bit are reported; `--bits` compares
nothing else, on any machine, for more numbers of threads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import torch

from benchmarks._rows import BenchRow, record
from benchmarks.profiles import operations
from nerode.models.zoo import all_kinds
from nerode.training.loop import Trainer
from nerode.training.specs import make_spec

WIDTH, BATCH, LENGTH = 64, 64, 128
REPEATS, WARM_UP = 15, 3
"""Steps that count, and steps before them, which fetch memory and wake threads for the first time."""
MORE = (2, 3, 4, 7)
"""The numbers of threads whose bits are compared with those of one."""
WANTED, PROFILED = 1.6, 3
"""The gain below which a step is profiled, and the steps of a profile."""


def trainer(architecture: str) -> Trainer:
    """Returns a run of one layer of an architecture, its own settings, on parity at the size of the table."""
    tables = {
        "task": {"name": "parity", "settings": {"shortest": LENGTH, "longest": LENGTH}},
        "model": {"layers": architecture, "width": WIDTH},
        "run": {"batch": BATCH, "test_lengths": [LENGTH], "steps": 10_000, "evaluate_every": 10_000},
    }
    return Trainer(make_spec(tables))


def run_steps(architecture: str, threads: int, steps: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Returns the seconds of the steps after the first ones, and the weights at the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run = trainer(architecture)
        spent = []
        for _ in range(WARM_UP + steps):
            started = time.perf_counter()
            run.step()
            spent.append(time.perf_counter() - started)
        return spent[WARM_UP:], run.model.state_dict()
    finally:
        torch.set_num_threads(before)


def compare(architecture: str, steps: int = REPEATS) -> tuple[BenchRow, bool]:
    """Returns the row of an architecture, and whether one and two threads give the same weights."""
    (one, alone), (two, both) = (run_steps(architecture, threads, steps) for threads in (1, 2))
    limit = (
        "" if statistics.median(one) >= WANTED * statistics.median(two) else what_does_not_halve(architecture)
    )
    row = record(f"training step of {architecture}", "one thread", two, one, threads=2, limit=limit)
    return row, all(torch.equal(alone[name], both[name]) for name in alone)


def other_bits(architecture: str) -> list[int]:
    """Returns the numbers of threads whose weights after four steps are not those of one thread."""
    alone = run_steps(architecture, 1, 1)[1]
    found = {threads: run_steps(architecture, threads, 1)[1] for threads in MORE}
    return [n for n, own in found.items() if not all(torch.equal(alone[name], own[name]) for name in alone)]


def what_does_not_halve(architecture: str) -> str:
    """Returns the operations that lose most of a step's time with two threads, by a profile of both."""
    one, two = (_operations(architecture, threads) for threads in (1, 2))
    lost = {name: two.get(name, 0) - spent / 2 for name, spent in one.items()}
    worst = sorted(lost, key=lambda name: -lost[name])[:4]
    named = ", ".join(f"{name} {lost[name]:.1f}" for name in worst if lost[name] > 0)
    return (
        f"its operations take {sum(two.values()):.1f} ms, on one thread {sum(one.values()):.1f}; most is "
        f"lost in (ms) {named}"
        if named
        else ""
    )


def _operations(architecture: str, threads: int) -> dict[str, float]:
    """The milliseconds of each operation in a step, without those that it calls."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return operations(trainer(architecture).step, PROFILED)
    finally:
        torch.set_num_threads(before)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks threads", description=__doc__)
    parser.add_argument("--only", help="architectures, separated by commas; all by default")
    parser.add_argument("--steps", type=int, default=REPEATS, help="steps per number of threads")
    parser.add_argument("--bits", action="store_true", help=f"compare the bits of 1 and {MORE} threads only")
    given = parser.parse_args(list(options))
    names = given.only.split(",") if given.only else sorted(all_kinds())
    if given.bits:
        differing = {name: found for name in names if (found := other_bits(name))}
        print(f"other bits than one thread, of {len(names)} architectures: {differing or 'none'}")
        return
    print(f"one layer, width {WIDTH}, batch {BATCH}, length {LENGTH}; two threads against one")
    seconds = {}
    for name in names:
        row, same = compare(name, given.steps)
        seconds[name] = row.seconds * row.ratio
        print(
            f"{name:<24} {row.seconds * 1e3:8.1f} ms with two threads, one takes {row.ratio:.2f} times "
            f"as long ({row.low:.2f} to {row.high:.2f}){'' if same else '; OTHER BITS'}",
            flush=True,
        )
    if {"gla", "pd-ssm"} <= seconds.keys():
        record("training step of pd-ssm", "gla", [seconds["pd-ssm"]], [seconds["gla"]])
