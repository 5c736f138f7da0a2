"""5 seeds × 6 rates of one small model: one computation against a pool of two processes.

Times of the processor, because the machine may be busy: of updates and validations, as the records of the
runs have them. Setting up, tests and the start of processes are left out on both sides. The first ratio is
that of these times, which is also the ratio if two such computations share the cores. The second gives the
pool both cores, on which it takes half of its time, and the computation one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from nerode.records import TrainSpec
from nerode.training import make_specs, run_all
from nerode.training.together import train_together

SEEDS = range(5)
RATES = (1e-2, 5e-3, 3e-3, 1e-3, 5e-4, 1e-4)
STEPS = 30
CASES = (("lstm", 64), ("lstm", 16), ("gru", 64), ("elman", 64), ("mamba", 64))


def specs(layers: str, batch: int) -> list[TrainSpec]:
    run = {
        "batch": batch,
        "steps": STEPS,
        "evaluate_every": STEPS,
        "test_lengths": [40],
        "test_sequences": 64,
    }
    return [
        spec
        for rate in RATES
        for spec in make_specs(
            "parity", [layers], seeds=SEEDS, tables={"run": run, "optimiser": {"rate": rate}}
        )
    ]


def seconds(layers: str, batch: int) -> tuple[float, float, float]:
    """Returns processor seconds of the computation and of the pool, and how far their losses are apart."""
    given = specs(layers, batch)
    together = [record for record, _ in train_together(given)]
    with tempfile.TemporaryDirectory() as out:
        pool = dict(run_all(given, Path(out), jobs=2))
    apart = max(abs(r.history[-1].loss - pool[n].history[-1].loss) for n, r in enumerate(together))
    return sum(r.cpu_seconds for r in together), sum(r.cpu_seconds for r in pool.values()), apart


def main() -> None:
    torch.set_num_threads(1)
    for layers, batch in CASES:
        one, pool, apart = seconds(layers, batch)
        print(
            f"{layers:6} batch {batch:3}: 30 runs of {STEPS} steps: together {one:5.1f} s, pool {pool:5.1f} "
            f"s of the processor: {pool / one:.1f} times; {pool / 2 / one:.1f} with both cores for the pool; "
            f"losses at most {apart:.1e} apart",
            flush=True,
        )


if __name__ == "__main__":
    main()
