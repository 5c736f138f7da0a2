"""Regular tasks that read one letter a step: even pairs and cycle navigation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nerode.core import InputError, Reference
from nerode.tasks.lengths import Labels, counted, require_range
from nerode.tasks.table import TaskKind, register_task
from nerode.tasks.task import Batch, Memory, Task

TEST_LENGTHS = (40, 64, 128, 256)
"""From the longest length of training to the longest of the papers' tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvenPairsSettings:
    """Settings of even pairs.

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


class EvenPairs(Task):
    """Words over a and b; 1 where the number of `ab` and `ba` read so far is even, which is 1 at the first.

    References: [Deletang2023]
    """

    name = "even-pairs"
    memory = Memory.STATEFUL
    letters = 2
    outputs = 2

    def __init__(self, settings: EvenPairsSettings) -> None:
        self.settings = settings
        self.training_lengths = (settings.shortest, settings.longest)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns uniform words."""
        words = rng.integers(0, 2, (count, length))
        # Each of the two pairs changes the letter, so that their number is even where the first is back.
        even = (words == words[:, :1]).astype(np.int64)
        return Batch(
            inputs=torch.from_numpy(words),
            targets=torch.from_numpy(even),
            mask=torch.from_numpy(counted(self.settings.labels, count, length)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleNavigationSettings:
    """Settings of cycle navigation.

    Attributes:
        places: places on the cycle.
        shortest: shortest length of training.
        longest: longest length of training.
        labels: "all" for an answer at each position, "last" for one at the end.
    """

    places: int = 5
    shortest: int = 3
    longest: int = 40
    labels: Labels = "all"

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)
        if self.places < 2:
            raise InputError(f"places is {self.places}; a cycle has 2 or more")


class CycleNavigation(Task):
    """Moves on a cycle (0 stays, 1 goes forward, 2 goes back) from place 0; the label is the place.

    References: [Deletang2023]
    """

    name = "cycle-navigation"
    memory = Memory.STATEFUL
    letters = 3

    def __init__(self, settings: CycleNavigationSettings) -> None:
        self.settings = settings
        self.outputs = settings.places
        self.training_lengths = (settings.shortest, settings.longest)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns uniform words."""
        words = rng.integers(0, 3, (count, length))
        steps = np.array([0, 1, -1])[words]
        return Batch(
            inputs=torch.from_numpy(words),
            targets=torch.from_numpy(steps.cumsum(axis=1) % self.settings.places),
            mask=torch.from_numpy(counted(self.settings.labels, count, length)),
        )


register_task(
    TaskKind(
        name="even-pairs",
        title="is the number of `ab` and `ba` so far even?",
        settings=EvenPairsSettings,
        build=EvenPairs,
        reference=Reference("Deletang2023"),
        test_lengths=TEST_LENGTHS,
    ),
    even_pairs_last={"labels": "last"},
)
register_task(
    TaskKind(
        name="cycle-navigation",
        title="the place on a cycle after moves forward and back",
        settings=CycleNavigationSettings,
        build=CycleNavigation,
        reference=Reference("Deletang2023"),
        test_lengths=TEST_LENGTHS,
    ),
    cycle_navigation_last={"labels": "last"},
)
