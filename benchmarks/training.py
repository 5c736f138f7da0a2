"""Training end to end, at the sizes of the presets: tokens per second beside loops of torch and mambapy.

All make the same number of updates of the same kind (AdamW, clipping, cross-entropy at every position) on the
same batches of one task, with one layer of the same width. Ours is the loop of `nerode train`, records and
curriculum included. The share of a step in kernels is the time inside the native library.
"""

from __future__ import annotations

import mambapy.mamba
import torch
from torch import Tensor, nn

from benchmarks._rows import Work, kernel_seconds, record, times
from nerode.training.loop import Trainer
from nerode.training.specs import make_spec

STEPS, REPEATS = 10, 5
CASES = (("lstm", 64, 64, 40), ("gru", 64, 64, 40), ("mamba", 64, 64, 40), ("lstm", 128, 64, 40))
"""Layers, width, batch and length."""


class PlainModel(nn.Module):
    """An embedding, a layer of torch or of mambapy, and a linear head."""

    def __init__(self, layers: str, letters: int, outputs: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.layer: nn.Module
        if layers == "mamba":
            self.layer = mambapy.mamba.Mamba(mambapy.mamba.MambaConfig(d_model=width, n_layers=1))
        else:
            self.layer = {"lstm": nn.LSTM, "gru": nn.GRU}[layers](width, width, batch_first=True)
        self.head = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        found = self.layer(self.embedding(x))
        scores: Tensor = self.head(found[0] if isinstance(found, tuple) else found)
        return scores


def trainer(layers: str, width: int, batch: int, length: int) -> Trainer:
    """Returns a run on parity, all sequences of one length."""
    tables = {
        "task": {"name": "parity", "settings": {"shortest": length, "longest": length}},
        "model": {"layers": layers, "width": width},
        "run": {"batch": batch, "test_lengths": [length], "steps": 10**6, "evaluate_every": 10**6},
    }
    return Trainer(make_spec(tables))


def plain_loop(layers: str, width: int, like: Trainer) -> Work:
    """The same updates by hand, on the batches that the run draws."""
    step = like.progress.step
    first = like.data.batch(step, like.progress.longest)
    scores, _ = like.model(first.inputs)
    model = PlainModel(layers, int(first.inputs.max()) + 1, scores.shape[-1], width)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def work() -> None:
        for number in range(STEPS):
            batch = like.data.batch(number, like.progress.longest)
            optimiser.zero_grad()
            like.task.loss(model(batch.inputs), batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()

    return work


def compare(layers: str, width: int, batch: int, length: int) -> None:
    """Prints and records tokens per second, and the share of kernels in a step."""
    run = trainer(layers, width, batch, length)
    peer = "mambapy in a plain loop" if layers == "mamba" else "torch in a plain loop"
    works: dict[str, Work] = {
        "nerode": lambda: [run.step() for _ in range(STEPS)],
        peer: plain_loop(layers, width, run),
    }
    seconds = times(works, REPEATS)
    title = f"training of {layers} H {width} B {batch} T {length}, {STEPS} steps"
    row = record(title, peer, seconds["nerode"], seconds[peer])
    whole, inside = kernel_seconds(run.step)
    record(f"kernels in a step of {layers} H {width}", "the whole step", [whole], [inside])
    rate = STEPS * batch * length / row.seconds
    print(
        f"{title:<52} {rate:10,.0f} tokens per second, {peer} {rate / row.ratio:10,.0f}; "
        f"{100 * inside / whole:.0f} % of a step in kernels",
        flush=True,
    )


def main() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        for case in CASES:
            compare(*case)
    finally:
        torch.set_num_threads(threads)
