"""What a recurrence of a compiled layer offers: what drives it, one step, and all steps of a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

Drive = tuple[Tensor, ...]
"""What the inputs contribute, computed before the state is known: (batch, …) or (batch, time, …) each."""


class CompiledRecurrence(nn.Module, ABC):
    """How the state of a compiled layer moves."""

    @abstractmethod
    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs contribute.

        Args:
            seen: what the layer reads and its units, at one position (batch, n) or all (batch, time, n).
            letters: the letters, (batch,) or (batch, time).
        """

    @abstractmethod
    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position."""

    def scan(self, drive: Drive, start: Tensor) -> Tensor:
        """Returns the states after all positions (batch, time, width)."""
        states, state = [], start
        for position in zip(*(part.unbind(1) for part in drive), strict=True):
            state = self.advance(position, state)
            states.append(state)
        return torch.stack(states, dim=1)

    def settle(self, drive: Drive, start: Tensor, rounds: int) -> Tensor:
        """Returns the states after all positions when no state looks back further than `rounds` steps.

        Every round moves all positions at once, each from the state that the round before gave its
        predecessor; what was wrong at first has then left the window.
        """
        time = drive[0].shape[1]
        states = start[:, None].expand(-1, time, -1)
        for _ in range(min(rounds, time)):
            states = self.advance(drive, torch.cat([start[:, None], states[:, :-1]], dim=1))
        return states


def longest_path(successors: Sequence[Sequence[int]], *, limit: int) -> int | None:
    """Returns the number of vertices on the longest path of a graph; None if it is above the limit."""
    alive = set(range(len(successors)))
    remaining = [0] * len(successors)
    for targets in successors:
        for j in targets:
            remaining[j] += 1
    layer = [i for i in alive if remaining[i] == 0]
    for length in range(1, limit + 1):
        alive.difference_update(layer)
        if not alive:
            return length
        following = []
        for i in layer:
            for j in successors[i]:
                remaining[j] -= 1
                if remaining[j] == 0:
                    following.append(j)
        layer = following
    return None
