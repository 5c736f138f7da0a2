"""Parity: has an even or an odd number of ones been read?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nerode.core import Reference
from nerode.tasks.lengths import Labels, counted, require_range
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch, Memory, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ParitySettings:
    """Settings of the parity task.

    Attributes:
        shortest: shortest length of training.
        longest: longest length of training.
        labels: "all" for an answer at each position, "last" for one at the end.
    """

    shortest: int = 3
    longest: int = 40
    labels: Labels = "all"

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)


class Parity(Task):
    """Bits, each position labelled with the parity so far.

    References: [Grazzi2025]
    """

    name = "parity"
    memory = Memory.STATEFUL
    letters = 2
    outputs = 2

    def __init__(self, settings: ParitySettings) -> None:
        self.settings = settings
        self.training_lengths = (settings.shortest, settings.longest)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns uniform words."""
        bits = rng.integers(0, 2, (count, length))
        return Batch(
            inputs=torch.from_numpy(bits),
            targets=torch.from_numpy(bits.cumsum(axis=1) % 2),
            mask=torch.from_numpy(counted(self.settings.labels, count, length)),
        )


register_task(
    TaskKind(
        name="parity",
        title="parity of the ones read so far, at each position or at the end",
        settings=ParitySettings,
        build=Parity,
        reference=Reference("Grazzi2025"),
        test_lengths=(40, 64, 128, 256, 512, 1024),
    ),
    parity_last={"labels": "last"},
)
