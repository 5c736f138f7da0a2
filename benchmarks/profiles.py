"""What takes the time of some works of the table: the share of native kernels, and the largest operations."""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks import layers, mamba, training
from benchmarks._rows import ROUNDS, Work, kernel_seconds
from benchmarks.cells import cell_step, module_step
from nerode.models.architectures.mamba import Mamba, MambaSettings


def operations(work: Work, rounds: int = ROUNDS) -> dict[str, float]:
    """Returns the milliseconds of each operation in a work, without those that it calls."""
    work()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for _ in range(rounds):
            work()
    return {
        event.key.removeprefix("aten::"): event.self_cpu_time_total / 1e3 / rounds
        for event in seen.key_averages()
    }


def describe(work: Work) -> str:
    """Returns the share of native kernels and the five largest operations, with their shares."""
    whole, inside = kernel_seconds(work)
    spent = operations(work)
    total = sum(spent.values())
    largest = sorted(spent, key=lambda name: -spent[name])[:5]
    named = ", ".join(f"{name} {100 * spent[name] / total:.0f} %" for name in largest)
    return f"{100 * inside / whole:.0f} % in native kernels; {named}"


def works() -> dict[str, Work]:
    """Returns the works that are profiled, by name."""
    found = {f"{name} H {hidden}": cell_step(name, hidden, 64, 50) for name, hidden in CELLS}
    x = torch.randn(64, 128, 64)
    found["mamba step"] = mamba.training_step(Mamba(64, MambaSettings(states=16)), x)
    found["causal attention"] = module_step(layers.attention_layer("nope"), x)
    for layer in ("lstm", "mamba"):
        found[f"training of {layer}"] = training.trainer(layer, 64, 64, 40).step
    return found


CELLS = (("lstm", 8), ("lstm", 64), ("lstm", 128), ("gru", 8), ("gru", 128))


def lines() -> list[str]:
    """Returns a section of the page of results."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [f"- {name}: {describe(work)}." for name, work in works().items()]
    finally:
        torch.set_num_threads(threads)
    return ["## Profiles", "", "Of one thread, by `python -m benchmarks profiles`.", "", *rows]


def main() -> None:
    print("\n".join(lines()))
