"""5 seeds × 6 rates of one small model: one computation against one run after the other.

Times of the processor on one thread. Both ways can be spread over a pool of processes.
"""

from __future__ import annotations

import torch

from nerode.training.defaults import make_specs
from nerode.training.loop import Trainer
from nerode.training.together import Crew

SEEDS = range(5)
RATES = (1e-2, 5e-3, 3e-3, 1e-3, 5e-4, 1e-4)
STEPS = 30


def specs(layers: str, batch: int):
    run = {"batch": batch, "evaluate_every": 10**6, "steps": 10**6}
    return [
        spec
        for rate in RATES
        for spec in make_specs(
            "parity", [layers], seeds=SEEDS, tables={"run": run, "optimiser": {"rate": rate}}
        )
    ]


def seconds(layers: str, batch: int) -> tuple[float, float]:
    given = specs(layers, batch)
    crew = Crew([Trainer(spec) for spec in given])
    for _ in range(STEPS):
        crew.step()
    together = sum(trainer.progress.cpu_seconds for trainer in crew.active)
    alone = 0.0
    for spec in given:
        trainer = Trainer(spec)
        for _ in range(STEPS):
            trainer.step()
        alone += trainer.progress.cpu_seconds
    return together / STEPS, alone / STEPS


def main() -> None:
    torch.set_num_threads(1)
    for layers in ("lstm", "elman", "gru"):
        for batch in (64, 16):
            together, alone = seconds(layers, batch)
            print(
                f"{layers:8} batch {batch:3}: 30 runs, one step of each: together {together * 1e3:6.1f} ms, "
                f"one by one {alone * 1e3:6.1f} ms, {alone / together:.1f} times faster",
                flush=True,
            )


if __name__ == "__main__":
    main()
